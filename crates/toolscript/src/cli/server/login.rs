//! `toolscript server login`: a person logs in to a remote MCP server, in a browser.

use std::process::{Command, Stdio};

use serde_json::json;
use toolscript_engine::mcp_servers::{LoggedIn, login};

use super::FileOptions;
use crate::cli::{Exit, Printer};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The server, as it is called under `[mcp_servers]`
    name: String,
    /// Only print the address to open
    #[arg(long)]
    no_browser: bool,
    /// The port of this machine the browser comes back to [default: a free one]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    #[command(flatten)]
    file: FileOptions,
}

/// Sends the person to the authorization server and waits for them.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let config = args.file.load()?;
    let login = login(&config, &args.name, args.port).await?;
    printer.prompt(&format!(
        "Log in at {} in your browser. If it does not open by itself, open this address:\n\n  {}\n",
        login.host(),
        login.url()
    ));
    if !args.no_browser {
        open_browser(login.url());
    }
    let logged_in = login.finish().await?;
    report(&logged_in, printer)
}

fn report(logged_in: &LoggedIn, printer: &Printer) -> anyhow::Result<Exit> {
    let LoggedIn { server, tools } = logged_in;
    if printer.is_json() {
        let problem = tools.as_ref().err();
        printer.value(&json!({
            "server": server,
            "logged_in": true,
            "tools": tools.as_ref().ok(),
            "problem": problem,
        }))?;
        return Ok(Exit::OK);
    }
    match tools {
        Ok(tools) => printer.text(&format!("✓ logged in to `{server}`: {tools} tools"))?,
        Err(problem) => {
            printer.text(&format!("✓ logged in to `{server}`"))?;
            printer.warning(&format!("its tools cannot be listed: {problem}"));
        }
    }
    Ok(Exit::OK)
}

/// Asks the system to open an address; whether it can is not known, so the address is printed too.
fn open_browser(url: &str) {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let started = Command::new(opener)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = started {
        tracing::debug!(%error, opener, "no browser opened");
    }
}
