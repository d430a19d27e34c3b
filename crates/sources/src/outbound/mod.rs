//! The one HTTP client for every kind of source: reuse, sizes, times, redirects.

mod allow;
mod error;
mod guard;
mod range;
mod redirect;
mod tls;

pub use allow::{AllowList, BadRule};
pub use error::{OutboundError, RedirectProblem, Refusal};
pub use guard::{Guarded, Lookup, SystemLookup};

use std::{borrow::Cow, fmt, path::Path, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use url::Url;

/// How we introduce ourselves.
const USER_AGENT: &str = concat!("toolscript/", env!("CARGO_PKG_VERSION"));

/// How long a connection may take to come about, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What we like best when we fetch a document.
const DOCUMENT_TYPES: &str = "application/json, application/yaml, text/yaml, */*;q=0.8";

/// The way out to the network. Cheap to clone; connections are shared.
#[derive(Clone)]
pub struct Outbound {
    /// A client that could not be made is reported by the first request that needs it.
    client: Result<reqwest::Client, OutboundError>,
    lookup: Arc<dyn Lookup>,
}

/// One request, ready to be sent, and to be sent again.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Where it goes.
    pub url: Url,
    /// The headers; mark those that hold secrets as sensitive.
    pub headers: HeaderMap,
    /// The body.
    pub body: Option<Bytes>,
}

/// What one exchange may cost, redirects included.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The size of the answer after decompression.
    pub max_bytes: usize,
    /// The time until the last byte has arrived.
    pub timeout: Duration,
}

/// What came back, whole.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, decompressed.
    pub body: Bytes,
    /// Where it came from, after redirects.
    pub url: Url,
}

/// A document fetched by its URL.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The document.
    pub body: Bytes,
    /// What the server says it is.
    pub content_type: Option<String>,
    /// Where it was found, after redirects; relative references start here.
    pub url: Url,
}

impl Outbound {
    /// Makes the client. Share it: every clone uses the same connections.
    pub fn new() -> Self {
        Self::with_lookup(Arc::new(SystemLookup))
    }

    /// The same with another way to find the addresses of the names scripts use.
    pub fn with_lookup(lookup: Arc<dyn Lookup>) -> Self {
        Self {
            client: builder().and_then(build),
            lookup,
        }
    }

    /// A way out for scripts: to public addresses, and to what `allow` names.
    pub fn guarded(&self, allow: AllowList) -> Guarded {
        Guarded::new(self.clone(), allow, self.lookup.clone())
    }

    /// Fetches a document, following redirects; anything but a 2xx answer is an error.
    pub async fn fetch(
        &self,
        url: &Url,
        max_bytes: usize,
        timeout: Duration,
    ) -> Result<Fetched, OutboundError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(DOCUMENT_TYPES));
        let request = Request {
            method: Method::GET,
            url: url.clone(),
            headers,
            body: None,
        };
        let answer = self.send(&request, Limits { max_bytes, timeout }).await?;
        if !answer.status.is_success() {
            let (host, status) = (host_of(&answer.url), answer.status.as_u16());
            return Err(OutboundError::Status { host, status });
        }
        let content_type = answer.headers.get(header::CONTENT_TYPE);
        Ok(Fetched {
            content_type: content_type
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned),
            body: answer.body,
            url: answer.url,
        })
    }

    /// Sends a request and reads the whole answer, whatever its status.
    ///
    /// Redirects are followed where that repeats nothing: GET and HEAD, and 303 which
    /// turns into a GET. A step to another origin leaves credentials, cookies and all
    /// other headers of ours behind. Dropping the future ends the exchange.
    pub async fn send(&self, request: &Request, limits: Limits) -> Result<Answer, OutboundError> {
        follow(request, limits, |url| self.client(url)).await
    }

    fn client(&self, _url: &Url) -> Result<&reqwest::Client, OutboundError> {
        self.client.as_ref().map_err(Clone::clone)
    }
}

/// Sends a request and follows where it leads, within the limits. Every step asks `client` for
/// the client that may make it.
async fn follow<'c>(
    request: &Request,
    limits: Limits,
    client: impl Fn(&Url) -> Result<&'c reqwest::Client, OutboundError>,
) -> Result<Answer, OutboundError> {
    let exchange = exchange(request, limits.max_bytes, client);
    match tokio::time::timeout(limits.timeout, exchange).await {
        Ok(result) => result,
        Err(_) => Err(OutboundError::Timeout {
            host: host_of(&request.url),
            after: limits.timeout,
        }),
    }
}

async fn exchange<'c>(
    first: &Request,
    max_bytes: usize,
    client: impl Fn(&Url) -> Result<&'c reqwest::Client, OutboundError>,
) -> Result<Answer, OutboundError> {
    let mut request = Cow::Borrowed(first);
    for _ in 0..=redirect::MOST_STEPS {
        if !matches!(request.url.scheme(), "http" | "https") {
            let scheme = request.url.scheme().to_owned();
            return Err(OutboundError::Scheme { scheme });
        }
        let response = send_once(client(&request.url)?, &request).await?;
        match redirect::next(&request, response.status(), response.headers())? {
            Some(next) => request = Cow::Owned(next),
            None => return read(&request.url, response, max_bytes).await,
        }
    }
    let problem = RedirectProblem::TooMany {
        most: redirect::MOST_STEPS,
    };
    Err(OutboundError::Redirect {
        host: host_of(&request.url),
        problem,
    })
}

async fn send_once(
    client: &reqwest::Client,
    request: &Request,
) -> Result<reqwest::Response, OutboundError> {
    let mut outgoing = reqwest::Request::new(request.method.clone(), request.url.clone());
    *outgoing.headers_mut() = request.headers.clone();
    // Some servers turn away a POST that does not say it is empty.
    let may_carry = [Method::POST, Method::PUT, Method::PATCH].contains(&request.method);
    if may_carry && request.body.is_none() {
        outgoing
            .headers_mut()
            .insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    *outgoing.body_mut() = request.body.clone().map(reqwest::Body::from);
    let failed = |cause| OutboundError::from_sending(host_of(&request.url), &cause);
    client.execute(outgoing).await.map_err(failed)
}

impl Default for Outbound {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outbound")
    }
}

fn builder() -> Result<reqwest::ClientBuilder, OutboundError> {
    let more_roots = std::env::var_os("SSL_CERT_FILE").filter(|file| !file.is_empty());
    let tls = tls::trusting(more_roots.as_ref().map(Path::new))?;
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_keepalive(Duration::from_mins(1))
        .redirect(reqwest::redirect::Policy::none())
        .referer(false))
}

fn build(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, OutboundError> {
    builder.build().map_err(|error| OutboundError::Setup {
        reason: error.without_url().to_string(),
    })
}

/// Reads the body piece by piece, so that a small compressed answer cannot grow without end.
async fn read(
    url: &Url,
    mut response: reqwest::Response,
    max_bytes: usize,
) -> Result<Answer, OutboundError> {
    let too_large = || OutboundError::TooLarge {
        host: host_of(url),
        limit: max_bytes,
    };
    let announced = response
        .content_length()
        .map(|length| usize::try_from(length).ok());
    if announced.is_some_and(|length| length.is_none_or(|length| max_bytes < length)) {
        return Err(too_large());
    }
    let mut body = BytesMut::new();
    let broke = |cause| OutboundError::from_reading(host_of(url), &cause);
    while let Some(piece) = response.chunk().await.map_err(broke)? {
        if max_bytes < body.len() + piece.len() {
            return Err(too_large());
        }
        body.extend_from_slice(&piece);
    }
    Ok(Answer {
        status: response.status(),
        headers: std::mem::take(response.headers_mut()),
        body: body.freeze(),
        url: url.clone(),
    })
}

/// The part of an address that may be shown: no user, no path, no query.
pub(crate) fn host_of(url: &Url) -> String {
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => url.scheme().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolscript_testkit::{Canned, canned, rude};

    const TIMEOUT: Duration = Duration::from_secs(5);

    async fn fetch(url: &str, max_bytes: usize) -> Result<Fetched, OutboundError> {
        Outbound::new()
            .fetch(&Url::parse(url).unwrap(), max_bytes, TIMEOUT)
            .await
    }

    #[tokio::test]
    async fn a_document_is_fetched_where_it_moved_to() {
        let server = canned::start([
            Canned::status(301).header("location", "/v2/openapi.yaml"),
            Canned::body(200, "application/yaml", "openapi: 3.1.0"),
        ])
        .await;
        let fetched = fetch(&format!("{}/openapi.yaml", server.url()), 100)
            .await
            .unwrap();
        assert_eq!(fetched.body.as_ref(), b"openapi: 3.1.0");
        assert_eq!(fetched.content_type.as_deref(), Some("application/yaml"));
        assert_eq!(fetched.url.path(), "/v2/openapi.yaml");
    }

    #[tokio::test]
    async fn what_is_not_a_document_is_an_error() {
        let missing = canned::start([Canned::status(404)]).await;
        let host = missing.url().strip_prefix("http://").unwrap().to_owned();
        let found = fetch(missing.url(), 100).await.unwrap_err();
        assert_eq!(found, OutboundError::Status { host, status: 404 });
        let large = canned::start([Canned::body(200, "text/plain", "x".repeat(101))]).await;
        let found = fetch(large.url(), 100).await.unwrap_err();
        assert!(
            matches!(found, OutboundError::TooLarge { limit: 100, .. }),
            "{found}"
        );
        let found = fetch(&rude::nobody().await, 100).await.unwrap_err();
        assert!(found.is_unsent(), "{found}");
        let found = fetch("file:///etc/passwd", 100).await.unwrap_err();
        assert_eq!(
            found,
            OutboundError::Scheme {
                scheme: "file".into()
            }
        );
    }

    #[tokio::test]
    async fn connections_are_used_again() {
        let server = canned::start([Canned::body(200, "text/plain", "x")]).await;
        let outbound = Outbound::new();
        let url = Url::parse(server.url()).unwrap();
        for _ in 0..3 {
            outbound.clone().fetch(&url, 10, TIMEOUT).await.unwrap();
        }
        assert_eq!(server.connections(), 1);
    }
}
