//! `toolscript serve`: like `run`, from a generated directory or the configuration, over HTTP.

use std::path::PathBuf;

use toolscript_engine::config::{Config, ConfigError};

use super::{
    Exit, Printer, load,
    options::{ConfigOptions, LimitOptions, McpOptions},
    serving::{self, ServerOptions, Transport},
};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// A directory written by `toolscript generate`
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    server: ServerOptions,
    #[command(flatten)]
    mcp: McpOptions,
    #[command(flatten)]
    config: ConfigOptions,
    #[command(flatten)]
    limits: LimitOptions,
}

impl Args {
    /// The configuration with what the command line adds to it.
    fn configuration(&self) -> Result<Config, ConfigError> {
        let mut config = self.config.load()?;
        if let Some(directory) = &self.directory {
            config.add_generated(directory)?;
        }
        self.config.add_credentials(&mut config)?;
        self.mcp.apply(&mut config)?;
        self.limits.apply(&mut config);
        Ok(config)
    }
}

/// Serves over HTTP unless told otherwise.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let transport = args.server.transport(Transport::Http)?;
    let config = args.configuration()?;
    let file = config.file.clone();
    let engine = load::open_to_serve(config, printer).await?;
    let again = args.clone();
    let reread = Box::new(move || again.configuration());
    serving::serve(engine, file, reread, transport, &args.server, printer).await
}
