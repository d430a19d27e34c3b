//! What of Luau a script sees: a list of what is let in, everything frozen.
//!
//! The list says what is allowed, so whatever a later Luau adds stays outside until somebody
//! has looked at it. Outside are, among others, `require` and `loadstring` (files and code),
//! `getfenv` and `setfenv` (the environment), `collectgarbage`, `gcinfo` and `newproxy` (the
//! VM itself), `debug` and `_G`.

use mlua::{Lua, LuaString, Table, Value as Luau};

use crate::{failure, prelude::Prelude, sdk};

/// Functions of Luau that scripts see.
const FUNCTIONS: &[&str] = &[
    "assert",
    "error",
    "getmetatable",
    "ipairs",
    "next",
    "pairs",
    "pcall",
    "rawequal",
    "rawget",
    "rawlen",
    "rawset",
    "select",
    "setmetatable",
    "tonumber",
    "tostring",
    "type",
    "typeof",
    "xpcall",
    "_VERSION",
];

/// Libraries of Luau that scripts see, and what of them.
const LIBRARIES: &[(&str, &[&str])] = &[
    (
        "bit32",
        &[
            "arshift", "band", "bnot", "bor", "btest", "bxor", "byteswap", "countlz", "countrz",
            "extract", "lrotate", "lshift", "replace", "rrotate", "rshift",
        ],
    ),
    (
        "buffer",
        &[
            "copy",
            "create",
            "fill",
            "fromstring",
            "len",
            "readbits",
            "readf32",
            "readf64",
            "readi16",
            "readi32",
            "readi8",
            "readstring",
            "readu16",
            "readu32",
            "readu8",
            "tostring",
            "writebits",
            "writef32",
            "writef64",
            "writei16",
            "writei32",
            "writei8",
            "writestring",
            "writeu16",
            "writeu32",
            "writeu8",
        ],
    ),
    (
        "coroutine",
        &[
            "close",
            "create",
            "isyieldable",
            "resume",
            "running",
            "status",
            "wrap",
            "yield",
        ],
    ),
    (
        "math",
        &[
            "abs",
            "acos",
            "asin",
            "atan",
            "atan2",
            "ceil",
            "clamp",
            "cos",
            "cosh",
            "deg",
            "exp",
            "floor",
            "fmod",
            "frexp",
            "huge",
            "isfinite",
            "isinf",
            "isnan",
            "ldexp",
            "lerp",
            "log",
            "log10",
            "map",
            "max",
            "min",
            "modf",
            "noise",
            "pi",
            "pow",
            "rad",
            "random",
            "randomseed",
            "round",
            "sign",
            "sin",
            "sinh",
            "sqrt",
            "tan",
            "tanh",
        ],
    ),
    ("os", &["clock", "date", "difftime", "time"]),
    (
        "string",
        &[
            "byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "pack",
            "packsize", "rep", "reverse", "split", "sub", "unpack", "upper",
        ],
    ),
    (
        "table",
        &[
            "clear", "clone", "concat", "create", "find", "freeze", "insert", "isfrozen", "maxn",
            "move", "pack", "remove", "sort", "unpack",
        ],
    ),
    (
        "utf8",
        &["char", "charpattern", "codepoint", "codes", "len", "offset"],
    ),
];

/// The globals every run starts from.
pub(crate) fn base(lua: &Lua, prelude: &Prelude) -> mlua::Result<Table> {
    let (all, base) = (lua.globals(), lua.create_table()?);
    for name in FUNCTIONS {
        base.raw_set(*name, all.raw_get::<Luau>(*name)?)?;
    }
    prelude
        .globals
        .for_each(|name: Luau, ours: Luau| base.raw_set(name, ours))?;
    for (library, members) in LIBRARIES {
        let (whole, part) = (all.raw_get::<Table>(*library)?, lua.create_table()?);
        for member in *members {
            part.raw_set(*member, whole.raw_get::<Luau>(*member)?)?;
        }
        base.raw_set(*library, part)?;
    }
    let traceback = lua.create_function(|lua, message: Option<LuaString>| {
        let mut text = message
            .map(|message| message.to_string_lossy())
            .unwrap_or_default();
        for step in failure::trace(lua) {
            let separator = if text.is_empty() { "" } else { "\n" };
            let function = step
                .function
                .map_or_else(String::new, |name| format!(" in {name}"));
            text = format!("{text}{separator}line {}{function}", step.line);
        }
        Ok(text)
    })?;
    base.raw_set("debug", lua.create_table_from([("traceback", traceback)])?)?;
    Ok(base)
}

/// Freezes everything a script can reach and gives the metatable of a run's environment.
pub(crate) fn seal(lua: &Lua, base: &Table, prelude: &Prelude) -> mlua::Result<Table> {
    if let Some(strings) = lua.type_metatable::<LuaString>() {
        strings.raw_set("__index", base.raw_get::<Table>("string")?)?;
        freeze(&strings)?;
    }
    let null = lua.create_table()?;
    null.raw_set("__tostring", lua.create_function(|_, _: Luau| Ok("null"))?)?;
    freeze(&null)?;
    lua.set_type_metatable::<mlua::LightUserData>(Some(null));

    let meta = lua.create_table_from([("__index", sdk::global(lua)?)])?;
    base.set_metatable(Some(meta))?;
    base.set_safeenv(true);
    for table in [
        base,
        &prelude.sdk,
        &prelude.function_meta,
        &prelude.source_meta,
    ] {
        freeze(table)?;
    }
    let environment = lua.create_table_from([("__index", base)])?;
    environment.set_readonly(true);
    Ok(environment)
}

/// Freezes a table, its metatable and every table inside.
pub(crate) fn freeze(table: &Table) -> mlua::Result<()> {
    if table.is_readonly() {
        return Ok(());
    }
    table.set_readonly(true);
    if let Some(meta) = table.metatable() {
        freeze(&meta)?;
    }
    table.for_each(|_: Luau, value: Luau| match value {
        Luau::Table(inner) => freeze(&inner),
        _ => Ok(()),
    })
}
