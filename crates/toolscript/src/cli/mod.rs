//! The command line: one file per command, each a few calls on the engine and what to print.

mod completions;
mod config;
mod demo;
mod docs;
mod doctor;
mod exec;
mod exit;
mod generate;
mod list;
mod load;
mod logging;
mod options;
mod printer;
mod progress;
mod run;
mod script_error;
mod search;
mod serve;
mod server;
mod serving;
mod tool;

use std::{process::ExitCode, time::Duration};

use anyhow::Context as _;
use clap::{Parser, Subcommand};

use exit::Exit;
use options::OutputOptions;
use printer::Printer;

/// How long work in the background may go on after the answer is out.
const GRACE: Duration = Duration::from_millis(250);

/// One typed SDK out of APIs, and a sandbox in which an agent scripts it.
///
/// toolscript turns OpenAPI documents into functions `sdk.<source>.<function>` with real types,
/// and lets an agent find them, read their docs and run Luau scripts that call them.
#[derive(Debug, Parser)]
#[command(name = "toolscript", version, arg_required_else_help = true)]
#[command(after_long_help = exit::table())]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    output: OutputOptions,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Load sources and serve them over MCP, on standard input and output or over HTTP
    Run(run::Args),
    /// Write the SDK of OpenAPI documents to a directory, for reading, diffing and customising
    Generate(generate::Args),
    /// Serve a generated directory, the configuration, or both over HTTP
    Serve(serve::Args),
    /// Run one script here and print its result
    Exec(exec::Args),
    /// List the sources, or the functions of one source
    List(list::Args),
    /// Find functions and types by what they do
    Search(search::Args),
    /// Show functions and types with everything they reach, as Luau
    Docs(docs::Args),
    /// Add, take over, list, look at and log in to MCP servers
    Server(server::Args),
    /// Make, try, list and install tool scripts
    Tool(tool::Args),
    /// Serve a sample API and show how to connect an agent; needs no network
    Demo(demo::Args),
    /// Check configuration, sources and cache, and say how to repair what is wrong
    Doctor(doctor::Args),
    /// Show what `toolscript.toml` may hold, or check one
    Config(config::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
}

/// Reads the command line, runs one command and gives its exit code.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::of_usage(&error).into(),
    };
    logging::start(&cli.output);
    let printer = Printer::new(&cli.output);
    let exit = start(cli.command, &printer).unwrap_or_else(|error| {
        printer.error(&error);
        Exit::of(&error)
    });
    exit.into()
}

fn start(command: Command, printer: &Printer) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.context("cannot start the threads of the program")?;
    let outcome = runtime.block_on(command.run(printer));
    // A read of standard input cannot be called back, so nothing waits for it for long.
    runtime.shutdown_timeout(GRACE);
    outcome
}

impl Command {
    async fn run(self, printer: &Printer) -> anyhow::Result<Exit> {
        match self {
            Self::Run(args) => run::run(&args, printer).await,
            Self::Generate(args) => generate::run(&args, printer).await,
            Self::Serve(args) => serve::run(&args, printer).await,
            Self::Exec(args) => exec::run(&args, printer).await,
            Self::List(args) => list::run(&args, printer).await,
            Self::Search(args) => search::run(&args, printer).await,
            Self::Docs(args) => docs::run(&args, printer).await,
            Self::Server(args) => server::run(&args, printer).await,
            Self::Tool(args) => tool::run(&args, printer).await,
            Self::Demo(args) => demo::run(&args, printer).await,
            Self::Doctor(args) => doctor::run(&args, printer).await,
            Self::Config(args) => config::run(&args, printer),
            Self::Completions(args) => completions::run(&args, printer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
