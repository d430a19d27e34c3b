//! `parallel`: several functions at once.

use mlua::{Lua, MultiValue, Table, Value as Luau};

use super::{Documented, Library};
use crate::{
    outcome::Failure,
    parallel::Plan,
    prelude::{Prelude, Raised},
};

pub(super) const LIBRARY: Library = Library {
    name: "parallel",
    about: "Several calls at once",
    definitions: include_str!("parallel.d.luau"),
    functions: &[
        Documented {
            path: "parallel",
            signature: "parallel(functions: {() -> any}, options: {limit: number?, errors: (\"raise\" | \"collect\")?}?): {any}",
            summary: "Runs functions at once and gives their results in order",
            description: "While one waits for a call, the others go on. Each gives one value; \
                          `nil` becomes `json.null` so that the list has no gaps. When one \
                          fails, the others are given up and its error is raised; with \
                          `errors = \"collect\"` every slot is `{ ok, value, error }` instead. \
                          `limit` says how many run at once.",
        },
        Documented {
            path: "parallel.map",
            signature: "parallel.map(list: {T}, fn: (item: T, index: number) -> any, options: {limit: number?, errors: (\"raise\" | \"collect\")?}?): {any}",
            summary: "Runs a function for every item of a list at once and gives the results in order",
            description: "Takes the same options as `parallel`.",
        },
    ],
    install,
};

fn install(lua: &Lua, prelude: &Prelude, base: &Table) -> mlua::Result<()> {
    // The first argument is the library itself.
    let call = prelude.waits(lua, |lua, state, (_, list, options): (Luau, Luau, Luau)| {
        let list = table(list, "the first argument")?;
        let options = optional_table(options)?;
        Ok(Plan::of_functions(lua, state, &list, options.as_ref())?.ask(state))
    })?;
    let map = prelude.waits(lua, |lua, state, mut arguments: MultiValue| {
        let mut next = || arguments.pop_front().unwrap_or(Luau::Nil);
        let list = table(next(), "the first argument")?;
        let (body, options) = (next(), optional_table(next())?);
        Ok(Plan::of_map(lua, state, &list, body, options.as_ref())?.ask(state))
    })?;
    let parallel = lua.create_table_from([("map", map)])?;
    let meta = lua.create_table_from([("__call", call)])?;
    meta.raw_set("__metatable", "parallel")?;
    parallel.set_metatable(Some(meta))?;
    base.raw_set("parallel", parallel)
}

fn table(value: Luau, place: &str) -> Result<Table, Raised> {
    match value {
        Luau::Table(table) => Ok(table),
        other => {
            let kind = other.type_name();
            Err(Failure::validation(format!("{place} is a {kind}, not a list")).into())
        }
    }
}

fn optional_table(value: Luau) -> Result<Option<Table>, Raised> {
    match value {
        Luau::Nil => Ok(None),
        Luau::Table(table) => Ok(Some(table)),
        other => {
            let kind = other.type_name();
            Err(Failure::validation(format!("the options are a {kind}, not a table")).into())
        }
    }
}
