//! `toolscript server remove`: one MCP server less in the configuration.

use serde_json::json;
use toolscript_engine::mcp_servers::{ServerFile, UnknownServer};

use super::FileOptions;
use crate::cli::{Exit, Printer};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its name
    name: String,
    #[command(flatten)]
    file: FileOptions,
}

/// Takes the server out of the file and leaves the rest as it is.
pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let path = args.file.path();
    let mut file = ServerFile::open(&path)?;
    if !file.remove(&args.name)? {
        anyhow::bail!(UnknownServer {
            name: args.name.clone(),
            servers: file.names(),
        });
    }
    file.save()?;
    if printer.is_json() {
        printer.value(&json!({"name": args.name, "file": path, "state": "removed"}))?;
    } else {
        printer.text(&format!(
            "removed `{}` from `{}`",
            args.name,
            path.display()
        ))?;
    }
    Ok(Exit::OK)
}
