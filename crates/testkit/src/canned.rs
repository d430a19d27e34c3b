//! An API that gives prepared answers, one after the other.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    extract::State,
    http::{HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde_json::Value;

use crate::Server;

/// One prepared answer.
#[derive(Debug, Clone)]
pub struct Canned {
    status: u16,
    headers: Vec<(String, String)>,
    body: Bytes,
    delay: std::time::Duration,
}

impl Canned {
    /// An answer without a body.
    pub fn status(status: u16) -> Self {
        let delay = std::time::Duration::ZERO;
        Self {
            status,
            headers: Vec::new(),
            body: Bytes::new(),
            delay,
        }
    }

    /// An answer with a JSON body.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::body(status, "application/json", body.to_string())
    }

    /// An answer with any body; an empty content type sends none.
    pub fn body(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let answer = Self {
            body: body.into(),
            ..Self::status(status)
        };
        match content_type {
            "" => answer,
            _ => answer.header("content-type", content_type),
        }
    }

    /// The same with one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, but only after a while.
    #[must_use]
    pub fn after(mut self, delay: std::time::Duration) -> Self {
        self.delay = delay;
        self
    }
}

impl IntoResponse for Canned {
    fn into_response(self) -> Response {
        let mut response = self.body.into_response();
        *response.status_mut() = StatusCode::from_u16(self.status).expect("a status");
        response.headers_mut().clear();
        for (name, value) in self.headers {
            let name: HeaderName = name.parse().expect("a header name");
            let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header value");
            response.headers_mut().append(name, value);
        }
        response
    }
}

/// Starts a server that gives these answers in turn and then repeats the last one.
pub async fn start(answers: impl IntoIterator<Item = Canned>) -> Server {
    let answers: VecDeque<Canned> = answers.into_iter().collect();
    assert!(!answers.is_empty(), "a server needs something to answer");
    let answers = Arc::new(Mutex::new(answers));
    Server::start(Router::new().fallback(answer).with_state(answers)).await
}

async fn answer(State(answers): State<Arc<Mutex<VecDeque<Canned>>>>) -> Response {
    let answer = next(&answers);
    tokio::time::sleep(answer.delay).await;
    answer.into_response()
}

fn next(answers: &Mutex<VecDeque<Canned>>) -> Canned {
    let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = if answers.len() > 1 {
        answers.pop_front()
    } else {
        answers.front().cloned()
    };
    answer.expect("the last answer stays")
}
