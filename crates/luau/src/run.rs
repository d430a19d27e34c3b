//! One run: what a caller asks for, and what our functions inside the VM know while it lasts.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures_util::future::BoxFuture;
use mlua::{FromLua, IntoLua, Lua, Table};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolscript_catalog::{CallError, Caller, Catalog, Entry, Function, FunctionId, Level, Reply};

use crate::{
    host::{Argument, HostModule},
    limits::{Exceeded, Limits},
    outcome::{Failure, LogLine, TraceLine},
    parallel::Plan,
    results::Results,
    watch::lock,
};

/// One script to run, with everything it may touch.
#[derive(Clone)]
pub struct Run {
    /// The Luau text.
    pub script: String,
    /// What to do with the script.
    pub entry: EntryPoint,
    /// The functions the script can name.
    pub catalog: Arc<Catalog>,
    /// The door its calls go through.
    pub caller: Arc<dyn Caller>,
    /// What it may use.
    pub limits: Limits,
    /// Who asks; kept results belong to them.
    pub owner: String,
    /// Ends the run and its calls when fired.
    pub cancel: CancellationToken,
    /// Is told about each call and log line, where somebody wants to know.
    pub progress: Option<Arc<dyn Progress>>,
    /// Answers `help()`, `search()` and `docs()`.
    pub guide: Option<Arc<dyn Guide>>,
    /// Further modules for scripts the operator trusts.
    pub modules: Vec<Arc<dyn HostModule>>,
}

impl Run {
    /// A run of an agent's script with the default limits.
    pub fn new(script: impl Into<String>, catalog: Arc<Catalog>, caller: Arc<dyn Caller>) -> Self {
        Self {
            script: script.into(),
            entry: EntryPoint::Script,
            catalog,
            caller,
            limits: Limits::default(),
            owner: String::new(),
            cancel: CancellationToken::new(),
            progress: None,
            guide: None,
            modules: Vec::new(),
        }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("owner", &self.owner)
            .field("entry", &self.entry)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// What of a script gives the result.
#[derive(Debug, Clone, Default)]
pub enum EntryPoint {
    /// What the script returns.
    #[default]
    Script,
    /// A global table the script defines, such as `tool`, without its functions; the names of
    /// those are listed under `functions`.
    Describe {
        /// The name of the table.
        global: String,
    },
    /// What a function in a global table returns, such as `tool.execute(params, context)`.
    Call {
        /// The name of the table.
        global: String,
        /// The name of the function in it.
        function: String,
        /// What it is called with.
        arguments: Vec<Argument>,
    },
}

/// Is told what a run does while it does it.
pub trait Progress: Send + Sync {
    /// A call starts; `number` counts the calls of the run from 1.
    fn started(&self, function: &FunctionId, number: u64);
    /// A call has ended.
    fn finished(&self, function: &FunctionId, number: u64, took: Duration, succeeded: bool);
    /// A line was printed or logged. It must return at once.
    fn logged(&self, _line: &LogLine) {}
}

/// Answers a script's questions about what there is.
pub trait Guide: Send + Sync {
    /// What `help()` shows.
    fn help(&self) -> String;
    /// What `search(text)` shows.
    fn search(&self, text: &str) -> String;
    /// What `docs(name)` shows.
    fn docs(&self, name: &str) -> String;
    /// What `proxy.list_servers()` gives: a list.
    fn servers(&self) -> Value;
    /// What `proxy.list_tools()` gives: a list of the tools of one server, or of all.
    fn tools(&self, server: Option<&str>) -> Result<Value, NoServer>;
}

/// A server nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no server `{name}`; {}", servers(known))]
pub struct NoServer {
    /// What was asked for.
    pub name: String,
    /// The servers there are.
    pub known: Vec<String>,
}

fn servers(known: &[String]) -> String {
    if known.is_empty() {
        return "none is configured".to_owned();
    }
    format!("the servers are `{}`", known.join("`, `"))
}

/// What a function of ours asks the driver to do while the script waits.
pub(crate) enum Request {
    Call(PendingCall),
    /// Something that is not a call of the SDK: sleeping, a host function.
    Wait(BoxFuture<'static, Result<Value, Failure>>),
    Parallel(Plan),
}

/// Stands for a request on its way through the script to the driver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket(u64);

impl IntoLua for Ticket {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a run makes fewer requests than 2^53"
    )]
    fn into_lua(self, _: &Lua) -> mlua::Result<mlua::Value> {
        Ok(mlua::Value::Number(self.0 as f64))
    }
}

impl FromLua for Ticket {
    fn from_lua(value: mlua::Value, lua: &Lua) -> mlua::Result<Self> {
        u64::from_lua(value, lua).map(Self)
    }
}

/// A call the script waits for.
pub(crate) struct PendingCall {
    pub(crate) function: FunctionId,
    pub(crate) number: u64,
    pub(crate) future: BoxFuture<'static, Result<Reply, CallError>>,
    /// Whether the script also wants to know how to ask for the next page.
    pub(crate) paged: bool,
}

/// What our functions inside the VM know about the run they serve.
pub(crate) struct State {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) caller: Arc<dyn Caller>,
    pub(crate) limits: Limits,
    pub(crate) owner: String,
    pub(crate) guide: Option<Arc<dyn Guide>>,
    pub(crate) results: Arc<Results>,
    pub(crate) deadline: Instant,
    progress: Option<Arc<dyn Progress>>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// By ticket: a script may be paused between asking and waiting.
    requests: HashMap<u64, Request>,
    last_ticket: u64,
    sources: HashMap<String, Table>,
    functions: Vec<Bound>,
    logs: Vec<LogLine>,
    log_bytes: usize,
    calls: u64,
    missing: BTreeSet<String>,
    trace: Vec<TraceLine>,
}

/// A function of the catalog that the script has named.
#[derive(Clone)]
pub(crate) struct Bound {
    pub(crate) entry: Arc<Entry>,
    pub(crate) id: FunctionId,
}

impl Bound {
    pub(crate) fn function(&self) -> Result<&Function, Failure> {
        let function = self.entry.function(self.id.name.as_str());
        function.ok_or_else(|| Failure::validation(format!("`{}` is gone", self.id)))
    }
}

impl State {
    pub(crate) fn new(run: &Run, results: Arc<Results>, deadline: Instant) -> Self {
        Self {
            catalog: run.catalog.clone(),
            caller: run.caller.clone(),
            limits: run.limits.clone(),
            owner: run.owner.clone(),
            guide: run.guide.clone(),
            results,
            deadline,
            progress: run.progress.clone(),
            inner: Mutex::default(),
        }
    }

    /// The run a VM serves at this moment.
    pub(crate) fn of(lua: &Lua) -> mlua::Result<Arc<State>> {
        lua.app_data_ref::<Arc<State>>()
            .map(|state| Arc::clone(&state))
            .ok_or_else(|| mlua::Error::runtime("no run is under way"))
    }

    /// Leaves a request for the driver; the script yields with the ticket.
    pub(crate) fn ask(&self, request: Request) -> Ticket {
        let mut inner = lock(&self.inner);
        inner.last_ticket += 1;
        let ticket = inner.last_ticket;
        inner.requests.insert(ticket, request);
        Ticket(ticket)
    }

    /// What the script asked for before it yielded.
    pub(crate) fn take_request(&self, ticket: Ticket) -> Option<Request> {
        lock(&self.inner).requests.remove(&ticket.0)
    }

    /// Counts one more call and gives its number.
    pub(crate) fn count_call(&self) -> Result<u64, Exceeded> {
        let mut inner = lock(&self.inner);
        if self.limits.max_calls <= inner.calls {
            return Err(Exceeded::Calls(self.limits.max_calls));
        }
        inner.calls += 1;
        Ok(inner.calls)
    }

    pub(crate) fn calls(&self) -> u64 {
        lock(&self.inner).calls
    }

    /// Keeps a printed line.
    pub(crate) fn log(
        &self,
        level: Level,
        line: Option<u32>,
        text: String,
    ) -> Result<(), Exceeded> {
        // What a line takes besides its text, so that empty ones are not free.
        const LINE: usize = 32;
        let line = LogLine { level, line, text };
        let mut inner = lock(&self.inner);
        let bytes = inner.log_bytes + line.text.len() + LINE;
        if self.limits.max_log_bytes < bytes {
            return Err(Exceeded::Log(self.limits.max_log_bytes));
        }
        inner.log_bytes = bytes;
        inner.logs.push(line.clone());
        drop(inner);
        if let Some(progress) = &self.progress {
            progress.logged(&line);
        }
        Ok(())
    }

    pub(crate) fn take_logs(&self) -> (Vec<LogLine>, usize) {
        let mut inner = lock(&self.inner);
        (std::mem::take(&mut inner.logs), inner.log_bytes)
    }

    /// The table a script sees for a source, where it has asked for it before.
    pub(crate) fn source(&self, name: &str) -> Option<Table> {
        lock(&self.inner).sources.get(name).cloned()
    }

    pub(crate) fn keep_source(&self, name: &str, table: Table) {
        lock(&self.inner).sources.insert(name.to_owned(), table);
    }

    /// Remembers a function and gives the number it is found by.
    pub(crate) fn bind(&self, bound: Bound) -> usize {
        let mut inner = lock(&self.inner);
        inner.functions.push(bound);
        inner.functions.len() - 1
    }

    pub(crate) fn bound(&self, number: usize) -> Option<Bound> {
        lock(&self.inner).functions.get(number).cloned()
    }

    /// Remembers a global that is not there, for the hint of a later error.
    pub(crate) fn note_missing(&self, name: &str) {
        const MOST: usize = 16;
        let mut inner = lock(&self.inner);
        if inner.missing.len() < MOST {
            inner.missing.insert(name.to_owned());
        }
    }

    pub(crate) fn missing(&self) -> Vec<String> {
        lock(&self.inner).missing.iter().cloned().collect()
    }

    pub(crate) fn keep_trace(&self, trace: Vec<TraceLine>) {
        lock(&self.inner).trace = trace;
    }

    pub(crate) fn take_trace(&self) -> Vec<TraceLine> {
        std::mem::take(&mut lock(&self.inner).trace)
    }
}
