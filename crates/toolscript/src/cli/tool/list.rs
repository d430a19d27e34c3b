//! `toolscript tool list`: the tools of scripts and toolkits.

use toolscript_engine::{Engine, Patience};

use super::{Exit, Printer};
use crate::cli::{options::SourceOptions, progress::LoadProgress};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    sources: SourceOptions,
}

/// Lists the tools with their parameters, files and states.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let progress = LoadProgress::new(printer);
    let engine = Engine::open(args.sources.read()?, Patience::Unlimited, Some(&progress)).await;
    drop(progress);
    let engine = engine?;
    let rows = engine.tool_states();
    engine.close().await;
    if printer.is_json() {
        printer.value(&rows)?;
        return Ok(Exit::OK);
    }
    let cells = rows.into_iter().map(|row| {
        let state = match row.problem {
            Some(problem) => format!("{}: {problem}", row.state.word()),
            None => row.state.word().to_owned(),
        };
        [row.name, row.parameters.join(", "), row.path, state]
    });
    printer.table(["TOOL", "PARAMETERS", "PATH", "STATE"], cells)?;
    Ok(Exit::OK)
}
