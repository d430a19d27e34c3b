//! From the text of a script to a function in a VM.

use mlua::{Function, Lua, chunk::ChunkMode};

use crate::{
    limits::{Exceeded, Limits},
    outcome::{Failure, Phase, ScriptError},
    pace,
    vm::SCRIPT,
};

/// Longer scripts are compiled where nobody waits behind them.
const LONG: usize = 16 << 10;

/// Compiles a script. Text only: what looks like bytecode is compiled, and fails, as text.
pub(crate) async fn compile(script: &str, limits: &Limits) -> Result<Vec<u8>, ScriptError> {
    if limits.max_script_bytes < script.len() {
        let exceeded = Exceeded::Script {
            found: script.len(),
            allowed: limits.max_script_bytes,
        };
        return Err(Failure::from(exceeded).into());
    }
    // The compiler takes a zero byte for the end of the text.
    if let Some((before, _)) = script.split_once('\0') {
        let line = before.lines().count().max(1);
        return Err(syntax_error(&format!(
            "{line}: a zero byte is not allowed in a script"
        )));
    }
    if script.len() < LONG {
        return compile_now(script);
    }
    let script = script.to_owned();
    let compiled = tokio::task::spawn_blocking(move || compile_now(&script)).await;
    compiled.unwrap_or_else(|_| {
        Err(ScriptError::new(
            Phase::Execution,
            "the runtime is shutting down",
        ))
    })
}

fn compile_now(script: &str) -> Result<Vec<u8>, ScriptError> {
    pace::compile(script).map_err(|error| match error {
        mlua::Error::SyntaxError { message, .. } => syntax_error(&message),
        other => ScriptError::new(Phase::Parse, other.to_string()),
    })
}

/// The compiler says `3: what is wrong`.
fn syntax_error(message: &str) -> ScriptError {
    let placed = message.trim_start_matches(':').split_once(": ");
    let placed = placed.and_then(|(line, text)| Some((line.trim().parse().ok()?, text)));
    let (line, text) = placed.map_or((None, message), |(line, text)| (Some(line), text));
    ScriptError {
        line,
        ..ScriptError::new(Phase::Parse, text.trim())
    }
}

/// Makes a function of what `compile` gave, in the environment the VM has at this moment.
pub(crate) fn load(lua: &Lua, code: &[u8]) -> mlua::Result<Function> {
    lua.load(code)
        .set_name(SCRIPT)
        .set_mode(ChunkMode::Binary)
        .into_function()
}
