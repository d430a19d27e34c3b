//! `toolscript server`: the MCP servers of the configuration, added, taken over, looked at, logged
//! in to.

mod add;
mod import;
mod introspect;
mod list;
mod login;
mod logout;
mod remove;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use toolscript_engine::config::{self, Config, ConfigError};

use super::{Exit, Printer};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add an MCP server to the configuration
    Add(add::Args),
    /// Take over the MCP servers of Claude, Cursor, VS Code or another program that writes the same
    Import(import::Args),
    /// Connect to every MCP server and show how it stands
    List(list::Args),
    /// Take an MCP server out of the configuration
    Remove(remove::Args),
    /// Connect to one MCP server and show its tools
    Introspect(introspect::Args),
    /// Log in to a remote MCP server, in a browser
    Login(login::Args),
    /// Forget the login to a remote MCP server
    Logout(logout::Args),
}

/// Does what is asked with the servers.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Add(args) => add::run(args, printer),
        Command::Import(args) => import::run(args, printer),
        Command::List(args) => list::run(args, printer).await,
        Command::Remove(args) => remove::run(args, printer),
        Command::Introspect(args) => introspect::run(args, printer).await,
        Command::Login(args) => login::run(args, printer).await,
        Command::Logout(args) => logout::run(args, printer).await,
    }
}

/// The configuration whose servers are meant.
#[derive(Debug, Clone, clap::Args)]
struct FileOptions {
    /// The configuration [default: ./toolscript.toml, else the one in ~/.config/toolscript]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The configuration servers are added to.
#[derive(Debug, Clone, clap::Args)]
struct NewFileOptions {
    /// The configuration to write; made where it is not there [default: ./toolscript.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl FileOptions {
    fn load(&self) -> Result<Config, ConfigError> {
        Config::load(self.config.as_deref())
    }

    /// The file to change, which the other commands would read.
    fn path(&self) -> PathBuf {
        let default = || config::default_file().unwrap_or_else(here);
        self.config.clone().unwrap_or_else(default)
    }
}

impl NewFileOptions {
    fn path(&self) -> PathBuf {
        self.config.clone().unwrap_or_else(here)
    }

    /// Says which file goes out of use when the new one is there.
    fn warn_of_shadow(&self, printer: &Printer) {
        if self.config.is_some() || here().is_file() {
            return;
        }
        if let Some(other) = config::default_file() {
            printer.warning(&format!(
                "from this folder `{}` is not read any more; to add to it, use `--config`",
                other.display()
            ));
        }
    }
}

/// What is said of a server that is called like an API.
const SAME_NAME: &str = "there is an API of the same name; give one of them another";

fn here() -> PathBuf {
    PathBuf::from(config::FILE_NAME)
}

/// The folder relative paths of a configuration start from.
fn folder_of(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Says which secrets are written out, and what would be better.
fn warn_of_secrets(name: &str, secrets: &[String], printer: &Printer) {
    if secrets.is_empty() {
        return;
    }
    let places: Vec<String> = secrets.iter().map(|place| format!("`{place}`")).collect();
    printer.warning(&format!(
        "{name}: a secret is written out in {}; better is `${{VAR}}`, which comes from the environment",
        places.join(", ")
    ));
}
