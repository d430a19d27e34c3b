//! `env`: the environment variables the configuration lists in `allow_env`, and no others.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;
use toolscript_luau::{HostError, HostModule, library::Documented};

use super::{Host, Module, arguments::Arguments};

pub(super) const HOST: Host = Host {
    name: "env",
    about: "Environment variables",
    definitions: include_str!("env.d.luau"),
    functions: &[Documented {
        path: "env.get",
        signature: "env.get(name: string): string?",
        summary: "Gives an environment variable",
        description: "Only those the tool's `allow_env` lists; `nil` where it is not set.",
    }],
};

pub(super) fn module(allowed: BTreeSet<String>) -> Arc<dyn HostModule> {
    Module::new("env")
        .function("get", move |call| {
            let arguments = Arguments {
                usage: "env.get(name)",
                values: &call.arguments,
            };
            let name = arguments.text(0)?;
            if !allowed.contains(name) {
                let message = format!("the environment variable `{name}` is not for this tool");
                let hint = "the operator allows it by adding its name to the tool's `allow_env`";
                return Err(HostError::failed(message).with_hint(hint));
            }
            match std::env::var(name) {
                Ok(value) => Ok(Value::String(value)),
                Err(std::env::VarError::NotPresent) => Ok(Value::Null),
                Err(std::env::VarError::NotUnicode(_)) => Err(HostError::failed(format!(
                    "the environment variable `{name}` is not text"
                ))),
            }
        })
        .done()
}
