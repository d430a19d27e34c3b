//! `json`: text to values and back, and the marks that keep lists lists.

use mlua::{Lua, LuaString, Table, Value as Luau};
use serde_json::Value;

use super::{Documented, Library};
use crate::{
    outcome::Failure,
    prelude::Prelude,
    value::{self, Budget, NULL},
    vm::Parts,
};

pub(super) const LIBRARY: Library = Library {
    name: "json",
    about: "JSON text, and how tables become JSON",
    definitions: include_str!("json.d.luau"),
    functions: &[
        Documented {
            path: "json.encode",
            signature: "json.encode(value: any): string",
            summary: "Turns a value into JSON text",
            description: "Tables with the keys 1, 2, 3, … are lists, tables with string keys \
                          objects, and an empty table is an object unless `json.array` marked \
                          it. Keys are sorted. Functions, cycles, gaps and NaN are errors that \
                          name their place.",
        },
        Documented {
            path: "json.decode",
            signature: "json.decode(text: string): any",
            summary: "Reads JSON text",
            description: "null is `nil` in objects and `json.null` in lists. Whole numbers \
                          beyond 2^53 become values of type `integer` that keep every digit. \
                          `json.parse` is the same function.",
        },
        Documented {
            path: "json.array",
            signature: "json.array(list: {any}?): {any}",
            summary: "Marks a table as a list, so that it stays one when it is empty",
            description: "Gives the table back; without one it makes an empty list.",
        },
        Documented {
            path: "json.object",
            signature: "json.object(object: {[any]: any}?): {[any]: any}",
            summary: "Marks a table as an object; whole numbers as keys become text",
            description: "Gives the table back; without one it makes an empty object.",
        },
        Documented {
            path: "json.null",
            signature: "json.null: any",
            summary: "Stands for null in lists, where `nil` would leave a gap",
            description: "It is not `nil` and counts as true: compare with `value == json.null`.",
        },
    ],
    install,
};

fn install(lua: &Lua, prelude: &Prelude, base: &Table) -> mlua::Result<()> {
    let json = lua.create_table()?;
    let encode = prelude.plain(lua, |lua, state, value: Luau| {
        let kinds = &Parts::of(lua)?.kinds;
        let value = value::to_json(kinds, &value, Budget::of(state), "value")?;
        Ok(lua.create_string(value.to_string())?)
    })?;
    json.raw_set("encode", encode)?;

    let decode = prelude.plain(lua, |lua, state, text: LuaString| {
        let value: Value = serde_json::from_slice(&text.as_bytes())
            .map_err(|error| Failure::validation(format!("this is not JSON: {error}")))?;
        Ok(value::to_luau(lua, &Parts::of(lua)?.kinds, &value, state)?)
    })?;
    json.raw_set("parse", &decode)?;
    json.raw_set("decode", decode)?;

    let array = prelude.plain(lua, |lua, _, table: Option<Table>| {
        let table = unfrozen(lua, table)?;
        Parts::of(lua)?.kinds.mark_array(&table)?;
        Ok(table)
    })?;
    json.raw_set("array", array)?;

    let object = prelude.plain(lua, |lua, _, table: Option<Table>| {
        let table = unfrozen(lua, table)?;
        Parts::of(lua)?.kinds.mark_object(&table)?;
        Ok(table)
    })?;
    json.raw_set("object", object)?;

    json.raw_set("null", NULL)?;
    base.raw_set("json", json)
}

/// The table, or a new one; one that has a metatable of the script's own is not ours to mark.
fn unfrozen(lua: &Lua, table: Option<Table>) -> Result<Table, crate::prelude::Raised> {
    let Some(table) = table else {
        return Ok(lua.create_table()?);
    };
    if table.is_readonly() {
        return Err(Failure::validation("a frozen table cannot be marked: clone it first").into());
    }
    if Parts::of(lua)?.kinds.is_foreign(&table) {
        let message = "the table has a metatable of its own and cannot be marked";
        return Err(Failure::validation(message).into());
    }
    Ok(table)
}
