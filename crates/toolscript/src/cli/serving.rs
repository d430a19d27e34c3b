//! Serving MCP until the client hangs up or somebody says stop.

use std::{io::IsTerminal as _, net::Ipv6Addr, path::PathBuf, pin::pin, sync::Arc, time::Duration};

use clap::{ValueEnum, error::ErrorKind};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use toolscript_engine::{Engine, Reread};

use super::{Exit, Printer};
use crate::{http, mcp};

/// How long requests under way may take to finish.
const GRACE: Duration = Duration::from_secs(10);
/// The port where nobody names one.
const PORT: &str = "8080";

/// How the program is reached.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerOptions {
    /// How agents connect: standard input and output, or Streamable HTTP at /mcp (`--port` and `--bind` mean http)
    #[arg(long, value_enum, value_name = "TRANSPORT")]
    transport: Option<Transport>,
    /// The port to listen on over HTTP
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// The address to listen on over HTTP [default: `server.bind`, else 127.0.0.1:8080]
    #[arg(long, value_name = "HOST[:PORT]")]
    bind: Option<String>,
}

/// How agents connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    Stdio,
    #[value(alias = "sse")]
    Http,
}

impl ServerOptions {
    /// The transport asked for, else `otherwise`.
    pub(crate) fn transport(&self, otherwise: Transport) -> Result<Transport, clap::Error> {
        let is_addressed = self.port.is_some() || self.bind.is_some();
        match self.transport {
            Some(Transport::Stdio) if is_addressed => Err(clap::Error::raw(
                ErrorKind::ArgumentConflict,
                "`--port` and `--bind` mean nothing on stdio; leave them out, or use `--transport http`",
            )),
            Some(transport) => Ok(transport),
            None if is_addressed => Ok(Transport::Http),
            None => Ok(otherwise),
        }
    }

    /// The address to listen on: what the flags say, else what the configuration says.
    fn address(&self, configured: &str) -> String {
        let (mut host, mut port) = split(configured);
        if let Some(bind) = &self.bind {
            let given = split(bind);
            (host, port) = (given.0, given.1.or(port));
        }
        let flag = self.port.map(|port| port.to_string());
        let port = flag.as_deref().or(port).unwrap_or(PORT);
        format!("{host}:{port}")
    }
}

/// The host and the port of an address; an IPv6 host comes out in brackets.
fn split(address: &str) -> (String, Option<&str>) {
    if address.parse::<Ipv6Addr>().is_ok() {
        return (format!("[{address}]"), None);
    }
    match address.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host.to_owned(), Some(port)),
        _ => (address.to_owned(), None),
    }
}

/// Serves until the client hangs up or somebody says stop, then lets go of the sources.
///
/// `reread` reads the configuration once more when its file has changed.
pub(crate) async fn serve(
    engine: Engine,
    file: Option<PathBuf>,
    reread: Reread,
    transport: Transport,
    options: &ServerOptions,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let engine = Arc::new(engine);
    if let Err(error) = engine.watch(file, reread) {
        printer.warning(&format!("{error}; a restart takes them in"));
    }
    let served = match transport {
        Transport::Stdio => over_stdio(&engine, printer).await,
        Transport::Http => {
            let listener = http::listen(&options.address(&engine.settings().server.bind)).await?;
            let address = listener.local_addr()?;
            printer.note(&format!(
                "serving MCP at http://{address}/mcp; {}",
                loaded(&engine)
            ));
            over_http(&engine, listener, printer).await
        }
    };
    engine.close().await;
    served.map(|()| Exit::OK)
}

async fn over_stdio(engine: &Arc<Engine>, printer: &Printer) -> anyhow::Result<()> {
    if std::io::stdin().is_terminal() {
        printer.note(&format!(
            "{}; waiting for an MCP client on standard input (to serve over HTTP, use `--transport http`)",
            loaded(engine)
        ));
    }
    tokio::select! {
        served = mcp::serve_stdio(engine.clone()) => served,
        () = stopped() => Ok(()),
    }
}

/// Serves over HTTP; requests under way have a while to finish, or until the second Ctrl-C.
pub(crate) async fn over_http(
    engine: &Arc<Engine>,
    listener: TcpListener,
    printer: &Printer,
) -> anyhow::Result<()> {
    let shutdown = CancellationToken::new();
    let mut serving = pin!(http::serve(engine.clone(), listener, shutdown.clone()));
    tokio::select! {
        served = &mut serving => return served,
        () = stopped() => shutdown.cancel(),
    }
    printer.note("stopping; press Ctrl-C again to stop at once");
    tokio::select! {
        served = serving => served,
        () = stopped() => Ok(()),
        () = tokio::time::sleep(GRACE) => Ok(()),
    }
}

fn loaded(engine: &Engine) -> String {
    let report = engine
        .report()
        .iter()
        .filter_map(|source| source.outcome.as_ref().ok());
    let (sources, functions) = report.fold((0, 0), |(sources, all), functions| {
        (sources + 1, all + functions)
    });
    let plural = |count| if count == 1 { "" } else { "s" };
    format!(
        "{sources} source{} with {functions} function{}",
        plural(sources),
        plural(functions)
    )
}

/// Waits for Ctrl-C, or for the system to ask the program to end.
pub(crate) async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => return,
                Ok(()) = tokio::signal::ctrl_c() => return,
                else => {}
            }
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        // Without signals only the client ends the program.
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bind: Option<&str>, port: Option<u16>, address: &str) {
        let bind = bind.map(str::to_owned);
        let options = ServerOptions {
            transport: None,
            port,
            bind,
        };
        assert_eq!(options.address("127.0.0.1:8080"), address);
    }

    #[test]
    fn flags_win_over_the_configured_address() {
        check(None, None, "127.0.0.1:8080");
        check(None, Some(9000), "127.0.0.1:9000");
        check(Some("0.0.0.0"), None, "0.0.0.0:8080");
        check(Some("localhost:1"), None, "localhost:1");
        check(Some("localhost:1"), Some(2), "localhost:2");
        check(Some("::1"), None, "[::1]:8080");
        check(Some("[::1]"), None, "[::1]:8080");
        check(Some("[::1]:7"), None, "[::1]:7");
    }

    #[test]
    fn an_address_means_http() {
        let options = |transport, port| ServerOptions {
            transport,
            port,
            bind: None,
        };
        let chosen = |options: ServerOptions| options.transport(Transport::Stdio).ok();
        assert_eq!(chosen(options(None, None)), Some(Transport::Stdio));
        assert_eq!(chosen(options(None, Some(1))), Some(Transport::Http));
        assert_eq!(
            chosen(options(Some(Transport::Http), None)),
            Some(Transport::Http)
        );
        assert_eq!(chosen(options(Some(Transport::Stdio), Some(1))), None);
    }
}
