//! The corners: slow, flaky, elsewhere, large, and every kind of content.

use std::{collections::HashMap, io::Write, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{any, get},
};
use flate2::{Compression, write::GzEncoder};
use serde_json::json;

use super::{Shop, lock, problem};

pub(super) fn routes() -> Router<Arc<Shop>> {
    Router::new()
        .route("/slow", get(slow))
        .route("/text", get(text))
        .route("/latin1", get(latin1))
        .route("/binary", get(binary))
        .route("/lines", get(lines))
        .route("/events", get(events))
        .route("/large", get(large))
        .route("/flaky/{key}", any(flaky))
        .route("/status/{status}", any(status))
        .route("/redirect/same", any(redirect_same))
        .route("/redirect/away", any(redirect_away))
        .route("/redirect/loop", any(redirect_loop))
        .route("/redirect/done", any(redirect_done))
}

type Words = Query<HashMap<String, String>>;

fn number(words: &Words, name: &str) -> u64 {
    words
        .get(name)
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

/// Answers after `delay_ms`.
async fn slow(words: Words) -> Response {
    let delay = number(&words, "delay_ms");
    tokio::time::sleep(Duration::from_millis(delay)).await;
    Json(json!({"delay_ms": delay})).into_response()
}

async fn text() -> &'static str {
    "plain text, not JSON: {}"
}

async fn latin1() -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; charset=ISO-8859-1")];
    (kind, b"caf\xe9".as_slice()).into_response()
}

/// All 256 bytes, so that nothing on the way can be mistaken for text.
async fn binary() -> Response {
    let bytes: Vec<u8> = (0..=255).collect();
    ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response()
}

async fn lines() -> Response {
    let kind = [(header::CONTENT_TYPE, "application/x-ndjson")];
    (kind, "{\"n\":1}\n{\"n\":2}\n\n{\"n\":3}").into_response()
}

async fn events() -> Response {
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    let events = ": hello\n\nevent: tick\nid: 1\ndata: {\"n\":1}\n\ndata: two\ndata: lines\n\n";
    (kind, events).into_response()
}

/// `bytes` letters, compressed on the way with `gzip=true`.
async fn large(words: Words) -> Response {
    let length = usize::try_from(number(&words, "bytes")).expect("a size this machine knows");
    let letters = "a".repeat(length);
    if words.get("gzip").is_none_or(|flag| flag != "true") {
        return letters.into_response();
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder
        .write_all(letters.as_bytes())
        .expect("memory takes it");
    let packed = encoder.finish().expect("memory takes it");
    (
        [
            (header::CONTENT_ENCODING, "gzip"),
            (header::CONTENT_TYPE, "text/plain"),
        ],
        packed,
    )
        .into_response()
}

/// Fails `fails` times with `status` (503 unless said), then works; counted for each key.
async fn flaky(State(shop): State<Arc<Shop>>, Path(key): Path<String>, words: Words) -> Response {
    let count = {
        let mut failures = lock(&shop.failures);
        let count = failures.entry(key).or_default();
        *count += 1;
        u64::from(*count)
    };
    if count > number(&words, "fails") {
        return Json(json!({"attempts": count})).into_response();
    }
    let status = words
        .get("status")
        .and_then(|text| text.parse().ok())
        .unwrap_or(503);
    let status = StatusCode::from_u16(status).expect("a status");
    ([(header::RETRY_AFTER, "0")], problem(status, "try again")).into_response()
}

async fn status(Path(status): Path<u16>) -> Response {
    match StatusCode::from_u16(status) {
        Ok(status) => problem(status, "as you wish"),
        Err(_) => problem(StatusCode::BAD_REQUEST, "no such status"),
    }
}

async fn redirect_same(words: Words) -> Response {
    let code = words
        .get("status")
        .and_then(|text| text.parse().ok())
        .unwrap_or(302);
    redirect(code, "/redirect/done")
}

async fn redirect_away(words: Words) -> Response {
    redirect(
        302,
        words.get("to").map_or("/redirect/done", String::as_str),
    )
}

async fn redirect_loop() -> Response {
    redirect(302, "/redirect/loop")
}

async fn redirect_done() -> Response {
    Json(json!({"arrived": true})).into_response()
}

fn redirect(status: u16, to: &str) -> Response {
    let status = StatusCode::from_u16(status).expect("a status");
    (status, [(header::LOCATION, to)]).into_response()
}
