//! The doors: one endpoint per way to prove who is calling, and an issuer of tokens.

use std::sync::Arc;

use axum::{
    Extension, Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;

use super::{Sample, Shop, lock, problem};
use crate::Recorded;

pub(super) fn routes() -> Router<Arc<Shop>> {
    Router::new()
        .route("/secure/bearer", get(bearer))
        .route("/secure/basic", get(basic))
        .route("/secure/key-header", get(key_header))
        .route("/secure/key-query", get(key_query))
        .route("/secure/key-cookie", get(key_cookie))
        .route("/secure/oauth", get(oauth))
        .route("/secure/public", get(public))
        .route("/oauth/token", post(token))
}

async fn bearer(Extension(request): Extension<Recorded>) -> Response {
    open_if(request.header("authorization") == Some(&format!("Bearer {}", Sample::TOKEN)))
}

async fn basic(Extension(request): Extension<Recorded>) -> Response {
    open_if(has_basic(&request, Sample::USER, Sample::PASSWORD))
}

async fn key_header(Extension(request): Extension<Recorded>) -> Response {
    open_if(request.header("x-api-key") == Some(Sample::KEY))
}

async fn key_query(Extension(request): Extension<Recorded>) -> Response {
    let expected = format!("api_key={}", Sample::KEY);
    let query = request.query.unwrap_or_default();
    open_if(query.split('&').any(|pair| pair == expected))
}

async fn key_cookie(Extension(request): Extension<Recorded>) -> Response {
    let expected = ("session".to_owned(), Sample::KEY.to_owned());
    open_if(request.cookies().contains(&expected))
}

async fn oauth(State(shop): State<Arc<Shop>>, Extension(request): Extension<Recorded>) -> Response {
    let token = request
        .header("authorization")
        .and_then(|value| value.strip_prefix("Bearer "));
    open_if(token.is_some_and(|token| lock(&shop.tokens).valid.contains(token)))
}

/// Open to all, and not amused by credentials nobody asked for.
async fn public(Extension(request): Extension<Recorded>) -> Response {
    open_if(request.header("authorization").is_none() && request.header("x-api-key").is_none())
}

async fn token(State(shop): State<Arc<Shop>>, Extension(request): Extension<Recorded>) -> Response {
    let form = request.text();
    if !form
        .split('&')
        .any(|pair| pair == "grant_type=client_credentials")
    {
        let body = Json(json!({"error": "unsupported_grant_type"}));
        return (StatusCode::BAD_REQUEST, body).into_response();
    }
    if !has_basic(&request, Sample::CLIENT_ID, Sample::CLIENT_SECRET) {
        let body = Json(json!({"error": "invalid_client"}));
        return (StatusCode::UNAUTHORIZED, body).into_response();
    }
    let mut tokens = lock(&shop.tokens);
    tokens.issued += 1;
    let token = format!("granted-{}-{}", tokens.issued, Sample::TOKEN);
    tokens.valid.insert(token.clone());
    Json(json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600})).into_response()
}

fn has_basic(request: &Recorded, user: &str, password: &str) -> bool {
    let expected = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
    request.header("authorization") == Some(&expected)
}

fn open_if(allowed: bool) -> Response {
    if !allowed {
        return problem(StatusCode::UNAUTHORIZED, "who are you?");
    }
    Json(json!({"welcome": true})).into_response()
}
