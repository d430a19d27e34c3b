//! `toolscript server add`: one MCP server more in the configuration.

use anyhow::Context as _;
use clap::ValueEnum;
use serde_json::{Map, Value, json};
use toolscript_catalog::SourceName;
use toolscript_engine::mcp_servers::{self, Added, Replacing, ServerFile};

use super::{NewFileOptions, SAME_NAME, folder_of, warn_of_secrets};
use crate::cli::{Exit, Printer};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("place").required(true))]
#[command(
    override_usage = "toolscript server add [OPTIONS] NAME --url URL\n       toolscript server add [OPTIONS] NAME -- COMMAND [ARGUMENT]..."
)]
pub(crate) struct Args {
    /// Its name, as scripts will call it: sdk.NAME.tool(...)
    name: String,
    /// The address of a remote server
    #[arg(long, group = "place")]
    url: Option<String>,
    /// A header sent to the remote server (repeatable); `${VAR}` comes from the environment
    #[arg(long = "header", value_name = "NAME=VALUE", requires = "url", value_parser = pair)]
    headers: Vec<(String, String)>,
    /// How the remote server speaks [default: found out]
    #[arg(long, value_enum, requires = "url")]
    transport: Option<Transport>,
    /// The command that starts the server, with its arguments, after `--`
    #[arg(last = true, group = "place", value_name = "COMMAND")]
    command: Vec<String>,
    /// An environment variable of the command (repeatable); `${VAR}` comes from the environment
    #[arg(long = "env", value_name = "NAME=VALUE", conflicts_with = "url", value_parser = pair)]
    variables: Vec<(String, String)>,
    /// Replace a server of the same name
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    file: NewFileOptions,
}

/// How a remote server speaks.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Transport {
    StreamableHttp,
    Sse,
}

/// Adds the server and says how to go on.
pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let name = SourceName::parse(&args.name)?;
    let path = args.file.path();
    let settings = settings(args);
    mcp_servers::check(&name, &settings, folder_of(&path))?;
    let mut file = ServerFile::open(&path)?;
    let replacing = if args.force {
        Replacing::Always
    } else {
        Replacing::Never
    };
    let shown = path.display();
    let (state, done) = match file.add(&name, &settings, replacing)? {
        Added::New => ("added", format!("added `{name}` to `{shown}`")),
        Added::Replaced => ("replaced", format!("replaced `{name}` in `{shown}`")),
        Added::Same => {
            printer.note(&format!("`{name}` is in `{shown}` already, just like this"));
            return Ok(Exit::OK);
        }
        Added::Kept => anyhow::bail!(mcp_servers::Taken {
            name: name.to_string(),
            path,
        }),
    };
    let secrets = mcp_servers::secrets(&name, &settings);
    if !secrets.is_empty() {
        file.holds_secrets();
    }
    args.file.warn_of_shadow(printer);
    file.save()?;
    warn_of_secrets(name.as_str(), &secrets, printer);
    if file.has_api(&name) {
        printer.warning(&format!("{name}: {SAME_NAME}"));
    }
    if printer.is_json() {
        printer.value(&json!({"name": name, "file": path, "state": state}))?;
        return Ok(Exit::OK);
    }
    printer.text(&format!(
        "{done}; `toolscript server introspect {name}` shows its tools"
    ))?;
    Ok(Exit::OK)
}

fn settings(args: &Args) -> Map<String, Value> {
    let mut settings = Map::new();
    let mut set = |key: &str, value: Value| {
        settings.insert(key.to_owned(), value);
    };
    let object = |pairs: &[(String, String)]| -> Value {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), Value::from(value.clone())))
            .collect()
    };
    if let Some((command, arguments)) = args.command.split_first() {
        set("command", json!(command));
        if !arguments.is_empty() {
            set("args", json!(arguments));
        }
    }
    if let Some(url) = &args.url {
        set("url", json!(url));
    }
    match args.transport {
        Some(Transport::Sse) => set("transport", json!("sse")),
        Some(Transport::StreamableHttp) => set("transport", json!("streamable-http")),
        None => {}
    }
    if !args.headers.is_empty() {
        set("headers", object(&args.headers));
    }
    if !args.variables.is_empty() {
        set("env", object(&args.variables));
    }
    settings
}

/// `NAME=VALUE`, or `NAME: VALUE` as headers are usually written.
fn pair(text: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = text
        .split_once(['=', ':'])
        .context("write it as NAME=VALUE")?;
    anyhow::ensure!(!name.trim().is_empty(), "write it as NAME=VALUE");
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_written_in_two_ways() {
        let both = ("A".to_owned(), "b=c: d".to_owned());
        assert_eq!(pair("A=b=c: d").unwrap(), both);
        assert_eq!(pair("A: b=c: d").unwrap(), both);
        assert!(pair("A").is_err());
        assert!(pair("=b").is_err());
    }
}
