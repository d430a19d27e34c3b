//! `toolscript tool test`: one script, step by step.

use std::path::PathBuf;

use serde_json::{Value, json};
use toolscript_engine::toolbox::{self, Failed, Trial, TrialReport};

use super::{Exit, Printer};
use crate::cli::options::ConfigOptions;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The script
    path: PathBuf,
    /// A parameter of the call; lists and tables as JSON (repeatable)
    #[arg(long = "param", value_name = "KEY=VALUE", value_parser = pair)]
    params: Vec<(String, String)>,
    /// A configured source the script may call; without it there is none (repeatable)
    #[arg(long = "source", value_name = "NAME")]
    sources: Vec<String>,
    #[command(flatten)]
    config: ConfigOptions,
}

/// Shows each step, then what the tool gave back.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let mut config = args.config.load()?;
    args.config.add_credentials(&mut config)?;
    let trial = Trial {
        path: args.path.clone(),
        params: args.params.clone(),
        sources: args.sources.clone(),
    };
    let report = toolbox::test(config, &trial).await?;
    show(&report, printer)?;
    Ok(match report.failed {
        None => Exit::OK,
        Some(Failed::Script) => Exit::SCRIPT,
        Some(Failed::Call(code)) => code.into(),
    })
}

fn show(report: &TrialReport, printer: &Printer) -> anyhow::Result<()> {
    if printer.is_json() {
        let step = |step: &toolbox::TrialStep| json!({"step": step.what, "problem": step.problem});
        let steps: Vec<Value> = report.steps.iter().map(step).collect();
        return printer.value(&json!({
            "ok": report.failed.is_none(), "steps": steps, "result": report.result,
            "logs": report.logs,
        }));
    }
    for step in &report.steps {
        let line = match &step.problem {
            None => format!("✓ {}", step.what),
            Some(problem) => format!("✗ {}: {problem}", step.what),
        };
        printer.text(&line)?;
    }
    for line in &report.logs {
        printer.note(&format!("  {}", line.text));
    }
    match &report.result {
        None => Ok(()),
        Some(Value::String(text)) => printer.text(text),
        Some(value) => printer.value(value),
    }
}

fn pair(text: &str) -> anyhow::Result<(String, String)> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => anyhow::bail!("write it as `key=value`"),
    }
}
