//! `toolscript server introspect`: one MCP server and all its tools.

use std::time::Duration;

use serde_json::{Value, json};
use toolscript_engine::mcp_servers::{self, Offer, ServerReport, Tool};

use super::FileOptions;
use crate::cli::{Exit, Printer, options};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its name
    name: String,
    /// How long it may take to answer [default: its own `start_timeout`]
    #[arg(long, value_name = "SECONDS", value_parser = options::seconds)]
    timeout: Option<Duration>,
    #[command(flatten)]
    file: FileOptions,
}

/// Connects, lists every tool and shows what each takes.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let config = args.file.load()?;
    let report = mcp_servers::introspect(&config, &args.name, args.timeout).await?;
    match &report.outcome {
        Some(Ok(offer)) => show(&report, offer, printer)?,
        Some(Err(error)) => {
            let trouble = error.trouble;
            if printer.is_json() {
                let error = json!({"kind": trouble.words(), "message": error.problem});
                printer.value(&json!({"name": report.name, "error": error}))?;
            } else {
                printer.failure(&format!("{}: {}", trouble.words(), error.problem));
            }
            return Ok(Exit::of_trouble(trouble));
        }
        None => {}
    }
    Ok(Exit::OK)
}

fn show(report: &ServerReport, offer: &Offer, printer: &Printer) -> anyhow::Result<()> {
    if printer.is_json() {
        return printer.value(&json!({
            "name": report.name,
            "type": report.transport,
            "revision": offer.revision,
            "title": offer.title,
            "version": offer.version,
            "tools": offer.tools.iter().map(to_json).collect::<Vec<_>>(),
            "warnings": offer.warnings,
        }));
    }
    let identity = format!("{} {}", offer.title, offer.version);
    let count = offer.tools.len();
    printer.text(&format!(
        "{}: {} over {}, protocol revision {}, {count} tool{}\n",
        report.name,
        identity.trim(),
        report.transport,
        offer.revision,
        if count == 1 { "" } else { "s" },
    ))?;
    let rows = offer
        .tools
        .iter()
        .map(|tool| [tool.row.signature.clone(), tool.row.summary.clone()]);
    printer.table(["FUNCTION", "SUMMARY"], rows)?;
    for warning in &offer.warnings {
        printer.warning(warning);
    }
    Ok(())
}

fn to_json(tool: &Tool) -> Value {
    json!({
        "name": tool.original,
        "function": tool.row.name,
        "signature": tool.row.signature,
        "summary": tool.row.summary,
        "inputSchema": tool.input_schema,
    })
}
