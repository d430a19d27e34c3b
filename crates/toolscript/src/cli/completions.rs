//! `toolscript completions`: a completion script for a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Cli, Exit, Printer};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell to complete in
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script; where it belongs depends on the shell.
pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "toolscript", &mut script);
    printer.text(&String::from_utf8(script)?)?;
    Ok(Exit::OK)
}
