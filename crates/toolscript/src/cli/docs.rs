//! `toolscript docs`: functions and types with everything they reach.

use super::{Exit, Printer, load, options::SourceOptions};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Functions and types, as `source.function` or `source.Type`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    sources: SourceOptions,
}

/// Prints Luau text, whole.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let engine = load::open(args.sources.read()?, printer).await?;
    let docs = engine.docs(&args.names, usize::MAX)?;
    if printer.is_json() {
        printer.value(&docs)?;
    } else {
        printer.text(&docs.docs)?;
    }
    Ok(Exit::OK)
}
