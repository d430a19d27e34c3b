//! `GET /api/openapi.json`: the HTTP API described by itself, one operation per tool.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use toolscript_catalog::{Type, schema::write::Writer};
use toolscript_engine::Tool;

use super::tools::description;

/// Where schemas stand in the document.
const SCHEMAS: &str = "#/components/schemas/";

/// The failures a call of a tool may end with.
const FAILURES: &[(&str, &str)] = &[
    ("400", "The parameters do not fit"),
    ("403", "It is not allowed"),
    ("404", "There is no such tool any more"),
    ("408", "It took too long"),
    ("413", "The body is too large"),
    ("415", "The body is not JSON"),
    (
        "429",
        "It is called too often; `Retry-After` says when to come back",
    ),
    ("500", "The tool failed"),
    ("502", "What the tool depends on failed"),
    ("503", "What the tool depends on is not available"),
];

/// The document for these tools.
pub(super) fn document(tools: &[Tool], asks_for_token: bool) -> Value {
    let mut schemas = Map::new();
    schemas.insert("Error".to_owned(), error_schema());
    let mut names = Names::default();
    let mut paths = fixed_paths(&mut names);
    for tool in tools {
        let path = format!("/tools/{}", tool.name);
        paths.insert(path, json!({"post": operation(tool, &mut names)}));
        schemas.extend(definitions(tool));
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "toolscript",
            "description": "Tools an operator made, called one at a time.",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "servers": [{"url": "/"}],
        "tags": [
            {"name": "tools", "description": "The tools"},
            {"name": "server", "description": "The server itself"},
        ],
        "paths": paths,
        "components": {"schemas": schemas},
    });
    if asks_for_token {
        document["components"]["securitySchemes"] =
            json!({"token": {"type": "http", "scheme": "bearer"}});
        document["security"] = json!([{"token": []}]);
        for path in ["/health", "/ready"] {
            document["paths"][path]["get"]["security"] = json!([]);
        }
    }
    document
}

/// The operations that are always there.
fn fixed_paths(names: &mut Names) -> Map<String, Value> {
    let mut get = |id: &str, summary: &str, schema: Value| {
        json!({"get": {
            "operationId": names.take(id),
            "tags": ["server"],
            "summary": summary,
            "responses": {
                "200": {"description": "It", "content": {"application/json": {"schema": schema}}},
                "403": failure("The host or the page may not ask"),
            },
        }})
    };
    let status = json!({
        "type": "object",
        "properties": {"status": {"type": "string"}},
        "required": ["status"],
    });
    let tools = json!({
        "type": "object",
        "properties": {"tools": {"type": "array", "items": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "description": {"type": "string"},
                "builtin": {"type": "boolean"},
                "parameters": {"type": "object", "description": "A JSON Schema"},
            },
            "required": ["name", "description", "builtin", "parameters"],
        }}},
        "required": ["tools"],
    });
    let mut paths = Map::new();
    for (path, id, summary, schema) in [
        (
            "/health",
            "health",
            "Whether the server is alive",
            status.clone(),
        ),
        (
            "/ready",
            "ready",
            "Whether the server can do its work",
            status,
        ),
        (
            "/tools/list",
            "list_tools",
            "Every tool with its parameters",
            tools,
        ),
    ] {
        paths.insert(path.to_owned(), get(id, summary, schema));
    }
    paths
}

fn operation(tool: &Tool, names: &mut Names) -> Value {
    let function = tool.function();
    let writer = writer(tool);
    let is_required =
        !function.params_optional() || function.body.as_ref().is_some_and(|body| body.required);
    let mut responses: Map<String, Value> = FAILURES
        .iter()
        .map(|(status, description)| ((*status).to_owned(), failure(description)))
        .collect();
    responses.insert("200".to_owned(), success(tool, &writer));
    let mut operation = json!({
        "operationId": names.take(&tool.name),
        "tags": ["tools"],
        "summary": function.summary,
        "description": description(tool),
        "requestBody": {
            "required": is_required,
            "content": {"application/json": {"schema": writer.parameters(function)}},
        },
        "responses": responses,
    });
    if function.deprecated {
        operation["deprecated"] = json!(true);
    }
    operation
}

fn success(tool: &Tool, writer: &Writer<'_>) -> Value {
    let returns = &tool.function().returns;
    let result = json!({
        "type": "object",
        "properties": {"result": writer.schema(&returns.ty)},
        "required": ["result"],
    });
    let said = if returns.description.is_empty() {
        "The result"
    } else {
        &returns.description
    };
    json!({
        "description": said,
        "content": {
            "application/json": {"schema": result},
            "text/event-stream": {"schema": {
                "type": "string",
                "description": "Events `log` and `progress` while it lasts, then `result` or `error`",
            }},
        },
    })
}

fn failure(description: &str) -> Value {
    let reference = json!({"$ref": format!("{SCHEMAS}Error")});
    json!({
        "description": description,
        "content": {"application/json": {"schema": reference}},
    })
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"error": {
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "A word that stays the same"},
                "message": {"type": "string", "description": "What happened and what would have worked"},
            },
            "required": ["code", "message"],
        }},
        "required": ["error"],
    })
}

/// What a tool may take, it may take as null too.
fn writer(tool: &Tool) -> Writer<'_> {
    Writer::new(tool.types(), format!("{SCHEMAS}{}", prefix(tool))).saying_nulls()
}

/// Types of two sources may have the same name.
fn prefix(tool: &Tool) -> String {
    format!("{}_", tool.id().source)
}

fn definitions(tool: &Tool) -> BTreeMap<String, Value> {
    let function = tool.function();
    let params = Type::Object(function.params.clone());
    let mut roots = vec![&params, &function.returns.ty];
    roots.extend(function.body.iter().map(|body| &body.ty));
    let writer = writer(tool);
    let written = writer.definitions(&roots).into_iter();
    let prefix = prefix(tool);
    written
        .map(|(name, schema)| (format!("{prefix}{name}"), schema))
        .collect()
}

/// Hands out operation ids, each once.
#[derive(Default)]
struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    fn take(&mut self, wanted: &str) -> String {
        let wanted = wanted.replace('.', "_");
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let mut candidates = std::iter::once(wanted.clone()).chain(numbered);
        let free = candidates.find(|name| !self.taken.contains(name));
        let name = free.unwrap_or(wanted);
        self.taken.insert(name.clone());
        name
    }
}
