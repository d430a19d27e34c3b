//! HTTP: `/mcp` for agents, `/tools` for programs, `/health` and `/ready` for whoever watches.

mod failure;
mod gate;
mod openapi;
mod stream;
#[cfg(test)]
mod tests;
mod tools;

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use axum::{
    Json, Router,
    extract::{Request, State},
    middleware,
    routing::{get, post},
    serve::ListenerExt as _,
};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use toolscript_engine::{Engine, config::Server};
use tower_http::limit::RequestBodyLimitLayer;

use self::{failure::Failure, gate::Gate};
use crate::mcp::Handler;

/// Serves until `shutdown` fires, then lets requests under way finish.
pub(crate) async fn serve(
    engine: Arc<Engine>,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let address = listener.local_addr()?;
    check_reach(address, &engine.settings().server)?;
    let router = router(engine, address, shutdown.clone());
    // An answer is written once and whole: waiting for more to send with it only makes it late.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "connection stays delayed");
        }
    });
    axum::serve(listener, router)
        .with_graceful_shutdown(shutdown.cancelled_owned())
        .await?;
    Ok(())
}

/// Listens on an address, with an error that says which one.
pub(crate) async fn listen(bind: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(bind).await.with_context(|| {
        format!("cannot listen on `{bind}`; is the port taken? choose another with --port")
    })
}

fn router(engine: Arc<Engine>, address: SocketAddr, shutdown: CancellationToken) -> Router {
    let gate = Arc::new(Gate::new(engine.clone(), address.port()));
    let largest = engine.settings().server.max_body_bytes;
    let mcp = mcp_service(engine.clone(), &gate, shutdown);
    let guarded = Router::new()
        .route("/tools/list", get(tools::list))
        .route("/tools/{name}", post(tools::call))
        .route("/api/openapi.json", get(describe))
        .with_state(engine.clone())
        .route_layer(middleware::from_fn_with_state(gate.clone(), gate::guard));
    let mcp = Router::new()
        .nest_service("/mcp", mcp)
        .layer(RequestBodyLimitLayer::new(largest))
        .route_layer(middleware::from_fn_with_state(gate.clone(), gate::guard));
    Router::new()
        .route("/health", get(async || Json(json!({"status": "ok"}))))
        .route("/ready", get(ready).with_state((engine, gate)))
        .merge(guarded)
        .merge(mcp)
        .method_not_allowed_fallback(async || Failure::Method)
        .fallback(async || Failure::NoPath)
}

/// Says that the server can do its work; what it serves is told to who is let in.
async fn ready(
    State((engine, gate)): State<(Arc<Engine>, Arc<Gate>)>,
    request: Request,
) -> Json<Value> {
    if gate.check(request.uri(), request.headers()).is_err() {
        return Json(json!({"status": "ready"}));
    }
    let sources: Vec<_> = engine
        .sources()
        .into_iter()
        .map(|source| source.name)
        .collect();
    Json(json!({
        "status": "ready",
        "sources": sources,
        "functions": engine.catalog().len(),
        "setbacks": engine.setbacks(),
    }))
}

async fn describe(State(engine): State<Arc<Engine>>) -> Json<Value> {
    let asks_for_token = engine.settings().server.auth.is_some();
    Json(openapi::document(&engine.tools(), asks_for_token))
}

/// One service for both eras of the protocol; it checks Host and Origin once more by itself.
fn mcp_service(
    engine: Arc<Engine>,
    gate: &Gate,
    shutdown: CancellationToken,
) -> StreamableHttpService<Handler, LocalSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_cancellation_token(shutdown)
        .with_allowed_hosts(gate.hosts())
        .with_allowed_origins(gate.origins())
        .enforce_origin_validation();
    let handler = Handler::new(engine);
    StreamableHttpService::new(move || Ok(handler.clone()), Arc::default(), config)
}

/// Only this machine is let in where nobody has to log in, unless the operator insists.
fn check_reach(address: SocketAddr, server: &Server) -> anyhow::Result<()> {
    if address.ip().is_loopback() || server.auth.is_some() || server.allow_unauthenticated {
        return Ok(());
    }
    anyhow::bail!(
        "`{address}` can be reached from other machines and nobody would have to log in; \
         bind to 127.0.0.1, set `server.auth = {{ token = \"…\" }}`, \
         or set `server.allow_unauthenticated = true` if something in front checks who comes"
    )
}
