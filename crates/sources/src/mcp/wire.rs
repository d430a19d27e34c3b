//! `Wire`: the HTTP exchanges under a remote server, bounded and with errors that hold no secret.

use std::{collections::HashMap, error::Error as _, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use reqwest::Response;
use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientRequest, ErrorData, GetExtensions as _, RequestId,
        ServerJsonRpcMessage,
    },
    transport::streamable_http_client::{
        StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use toolscript_catalog::Secret;
use url::Url;

use super::{
    LARGEST_MESSAGE,
    delivery::Delivery,
    events::{Events, events},
    oauth::{Access, AccessError, Challenge},
    text,
};
use crate::outbound::OutboundError;

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How much of a refusal is read; an error in it is small.
const LARGEST_REFUSAL: usize = 64 << 10;

/// The way to remote servers. Cheap to clone; connections are shared.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    client: reqwest::Client,
    /// Where tokens come from for requests that bring no credential.
    access: Option<Arc<Access>>,
}

/// Why an exchange gave nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    /// The line failed.
    #[error(transparent)]
    Line(#[from] OutboundError),
    /// There is no token for it, or none that is good enough.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The other side does not take the credential somebody gave us for it.
    #[error(
        "the server refuses the credential it was given, in `headers.Authorization` or with the call"
    )]
    Credential,
    /// The other side said no.
    #[error("`{host}` answered {status}{}", said(.excerpt))]
    Status {
        host: String,
        status: StatusCode,
        excerpt: String,
    },
    /// What came is no MCP.
    #[error("`{host}` answered with what is no MCP message: `{excerpt}`")]
    Malformed { host: String, excerpt: String },
}

/// The credential of one call, carried beside the request; it wins over the configured header.
#[derive(Debug, Clone)]
pub(super) struct CallAuthorization(pub(super) HeaderValue);

type Outcome<T> = Result<T, StreamableHttpError<WireError>>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl Wire {
    /// Makes the client.
    pub(super) fn new(access: Option<Arc<Access>>) -> Result<Self, WireError> {
        let setup = |reason: String| OutboundError::Setup { reason };
        let tls = tls().map_err(|error| setup(error.to_string()))?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(concat!("toolscript/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(10))
            .tcp_keepalive(Duration::from_mins(1))
            .redirect(redirects())
            .referer(false)
            .build();
        let client = client.map_err(|error| setup(error.without_url().to_string()))?;
        Ok(Self { client, access })
    }

    /// Sends one request and gives the answer as it begins. A request that brings no credential
    /// gets a token, and another one should the first be refused: what was refused was not done.
    pub(super) async fn send(
        &self,
        method: Method,
        url: &str,
        mut headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, WireError> {
        /// A token that has ended, and one that was too weak.
        const MOST_REFUSALS: usize = 2;
        let access = self.access.as_ref();
        let Some(access) = access.filter(|_| !headers.contains_key(AUTHORIZATION)) else {
            let response = self.send_once(method, url, headers, body).await?;
            return match response.status() {
                StatusCode::UNAUTHORIZED => Err(WireError::Credential),
                _ => Ok(response),
            };
        };
        let mut token = access.token().await?;
        let mut refusals = 0;
        loop {
            if let Some(authorization) = token.as_ref().and_then(bearer) {
                headers.insert(AUTHORIZATION, authorization);
            }
            let sending = self.send_once(method.clone(), url, headers.clone(), body.clone());
            let response = sending.await?;
            let challenge = Challenge::read(response.headers());
            token = match response.status() {
                StatusCode::UNAUTHORIZED if MOST_REFUSALS <= refusals => {
                    return Err(access.refused().into());
                }
                StatusCode::UNAUTHORIZED => Some(access.renew(token, challenge).await?),
                StatusCode::FORBIDDEN
                    if challenge.wants_more_scope() && refusals < MOST_REFUSALS =>
                {
                    Some(access.widen(token, challenge).await?)
                }
                _ => return Ok(response),
            };
            refusals += 1;
        }
    }

    async fn send_once(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, WireError> {
        let nowhere = |_| OutboundError::Setup {
            reason: "the address is not a URL".to_owned(),
        };
        let url = Url::parse(url).map_err(nowhere)?;
        let host = crate::outbound::host_of(&url);
        let mut request = reqwest::Request::new(method, url);
        *request.headers_mut() = headers;
        *request.body_mut() = body.map(reqwest::Body::from);
        let failed = |error: reqwest::Error| {
            let reason = innermost(&error);
            if error.is_connect() {
                OutboundError::Connect { host, reason }
            } else {
                OutboundError::Broken { host, reason }
            }
        };
        Ok(self.client.execute(request).await.map_err(failed)?)
    }

    /// Asks for a stream of events.
    pub(super) async fn listen(&self, url: &str, headers: HeaderMap) -> Outcome<Events> {
        let response = self.send(Method::GET, url, headers, None).await;
        let response = response.map_err(StreamableHttpError::Client)?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if !response.status().is_success() {
            return Err(StreamableHttpError::Client(refusal(response).await));
        }
        match content_type(&response) {
            Some(kind) if kind.starts_with(EVENT_STREAM) => Ok(events(response.bytes_stream())),
            kind => Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
    }
}

impl StreamableHttpClient for Wire {
    type Error = WireError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _auth_header: Option<String>,
        headers: Headers,
    ) -> Outcome<StreamableHttpPostResponse> {
        let in_session = session.is_some();
        let mut headers = with_session(headers, session);
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        if let Some(authorization) = authorization_of(&message) {
            headers.insert(AUTHORIZATION, authorization);
        }
        let body = serde_json::to_vec(&message)?.into();
        Delivery::begin(&message);
        let response = self.send(Method::POST, &uri, headers, Some(body)).await;
        let response = response.map_err(StreamableHttpError::Client)?;
        match response.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            StatusCode::NOT_FOUND if in_session => Err(StreamableHttpError::SessionExpired),
            status if status.is_success() => accepted(response, &message).await,
            _ => refused(response, &message).await,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _auth_header: Option<String>,
        headers: Headers,
    ) -> Outcome<()> {
        let headers = with_session(headers, Some(session));
        let response = self.send(Method::DELETE, &uri, headers, None).await;
        match response.map_err(StreamableHttpError::Client)? {
            // Not every server lets go of a session on request.
            response if response.status() == StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            response if response.status().is_success() => Ok(()),
            response => Err(StreamableHttpError::Client(refusal(response).await)),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _auth_header: Option<String>,
        headers: Headers,
    ) -> Outcome<Events> {
        let mut headers = with_session(headers, session);
        headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        if let Some(event) = last_event.and_then(|event| HeaderValue::try_from(event).ok()) {
            headers.insert(LAST_EVENT, event);
        }
        self.listen(&uri, headers).await
    }
}

/// Only where the message stays whole and the headers stay with the host they are for.
fn redirects() -> reqwest::redirect::Policy {
    const MOST: usize = 5;
    reqwest::redirect::Policy::custom(|step| {
        let keeps_body = matches!(step.status().as_u16(), 307 | 308);
        let from = step.previous().first().map(Url::origin);
        if keeps_body && from == Some(step.url().origin()) && step.previous().len() <= MOST {
            return step.follow();
        }
        step.stop()
    })
}

fn tls() -> Result<ClientConfig, rustls::Error> {
    let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The innermost cause: the layers above it repeat the URL, and the URL may hold a key.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    while let Some(deeper) = cause.and_then(std::error::Error::source) {
        cause = Some(deeper);
    }
    cause.map_or_else(
        || "no request could be made of it".to_owned(),
        ToString::to_string,
    )
}

fn with_session(headers: Headers, session: Option<Arc<str>>) -> HeaderMap {
    let mut headers: HeaderMap = headers.into_iter().collect();
    if let Some(session) = session.and_then(|session| HeaderValue::try_from(&*session).ok()) {
        headers.insert(SESSION, session);
    }
    headers
}

/// The credential a call brought along.
pub(super) fn authorization_of(message: &ClientJsonRpcMessage) -> Option<HeaderValue> {
    let ClientJsonRpcMessage::Request(request) = message else {
        return None;
    };
    let authorization = request.request.extensions().get::<CallAuthorization>()?;
    Some(authorization.0.clone())
}

/// A token as a header; `None` for one no header can hold.
fn bearer(token: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", token.reveal())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

async fn accepted(
    response: Response,
    message: &ClientJsonRpcMessage,
) -> Outcome<StreamableHttpPostResponse> {
    let session = response.headers().get(SESSION);
    let session = session
        .and_then(|session| session.to_str().ok())
        .map(str::to_owned);
    let kind = content_type(&response);
    if kind
        .as_deref()
        .is_some_and(|kind| kind.starts_with(EVENT_STREAM))
    {
        return Ok(StreamableHttpPostResponse::Sse(
            events(response.bytes_stream()),
            session,
        ));
    }
    let host = crate::outbound::host_of(response.url());
    let body = whole(response, LARGEST_MESSAGE)
        .await
        .map_err(StreamableHttpError::Client)?;
    let ClientJsonRpcMessage::Request(_) = message else {
        // What is no question needs no answer, whatever the server thinks.
        return Ok(StreamableHttpPostResponse::Accepted);
    };
    match serde_json::from_slice(&body) {
        Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
        Err(_) => Err(StreamableHttpError::Client(WireError::Malformed {
            host,
            excerpt: excerpt(&body),
        })),
    }
}

/// A refusal, as the JSON-RPC error in it where there is one.
async fn refused(
    response: Response,
    message: &ClientJsonRpcMessage,
) -> Outcome<StreamableHttpPostResponse> {
    let (host, status) = (crate::outbound::host_of(response.url()), response.status());
    let body = whole(response, LARGEST_REFUSAL).await.unwrap_or_default();
    let is_login = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if let Some((id, is_discovery)) = question(message).filter(|_| !is_login) {
        if let Some(error) = error_in(&body) {
            return Ok(answered(error, id));
        }
        // A server of the old era refuses the question of the new one in many ways.
        if is_discovery && status.is_client_error() {
            return Ok(answered(
                ErrorData::invalid_request(status.to_string(), None),
                id,
            ));
        }
    }
    Err(StreamableHttpError::Client(WireError::Status {
        host,
        status,
        excerpt: excerpt(&body),
    }))
}

/// The id of a request, and whether it asks which era the server speaks.
fn question(message: &ClientJsonRpcMessage) -> Option<(RequestId, bool)> {
    let ClientJsonRpcMessage::Request(request) = message else {
        return None;
    };
    let is_discovery = matches!(request.request, ClientRequest::DiscoverRequest(_));
    Some((request.id.clone(), is_discovery))
}

/// The error, for the one who asked: whoever refuses may not know the id.
fn answered(error: ErrorData, id: RequestId) -> StreamableHttpPostResponse {
    StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error, Some(id)), None)
}

fn error_in(body: &[u8]) -> Option<ErrorData> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    serde_json::from_value(value.get("error")?.clone()).ok()
}

async fn refusal(response: Response) -> WireError {
    let (host, status) = (crate::outbound::host_of(response.url()), response.status());
    let body = whole(response, LARGEST_REFUSAL).await.unwrap_or_default();
    WireError::Status {
        host,
        status,
        excerpt: excerpt(&body),
    }
}

async fn whole(mut response: Response, limit: usize) -> Result<Bytes, WireError> {
    let host = crate::outbound::host_of(response.url());
    let mut body = BytesMut::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Ok(body.freeze()),
            Ok(Some(piece)) if body.len() + piece.len() <= limit => body.extend_from_slice(&piece),
            Ok(Some(_)) => return Err(OutboundError::TooLarge { host, limit }.into()),
            Err(error) => {
                let reason = innermost(&error);
                return Err(OutboundError::Broken { host, reason }.into());
            }
        }
    }
}

fn content_type(response: &Response) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    Some(kind.to_ascii_lowercase())
}

fn excerpt(body: &[u8]) -> String {
    text::line(
        &String::from_utf8_lossy(&body[..body.len().min(2_000)]),
        200,
    )
}

fn said(excerpt: &str) -> String {
    match excerpt {
        "" => String::new(),
        words => format!(": {words}"),
    }
}
