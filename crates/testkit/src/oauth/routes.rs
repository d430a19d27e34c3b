//! What the authorization server answers, and the guard before the MCP server.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Form, Json, Router,
    body::{Body, to_bytes},
    extract::{Query, Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse as _, Redirect, Response},
    routing::{get, post},
};
use serde_json::{Value, json};

use super::{Desk, Signature, issue::Refusal, lock};

type Shared = State<Arc<Desk>>;
type Fields = HashMap<String, String>;

/// Puts the authorization server beside an MCP server, and a guard before it.
pub(super) fn around(desk: Arc<Desk>, mcp: Router) -> Router {
    let guarded = mcp.layer(from_fn_with_state(Arc::clone(&desk), guard));
    Router::new()
        .route(
            "/.well-known/oauth-protected-resource/mcp",
            get(describe_resource),
        )
        .route(
            "/.well-known/oauth-authorization-server",
            get(describe_issuer),
        )
        .route("/register", post(register))
        .route("/authorize", get(authorize))
        .route("/token", post(token))
        .route("/revoke", post(revoke))
        .with_state(desk)
        .merge(guarded)
}

async fn describe_resource(State(desk): Shared) -> Json<Value> {
    Json(json!({
        "resource": format!("{}/mcp", desk.url),
        "authorization_servers": [desk.url],
    }))
}

async fn describe_issuer(State(desk): Shared) -> Json<Value> {
    let url = &desk.url;
    let mut description = json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "revocation_endpoint": format!("{url}/revoke"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
    });
    if lock(&desk.rules).registers {
        description["registration_endpoint"] = json!(format!("{url}/register"));
    }
    Json(description)
}

async fn register(State(desk): Shared, Json(asked): Json<Value>) -> Response {
    match asked["redirect_uris"][0].as_str() {
        Some(uri) if uri.starts_with("http://127.0.0.1:") => {
            let id = desk.register(uri);
            let answer = json!({"client_id": id, "redirect_uris": [uri]});
            (StatusCode::CREATED, Json(answer)).into_response()
        }
        _ => refuse("invalid_redirect_uri"),
    }
}

/// What a browser opens. The person behind it says yes at once, or no.
async fn authorize(State(desk): Shared, Query(asked): Query<Fields>) -> Response {
    let outcome = match desk.code(&asked) {
        Ok(code) => format!("code={code}"),
        // Where the answer would go to a stranger there is none.
        Err(Refusal::Unsafe) => return refuse("invalid_request"),
        Err(Refusal::Word(word)) => format!("error={word}&error_description=The+person+said+no"),
    };
    let issuer = match lock(&desk.rules).signature {
        Signature::Right => format!("&iss={}", desk.url),
        Signature::Wrong => "&iss=https://evil.example.com".to_owned(),
        Signature::Missing => String::new(),
    };
    let state = asked.get("state").map(String::as_str).unwrap_or_default();
    let back = &asked["redirect_uri"];
    Redirect::to(&format!("{back}?{outcome}&state={state}{issuer}")).into_response()
}

async fn token(State(desk): Shared, headers: HeaderMap, Form(asked): Form<Fields>) -> Response {
    let authorization = headers.get(header::AUTHORIZATION);
    let authorization = authorization.and_then(|value| value.to_str().ok());
    match desk.tokens(&asked, authorization) {
        Ok(tokens) => Json(tokens).into_response(),
        Err(word) => refuse(word),
    }
}

async fn revoke(State(desk): Shared, Form(asked): Form<Fields>) -> StatusCode {
    let token = asked.get("token").map(String::as_str).unwrap_or_default();
    lock(&desk.books).refresh.remove(token);
    StatusCode::OK
}

fn refuse(word: &str) -> Response {
    let answer = json!({"error": word, "error_description": "that will not do"});
    (StatusCode::BAD_REQUEST, Json(answer)).into_response()
}

/// Lets nobody to the MCP server without a token, and to a call only with the right one.
async fn guard(State(desk): Shared, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap_or_default();
    let authorization = parts.headers.get(header::AUTHORIZATION);
    let token = authorization.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let place = format!(
        "resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"",
        desk.url
    );
    let scope = token.and_then(|token| lock(&desk.books).access.get(token).cloned());
    let Some(scope) = scope else {
        let challenge = format!("Bearer scope=\"tools\", {place}");
        return challenge_with(StatusCode::UNAUTHORIZED, challenge);
    };
    let is_call = serde_json::from_slice::<Value>(&body)
        .is_ok_and(|message| message["method"] == "tools/call");
    let needed = lock(&desk.rules).call_scope.filter(|_| is_call);
    if let Some(needed) = needed.filter(|needed| !scope.split(' ').any(|had| had == *needed)) {
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{needed}\", {place}");
        return challenge_with(StatusCode::FORBIDDEN, challenge);
    }
    next.run(Request::from_parts(parts, Body::from(body))).await
}

fn challenge_with(status: StatusCode, challenge: String) -> Response {
    (status, [(header::WWW_AUTHENTICATE, challenge)]).into_response()
}
