//! `toolscript server list`: how every MCP server stands.

use std::time::Duration;

use serde_json::{Value, json};
use toolscript_engine::mcp_servers::{self, ServerReport};

use super::FileOptions;
use crate::cli::{Exit, Printer, options};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long a server may take to answer [default: its own `start_timeout`]
    #[arg(long, value_name = "SECONDS", value_parser = options::seconds)]
    timeout: Option<Duration>,
    #[command(flatten)]
    file: FileOptions,
}

/// Connects to all of them at once and shows a line for each.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let config = args.file.load()?;
    let reports = mcp_servers::introspect_all(&config, args.timeout).await;
    if printer.is_json() {
        printer.value(&reports.iter().map(to_json).collect::<Vec<_>>())?;
        return Ok(Exit::OK);
    }
    if reports.is_empty() {
        printer.note("there are no MCP servers; `toolscript server add` or `toolscript server import` adds some");
        return Ok(Exit::OK);
    }
    let header = [
        "SERVER",
        "TRANSPORT",
        "ENABLED",
        "CONNECTED",
        "TOOLS",
        "ERROR",
    ];
    printer.table(header, reports.iter().map(row))?;
    Ok(Exit::OK)
}

fn row(report: &ServerReport) -> [String; 6] {
    let yes = |flag| if flag { "yes" } else { "no" }.to_owned();
    let tools = tools(report).map(|tools| tools.to_string());
    [
        report.name.to_string(),
        report.transport.to_owned(),
        yes(report.enabled),
        yes(is_connected(report)),
        tools.unwrap_or_default(),
        problem(report).unwrap_or_default(),
    ]
}

fn to_json(report: &ServerReport) -> Value {
    json!({
        "name": report.name,
        "type": report.transport,
        "enabled": report.enabled,
        "connected": is_connected(report),
        "tool_count": tools(report),
        "error": problem(report),
    })
}

fn is_connected(report: &ServerReport) -> bool {
    matches!(report.outcome, Some(Ok(_)))
}

fn tools(report: &ServerReport) -> Option<usize> {
    let offer = report.outcome.as_ref()?.as_ref().ok()?;
    Some(offer.tools.len())
}

/// What is wrong, in one line.
fn problem(report: &ServerReport) -> Option<String> {
    let error = report.outcome.as_ref()?.as_ref().err()?;
    let lines: Vec<&str> = error.problem.lines().map(str::trim).collect();
    Some(format!("{}: {}", error.trouble.words(), lines.join(" | ")))
}
