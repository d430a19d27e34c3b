//! `toolscript demo`: a sample API, its SDK, and how to connect an agent to it.

use std::{io::ErrorKind, net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use tokio::net::TcpListener;
use toolscript_engine::{Engine, config::Config};

use super::{Exit, Printer, exec, load, options::LimitOptions, serving};
use crate::demo::{SCRIPT, Sample};

/// The port agents are told about, unless it is taken.
const PORT: u16 = 8080;
/// How many ports after that are tried.
const ATTEMPTS: u16 = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run the sample script once, print what it gives, and end
    #[arg(long, visible_alias = "script")]
    once: bool,
    /// The port to listen on [default: 8080, or the next free one]
    #[arg(long, value_name = "PORT", conflicts_with = "once")]
    port: Option<u16>,
    #[command(flatten)]
    limits: LimitOptions,
}

/// Serves the sample API and MCP, or runs the sample script once.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let sample = Sample::start().await?;
    let mut config = Config::empty();
    config.add_api(&sample.argument())?;
    args.limits.apply(&mut config);
    let engine = Arc::new(load::open(config, printer).await?);
    let outcome = if args.once {
        once(&engine, printer).await
    } else {
        serve(&engine, &sample, args.port, printer).await
    };
    engine.close().await;
    outcome
}

async fn once(engine: &Engine, printer: &Printer) -> anyhow::Result<Exit> {
    if !printer.is_json() {
        printer.text(&format!(
            "The script:\n\n{}\nThe result:\n",
            indented(SCRIPT)
        ))?;
    }
    let outcome = exec::execute(engine, SCRIPT).await;
    let exit = exec::show("try.luau", SCRIPT, &outcome, printer)?;
    if !printer.is_json() {
        let stats = &outcome.stats;
        let (calls, duration) = (stats.calls, stats.duration_ms);
        printer.text(&format!(
            "\n{calls} calls in {duration:.1} ms, one round trip for the agent"
        ))?;
    }
    Ok(exit)
}

async fn serve(
    engine: &Arc<Engine>,
    sample: &Sample,
    port: Option<u16>,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let listener = listen(port).await?;
    printer.text(&welcome(listener.local_addr()?, sample))?;
    serving::over_http(engine, listener, printer).await?;
    Ok(Exit::OK)
}

/// Listens on the port asked for, else on the first free one from the usual port on.
async fn listen(port: Option<u16>) -> anyhow::Result<TcpListener> {
    let (first, last) = port.map_or((PORT, PORT + ATTEMPTS), |port| (port, port));
    for port in first..=last {
        match TcpListener::bind(("127.0.0.1", port)).await {
            Err(cause) if cause.kind() == ErrorKind::AddrInUse && port < last => {}
            bound => {
                return bound.with_context(|| {
                    format!("cannot listen on 127.0.0.1:{port}; choose another port with `--port`")
                });
            }
        }
    }
    anyhow::bail!("no port from {first} to {last} is free; choose one with `--port`")
}

fn welcome(address: SocketAddr, sample: &Sample) -> String {
    let script = indented(SCRIPT);
    let argument = sample.argument();
    format!(
        r#"toolscript serves a sample pet shop over MCP at http://{address}/mcp

Connect an agent:

  Claude Code   claude mcp add --transport http toolscript http://{address}/mcp
  Cursor        .cursor/mcp.json
                {{ "mcpServers": {{ "toolscript": {{ "url": "http://{address}/mcp" }} }} }}
  VS Code       .vscode/mcp.json
                {{ "servers": {{ "toolscript": {{ "type": "http", "url": "http://{address}/mcp" }} }} }}

and ask it: "Find the cheapest cat in the pet shop and buy it for Ada."

It will write a script like this one, which `toolscript demo --once` runs for you:

{script}
Or look around from another terminal:

  toolscript list petshop --spec {argument}
  toolscript search "buy a pet" --spec {argument}
  toolscript exec -e 'return petshop.get_inventory()' --spec {argument}

Press Ctrl-C to stop."#
    )
}

fn indented(script: &str) -> String {
    script
        .lines()
        .map(|line| format!("  {line}").trim_end().to_owned() + "\n")
        .collect()
}
