//! The transport of the first remote servers: events one way, posted messages the other.

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{
    HeaderMap, HeaderValue, Method,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{Transport, streamable_http_client::StreamableHttpError},
};
use sse_stream::Sse;
use tracing::debug;
use url::Url;

use super::{
    delivery::Delivery,
    events::Events,
    upstream::Remote,
    wire::{Wire, WireError, authorization_of},
};

/// An open stream of events and the address for what goes the other way.
pub(super) struct LegacySse {
    wire: Wire,
    events: Events,
    post_to: Url,
    headers: HeaderMap,
}

/// Why there is no stream.
#[derive(Debug, thiserror::Error)]
pub(super) enum SseProblem {
    /// The stream did not come about.
    #[error(transparent)]
    Listen(#[from] StreamableHttpError<WireError>),
    /// The stream began with something else.
    #[error("the stream of events does not begin with an `endpoint`; this is no MCP server")]
    NoEndpoint,
    /// Messages would go to another host.
    #[error("the stream of events sends us to another host, which is refused")]
    Elsewhere,
}

impl LegacySse {
    /// Opens the stream and waits for its first event, which says where to post.
    pub(super) async fn open(wire: Wire, remote: &Remote) -> Result<Self, SseProblem> {
        let mut headers = remote.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let mut events = wire.listen(remote.url.as_str(), headers).await?;
        let post_to = endpoint(&mut events, &remote.url).await?;
        Ok(Self {
            wire,
            events,
            post_to,
            headers: remote.headers.clone(),
        })
    }
}

async fn endpoint(events: &mut Events, url: &Url) -> Result<Url, SseProblem> {
    /// Servers may say hello, but not for ever.
    const MOST_BEFORE: usize = 16;
    for _ in 0..MOST_BEFORE {
        let Some(Ok(event)) = events.next().await else {
            break;
        };
        if event.event.as_deref() != Some("endpoint") {
            continue;
        }
        let to = url.join(event.data.unwrap_or_default().trim());
        let to = to.map_err(|_| SseProblem::NoEndpoint)?;
        // The headers hold credentials for this host alone.
        return if to.origin() == url.origin() {
            Ok(to)
        } else {
            Err(SseProblem::Elsewhere)
        };
    }
    Err(SseProblem::NoEndpoint)
}

impl Transport<RoleClient> for LegacySse {
    type Error = WireError;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), WireError>> + Send + 'static {
        let (wire, to) = (self.wire.clone(), self.post_to.clone());
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(authorization) = authorization_of(&message) {
            headers.insert(AUTHORIZATION, authorization);
        }
        async move { wire.post(to.as_str(), headers, &message).await }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            match self.events.next().await? {
                Ok(event) => {
                    if let Some(message) = message_in(&event) {
                        return Some(message);
                    }
                }
                Err(error) => {
                    debug!(%error, "stream of events broke");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), WireError> {
        self.events = futures_util::stream::empty().boxed();
        Ok(())
    }
}

impl Wire {
    async fn post(
        &self,
        url: &str,
        headers: HeaderMap,
        message: &ClientJsonRpcMessage,
    ) -> Result<(), WireError> {
        let body = serde_json::to_vec(message).unwrap_or_default();
        Delivery::begin(message);
        let response = self
            .send(Method::POST, url, headers, Some(Bytes::from(body)))
            .await?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(WireError::Status {
                host: crate::outbound::host_of(response.url()),
                status,
                excerpt: String::new(),
            }),
        }
    }
}

fn message_in(event: &Sse) -> Option<ServerJsonRpcMessage> {
    if !matches!(event.event.as_deref(), None | Some("message")) {
        return None;
    }
    let message = serde_json::from_str(event.data.as_deref()?);
    message
        .inspect_err(|error| debug!(%error, "event is no message"))
        .ok()
}
