//! MCP servers as a person manages them: looked at one by one, added, removed, taken over from
//! the files of other programs.

mod check;
mod file;
mod import;
mod login;
mod program;

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Map, Value};
use toolscript_catalog::{Entry, SourceName};
use toolscript_sources::{
    Context,
    mcp::{self, Introspection},
};

pub use check::{BadSettings, check};
pub use file::{Added, FileError, Replacing, ServerFile, Taken};
pub use import::{
    Export, Import, ImportError, Imported, NotImported, Secrets, read as read_foreign,
};
pub use login::{LoggedIn, Login, LoginError, login, logout};
pub use program::Program;
pub use toolscript_sources::mcp::{IntrospectError, Trouble};

use crate::{
    config::{Config, Configured},
    discover::{self, Row},
    registry,
};

/// The section servers stand in.
const SECTION: &str = "mcp_servers";

/// One MCP server of a configuration, and what was found there.
#[derive(Debug)]
pub struct ServerReport {
    /// Its name.
    pub name: SourceName,
    /// How it is spoken to, or would be: `stdio`, `http` or `sse`.
    pub transport: &'static str,
    /// Whether it is used at all; one that is not has not been connected to.
    pub enabled: bool,
    /// The program it is, where it is one.
    pub program: Option<Program>,
    /// What it offers, or why that is not known; `None` where nobody looked.
    pub outcome: Option<Result<Offer, IntrospectError>>,
    /// How long it took to find out.
    pub elapsed: Duration,
}

/// What a server offers.
#[derive(Debug)]
pub struct Offer {
    /// What it calls itself, and the version it says it is.
    pub title: String,
    /// The version it says it is.
    pub version: String,
    /// The revision of the protocol it speaks.
    pub revision: String,
    /// Its tools.
    pub tools: Vec<Tool>,
    /// What was skipped or bent, as `place: reason`.
    pub warnings: Vec<String>,
}

/// One tool of a server.
#[derive(Debug)]
pub struct Tool {
    /// The name the server knows it by.
    pub original: String,
    /// The function it becomes.
    pub row: Row,
    /// What it takes, as the server says it.
    pub input_schema: Value,
}

/// There is no such server.
#[derive(Debug, thiserror::Error)]
#[error("there is no MCP server `{name}`; {}", known(servers))]
pub struct UnknownServer {
    /// The name that was asked for.
    pub name: String,
    /// Those there are.
    pub servers: Vec<String>,
}

fn known(servers: &[String]) -> String {
    if servers.is_empty() {
        return "there are none: add one with `toolscript server add` or `toolscript server import`"
            .to_owned();
    }
    format!("the servers are {}", servers.join(", "))
}

/// Connects to every MCP server of a configuration at once and says what is there. A limit wins
/// over each server's own `start_timeout`.
pub async fn introspect_all(config: &Config, limit: Option<Duration>) -> Vec<ServerReport> {
    let cx = registry::context(config);
    join_all(servers(config).map(|configured| look(&cx, configured, limit))).await
}

/// Connects to one MCP server, used or not, and says what is there.
pub async fn introspect(
    config: &Config,
    name: &str,
    limit: Option<Duration>,
) -> Result<ServerReport, UnknownServer> {
    let is_meant = |configured: &&Configured| is_called(configured, name);
    let Some(configured) = servers(config).find(is_meant) else {
        return Err(UnknownServer {
            name: name.to_owned(),
            servers: names(config),
        });
    };
    let mut wanted = configured.clone();
    if let Some(settings) = wanted.settings.as_object_mut() {
        settings.insert("enabled".to_owned(), Value::Bool(true));
    }
    Ok(look(&registry::context(config), &wanted, limit).await)
}

/// A configuration without its MCP servers.
pub fn without(mut config: Config) -> Config {
    config
        .sources
        .retain(|configured| configured.kind.section() != SECTION);
    config
}

/// Which settings of a server hold a secret that is written out, such as `env.TOKEN`.
pub fn secrets(name: &SourceName, settings: &Map<String, Value>) -> Vec<String> {
    import::secrets_in(name, settings)
}

/// The names of the MCP servers of a configuration.
pub fn names(config: &Config) -> Vec<String> {
    servers(config)
        .filter_map(|configured| configured.name.as_ref())
        .map(ToString::to_string)
        .collect()
}

/// The MCP servers of a configuration.
fn servers(config: &Config) -> impl Iterator<Item = &Configured> {
    let is_server = |configured: &&Configured| configured.kind.section() == SECTION;
    config.sources.iter().filter(is_server)
}

fn is_called(configured: &Configured, name: &str) -> bool {
    let known = configured.name.as_ref();
    known.is_some_and(|known| known.as_str() == name)
}

async fn look(cx: &Context, configured: &Configured, limit: Option<Duration>) -> ServerReport {
    let clock = Instant::now();
    let settings = &configured.settings;
    let name = configured.name.clone().unwrap_or_else(SourceName::luau);
    let mut report = ServerReport {
        name: name.clone(),
        transport: transport(settings),
        enabled: settings["enabled"] != Value::Bool(false),
        program: Program::of(settings, &cx.folder),
        outcome: None,
        elapsed: Duration::ZERO,
    };
    if !report.enabled {
        return report;
    }
    let outcome = found(cx, configured, name, limit).await;
    if let Ok((transport, _)) = &outcome {
        report.transport = transport;
    }
    report.outcome = Some(outcome.map(|(_, offer)| offer));
    report.elapsed = clock.elapsed();
    report
}

/// How a server would be spoken to, before anybody has tried.
fn transport(settings: &Value) -> &'static str {
    match (&settings["command"], settings["transport"].as_str()) {
        (Value::String(_), _) => "stdio",
        (_, Some("sse")) => "sse",
        _ => "http",
    }
}

async fn found(
    cx: &Context,
    configured: &Configured,
    name: SourceName,
    limit: Option<Duration>,
) -> Result<(&'static str, Offer), IntrospectError> {
    let misfit = |key: &str, problem: &str| IntrospectError {
        trouble: Trouble::Settings,
        problem: format!("{}: `{key}` {problem}", configured.origin.place(key)),
    };
    let settings = mcp::settings(configured.settings.clone());
    let mut settings = settings.map_err(|error| misfit(&error.key, &error.problem))?;
    if let Some(limit) = limit {
        settings.start_timeout = limit.as_secs_f64();
    }
    let seen = mcp::introspect(cx, name.clone(), settings).await?;
    let transport = seen.transport;
    let reading = tokio::task::spawn_blocking(move || offer(name, seen)).await;
    let offer = reading.map_err(|error| misfit("tools", &error.to_string()))?;
    Ok((transport, offer))
}

fn offer(name: SourceName, seen: Introspection) -> Offer {
    let Introspection {
        revision,
        listing,
        mut input_schemas,
        ..
    } = seen;
    let warning =
        |warning: &toolscript_catalog::Warning| format!("{}: {}", warning.place, warning.reason);
    let warnings = listing.warnings.iter().map(warning).collect();
    let (title, version) = (listing.info.title.clone(), listing.info.version.clone());
    let entry = Entry::new(name, listing);
    let tools = entry.listing.functions.iter().map(|function| Tool {
        original: function.original.clone(),
        row: discover::function_row(&entry, function),
        input_schema: input_schemas.remove(&function.original).unwrap_or_default(),
    });
    Offer {
        title,
        version,
        revision,
        tools: tools.collect(),
        warnings,
    }
}
