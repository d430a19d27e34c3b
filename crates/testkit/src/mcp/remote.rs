//! The fake behind an address: Streamable HTTP at `/mcp`, the older transport at `/sse`.

use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Json, Router,
    extract::{Query, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::map_response,
    response::{IntoResponse, Response, Sse, sse::Event},
    routing::{get, post},
};
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{Fake, Plan, fake::Out};
use crate::Server;

/// A fake server behind an address. It ends when it is dropped.
#[derive(Debug)]
pub struct Remote {
    server: Server,
    site: Arc<Site>,
}

#[derive(Debug)]
struct Site {
    fake: Arc<Fake>,
    sessions: Mutex<HashSet<String>>,
    /// The open streams of the older transport by their id.
    streams: Mutex<HashMap<String, mpsc::UnboundedSender<Value>>>,
}

type Messages = mpsc::UnboundedReceiver<Value>;

impl Remote {
    /// Starts a server that follows the plan.
    pub async fn start(plan: Plan) -> Self {
        Self::start_behind(plan, |_url, router| router).await
    }

    /// Starts a server behind something else, which gets to know its address.
    pub async fn start_behind(plan: Plan, wrap: impl FnOnce(&str, Router) -> Router) -> Self {
        let site = Arc::new(Site {
            fake: Fake::new(plan),
            sessions: Mutex::default(),
            streams: Mutex::default(),
        });
        let router = Router::new()
            .route("/mcp", post(take).get(listen).delete(forget))
            .route("/sse", get(open_stream))
            .route("/messages", post(take_for_stream))
            .layer(map_response(without_keep_alive))
            .with_state(Arc::clone(&site));
        let server = Server::start_at(|url| wrap(url, router)).await;
        Self { server, site }
    }

    /// The address for Streamable HTTP.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.server.url())
    }

    /// The address of the older transport.
    pub fn sse_url(&self) -> String {
        format!("{}/sse", self.server.url())
    }

    /// The server itself.
    pub fn fake(&self) -> &Fake {
        &self.site.fake
    }

    /// What came over HTTP.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Forgets every session, as a server does that was started anew.
    pub fn forget_sessions(&self) {
        self.site.sessions().clear();
    }
}

impl Site {
    fn sessions(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn streams(&self) -> std::sync::MutexGuard<'_, HashMap<String, mpsc::UnboundedSender<Value>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn knows_session(&self, headers: &HeaderMap) -> bool {
        let session = headers
            .get("mcp-session-id")
            .and_then(|id| id.to_str().ok());
        session.is_none_or(|session| self.sessions().contains(session))
    }
}

/// A connection that stayed open would outlive the server.
async fn without_keep_alive(mut response: Response) -> Response {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}

fn channel() -> (Out, Messages) {
    let (sender, messages) = mpsc::unbounded_channel();
    let out: Out = Arc::new(move |message: Value| drop(sender.send(message)));
    (out, messages)
}

async fn take(
    State(site): State<Arc<Site>>,
    headers: HeaderMap,
    Json(message): Json<Value>,
) -> Response {
    if !site.knows_session(&headers) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let (out, messages) = channel();
    site.fake.hear(&message, &out);
    drop(out);
    if message.get("id").is_none() || message.get("method").is_none() {
        return StatusCode::ACCEPTED.into_response();
    }
    if message["method"] == "initialize" && !site.fake.is_stateless() {
        let session = format!("session-{}", site.sessions().len());
        site.sessions().insert(session.clone());
        return (
            [("mcp-session-id", session)],
            answer(messages, message["id"].clone()),
        )
            .into_response();
    }
    answer(messages, message["id"].clone()).into_response()
}

/// Everything about one request as events, up to its answer.
fn answer(messages: Messages, id: Value) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let until_answered = stream::unfold(Some(messages), move |messages| {
        let id = id.clone();
        async move {
            let mut messages = messages?;
            let message = messages.recv().await?;
            let is_answer = message.get("method").is_none() && message["id"] == id;
            Some((message, (!is_answer).then_some(messages)))
        }
    });
    Sse::new(until_answered.map(|message| Ok(event(&message))))
}

fn event(message: &Value) -> Event {
    Event::default().event("message").data(message.to_string())
}

/// The stream on which a server of the old era speaks without being asked.
async fn listen(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    if site.fake.is_stateless() {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    if !site.knows_session(&headers) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let (out, messages) = channel();
    site.fake.add_listener(out);
    let events = stream::unfold(messages, |mut messages| async move {
        let message = messages.recv().await?;
        Some((Ok::<_, Infallible>(event(&message)), messages))
    });
    Sse::new(events).into_response()
}

async fn forget(State(site): State<Arc<Site>>, headers: HeaderMap) -> StatusCode {
    if let Some(session) = headers
        .get("mcp-session-id")
        .and_then(|id| id.to_str().ok())
    {
        site.sessions().remove(session);
    }
    StatusCode::NO_CONTENT
}

async fn open_stream(State(site): State<Arc<Site>>) -> impl IntoResponse {
    let (sender, messages) = mpsc::unbounded_channel();
    let id = site.streams().len().to_string();
    site.streams().insert(id.clone(), sender);
    let endpoint = Event::default()
        .event("endpoint")
        .data(format!("/messages?id={id}"));
    let first = stream::iter([Ok::<_, Infallible>(endpoint)]);
    let rest = stream::unfold(messages, |mut messages| async move {
        let message = messages.recv().await?;
        Some((Ok(event(&message)), messages))
    });
    (
        [(header::CACHE_CONTROL, "no-store")],
        Sse::new(first.chain(rest)),
    )
}

async fn take_for_stream(
    State(site): State<Arc<Site>>,
    Query(query): Query<HashMap<String, String>>,
    Json(message): Json<Value>,
) -> StatusCode {
    let sender = query
        .get("id")
        .and_then(|id| site.streams().get(id).cloned());
    let Some(sender) = sender else {
        return StatusCode::NOT_FOUND;
    };
    let out: Out = Arc::new(move |message: Value| drop(sender.send(message)));
    site.fake.hear(&message, &out);
    StatusCode::ACCEPTED
}
