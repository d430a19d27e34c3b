//! `GET /tools/list` and `POST /tools/{name}`: tools for programs that call functions one by one.

use std::sync::Arc;

use axum::{
    Json,
    body::{Body, to_bytes},
    extract::{Path, Request, State, rejection::PathRejection},
    http::{HeaderMap, header},
    response::{IntoResponse as _, Response},
};
use serde_json::{Map, Value, json};
use toolscript_catalog::{CallError, schema::write};
use toolscript_engine::{Engine, Tool, ToolCall};

use super::{failure::Failure, stream};
use crate::mcp::OWNER;

/// Every tool in the form function calling takes.
pub(super) async fn list(State(engine): State<Arc<Engine>>) -> Json<Value> {
    let tools: Vec<Value> = engine.tools().iter().map(row).collect();
    Json(json!({"tools": tools}))
}

fn row(tool: &Tool) -> Value {
    let function = tool.function();
    json!({
        "name": tool.name,
        "description": description(tool),
        "builtin": tool.builtin,
        "parameters": write::parameters(function, tool.types()),
    })
}

/// What a tool says of itself, whole.
pub(super) fn description(tool: &Tool) -> String {
    let function = tool.function();
    let parts = [&*function.summary, &*function.description];
    let said: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    said.join("\n\n")
}

/// Calls a tool, and streams what happens meanwhile where the client would rather have that.
pub(super) async fn call(
    State(engine): State<Arc<Engine>>,
    name: Result<Path<String>, PathRejection>,
    request: Request,
) -> Result<Response, Failure> {
    let Path(name) = name.map_err(|_| Failure::NoPath)?;
    let most = engine.settings().server.max_body_bytes;
    let (parts, body) = request.into_parts();
    let call = ToolCall {
        name,
        params: params(&parts.headers, body, most).await?,
        owner: OWNER.to_owned(),
        ..ToolCall::default()
    };
    if stream::is_wanted(&parts.headers) {
        return stream::answer(engine, call).await;
    }
    let result = engine.call_tool(call).await?;
    Ok(answer(&result).into_response())
}

/// The body of a good answer.
pub(super) fn answer(result: &Value) -> Json<Value> {
    Json(json!({"result": result}))
}

/// The parameters in the body of a request.
async fn params(
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<Map<String, Value>, Failure> {
    let too_large = || Failure::TooLarge { most };
    let announced = headers.get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| most < length) {
        return Err(too_large());
    }
    // The connection breaking is the only other way to fail, and then nobody reads the answer.
    let bytes = to_bytes(body, most).await.map_err(|_| too_large())?;
    if bytes.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    if !is_json(headers) {
        return Err(Failure::MediaType);
    }
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(params)) => Ok(params),
        Ok(other) => Err(Failure::BadRequest(format!(
            "the body has to be a JSON object with the parameters by name, not {}",
            kind(&other)
        ))),
        Err(error) => Err(Failure::BadRequest(format!(
            "the body is not JSON: {error}"
        ))),
    }
}

/// Whether the body says it is JSON. A body that does not say what it is may be.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(content_type) = headers.get(header::CONTENT_TYPE) else {
        return true;
    };
    let content_type = content_type.to_str().unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// What a call came to, as the stream tells it.
pub(super) fn told(outcome: Result<Value, CallError>) -> (&'static str, Value) {
    match outcome {
        Ok(result) => ("result", json!({"result": result})),
        Err(error) => ("error", Failure::from(error).body()),
    }
}
