//! `toolscript serve`: like `run`, from a generated directory or the configuration, over HTTP.

use std::path::PathBuf;

use super::{
    Exit, Printer, load,
    options::{ConfigOptions, LimitOptions, McpOptions},
    serving::{self, ServerOptions, Transport},
};

#[derive(Debug, clap::Args)]
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

/// Serves over HTTP unless told otherwise.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let transport = args.server.transport(Transport::Http)?;
    let mut config = args.config.load()?;
    if let Some(directory) = &args.directory {
        config.add_generated(directory)?;
    }
    args.config.add_credentials(&mut config)?;
    args.mcp.apply(&mut config)?;
    args.limits.apply(&mut config);
    let engine = load::open_to_serve(config, printer).await?;
    serving::serve(engine, transport, &args.server, printer).await
}
