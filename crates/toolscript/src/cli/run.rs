//! `toolscript run`: load sources, serve MCP.

use super::{
    Exit, Printer, load,
    options::{ConfigOptions, LimitOptions, McpOptions},
    serving::{self, ServerOptions, Transport},
};

#[derive(Debug, clap::Args)]
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

/// Serves on standard input and output unless told otherwise.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let transport = args.server.transport(Transport::Stdio)?;
    let mut config = args.config.read(&args.specs)?;
    args.mcp.apply(&mut config)?;
    args.limits.apply(&mut config);
    let engine = load::open_to_serve(config, printer).await?;
    serving::serve(engine, transport, &args.server, printer).await
}
