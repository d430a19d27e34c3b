//! The guard: a server ends with us, however we end.
//!
//! This test is a program that answers `__guard` as ours does, which the usual frame of tests
//! does not allow; so it brings its own.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first surprise, and this one is not marked as one"
)]

use std::{
    ffi::OsString,
    io::{BufRead as _, BufReader, Write as _},
    os::fd::OwnedFd,
    process::{Child, Command, ExitCode, Stdio},
    sync::Arc,
    time::Duration,
};

use libtest_mimic::{Arguments, Failed, Trial};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolscript_catalog::{Call, CallContext, CallError, FunctionId, Source as _, SourceName};
use toolscript_sources::{
    Context,
    mcp::{self, Server, Settings, guard},
};
use toolscript_testkit::mcp::{Plan, program};

/// The subcommand under which this program starts a server and waits to be killed.
const HOLD: &str = "hold";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some(guard::SUBCOMMAND.as_ref()) {
        return guard::run(arguments);
    }
    guard::offer_this_program();
    if first.as_deref() == Some(HOLD.as_ref()) {
        return hold(arguments.next().unwrap_or_default());
    }
    let tests = vec![
        test("a guarded server works and its exit code is known", works),
        test(
            "a server ended by a signal is told from one that stopped",
            ended_by_signal,
        ),
        test("a server ends when we are killed", || {
            killed(&Plan::default());
        }),
        test(
            "a stubborn server and what it started end when we are killed",
            || killed(&stubborn()),
        ),
        test("a server ends when its guard is killed", guard_killed),
        test("closing waits for a stubborn server", closed),
        test("a program that is not there is named", not_there),
    ];
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

fn test(name: &str, run: impl Fn() + Send + Sync + 'static) -> Trial {
    Trial::test(name, move || {
        run();
        Ok::<(), Failed>(())
    })
}

fn stubborn() -> Plan {
    Plan {
        ignores_the_end: true,
        starts_another: true,
        ..Plan::default()
    }
}

fn settings(plan: &Plan) -> Settings {
    Settings {
        command: Some(program().to_string_lossy().into_owned()),
        args: Some(plan.arguments()),
        ..Settings::default()
    }
}

fn open(settings: Settings) -> Arc<Server> {
    let cx = Context {
        folder: std::env::temp_dir(),
        ..Context::default()
    };
    mcp::open(&cx, SourceName::parse("fake").unwrap(), settings).unwrap()
}

async fn call(server: &Server, function: &str, params: Value) -> Result<Value, CallError> {
    let function: FunctionId = format!("fake.{function}").parse().unwrap();
    let call = Call {
        function,
        params: serde_json::from_value(params).unwrap(),
        body: None,
    };
    Ok(server.call(&CallContext::default(), call).await?.value)
}

async fn pid_of(server: &Server) -> Pid {
    let answer = call(server, "pid", json!({})).await.unwrap();
    process(i32::try_from(answer["pid"].as_i64().unwrap()).unwrap())
}

fn process(pid: i32) -> Pid {
    Pid::from_raw(pid).unwrap()
}

/// State, parent, group and more of `pid (name) state parent group …`; the name may hold anything.
fn facts(stat: &str) -> Vec<&str> {
    let facts = stat
        .rsplit_once(") ")
        .map(|(_, facts)| facts.split(' ').collect());
    facts.unwrap_or_default()
}

/// Who started a process.
fn parent_of(pid: Pid) -> Pid {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
    process(facts(&stat)[1].parse().unwrap())
}

/// Everybody in a process group.
fn group_of(leader: Pid) -> Vec<Pid> {
    let leader = leader.as_raw_nonzero().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let members = processes.filter_map(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let is_member = facts(&stat).get(2) == Some(&leader.as_str());
        let pid = entry.file_name().to_str()?.parse().ok()?;
        is_member.then(|| process(pid))
    });
    members.collect()
}

/// A process that is running now.
fn watch(pid: Pid) -> OwnedFd {
    pidfd_open(pid, PidfdFlags::empty()).unwrap()
}

/// Waits for the end of a process.
fn wait_for(process: &OwnedFd) {
    let patience = Timespec::try_from(Duration::from_mins(1)).unwrap();
    let ended = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&patience));
    assert_eq!(ended, Ok(1), "the process is still running");
}

fn works() {
    Runtime::new().unwrap().block_on(async {
        let server = open(settings(&Plan::default()));
        server.list().await.unwrap();
        assert_eq!(
            call(&server, "echo", json!({"text": "a"})).await.unwrap(),
            "a"
        );
        let pid = pid_of(&server).await;
        assert_ne!(
            parent_of(pid),
            rustix::process::getpid(),
            "there is a guard in between"
        );
        let error = call(&server, "die", json!({"code": 9}))
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains("stopped with exit code 9"), "{error}");
    });
}

fn ended_by_signal() {
    Runtime::new().unwrap().block_on(async {
        let server = open(settings(&Plan::default()));
        server.list().await.unwrap();
        let pid = pid_of(&server).await;
        let hanging = call(&server, "hang", json!({}));
        let ending = async {
            // Once another call is answered, this one has arrived.
            call(&server, "echo", json!({"text": "a"})).await.unwrap();
            kill_process(pid, Signal::KILL).unwrap();
        };
        let (error, ()) = tokio::join!(hanging, ending);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("ended by signal 9"), "{error}");
    });
}

fn killed(plan: &Plan) {
    let (mut holder, server) = start_holder(plan);
    let guard = parent_of(server);
    let group = group_of(guard);
    assert_eq!(group.len(), if plan.starts_another { 3 } else { 2 });
    let watched: Vec<OwnedFd> = group.into_iter().map(watch).collect();
    holder.kill().unwrap();
    holder.wait().unwrap();
    watched.iter().for_each(wait_for);
}

fn start_holder(plan: &Plan) -> (Child, Pid) {
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args([OsString::from(HOLD), plan.arguments().remove(0).into()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    (holder, process(line.trim().parse().unwrap()))
}

/// Starts a server, says which process it is, and waits to be killed.
fn hold(plan: OsString) -> ExitCode {
    let plan: Plan = serde_json::from_str(&plan.into_string().unwrap()).unwrap();
    Runtime::new().unwrap().block_on(async {
        let server = open(settings(&plan));
        server.list().await.unwrap();
        let pid = pid_of(&server).await;
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{}", pid.as_raw_nonzero()).unwrap();
        std::future::pending::<()>().await;
    });
    ExitCode::SUCCESS
}

fn guard_killed() {
    Runtime::new().unwrap().block_on(async {
        let server = open(settings(&stubborn()));
        server.list().await.unwrap();
        let pid = pid_of(&server).await;
        let guard = parent_of(pid);
        let watched = watch(pid);
        kill_process(guard, Signal::KILL).unwrap();
        tokio::task::spawn_blocking(move || wait_for(&watched))
            .await
            .unwrap();
        assert_ne!(
            pid_of(&server).await,
            pid,
            "and another one takes its place"
        );
        server.close().await;
    });
}

fn closed() {
    Runtime::new().unwrap().block_on(async {
        let server = open(settings(&stubborn()));
        server.list().await.unwrap();
        let group = group_of(parent_of(pid_of(&server).await));
        let watched: Vec<OwnedFd> = group.into_iter().map(watch).collect();
        server.close().await;
        watched.iter().for_each(wait_for);
    });
}

fn not_there() {
    Runtime::new().unwrap().block_on(async {
        let server = open(Settings {
            command: Some("no-such-server-program".to_owned()),
            ..Settings::default()
        });
        let error = server.list().await.unwrap_err().to_string();
        assert!(
            error.contains("cannot start `no-such-server-program`"),
            "{error}"
        );
    });
}
