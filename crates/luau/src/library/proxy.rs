//! `proxy`: which servers there are, and what they offer.

use mlua::{Lua, Table, Value as Luau};
use serde_json::Value;

use super::{Documented, Library, guide::guide};
use crate::{
    outcome::Failure,
    prelude::{Prelude, Raised},
    run::State,
    sandbox, value,
    vm::Parts,
};

pub(super) const LIBRARY: Library = Library {
    name: "proxy",
    about: "The servers behind the SDK",
    definitions: include_str!("proxy.d.luau"),
    functions: &[
        Documented {
            path: "proxy.list_servers",
            signature: "proxy.list_servers(): { Server }",
            summary: "Lists the MCP servers and how they are connected",
            description: "Each has `name`, `type` (stdio, http or sse), `enabled`, `connected`, \
                          `tool_count` and, where it failed, `error`.",
        },
        Documented {
            path: "proxy.list_tools",
            signature: "proxy.list_tools(options: { server: string? }?): { Tool }",
            summary: "Lists the tools of one MCP server, or of all",
            description: "Each has `server`, `name`, `function` (call it as `sdk.<function>`), \
                          `signature` and `description`.",
        },
    ],
    install,
};

fn install(lua: &Lua, prelude: &Prelude, base: &Table) -> mlua::Result<()> {
    let proxy = lua.create_table()?;
    let servers = prelude.plain(lua, |lua, state, ()| {
        luau(lua, state, &guide(state)?.servers())
    })?;
    proxy.raw_set("list_servers", servers)?;
    let tools = prelude.plain(lua, |lua, state, options: Luau| {
        let server = server(&options)?;
        let tools = guide(state)?.tools(server.as_deref());
        let tools = tools.map_err(|unknown| Failure::validation(unknown.to_string()))?;
        luau(lua, state, &tools)
    })?;
    proxy.raw_set("list_tools", tools)?;
    sandbox::freeze(&proxy)?;
    base.raw_set("proxy", proxy)
}

/// The server asked for: in a table, or by itself.
fn server(options: &Luau) -> Result<Option<String>, Raised> {
    let wanted = match options {
        Luau::Table(table) => table.raw_get("server")?,
        other => other.clone(),
    };
    match wanted {
        Luau::Nil => Ok(None),
        Luau::String(name) => Ok(Some(name.to_string_lossy())),
        _ => Err(
            Failure::validation("`server` must be a string, the name of a server")
                .with_hint("call it as `proxy.list_tools({ server = \"name\" })`")
                .into(),
        ),
    }
}

fn luau(lua: &Lua, state: &State, value: &Value) -> Result<Luau, Raised> {
    Ok(value::to_luau(lua, &Parts::of(lua)?.kinds, value, state)?)
}
