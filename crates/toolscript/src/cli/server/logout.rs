//! `toolscript server logout`: forgets the login to a remote MCP server.

use serde_json::json;
use toolscript_engine::mcp_servers::logout;

use super::FileOptions;
use crate::cli::{Exit, Printer};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The server, as it is called under `[mcp_servers]`
    name: String,
    #[command(flatten)]
    file: FileOptions,
}

/// Forgets the login here, and at its authorization server where that is possible.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let config = args.file.load()?;
    let was_in = logout(&config, &args.name).await?;
    let name = &args.name;
    if printer.is_json() {
        printer.value(&json!({"server": name, "was_logged_in": was_in}))?;
    } else if was_in {
        printer.text(&format!("✓ logged out of `{name}`"))?;
    } else {
        printer.text(&format!("there was no login to `{name}`"))?;
    }
    Ok(Exit::OK)
}
