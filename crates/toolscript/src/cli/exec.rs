//! `toolscript exec`: one script, run here with the engine, limits and errors an agent gets.

use std::{
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolscript_engine::{Engine, Outcome, Script, ScriptResult};

use super::{
    Exit, Printer, load,
    options::{LimitOptions, SourceOptions},
    script_error, serving,
};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("script").required(true))]
pub(crate) struct Args {
    /// The script; `-` reads it from standard input
    #[arg(value_name = "FILE", group = "script")]
    file: Option<PathBuf>,
    /// The script itself
    #[arg(
        short = 'e',
        long = "eval",
        value_name = "CODE",
        group = "script",
        allow_hyphen_values = true
    )]
    code: Option<String>,
    #[command(flatten)]
    sources: SourceOptions,
    #[command(flatten)]
    limits: LimitOptions,
}

/// Prints the result on standard output and the rest on standard error; with `--json`, all of it
/// on standard output.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let mut config = args.sources.read()?;
    args.limits.apply(&mut config);
    // A handle to a kept result is worth nothing once the program has ended.
    config.settings.limits.max_inline_bytes = config.settings.limits.max_result_bytes;
    let longest = config.settings.limits.max_script_bytes;
    let text = read(args, longest)?;
    let engine = load::open(config, printer).await?;
    let outcome = execute(&engine, &text).await;
    engine.close().await;
    let name = args
        .file
        .as_deref()
        .map_or_else(|| "script".into(), Path::to_string_lossy);
    show(&name, &text, &outcome, printer)
}

/// Runs a script until it ends or somebody says stop.
pub(crate) async fn execute(engine: &Engine, text: &str) -> Outcome {
    let cancel = CancellationToken::new();
    let script = Script {
        text: text.to_owned(),
        cancel: cancel.clone(),
        ..Script::default()
    };
    let mut running = std::pin::pin!(engine.execute(script));
    tokio::select! {
        outcome = &mut running => return outcome,
        () = serving::stopped() => cancel.cancel(),
    }
    running.await
}

/// Prints what a run gave back.
pub(crate) fn show(
    name: &str,
    text: &str,
    outcome: &Outcome,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let exit = outcome
        .result
        .as_ref()
        .err()
        .map_or(Exit::OK, Exit::of_script);
    if printer.is_json() {
        printer.value(outcome)?;
        return Ok(exit);
    }
    for line in &outcome.logs {
        printer.note(&line.text);
    }
    match &outcome.result {
        Ok(result) => show_result(result, printer)?,
        Err(error) => printer.failure(&script_error::explain(name, text, error)),
    }
    Ok(exit)
}

/// Text as it is, since that is what a script returns to be read; everything else as JSON.
fn show_result(result: &ScriptResult, printer: &Printer) -> anyhow::Result<()> {
    match result {
        ScriptResult::Value(Value::String(text)) => printer.text(text),
        ScriptResult::Value(value) => printer.value(value),
        ScriptResult::Kept(kept) => printer.value(kept),
    }
}

/// Reads one byte more than a script may have: the engine has the words for one that is too long.
fn read(args: &Args, longest: usize) -> anyhow::Result<String> {
    let most = u64::try_from(longest).unwrap_or(u64::MAX).saturating_add(1);
    let mut text = Vec::new();
    match (&args.code, &args.file) {
        (Some(code), _) => return Ok(code.clone()),
        (None, Some(path)) if path.as_os_str() != "-" => {
            let cannot = || format!("cannot read the script `{}`", path.display());
            let file = std::fs::File::open(path).with_context(cannot)?;
            file.take(most)
                .read_to_end(&mut text)
                .with_context(cannot)?;
        }
        _ => {
            let input = io::stdin().lock().take(most).read_to_end(&mut text);
            input.context("cannot read the script from standard input")?;
        }
    }
    String::from_utf8(text).context("the script is not text in UTF-8")
}
