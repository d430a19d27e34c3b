//! The sample API of `toolscript demo`: a small pet shop on a free loopback port.

mod orders;
mod paging;
mod pets;
mod shop;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, rejection::JsonRejection},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::json;
use tokio::{net::TcpListener, task::JoinHandle};

use shop::Shop;

/// The script people are invited to try.
pub(crate) const SCRIPT: &str = include_str!("try.luau");
/// The name of the source in that script.
pub(crate) const SOURCE: &str = "petshop";

const DOCUMENT: &str = include_str!("openapi.yaml");
const LARGEST_BODY: usize = 64 * 1024;

/// The shop, shared by its handlers.
type Shared = Arc<Mutex<Shop>>;

/// A running sample API; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Sample {
    url: String,
    task: JoinHandle<()>,
}

impl Sample {
    /// Serves the shop on a free loopback port.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.context("cannot listen on 127.0.0.1 for the sample API")?;
        let url = format!("http://{}", listener.local_addr()?);
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router()).await {
                tracing::error!(%error, "sample API ended");
            }
        });
        Ok(Self { url, task })
    }

    /// The argument that makes it a source: `petshop=http://127.0.0.1:…/openapi.yaml`.
    pub(crate) fn argument(&self) -> String {
        format!("{SOURCE}={}/openapi.yaml", self.url)
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn router() -> Router {
    let document = get(async || ([(header::CONTENT_TYPE, "application/yaml")], DOCUMENT));
    Router::new()
        .merge(pets::routes())
        .merge(orders::routes())
        .route("/openapi.yaml", document)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(Arc::new(Mutex::new(Shop::stocked())))
}

fn lock(shop: &Shared) -> MutexGuard<'_, Shop> {
    shop.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A failure as this API writes it.
#[derive(Debug)]
struct Problem {
    status: StatusCode,
    message: String,
}

impl Problem {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }

    fn missing(what: &str, id: u64) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("there is no {what} {id}"))
    }

    fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({"code": self.status.as_u16(), "message": self.message});
        (self.status, Json(body)).into_response()
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}
