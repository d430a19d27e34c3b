//! `Program`: a process a test starts, listens to and ends.

use std::{
    io::{BufRead as _, BufReader, Read, Write as _},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

/// How long a test waits for anything before it gives up.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A running process; it is killed when it is dropped, so that no failed test leaves one behind.
pub(crate) struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
    pub(crate) stdout: Lines,
    pub(crate) stderr: Lines,
}

/// What a process writes, line by line.
pub(crate) struct Lines {
    receiver: Receiver<String>,
    heard: String,
}

impl Program {
    pub(crate) fn start(command: &mut Command) -> Self {
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let started = command.spawn();
        let mut child = started.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        Self {
            stdin: child.stdin.take(),
            stdout: Lines::of(child.stdout.take().unwrap()),
            stderr: Lines::of(child.stderr.take().unwrap()),
            child,
        }
    }

    /// Which process it is.
    pub(crate) fn id(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Writes a line to its standard input.
    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Closes its standard input, waits for its end and gives everything it wrote.
    pub(crate) fn finish(mut self) -> (ExitStatus, String) {
        drop(self.stdin.take());
        let heard = self.everything();
        (self.child.wait().unwrap(), heard)
    }

    /// Ends it and gives everything it wrote.
    pub(crate) fn stop(mut self) -> String {
        self.child.kill().unwrap();
        self.everything()
    }

    fn everything(&mut self) -> String {
        format!("{}{}", self.stdout.rest(), self.stderr.rest())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Both fail only where the process is gone already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Lines {
    fn of(stream: impl Read + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
                if sender
                    .send(String::from_utf8_lossy(&line).into_owned())
                    .is_err()
                {
                    break;
                }
            }
        });
        Self {
            receiver,
            heard: String::new(),
        }
    }

    /// The next line; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.before(Instant::now() + PATIENCE)
    }

    /// Everything there was and will be.
    fn rest(&mut self) -> &str {
        let deadline = Instant::now() + PATIENCE;
        while self.before(deadline).is_some() {}
        &self.heard
    }

    fn before(&mut self, deadline: Instant) -> Option<String> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.receiver.recv_timeout(left) {
            Ok(line) => {
                self.heard.push_str(&line);
                self.heard.push('\n');
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("nothing came in time, after:\n{}", self.heard)
            }
        }
    }
}
