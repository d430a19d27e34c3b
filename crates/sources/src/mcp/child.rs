//! A server as a child process: its environment, its process group, its stderr, its end.

use std::{
    ffi::OsStr,
    fmt::Write as _,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    process::{ChildStdin, ChildStdout, Command},
    sync::watch,
    time::timeout,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{guard, tail::Tail, upstream::Program};

/// Longer than a guard needs for its own steps.
const PATIENCE: Duration = guard::GRACE.saturating_mul(3);

/// A running server. Letting go of it ends the whole process group.
#[derive(Debug)]
pub(super) struct Child {
    tail: Tail,
    exit: watch::Receiver<Option<Exit>>,
    end: DropGuard,
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Code(i32),
    Signal(i32),
    Unknown,
}

/// The pipes to a server.
pub(super) struct Pipes {
    pub(super) input: ChildStdin,
    pub(super) output: ChildStdout,
}

impl Child {
    /// Starts the program, in front of it a guard where there is one. `children` knows when it
    /// has ended.
    pub(super) fn start(
        program: &Program,
        children: &TaskTracker,
    ) -> std::io::Result<(Self, Pipes)> {
        if let Some(cwd) = program.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
            let problem = format!("`cwd` leads to `{}`, which is no folder", cwd.display());
            return Err(std::io::Error::other(problem));
        }
        let guard = guard::program();
        let mut command = match &guard {
            None => Command::new(&program.command),
            Some(guard) => {
                let mut command = Command::new(guard);
                command.args([
                    OsStr::new(guard::SUBCOMMAND),
                    OsStr::new("--"),
                    &program.command,
                ]);
                command
            }
        };
        command.args(&program.args);
        dress(&mut command, program);
        let mut process = command.spawn()?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let Some((input, output)) = pipes else {
            return Err(std::io::Error::other("the pipes are gone"));
        };
        let tail = Tail::follow(process.stderr.take(), &program.env);
        let end = CancellationToken::new();
        let (told, exit) = watch::channel(None);
        let group = Group::of(&process);
        let supervisor = Supervisor {
            process,
            group,
            is_guarded: guard.is_some(),
        };
        children.spawn(supervisor.run(end.clone(), told));
        let end = end.drop_guard();
        Ok((Self { tail, exit, end }, Pipes { input, output }))
    }

    /// The last lines the server wrote to stderr.
    pub(super) fn tail(&self) -> Tail {
        self.tail.clone()
    }

    /// Waits until the server has ended by itself.
    pub(super) async fn ended(&mut self) -> Exit {
        let exit = self.exit.wait_for(Option::is_some).await;
        exit.ok().and_then(|exit| *exit).unwrap_or(Exit::Unknown)
    }

    /// Waits until the server has ended by itself and what it wrote last has had time to arrive.
    pub(super) async fn gone(&mut self) {
        const ON_ITS_WAY: Duration = Duration::from_millis(500);
        self.ended().await;
        tokio::time::sleep(ON_ITS_WAY).await;
    }

    /// Ends the server and all it started, and waits for that.
    pub(super) async fn end(self) -> Exit {
        let Self { mut exit, end, .. } = self;
        drop(end);
        let exit = exit.wait_for(Option::is_some).await;
        exit.ok().and_then(|exit| *exit).unwrap_or(Exit::Unknown)
    }
}

/// Gives the command its pipes, its environment, its folder and a process group of its own.
fn dress(command: &mut Command, program: &Program) {
    if !program.inherit_env {
        command.env_clear();
        for name in ["PATH", "HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
    }
    for (name, value) in &program.env {
        command.env(name, value.reveal());
    }
    if let Some(cwd) = &program.cwd {
        command.current_dir(cwd);
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
}

/// The task that waits for a process and ends it when it is time.
struct Supervisor {
    process: tokio::process::Child,
    group: Group,
    is_guarded: bool,
}

impl Supervisor {
    async fn run(mut self, end: CancellationToken, told: watch::Sender<Option<Exit>>) {
        let status = tokio::select! {
            status = self.process.wait() => status.ok(),
            () = end.cancelled() => self.usher_out().await,
        };
        // What the server started and left behind goes with it.
        self.group.end();
        told.send_replace(Some(self.read(status)));
    }

    /// Its input has closed, which means: leave. Some need to be told twice.
    async fn usher_out(&mut self) -> Option<ExitStatus> {
        // A guard has begun to do the same by itself.
        let patience = if self.is_guarded {
            PATIENCE
        } else {
            guard::GRACE
        };
        if let Ok(status) = timeout(patience, self.process.wait()).await {
            return status.ok();
        }
        if !self.is_guarded {
            self.group.ask_to_leave();
            if let Ok(status) = timeout(guard::GRACE, self.process.wait()).await {
                return status.ok();
            }
        }
        self.group.end();
        self.process.wait().await.ok()
    }

    fn read(&self, status: Option<ExitStatus>) -> Exit {
        let Some(status) = status else {
            return Exit::Unknown;
        };
        match status.code() {
            // A guard hands a signal on as a shell does.
            Some(code) if self.is_guarded && 128 < code => Exit::Signal(code - 128),
            Some(code) => Exit::Code(code),
            None => signal(status).map_or(Exit::Unknown, Exit::Signal),
        }
    }
}

impl Exit {
    /// What happened, in words.
    pub(super) fn describe(self) -> String {
        let mut words = "the server stopped".to_owned();
        // Writing to a string does not fail.
        let _written = match self {
            Self::Code(code) => write!(words, " with exit code {code}"),
            Self::Signal(signal) => write!(words, ", ended by signal {signal}"),
            Self::Unknown => Ok(()),
        };
        words
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_status: ExitStatus) -> Option<i32> {
    None
}

/// A process group, ended at the latest when it is dropped.
#[derive(Debug)]
struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl Group {
    fn of(process: &tokio::process::Child) -> Self {
        let id = process.id().and_then(|id| i32::try_from(id).ok());
        Self {
            leader: id.and_then(rustix::process::Pid::from_raw),
        }
    }

    fn ask_to_leave(&self) {
        if let Some(leader) = self.leader {
            // Who is gone already needs not be asked.
            rustix::process::kill_process_group(leader, rustix::process::Signal::TERM).ok();
        }
    }

    /// Once only: afterwards the number may come to mean somebody else.
    fn end(&mut self) {
        if let Some(leader) = self.leader.take() {
            rustix::process::kill_process_group(leader, rustix::process::Signal::KILL).ok();
        }
    }
}

#[cfg(not(unix))]
impl Group {
    fn of(_process: &tokio::process::Child) -> Self {
        Self {}
    }

    fn ask_to_leave(&self) {}

    fn end(&mut self) {}
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}
