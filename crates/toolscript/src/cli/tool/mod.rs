//! `toolscript tool`: tool scripts, from the template to the list.

mod init;
mod install;
mod list;
mod test;

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::{Exit, Printer};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a commented script to start from, and name it in the configuration
    Init(init::Args),
    /// Load a script, say how far it got, call it and print what it gives back
    Test(test::Args),
    /// List the tools of scripts and toolkits, with their state
    List(list::Args),
    /// Take a tool out of a registry: a folder or a git repository with a `registry.toml`
    Install(install::Args),
}

/// Runs one of the commands about tools.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Init(args) => init::run(args, printer),
        Command::Test(args) => test::run(args, printer).await,
        Command::List(args) => list::run(args, printer).await,
        Command::Install(args) => install::run(args, printer).await,
    }
}

/// Where a new tool goes.
#[derive(Debug, clap::Args)]
struct Place {
    /// The configuration to add the tool to [default: ./toolscript.toml]; the script goes to the
    /// folder `tools` beside it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Leave the configuration alone
    #[arg(long)]
    no_config: bool,
}

impl Place {
    fn file(&self) -> PathBuf {
        let file = self.config.as_deref();
        file.unwrap_or(Path::new("toolscript.toml")).to_owned()
    }

    /// The configuration to add to, where that is wanted.
    fn config(&self) -> Option<PathBuf> {
        (!self.no_config).then(|| self.file())
    }

    /// The folder of the configuration.
    fn folder(&self) -> PathBuf {
        self.file().parent().unwrap_or(Path::new("")).to_owned()
    }
}
