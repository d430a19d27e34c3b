//! HTTP: `/mcp` for agents, `/health` and `/ready` for whoever watches.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use axum::{Json, Router, routing::get, serve::ListenerExt as _};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use toolscript_engine::{Engine, config::Server};

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
    let mcp = mcp_service(engine.clone(), address, shutdown);
    Router::new()
        .route("/health", get(async || Json(json!({"status": "ok"}))))
        .route("/ready", get(async move || Json(ready(&engine))))
        .nest_service("/mcp", mcp)
}

fn ready(engine: &Engine) -> serde_json::Value {
    let sources: Vec<_> = engine
        .sources()
        .into_iter()
        .map(|source| source.name)
        .collect();
    json!({
        "status": "ready",
        "sources": sources,
        "functions": engine.catalog().len(),
        "setbacks": engine.setbacks(),
    })
}

/// One service for both eras of the protocol; Host and Origin are checked on every request.
fn mcp_service(
    engine: Arc<Engine>,
    address: SocketAddr,
    shutdown: CancellationToken,
) -> StreamableHttpService<Handler, LocalSessionManager> {
    let server = &engine.settings().server;
    let port = address.port();
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "[::1]", "::1"]
        .map(str::to_owned)
        .to_vec();
    hosts.extend(server.allowed_hosts.iter().cloned());
    let mut origins: Vec<String> = vec![
        format!("http://localhost:{port}"),
        format!("http://127.0.0.1:{port}"),
        format!("http://[::1]:{port}"),
    ];
    origins.extend(server.allowed_origins.iter().cloned());
    let config = StreamableHttpServerConfig::default()
        .with_cancellation_token(shutdown)
        .with_allowed_hosts(hosts)
        .with_allowed_origins(origins)
        .enforce_origin_validation();
    let handler = Handler::new(engine);
    StreamableHttpService::new(move || Ok(handler.clone()), Arc::default(), config)
}

/// Nobody has to log in yet, so only this machine is let in unless the operator insists.
fn check_reach(address: SocketAddr, server: &Server) -> anyhow::Result<()> {
    if address.ip().is_loopback() || server.allow_unauthenticated {
        return Ok(());
    }
    anyhow::bail!(
        "`{address}` can be reached from other machines and nobody would have to log in; \
         bind to 127.0.0.1, or set `server.allow_unauthenticated = true` if something in front checks who comes"
    )
}
