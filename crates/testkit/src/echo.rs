//! An API that answers every request with a description of what arrived.

use axum::{Extension, Json, Router};
use serde_json::Value;

use crate::{Recorded, Server};

/// Starts an echo: any method, any path, always 200 with [`Recorded::describe`].
pub async fn start() -> Server {
    Server::start(Router::new().fallback(answer)).await
}

async fn answer(Extension(request): Extension<Recorded>) -> Json<Value> {
    Json(request.describe().await)
}
