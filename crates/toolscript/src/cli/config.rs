//! `toolscript config`: what the configuration may hold, and whether one is sound.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;
use toolscript_engine::config::{self, Config};

use super::{Exit, Printer};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the JSON Schema of `toolscript.toml`
    Schema,
    /// Check a configuration without loading its sources
    Check {
        /// The configuration [default: the one the other commands would use]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

/// Shows the schema, or checks a file.
pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Schema => printer.value(&config::schema())?,
        Command::Check { file } => check(&Config::load(file.as_deref())?, printer)?,
    }
    Ok(Exit::OK)
}

fn check(config: &Config, printer: &Printer) -> anyhow::Result<()> {
    let file = config.file.as_ref().map(|file| file.display().to_string());
    let names: Vec<String> = config
        .sources
        .iter()
        .filter_map(|source| source.name.as_ref())
        .map(ToString::to_string)
        .collect();
    if printer.is_json() {
        return printer.value(&json!({"file": file, "sources": names}));
    }
    match file {
        None => {
            printer.text("there is no configuration file, which is fine: everything has a default")
        }
        Some(file) if names.is_empty() => {
            printer.text(&format!("`{file}` is sound; it names no source"))
        }
        Some(file) => printer.text(&format!("`{file}` is sound; sources: {}", names.join(", "))),
    }
}
