//! The guard: a small process between us and a server, so that no server outlives us.
//!
//! Whoever is killed with SIGKILL cannot clean up. So our own program is started once more in
//! front of each server, as `toolscript __guard -- command args…`. The guard and the server share
//! one process group, and the server inherits the guard's pipes as they are: no byte takes a
//! detour. The guard only waits, for the server to end or for its standard input to be let go,
//! which the system does for us however we die. Then the server is asked to leave, and at last
//! the whole group is ended.

use std::{ffi::OsString, path::PathBuf, process::ExitCode, sync::OnceLock, time::Duration};

/// The subcommand our program answers as a guard.
pub const SUBCOMMAND: &str = "__guard";

/// How long a server has to leave after its input has closed, and again after SIGTERM.
pub(super) const GRACE: Duration = Duration::from_millis(1_500);

/// Names a program to use as guard instead of our own; for tests.
const OVERRIDE: &str = "TOOLSCRIPT_GUARD";

static OFFERED: OnceLock<PathBuf> = OnceLock::new();

/// Says that the running program answers [`SUBCOMMAND`] by [`run`]; `main` does, tests do not.
pub fn offer_this_program() {
    // The link survives an upgrade that replaces the file under its name.
    let program = if cfg!(target_os = "linux") {
        Some(PathBuf::from("/proc/self/exe"))
    } else {
        std::env::current_exe().ok()
    };
    if let Some(program) = program {
        OFFERED.get_or_init(|| program);
    }
}

/// The program to start in front of a server; without one servers are started bare.
pub(super) fn program() -> Option<PathBuf> {
    match std::env::var_os(OVERRIDE) {
        Some(program) => (!program.is_empty()).then(|| program.into()),
        None => OFFERED.get().cloned(),
    }
}

/// Starts the command in `arguments`, waits for its end and gives its exit code.
///
/// `arguments` are those after [`SUBCOMMAND`]: `--`, the command and its arguments. The command
/// and whatever it started are ended when standard input closes and they stay.
#[cfg(unix)]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    watch::run(arguments.into_iter().skip_while(|word| word == "--"))
}

/// There are no process groups to guard on this system.
#[cfg(not(unix))]
pub fn run(_arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::FAILURE
}

#[cfg(unix)]
mod watch {
    use std::{
        ffi::OsString,
        io::{self, Write as _},
        os::{fd::AsFd as _, unix::process::ExitStatusExt as _},
        process::{Command, ExitCode, ExitStatus},
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        thread,
    };

    use rustix::{
        event::{PollFd, PollFlags, poll},
        process::{Pid, Signal, kill_current_process_group, kill_process, setpgid},
    };

    use super::GRACE;

    /// What shells answer for a command that cannot be started.
    const NOT_STARTED: u8 = 127;

    pub(super) fn run(mut words: impl Iterator<Item = OsString>) -> ExitCode {
        // Ending "our group" must never mean somebody else's. A leader already cannot become one
        // and needs not.
        let led = setpgid(None, None);
        debug_assert!(led.is_ok() || rustix::process::getpgrp() == rustix::process::getpid());
        let Some(command) = words.next() else {
            complain("there is no command to guard");
            return ExitCode::from(NOT_STARTED);
        };
        let mut server = match Command::new(&command).args(words).spawn() {
            Ok(server) => server,
            Err(error) => {
                complain(&format!("cannot start `{}`: {error}", command.display()));
                return ExitCode::from(NOT_STARTED);
            }
        };
        let abandoned = Arc::new(AtomicBool::new(false));
        let watching = watch(Pid::from_child(&server), Arc::clone(&abandoned));
        let status = server.wait();
        if watching.is_err() || abandoned.load(Ordering::SeqCst) {
            end_group();
        }
        status.map_or(ExitCode::FAILURE, code)
    }

    /// Waits, in a thread of its own, for standard input to be let go.
    fn watch(server: Pid, abandoned: Arc<AtomicBool>) -> io::Result<()> {
        const STACK: usize = 64 << 10;
        let watcher = move || {
            wait_for_hang_up();
            abandoned.store(true, Ordering::SeqCst);
            thread::sleep(GRACE);
            // Still here: the server did not leave when its input closed.
            kill_process(server, Signal::TERM).ok();
            thread::sleep(GRACE);
            end_group();
        };
        thread::Builder::new()
            .stack_size(STACK)
            .spawn(watcher)
            .map(drop)
    }

    /// Returns when nobody holds the other end of standard input any more. Reads nothing: what
    /// comes is the server's.
    fn wait_for_hang_up() {
        let input = io::stdin();
        loop {
            let mut watched = [PollFd::from_borrowed_fd(input.as_fd(), PollFlags::empty())];
            let polled = poll(&mut watched, None);
            let is_interrupted = polled == Err(rustix::io::Errno::INTR);
            if !is_interrupted && (polled.is_err() || !watched[0].revents().is_empty()) {
                return;
            }
        }
    }

    /// Ends the server, whatever it started, and this guard.
    fn end_group() {
        kill_current_process_group(Signal::KILL).ok();
    }

    /// A server ended by a signal gives the code a shell would give.
    fn code(status: ExitStatus) -> ExitCode {
        let code = status.code().or_else(|| Some(128 + status.signal()?));
        let code = code.and_then(|code| u8::try_from(code).ok());
        code.map_or(ExitCode::FAILURE, ExitCode::from)
    }

    /// Writes where the server would: its stderr is read and shown.
    fn complain(problem: &str) {
        drop(writeln!(io::stderr(), "{problem}"));
    }
}
