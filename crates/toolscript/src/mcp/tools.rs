//! The tools an agent sees. Every word here is paid for in each conversation: keep it short.

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use toolscript_engine::config::Surface;

/// The tools of a surface, always in the same order.
pub(super) fn tools(surface: Surface) -> &'static [Tool] {
    static STANDARD: LazyLock<Vec<Tool>> = LazyLock::new(|| {
        vec![
            list_apis(),
            list_functions(),
            search_docs(),
            get_function_docs(),
            execute_script(),
        ]
    });
    static SINGLE: LazyLock<Vec<Tool>> = LazyLock::new(|| vec![run()]);
    match surface {
        Surface::Standard => &STANDARD,
        Surface::Single => &SINGLE,
    }
}

fn list_apis() -> Tool {
    reading(
        "list_apis",
        "List APIs",
        "Sources of the SDK with their tags and number of functions.",
        json!({"properties": {"cursor": {"type": "string"}}}),
        page(),
    )
}

fn list_functions() -> Tool {
    reading(
        "list_functions",
        "List functions",
        "Functions of a source, one line each. Prefer search_docs.",
        json!({"properties": {
            "source": {"type": "string"},
            "tag": {"type": "string"},
            "cursor": {"type": "string"},
            "limit": {"type": "integer"},
        }}),
        page(),
    )
}

fn search_docs() -> Tool {
    reading(
        "search_docs",
        "Search docs",
        "Find functions by what they do, best first: signature and one line each.",
        json!({"properties": {
            "query": {"type": "string"},
            "source": {"type": "string"},
            "cursor": {"type": "string"},
            "limit": {"type": "integer"},
        }, "required": ["query"]}),
        page(),
    )
}

fn get_function_docs() -> Tool {
    reading(
        "get_function_docs",
        "Get function docs",
        "Exact signature, docs, errors, example and all types of functions (or types), as Luau.",
        json!({"properties": {
            "names": {"type": "array", "items": {"type": "string"}, "description": "source.function"},
        }, "required": ["names"]}),
        json!({"properties": {"docs": {"type": "string"}, "omitted": {"type": "array"}}, "required": ["docs"]}),
    )
}

fn execute_script() -> Tool {
    executing(
        "execute_script",
        "Execute script",
        "Run a Luau script: sdk.source.function(params, body?), parallel({f, g}), json; return the result. \
         pcall catches failed calls.",
    )
}

fn run() -> Tool {
    executing(
        "run",
        "Run script",
        "Run a Luau script. help() names the sources, search(\"words\") finds functions, \
         docs(\"source.function\") shows types; call sdk.source.function(params, body?) and return the result.",
    )
}

fn executing(name: &'static str, title: &str, description: &'static str) -> Tool {
    let input = json!({"properties": {
        "script": {"type": "string"},
        "timeout_ms": {"type": "integer"},
    }, "required": ["script"]});
    let output = json!({"properties": {
    "result": anything(),
        "kept": {"type": "object"},
        "error": {"type": "object"},
        "logs": {"type": "array"},
        "stats": {"type": "object"},
    }});
    let hints = ToolAnnotations::new()
        .read_only(false)
        .destructive(true)
        .idempotent(false)
        .open_world(true);
    tool(name, title, description, input, output, hints)
}

fn reading(
    name: &'static str,
    title: &str,
    description: &'static str,
    input: Value,
    output: Value,
) -> Tool {
    let hints = ToolAnnotations::new()
        .read_only(true)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    tool(name, title, description, input, output, hints)
}

fn tool(
    name: &'static str,
    title: &str,
    description: &'static str,
    input: Value,
    output: Value,
    hints: ToolAnnotations,
) -> Tool {
    Tool::new(name, description, object(input))
        .with_title(title)
        .with_raw_output_schema(object(output))
        .with_annotations(hints)
}

/// A page of rows.
fn page() -> Value {
    json!({"properties": {
        "items": {"type": "array"},
        "total": {"type": "integer"},
        "next_cursor": {"type": "string"},
    }, "required": ["items", "total"]})
}

/// Any value. Some clients take neither an empty schema nor a list of types.
fn anything() -> Value {
    let kinds = ["object", "array", "string", "number", "boolean", "null"];
    json!({"anyOf": kinds.map(|kind| json!({"type": kind}))})
}

/// An object schema out of its properties.
fn object(schema: Value) -> Arc<JsonObject> {
    let mut object = JsonObject::new();
    object.insert("type".to_owned(), Value::from("object"));
    if let Value::Object(rest) = schema {
        object.extend(rest);
    }
    Arc::new(object)
}
