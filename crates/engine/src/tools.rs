//! Tools: the functions an operator made, called one at a time by programs that write no scripts.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Map, Value};
use toolscript_catalog::{
    Call, CallError, Caller as _, Catalog, Credentials, Entry, Function, FunctionId, Observer,
    Person, Types, schema::write, suggest,
};
use toolscript_luau::{Asked, Limits};

use crate::{
    Engine,
    dispatcher::{Door, Visit},
    knowledge,
};

/// The kinds of sources whose functions are tools; APIs and MCP servers are for scripts.
const KINDS: [&str; 2] = ["script", "toolkit"];
/// The source whose functions go by their bare names.
const SCRIPTS: &str = "tools";

/// A function that can be called by itself.
#[derive(Debug, Clone)]
pub struct Tool {
    /// What it is called: `create_ticket`, or `kit.tool` for a tool of a toolkit.
    pub name: String,
    /// Whether it comes with the program.
    pub builtin: bool,
    entry: Arc<Entry>,
    /// Where its function stands in the listing of the entry, which never changes.
    at: usize,
}

/// One use of a tool.
#[derive(Default)]
pub struct ToolCall {
    /// The name of the tool.
    pub name: String,
    /// The parameters, flat.
    pub params: Map<String, Value>,
    /// How long it may take; the configured limit where left out, and never more than the ceiling.
    pub timeout_ms: Option<u64>,
    /// Credentials for this call alone, by source.
    pub credentials: Credentials,
    /// Who asks.
    pub owner: String,
    /// Somebody who can be asked while the call waits.
    pub person: Option<Arc<dyn Person>>,
    /// Hears what happens inside the call.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Tool {
    /// What it is.
    pub fn function(&self) -> &Function {
        &self.entry.listing.functions[self.at]
    }

    /// The types its parameters and its result mention.
    pub fn types(&self) -> &Types {
        &self.entry.listing.types
    }

    /// Where it stands among all functions.
    pub fn id(&self) -> FunctionId {
        FunctionId {
            source: self.entry.name.clone(),
            name: self.function().name.clone(),
        }
    }

    /// The tools of an entry, by the names they are called by.
    fn all_of(entry: &Arc<Entry>) -> impl Iterator<Item = Self> {
        (0..entry.listing.functions.len()).map(|at| Self::of(entry, at))
    }

    fn of(entry: &Arc<Entry>, at: usize) -> Self {
        let name = entry.listing.functions[at].name.as_str();
        let knowledge = knowledge::entry();
        let builtin = Arc::ptr_eq(entry, knowledge);
        let is_bare = entry.name.as_str() == SCRIPTS && knowledge.function(name).is_none();
        Self {
            name: if builtin || is_bare {
                name.to_owned()
            } else {
                format!("{}.{name}", entry.name)
            },
            builtin,
            entry: entry.clone(),
            at,
        }
    }

    /// The tool of an entry whose function has this name.
    fn named(entry: &Arc<Entry>, name: &str) -> Option<Self> {
        let function = entry.function(name)?;
        let mut functions = entry.listing.functions.iter();
        let at = functions.position(|known| known.name == function.name)?;
        Some(Self::of(entry, at))
    }
}

impl Engine {
    /// Every tool there is at this moment, the built-in ones first.
    pub fn tools(&self) -> Vec<Tool> {
        list(&self.catalog())
    }

    /// Calls a tool through the same door as scripts: the same checks, limits and records.
    ///
    /// Dropping the future cancels the call.
    pub async fn call_tool(&self, call: ToolCall) -> Result<Value, CallError> {
        let asked = Asked {
            timeout_ms: call.timeout_ms,
            ..Asked::default()
        };
        let limits = self.settings().limits.asked(&asked, &Limits::ceiling());
        let snapshot = self.registry.snapshot();
        let tool = find(&snapshot.catalog, &call.name)?;
        let mut params = call.params;
        if tool.builtin {
            return knowledge::call(&tool.id(), &params);
        }
        let body = tool
            .function()
            .body
            .as_ref()
            .and_then(|_| params.remove(write::BODY));
        let patience = Duration::from_millis(limits.timeout_ms);
        let door = Door::new(Visit {
            dispatcher: self.dispatcher.clone(),
            snapshot,
            owner: call.owner,
            credentials: call.credentials,
            deadline: Instant::now() + patience,
            person: call.person,
            observer: call.observer,
        });
        let function = tool.id();
        let call = Call {
            function: function.clone(),
            params,
            body,
        };
        let answered = tokio::time::timeout(patience, door.call(call)).await;
        let reply = answered.map_err(|_| CallError::Timeout {
            function,
            after_ms: limits.timeout_ms,
        })?;
        Ok(reply?.value)
    }
}

fn list(catalog: &Catalog) -> Vec<Tool> {
    let made = catalog.entries().filter(|entry| has_tools(entry));
    let entries = std::iter::once(knowledge::entry()).chain(made);
    entries.flat_map(Tool::all_of).collect()
}

fn has_tools(entry: &Entry) -> bool {
    KINDS.contains(&entry.listing.info.kind.as_str())
}

/// The tool of a name: as it is listed, or with its source in front.
fn find(catalog: &Catalog, name: &str) -> Result<Tool, CallError> {
    if let Some(tool) = Tool::named(knowledge::entry(), name) {
        return Ok(tool);
    }
    let (source, function) = name.split_once('.').unwrap_or((SCRIPTS, name));
    let entry = catalog
        .entries()
        .find(|entry| entry.name.as_str() == source && has_tools(entry));
    entry
        .and_then(|entry| Tool::named(entry, function))
        .ok_or_else(|| not_found(catalog, name))
}

fn not_found(catalog: &Catalog, name: &str) -> CallError {
    const FEW: usize = 5;
    let tools = list(catalog);
    let names = tools.iter().map(|tool| tool.name.as_str());
    let near = suggest::nearest(name, names, FEW);
    let hint = if near.is_empty() {
        format!("GET /tools/list has all {} tools", tools.len())
    } else {
        let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        format!("did you mean {}?", near.join(", "))
    };
    CallError::NotFound {
        function: shorten(name),
        hint,
    }
}

/// A name somebody made up may be as long as a request.
fn shorten(name: &str) -> String {
    const LONGEST: usize = 100;
    name.chars().take(LONGEST).collect()
}

impl std::fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolCall")
            .field("name", &self.name)
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}
