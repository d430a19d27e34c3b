//! Errors on both sides of the VM: our failures as values a script can look into, and whatever a
//! script raised as the error its caller sees.

use mlua::{Lua, Table, Value as Luau};
use serde_json::Value;
use toolscript_catalog::{Unknown, suggest};

use crate::{
    limits::Exceeded,
    outcome::{Failure, Phase, ScriptError, TraceLine},
    run::State,
    value::{self, Budget},
    vm::{Parts, SCRIPT},
};

/// How many lines a traceback shows.
const LONGEST_TRACE: usize = 20;

/// How far down the stack we look for a line of the script.
const DEEPEST_LOOK: usize = 200;

/// What Luau itself says when memory is gone; it has no other sign for an error handler.
const OUT_OF_MEMORY: &[u8] = b"not enough memory";

/// What Luau says when the stack has no room even for our error handler.
const OUT_OF_STACK: &[u8] = b"error in error handling";

/// The error value a script gets: `err.message`, `err.phase`, `err.status`, `err.body`, …
pub(crate) fn to_luau(lua: &Lua, failure: &Failure) -> mlua::Result<Table> {
    let parts = Parts::of(lua)?;
    let table = lua.create_table()?;
    table.raw_set("message", failure.message.as_str())?;
    table.raw_set("phase", failure.phase.word())?;
    if let Some(function) = &failure.function {
        table.raw_set("func", function.as_str())?;
    }
    if let Some(status) = failure.status {
        table.raw_set("status", status)?;
        table.raw_set("api_status", status)?;
    }
    if let Some(limit) = failure.limit {
        table.raw_set("limit", limit)?;
    }
    if let Some(hint) = &failure.hint {
        table.raw_set("hint", hint.as_str())?;
    }
    if !failure.headers.is_empty() {
        let headers = failure
            .headers
            .iter()
            .map(|(key, text)| (key.as_str(), text.as_str()));
        table.raw_set("headers", lua.create_table_from(headers)?)?;
    }
    if let Some(body) = &failure.body {
        // A body that does not fit is still told of in the message.
        if let Ok(body) = value::to_luau(lua, &parts.kinds, body, &*State::of(lua)?) {
            table.raw_set("body", body)?;
        }
    }
    table.set_metatable(Some(parts.error_meta.clone()))?;
    Ok(table)
}

/// What makes a table an error value of ours. It shows its message.
pub(crate) fn metatable(lua: &Lua) -> mlua::Result<Table> {
    let show = lua.create_function(|_, error: Table| error.raw_get::<Luau>("message"))?;
    let meta = lua.create_table_from([("__tostring", show)])?;
    meta.set_readonly(true);
    Ok(meta)
}

/// Adds the line of the script to an error value of ours that has none yet.
pub(crate) fn locate(lua: &Lua, error: &Luau) -> mlua::Result<()> {
    if let Luau::Table(table) = error
        && Parts::of(lua)?.is_error(table)
        && table.raw_get::<Luau>("line")?.is_nil()
        && let Some(line) = script_line(lua)
    {
        table.raw_set("line", line)?;
    }
    Ok(())
}

/// The line of the script that is running.
pub(crate) fn script_line(lua: &Lua) -> Option<u32> {
    frames(lua).next().map(|frame| frame.line)
}

/// The lines of the script that led here, innermost first.
pub(crate) fn trace(lua: &Lua) -> Vec<TraceLine> {
    frames(lua).take(LONGEST_TRACE).collect()
}

/// The frames that belong to the script; ours are nobody's business.
fn frames(lua: &Lua) -> impl Iterator<Item = TraceLine> {
    let frame = |level| {
        lua.inspect_stack(level, |debug| {
            let source = debug.source();
            if source.source.as_deref() != Some(SCRIPT) {
                return None;
            }
            let line = debug
                .current_line()
                .and_then(|line| u32::try_from(line).ok())?;
            let name = debug.names().name.map(std::borrow::Cow::into_owned);
            Some(TraceLine {
                line,
                function: name.filter(|name| !name.is_empty()),
            })
        })
    };
    (0..DEEPEST_LOOK).map_while(frame).flatten()
}

/// What the caller sees of an error nobody caught.
pub(crate) fn from_luau(lua: &Lua, state: &State, error: &Luau) -> ScriptError {
    let traceback = state.take_trace();
    let line = traceback.first().map(|step| step.line);
    let mut seen = match error {
        Luau::String(text) if *text.as_bytes() == *OUT_OF_MEMORY => out_of_memory(state),
        Luau::String(text) if *text.as_bytes() == *OUT_OF_STACK => ScriptError::new(
            Phase::Execution,
            "stack overflow: calls are nested too deep",
        ),
        Luau::String(text) => from_text(&text.to_string_lossy()),
        Luau::Table(table) => from_table(lua, state, table),
        Luau::Error(error) => from_rust(state, error),
        // With no memory left at all, not even the words for it reach us.
        Luau::Nil if is_full(lua, state) => out_of_memory(state),
        other => ScriptError::new(
            Phase::Execution,
            format!("the script raised a {}", other.type_name()),
        ),
    };
    seen.line = seen.line.or(line);
    seen.traceback = traceback;
    if seen.hint.is_none() && seen.phase == Phase::Execution {
        seen.hint = missing_globals(state);
    }
    seen
}

fn is_full(lua: &Lua, state: &State) -> bool {
    state.limits.memory_bytes() / 10 * 9 < lua.used_memory()
}

fn out_of_memory(state: &State) -> ScriptError {
    Failure::from(Exceeded::Memory(state.limits.memory_mb)).into()
}

/// Luau puts the place in front of the text: `script:3: what happened`.
fn from_text(text: &str) -> ScriptError {
    let placed = text
        .strip_prefix(&SCRIPT[1..])
        .and_then(|rest| rest.strip_prefix(':'))
        .and_then(|rest| rest.split_once(": "))
        .and_then(|(line, message)| Some((line.parse::<u32>().ok()?, message)));
    match placed {
        Some((line, message)) => ScriptError {
            line: Some(line),
            ..ScriptError::new(Phase::Execution, message)
        },
        None => ScriptError::new(Phase::Execution, text),
    }
}

fn from_table(lua: &Lua, state: &State, table: &Table) -> ScriptError {
    let text = |key: &str| table.raw_get::<Option<String>>(key).ok().flatten();
    let number = |key: &str| table.raw_get::<Option<u32>>(key).ok().flatten();
    let ours = Parts::of(lua).is_ok_and(|parts| parts.is_error(table));
    if !ours {
        let message = text("message").unwrap_or_else(|| "the script raised a table".to_owned());
        let details = fields(lua, state, table).filter(|fields| *fields != Value::Null);
        return ScriptError {
            details,
            ..ScriptError::new(Phase::Execution, message)
        };
    }
    let phase = text("phase").and_then(|word| Phase::from_word(&word));
    let message = text("message").unwrap_or_default();
    ScriptError {
        line: number("line"),
        function: text("func"),
        api_status: number("status").and_then(|status| u16::try_from(status).ok()),
        limit: text("limit"),
        hint: text("hint"),
        details: fields(lua, state, table).and_then(only_what_was_said),
        ..ScriptError::new(phase.unwrap_or(Phase::Execution), message)
    }
}

/// The fields of a thrown table, as far as they have a form in JSON and are not too many.
fn fields(lua: &Lua, state: &State, table: &Table) -> Option<Value> {
    let parts = Parts::of(lua).ok()?;
    let budget = Budget::new(state, 1_000, state.limits.max_inline_bytes);
    value::to_json(&parts.kinds, &Luau::Table(table.clone()), budget, "error").ok()
}

/// Of an error of ours, what is not already a field of the answer.
fn only_what_was_said(fields: Value) -> Option<Value> {
    const TOLD: [&str; 8] = [
        "message",
        "phase",
        "func",
        "status",
        "api_status",
        "limit",
        "hint",
        "line",
    ];
    let Value::Object(mut fields) = fields else {
        return None;
    };
    fields.retain(|key, _| !TOLD.contains(&key.as_str()));
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// An error from below, for the caller of a run.
pub(crate) fn from_rust(state: &State, error: &mlua::Error) -> ScriptError {
    match root(error) {
        mlua::Error::RuntimeError(text) => from_text(first_line(text)),
        _ => of_rust(state, error).into(),
    }
}

/// An error from below, for the script: a wrong argument to a function of ours, or memory that
/// ran out in it.
pub(crate) fn of_rust(state: &State, error: &mlua::Error) -> Failure {
    match root(error) {
        mlua::Error::MemoryError(_) => Exceeded::Memory(state.limits.memory_mb).into(),
        mlua::Error::BadArgument { cause, to, pos, .. } => {
            let function = to
                .as_deref()
                .map_or_else(String::new, |name| format!(" of `{name}`"));
            let cause = of_rust(state, cause).message;
            Failure::execution(format!("argument {pos}{function}: {cause}"))
        }
        mlua::Error::RuntimeError(text) => Failure::execution(first_line(text)),
        other => Failure::execution(first_line(&other.to_string())),
    }
}

/// The error inside the wrappings.
fn root(error: &mlua::Error) -> &mlua::Error {
    match error {
        mlua::Error::CallbackError { cause, .. } | mlua::Error::WithContext { cause, .. } => {
            root(cause)
        }
        error => error,
    }
}

/// Without the stack that Luau appends to some messages: it shows frames of ours.
fn first_line(text: &str) -> &str {
    text.split_once("\nstack traceback:")
        .map_or(text, |(message, _)| message)
        .trim_end()
}

/// A script that names a global that is not there most often meant a source.
fn missing_globals(state: &State) -> Option<String> {
    let missing = state.missing();
    let name = missing.first()?;
    if let Err(absent @ Unknown::Absent { .. }) = state.catalog.entry(name) {
        return Some(absent.to_string());
    }
    let sources: Vec<&str> = state
        .catalog
        .entries()
        .map(|entry| entry.name.as_str())
        .collect();
    let near = suggest::nearest(name, sources.iter().copied(), 1);
    Some(match near.first() {
        Some(near) => format!("there is no global `{name}`; did you mean `sdk.{near}`?"),
        None => format!("there is no global `{name}`; sources are reached as `sdk.<source>`"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, line: Option<u32>, message: &str) {
        let error = from_text(text);
        assert_eq!((error.line, error.message.as_str()), (line, message));
    }

    #[test]
    fn the_place_is_taken_out_of_the_text() {
        check("script:12: boom", Some(12), "boom");
        check("script:12: a: b", Some(12), "a: b");
        check("boom", None, "boom");
        check("script: boom", None, "script: boom");
    }
}
