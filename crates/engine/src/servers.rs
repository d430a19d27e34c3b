//! The sources one connects to: how they stand, and what they offer.

use std::sync::Arc;

use serde::Serialize;
use toolscript_catalog::{FunctionId, Source, SourceName, render};
use toolscript_luau::NoServer;

use crate::dispatcher::Snapshot;

/// How one server stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerRow {
    /// The name of the source.
    pub name: String,
    /// How it is spoken to: `stdio`, `http` or `sse`.
    #[serde(rename = "type")]
    pub transport: String,
    /// Whether it is used at all.
    pub enabled: bool,
    /// Whether there is a connection.
    pub connected: bool,
    /// How many tools it has listed.
    pub tool_count: usize,
    /// Why there is no connection, where one was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One tool of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ToolRow {
    server: String,
    /// What the server itself calls it.
    name: String,
    /// How a script calls it.
    function: String,
    description: String,
    signature: String,
}

/// Every server, by name.
pub(crate) fn list(snapshot: &Snapshot) -> Vec<ServerRow> {
    let row = |(name, source): (&SourceName, &Arc<dyn Source>)| {
        let status = source.status()?;
        let entry = snapshot.catalog.entry(name.as_str()).ok();
        Some(ServerRow {
            name: name.to_string(),
            transport: status.transport,
            enabled: status.enabled,
            connected: status.connected,
            tool_count: entry.map_or(0, |entry| entry.listing.functions.len()),
            error: status.error,
        })
    };
    snapshot.sources.iter().filter_map(row).collect()
}

/// The tools of one server or of all.
pub(crate) fn tools(snapshot: &Snapshot, server: Option<&str>) -> Result<Vec<ToolRow>, NoServer> {
    let known: Vec<String> = list(snapshot).into_iter().map(|row| row.name).collect();
    if let Some(wanted) = server
        && !known.iter().any(|name| name == wanted)
    {
        let name = wanted.to_owned();
        return Err(NoServer { name, known });
    }
    let wanted = known
        .iter()
        .filter(|name| server.is_none_or(|server| server == **name));
    let entries = wanted.filter_map(|name| snapshot.catalog.entry(name).ok());
    let rows = entries.flat_map(|entry| {
        entry.listing.functions.iter().map(|function| ToolRow {
            server: entry.name.to_string(),
            name: match function.original.as_str() {
                "" => function.name.to_string(),
                original => original.to_owned(),
            },
            function: FunctionId {
                source: entry.name.clone(),
                name: function.name.clone(),
            }
            .to_string(),
            description: function.summary.clone(),
            signature: render::brief(&entry.name, function),
        })
    });
    Ok(rows.collect())
}
