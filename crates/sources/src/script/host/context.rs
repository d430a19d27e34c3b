//! `context`: the second argument of `execute`, with the tool's configuration and the way to the
//! knowledge base.
//!
//! No connector can be configured yet, so the knowledge base is empty: questions are checked and
//! answered, and nothing is found.

use std::sync::Arc;

use serde_json::{Value, json};
use toolscript_luau::{HostError, HostModule, library::Documented};

use super::{Host, Module, arguments::Arguments};

/// How the knowledge base can be searched.
const MODES: &[&str] = &["keyword", "semantic", "hybrid"];
/// The most hits one search may ask for.
const MOST_HITS: f64 = 100.0;

pub(super) const HOST: Host = Host {
    name: "context",
    about: "The second argument of `execute`",
    definitions: include_str!("context.d.luau"),
    functions: &[
        Documented {
            path: "context.config",
            signature: "context.config: { [string]: any }",
            summary: "Holds the keys of the tool's section that have no meaning of their own",
            description: "`url = \"…\"` in `[tools.script.<name>]` is `context.config.url`.",
        },
        Documented {
            path: "context.search",
            signature: "context.search(query: string, options: { mode: string?, limit: number?, source: string? }?): {any}",
            summary: "Searches the knowledge base",
            description: "`mode` is `keyword`, `semantic` or `hybrid`, `limit` at most 100. Gives \
                          a list of { id, score, title, source, snippet, … }, which is empty where \
                          no connector is configured.",
        },
        Documented {
            path: "context.get",
            signature: "context.get(id: string): any",
            summary: "Gives a whole document of the knowledge base",
            description: "`nil` where there is none of that id.",
        },
        Documented {
            path: "context.sources",
            signature: "context.sources(): {any}",
            summary: "Lists what the knowledge base is fed from",
            description: "A list of { name, configured, healthy, notes }.",
        },
    ],
};

pub(super) fn module(config: Value) -> Arc<dyn HostModule> {
    Module::new("context")
        .value("config", config)
        .function("search", |call| search(&call.arguments))
        .function("get", |call| {
            let arguments = Arguments {
                usage: "context.get(id)",
                values: &call.arguments,
            };
            arguments.text(0)?;
            Ok(Value::Null)
        })
        .function("sources", |_| Ok(json!([])))
        .done()
}

fn search(values: &[Value]) -> Result<Value, HostError> {
    let arguments = Arguments {
        usage: "context.search(query, { mode, limit, source })",
        values,
    };
    arguments.text(0)?;
    let Some(options) = arguments.options(1, &["mode", "limit", "source"])? else {
        return Ok(json!([]));
    };
    let wrong = |key: &str, wanted: &str| {
        HostError::invalid(format!("`{key}` of `context.search` must be {wanted}"))
    };
    if let Some(mode) = options.get("mode") {
        let known = mode.as_str().is_some_and(|mode| MODES.contains(&mode));
        known
            .then_some(())
            .ok_or_else(|| wrong("mode", "`keyword`, `semantic` or `hybrid`"))?;
    }
    if let Some(limit) = options.get("limit") {
        let fits = limit
            .as_f64()
            .is_some_and(|limit| limit.fract() == 0.0 && (1.0..=MOST_HITS).contains(&limit));
        fits.then_some(())
            .ok_or_else(|| wrong("limit", "a whole number from 1 to 100"))?;
    }
    match options.get("source") {
        None | Some(Value::String(_)) => Ok(json!([])),
        Some(_) => Err(wrong("source", "the name of a source")),
    }
}
