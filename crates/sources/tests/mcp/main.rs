//! MCP servers of every temper, listed and called as sources.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test stops at the first surprise"
)]

mod asides;
mod listing;
mod login;
mod loss;
mod processes;
mod remote;
mod start;
mod traces;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use toolscript_catalog::{
    Call, CallContext, CallError, FunctionName, Listing, Source as _, SourceName,
};
use toolscript_sources::{
    Changed, Context,
    mcp::{self, Server, Settings},
};
use toolscript_testkit::mcp::{Plan, program};

/// Longer than anything here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server under test, and who hears that it has something new.
struct Tested {
    server: Arc<Server>,
    told: mpsc::UnboundedReceiver<SourceName>,
    /// Where eras are remembered.
    state: Arc<TempDir>,
}

/// The settings of the fake as a program.
fn fake(plan: &Plan) -> Settings {
    Settings {
        command: Some(program().to_string_lossy().into_owned()),
        args: Some(plan.arguments()),
        ..Settings::default()
    }
}

/// The settings of a remote server.
fn remote(url: &str) -> Settings {
    Settings {
        url: Some(url.to_owned()),
        ..Settings::default()
    }
}

fn open(settings: Settings) -> Tested {
    let state = Arc::new(tempfile::tempdir().unwrap());
    open_again(settings, state)
}

fn open_again(settings: Settings, state: Arc<TempDir>) -> Tested {
    let (tell, told) = mpsc::unbounded_channel();
    let cx = Context {
        changed: Changed::new(move |source| drop(tell.send(source.clone()))),
        ..context(&state)
    };
    let name = SourceName::parse("fake").unwrap();
    let server = mcp::open(&cx, name, settings).unwrap();
    Tested {
        server,
        told,
        state,
    }
}

/// What the program lends to a source, with its memory in a folder.
fn context(state: &TempDir) -> Context {
    Context {
        folder: std::env::temp_dir(),
        state: Some(state.path().to_owned()),
        ..Context::default()
    }
}

/// Opens and lists.
async fn ready(settings: Settings) -> Tested {
    let tested = open(settings);
    tested.list().await;
    tested
}

impl Tested {
    async fn list(&self) -> Listing {
        self.server.list().await.unwrap()
    }

    /// The names of what is listed.
    async fn names(&self) -> Vec<String> {
        let listing = self.list().await;
        listing
            .functions
            .iter()
            .map(|function| function.name.to_string())
            .collect()
    }

    /// Why nothing is listed.
    async fn problem(&self) -> String {
        self.server.list().await.unwrap_err().to_string()
    }

    async fn call(&self, name: &str, params: Value) -> Result<Value, CallError> {
        self.call_until(name, params, None).await
    }

    async fn call_until(
        &self,
        name: &str,
        params: Value,
        deadline: Option<Instant>,
    ) -> Result<Value, CallError> {
        let cx = CallContext {
            deadline,
            ..CallContext::default()
        };
        let reply = self.server.call(&cx, call(name, params)).await?;
        Ok(reply.value)
    }

    /// The words of a call that fails.
    async fn refusal(&self, name: &str, params: Value) -> String {
        self.call(name, params).await.unwrap_err().to_string()
    }

    /// Waits until the server has something new to list.
    async fn news(&mut self) {
        let told = tokio::time::timeout(PATIENCE, self.told.recv()).await;
        assert!(told.expect("news in time").is_some());
    }

    async fn pid(&self) -> i32 {
        let answer = self.call("pid", json!({})).await.unwrap();
        i32::try_from(answer["pid"].as_i64().unwrap()).unwrap()
    }
}

fn call(name: &str, params: Value) -> Call {
    let params: Map<String, Value> = serde_json::from_value(params).unwrap();
    let source = SourceName::parse("fake").unwrap();
    let name = FunctionName::clean(name);
    Call {
        function: toolscript_catalog::FunctionId { source, name },
        params,
        body: None,
    }
}

/// Whether a process is there; one that only waits to be counted is not.
fn is_running(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !matches!(facts(&stat).as_slice(), [] | ["Z" | "X", ..])
}

/// Everybody in a process group.
fn group_of(leader: i32) -> Vec<i32> {
    let leader = leader.to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let members = processes.filter_map(|process| {
        let stat = std::fs::read_to_string(process.path().join("stat")).ok()?;
        let is_member = facts(&stat).get(2) == Some(&leader.as_str());
        process
            .file_name()
            .to_str()?
            .parse()
            .ok()
            .filter(|_| is_member)
    });
    members.collect()
}

/// State, parent, group and more of `pid (name) state parent group …`; the name may hold anything.
fn facts(stat: &str) -> Vec<&str> {
    stat.rsplit_once(") ")
        .map(|(_, facts)| facts.split(' ').collect())
        .unwrap_or_default()
}

/// Waits for the end of a process.
async fn gone(pid: i32) {
    let process = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let Some(process) = process else { return };
    let patience = Timespec::try_from(PATIENCE).unwrap();
    let ended = tokio::task::spawn_blocking(move || {
        poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&patience))
    });
    assert_eq!(ended.await.unwrap(), Ok(1), "{pid} is still running");
}
