//! MCP servers that start late, fall silent, die or change, behind the real program: the others
//! keep serving, every call is answered or fails with a reason, and no process stays behind.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what cannot be had stops the test"
)]

#[expect(dead_code, reason = "other tests need the rest of it")]
mod support {
    pub(crate) mod processes;
    pub(crate) mod program;
}

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write as _,
    fs,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use support::{
    processes::{self, Process},
    program::{PATIENCE, Program},
};
use tempfile::TempDir;
use toolscript_testkit::mcp::{Plan, program};

/// The real program on standard input and output, with fake servers behind it.
struct Talk {
    program: Program,
    last: u64,
    waiting: HashMap<u64, Value>,
    _folder: TempDir,
}

impl Talk {
    /// Starts the program with a server for each plan; `settings` go to all of them.
    fn start(plans: &[(&str, Plan)], settings: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let mut text = "[limits]\nmax_parallel = 64\n".to_owned();
        for (name, plan) in plans {
            let (command, arguments) = (program().display().to_string(), plan.arguments());
            writeln!(
                text,
                "[mcp_servers.{name}]\ncommand = {command:?}\nargs = {arguments:?}\n{settings}"
            )
            .unwrap();
        }
        fs::write(folder.path().join("toolscript.toml"), text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolscript"));
        command
            .arg("run")
            .current_dir(folder.path())
            .env_remove("RUST_LOG")
            .env("XDG_CONFIG_HOME", folder.path())
            .env("XDG_CACHE_HOME", folder.path())
            .env("XDG_STATE_HOME", folder.path());
        let mut talk = Self {
            program: Program::start(&mut command),
            last: 0,
            waiting: HashMap::new(),
            _folder: folder,
        };
        let hello = talk.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        talk.answer(hello);
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        talk.program.say(&initialized.to_string());
        talk
    }

    fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.program.say(&request.to_string());
        self.last
    }

    /// Sends a script; its outcome is fetched with [`Self::answer`].
    fn send(&mut self, script: &str) -> u64 {
        let arguments = json!({"script": script, "timeout_ms": 60_000});
        self.ask(
            "tools/call",
            &json!({"name": "execute_script", "arguments": arguments}),
        )
    }

    /// The result of a request.
    fn answer(&mut self, id: u64) -> Value {
        loop {
            if let Some(answer) = self.waiting.remove(&id) {
                return answer;
            }
            let line = self
                .program
                .stdout
                .next()
                .expect("the program is still there");
            let mut message: Value = serde_json::from_str(&line).unwrap();
            if let Some(id) = message["id"].as_u64() {
                self.waiting.insert(id, message["result"].take());
            }
        }
    }

    /// Runs a script and gives its outcome.
    fn outcome(&mut self, script: &str) -> Value {
        let id = self.send(script);
        self.answer(id)["structuredContent"].take()
    }

    /// The result of a script that works.
    #[track_caller]
    fn result(&mut self, script: &str) -> Value {
        let mut outcome = self.outcome(script);
        assert!(outcome.get("error").is_none(), "{script}: {outcome:#}");
        outcome["result"].take()
    }

    /// Runs a script until it gives what is wanted; the good server serves all the while.
    #[track_caller]
    fn until(&mut self, script: &str, wanted: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            assert_eq!(self.result(ECHO), "a", "the good one serves all the time");
            let outcome = self.outcome(script);
            if outcome["result"] == wanted {
                return;
            }
            assert!(Instant::now() < deadline, "{script}: {outcome:#}");
            std::thread::park_timeout(Duration::from_millis(100));
        }
    }

    /// Why a script does not work.
    #[track_caller]
    fn problem(&mut self, script: &str) -> String {
        let outcome = self.outcome(script);
        let message = outcome["error"]["message"].as_str();
        message
            .unwrap_or_else(|| panic!("{script}: {outcome:#}"))
            .to_owned()
    }

    /// Everybody the program has started.
    fn offspring(&self) -> Vec<Process> {
        processes::offspring(self.program.id())
    }
}

/// A call to the server that does its work.
const ECHO: &str = "return good.echo({ text = 'a' })";

#[test]
fn bad_servers_hold_up_nobody() {
    let plan = Plan::default;
    let mut talk = Talk::start(
        &[
            ("good", plan()),
            (
                "late",
                Plan {
                    start_after_ms: 25_000,
                    ..plan()
                },
            ),
            (
                "silent",
                Plan {
                    is_silent: true,
                    ..plan()
                },
            ),
            (
                "garbage",
                Plan {
                    garbage: Some("Usage: serve".to_owned()),
                    ..plan()
                },
            ),
            (
                "dead",
                Plan {
                    exits_with: Some(3),
                    stderr_lines: 1,
                    ..plan()
                },
            ),
            (
                "big",
                Plan {
                    more_tools: 3_000,
                    page: 51,
                    ..plan()
                },
            ),
        ],
        "start_timeout = 40\n",
    );
    let started = Instant::now();
    assert_eq!(talk.result(ECHO), "a");
    talk.until("return big.tool_2999({ value = 'x' })", "tool_2999");
    knows_who_is_there(&mut talk);
    survives_a_death_in_the_middle_of_a_call(&mut talk);
    notices_that_tools_change(&mut talk);
    let waited = started.elapsed();
    assert!(
        waited < Duration::from_secs(24),
        "all that did not wait for the late one: {waited:?}"
    );
    talk.until("return late.echo({ text = 'here' })", "here");
}

fn knows_who_is_there(talk: &mut Talk) {
    let dead = talk.problem("return sdk.dead.echo({ text = 'a' })");
    assert!(dead.contains("stopped with exit code 3"), "{dead}");
    for away in ["late", "silent", "garbage"] {
        let problem = talk.problem(&format!("return sdk.{away}.echo({{ text = 'a' }})"));
        assert!(problem.contains(away), "{problem}");
    }
    let servers = talk.result("return proxy.list_servers()");
    let connected: BTreeSet<&str> = servers
        .as_array()
        .unwrap()
        .iter()
        .filter(|server| server["connected"] == true)
        .map(|server| server["name"].as_str().unwrap())
        .collect();
    assert_eq!(connected, BTreeSet::from(["big", "good"]), "{servers:#}");
    let count = talk.result("return #proxy.list_tools({ server = 'big' })");
    assert!(3_000 < count.as_u64().unwrap(), "{count}");
}

fn survives_a_death_in_the_middle_of_a_call(talk: &mut Talk) {
    let problem = talk.problem("return good.die({ code = 9 })");
    assert!(problem.contains("stopped with exit code 9"), "{problem}");
    assert!(
        problem.contains("I cannot go on"),
        "its last words: {problem}"
    );
    assert_eq!(talk.result("return good.echo({ text = 'b' })"), "b");
}

fn notices_that_tools_change(talk: &mut Talk) {
    let extra = "return good.extra()";
    assert!(talk.problem(extra).contains("extra"));
    assert_eq!(talk.result("return good.toggle()"), "done");
    talk.until(extra, "extra");
}

/// Calls every server at once and tells of each whether and why not it answered.
const CALL_ALL: &str = "
    local calls = {}
    for _, name in { 'a', 'b', 'c', 'd' } do
        table.insert(calls, function()
            local ok, answer = pcall(function() return sdk[name].echo({ text = name }) end)
            return { ok = ok and answer == name, problem = if ok then '' else tostring(answer) }
        end)
    end
    return parallel(calls)";

/// The processes of the servers, as far as they answer.
const PIDS: &str = "
    local calls = {}
    for _, name in { 'a', 'b', 'c', 'd' } do
        table.insert(calls, function()
            local ok, answer = pcall(function() return sdk[name].pid() end)
            return if ok then answer.pid else 0
        end)
    end
    return parallel(calls)";

#[test]
fn a_thousand_kills_under_load_leave_nobody_waiting_and_nobody_behind() {
    const KILLS: usize = 1_000;
    const SCRIPTS: usize = 8;
    let plan = Plan::default;
    let mut talk = Talk::start(
        &[("a", plan()), ("b", plan()), ("c", plan()), ("d", plan())],
        "",
    );
    let mut running: Vec<u64> = (0..SCRIPTS).map(|_| talk.send(CALL_ALL)).collect();
    let mut seen: Vec<Process> = Vec::new();
    let (mut killed, mut answered, mut failed) = (0, 0, 0);
    while killed < KILLS {
        let pids = talk.result(PIDS);
        for pid in pids.as_array().unwrap() {
            let pid = i32::try_from(pid.as_i64().unwrap()).unwrap();
            let Some(server) = (0 < pid).then(|| processes::find(pid)).flatten() else {
                continue;
            };
            // A server whose guard has just died is the child of the first process of all.
            let guard = Some(server.parent).filter(|parent| 1 < *parent);
            let guard = guard.and_then(processes::find);
            seen.extend([Some(server), guard].into_iter().flatten());
            // Every other time the guard before the server is the one to die.
            let victim = guard.filter(|_| killed % 2 == 1).unwrap_or(server);
            killed += usize::from(processes::kill(victim.id));
        }
        for id in std::mem::take(&mut running) {
            let outcome = talk.answer(id)["structuredContent"].take();
            for call in outcome["result"]
                .as_array()
                .unwrap_or_else(|| panic!("{outcome:#}"))
            {
                check_call(call);
                *(if call["ok"] == true {
                    &mut answered
                } else {
                    &mut failed
                }) += 1;
            }
            running.push(talk.send(CALL_ALL));
        }
    }
    for id in running {
        talk.answer(id);
    }
    assert!(
        KILLS < answered + failed,
        "{answered} calls answered, {failed} failed"
    );
    seen.extend(talk.offspring());
    let (status, said) = talk.program.finish();
    assert!(status.success(), "{said}");
    seen.retain(|process| process.id != std::process::id().cast_signed());
    processes::all_gone(&seen);
}

/// A call is answered, or its error says what happened to the server.
#[track_caller]
fn check_call(call: &Value) {
    let problem = call["problem"].as_str().unwrap();
    let reasons = [
        "signal 9",
        "the server stopped",
        "closed its output",
        "connection closed",
    ];
    let is_explained = reasons.iter().any(|reason| problem.contains(reason));
    assert!(call["ok"] == true || is_explained, "{call}");
}

#[test]
fn nobody_outlives_the_program_when_it_is_killed() {
    let stubborn = Plan {
        ignores_the_end: true,
        starts_another: true,
        ..Plan::default()
    };
    let mut talk = Talk::start(&[("gentle", Plan::default()), ("stubborn", stubborn)], "");
    assert_eq!(talk.result("return gentle.echo({ text = 'a' })"), "a");
    assert_eq!(talk.result("return stubborn.echo({ text = 'a' })"), "a");
    let offspring = talk.offspring();
    assert_eq!(
        offspring.len(),
        5,
        "two guards, two servers, and what one of them started"
    );
    assert!(processes::kill(talk.program.id()));
    processes::all_gone(&offspring);
}
