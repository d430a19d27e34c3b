//! `toolscript run`: load sources, serve MCP.

use toolscript_engine::config::{Config, ConfigError};

use super::{
    Exit, Printer, load,
    options::{ConfigOptions, LimitOptions, McpOptions},
    serving::{self, ServerOptions, Transport},
};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// OpenAPI documents: `path`, `url`, `name=path` or `name=url`
    #[arg(value_name = "SPEC")]
    specs: Vec<String>,
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
        let mut config = self.config.read(&self.specs)?;
        self.mcp.apply(&mut config)?;
        self.limits.apply(&mut config);
        Ok(config)
    }
}

/// Serves on standard input and output unless told otherwise.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let transport = args.server.transport(Transport::Stdio)?;
    let config = args.configuration()?;
    let file = config.file.clone();
    let engine = load::open_to_serve(config, printer).await?;
    let again = args.clone();
    let reread = Box::new(move || again.configuration());
    serving::serve(engine, file, reread, transport, &args.server, printer).await
}
