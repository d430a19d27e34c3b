//! `print` and `warn`: kept with level and line, and given back with the result.

use mlua::{Lua, LuaString, Table, Value as Luau};
use toolscript_catalog::Level;

use super::{Documented, Library};
use crate::{
    failure,
    prelude::{Prelude, answering},
    run::State,
    value::{self, Budget},
    vm::Parts,
};

/// How much of a table is shown when it is printed.
const LONGEST_TABLE: usize = 4 << 10;

pub(super) const LIBRARY: Library = Library {
    name: "print",
    about: "What a script has to say besides its result",
    definitions: include_str!("print.d.luau"),
    functions: &[
        Documented {
            path: "print",
            signature: "print(...: any)",
            summary: "Adds a line to the logs of the run",
            description: "Tables are shown as JSON, long ones by their start.",
        },
        Documented {
            path: "warn",
            signature: "warn(...: any)",
            summary: "Adds a warning to the logs of the run",
            description: "Like `print`, with the level `warn`.",
        },
    ],
    install,
};

fn install(_: &Lua, prelude: &Prelude, base: &Table) -> mlua::Result<()> {
    base.raw_set("print", prelude.printer.call::<Luau>("info")?)?;
    base.raw_set("warn", prelude.printer.call::<Luau>("warn")?)
}

/// What `prelude.luau` prints with.
pub(crate) fn install_host(lua: &Lua, host: &Table) -> mlua::Result<()> {
    let print = answering(lua, |lua, state, (level, text): (LuaString, LuaString)| {
        let level = if level == "warn" {
            Level::Warn
        } else {
            Level::Info
        };
        state.log(level, failure::script_line(lua), text.to_string_lossy())?;
        Ok(())
    })?;
    host.raw_set("print", print)?;

    let show = lua.create_function(|lua, table: Table| {
        let (state, parts) = (State::of(lua)?, Parts::of(lua)?);
        let speaks = table
            .metatable()
            .is_some_and(|meta| meta.contains_key("__tostring").unwrap_or(false));
        if speaks {
            return Ok(None);
        }
        let budget = Budget::new(&state, 10_000, state.limits.max_log_bytes);
        let Ok(value) = value::to_json(&parts.kinds, &Luau::Table(table), budget, "value") else {
            return Ok(None);
        };
        let mut text = value.to_string();
        if LONGEST_TABLE < text.len() {
            text.truncate(text.floor_char_boundary(LONGEST_TABLE));
            text.push('…');
        }
        Ok(Some(text))
    })?;
    host.raw_set("show", show)
}
