//! `log`: lines for the operator's log and for whoever waits for the call.

use std::sync::Arc;

use serde_json::Value;
use toolscript_catalog::Level;
use toolscript_luau::{HostModule, library::Documented};

use super::{Host, Module};

pub(super) const HOST: Host = Host {
    name: "log",
    about: "Lines for the operator's log",
    definitions: include_str!("log.d.luau"),
    functions: &[
        Documented {
            path: "log.debug",
            signature: "log.debug(...: any)",
            summary: "Logs what helps to find a fault",
            description: "Values are shown as JSON, with blanks between them.",
        },
        Documented {
            path: "log.info",
            signature: "log.info(...: any)",
            summary: "Logs what happened",
            description: "Values are shown as JSON, with blanks between them.",
        },
        Documented {
            path: "log.warn",
            signature: "log.warn(...: any)",
            summary: "Logs what should be looked at",
            description: "Values are shown as JSON, with blanks between them.",
        },
        Documented {
            path: "log.error",
            signature: "log.error(...: any)",
            summary: "Logs what went wrong",
            description: "Values are shown as JSON, with blanks between them. It does not end the \
                          script; `error` does.",
        },
    ],
};

pub(super) fn module() -> Arc<dyn HostModule> {
    let levels = [
        ("debug", Level::Debug),
        ("info", Level::Info),
        ("warn", Level::Warn),
        ("error", Level::Error),
    ];
    let mut module = Module::new("log");
    for (name, level) in levels {
        module = module.function(name, move |call| {
            let words: Vec<String> = call.arguments.iter().map(shown).collect();
            call.log(level, words.join(" "))?;
            Ok(Value::Null)
        });
    }
    module.done()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
