//! `help`, `search` and `docs`: finding functions from inside a script.

use mlua::{Lua, LuaString, Table};

use super::{Documented, Library};
use crate::{
    outcome::Failure,
    prelude::{Prelude, Raised},
    run::{Guide, State},
};

pub(super) const LIBRARY: Library = Library {
    name: "guide",
    about: "Finding functions from inside a script",
    definitions: include_str!("guide.d.luau"),
    functions: &[
        Documented {
            path: "help",
            signature: "help(): string",
            summary: "Says what sources there are and how to go on",
            description: "",
        },
        Documented {
            path: "search",
            signature: "search(text: string): string",
            summary: "Finds functions by what they do",
            description: "Gives the best matches with their signatures.",
        },
        Documented {
            path: "docs",
            signature: "docs(name: string): string",
            summary: "Gives the documentation of a function with every type it uses",
            description: "The name is `source.function`.",
        },
    ],
    install,
};

fn install(lua: &Lua, prelude: &Prelude, base: &Table) -> mlua::Result<()> {
    let help = prelude.plain(lua, |_, state, ()| Ok(guide(state)?.help()))?;
    base.raw_set("help", help)?;
    let search = prelude.plain(lua, |_, state, text: LuaString| {
        Ok(guide(state)?.search(&text.to_string_lossy()))
    })?;
    base.raw_set("search", search)?;
    let docs = prelude.plain(lua, |_, state, name: LuaString| {
        Ok(guide(state)?.docs(&name.to_string_lossy()))
    })?;
    base.raw_set("docs", docs)
}

pub(super) fn guide(state: &State) -> Result<&dyn Guide, Raised> {
    state
        .guide
        .as_deref()
        .ok_or_else(|| Failure::execution("there is no documentation to search in this run").into())
}
