//! `Tail`: the last lines a server wrote to stderr, however much it writes.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    sync::watch,
    time::timeout,
};
use toolscript_catalog::Secret;
use tracing::debug;

use super::text;

/// How many lines are kept.
const LINES: usize = 100;
/// How many letters of a line are kept.
const LONGEST: usize = 500;
/// How many lines an error shows.
const SHOWN: usize = 8;

/// The last lines of a stream. Clones see the same lines.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    lines: Arc<Mutex<VecDeque<String>>>,
    is_over: watch::Receiver<bool>,
}

impl Tail {
    /// Reads the stream to its end in a task of its own; the secrets of `env` are taken out.
    pub(super) fn follow(
        stream: Option<impl AsyncRead + Unpin + Send + 'static>,
        env: &BTreeMap<String, Secret>,
    ) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let (over, is_over) = watch::channel(false);
        let writer = Writer {
            lines: Arc::clone(&lines),
            secrets: secrets(env),
            line: Vec::new(),
        };
        tokio::spawn(async move {
            if let Some(stream) = stream {
                writer.read(stream).await;
            }
            over.send_replace(true);
        });
        Self { lines, is_over }
    }

    /// All lines that are kept, oldest first.
    pub(super) fn lines(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }

    /// The last few lines as the end of an error; empty where there are none. Waits a moment for
    /// what is still on its way.
    pub(super) async fn last_words(&self) -> String {
        const MOMENT: Duration = Duration::from_millis(300);
        let mut is_over = self.is_over.clone();
        drop(timeout(MOMENT, is_over.wait_for(|is_over| *is_over)).await);
        let lines = self.lines();
        let shown = &lines[lines.len().saturating_sub(SHOWN)..];
        match shown {
            [] => String::new(),
            lines => format!("; its stderr ends with:\n  {}", lines.join("\n  ")),
        }
    }
}

/// The values of variables that are secrets by their name. Others, such as paths, stay readable.
fn secrets(env: &BTreeMap<String, Secret>) -> Vec<Secret> {
    const SIGNS: &[&str] = &[
        "AUTH",
        "CREDENTIAL",
        "KEY",
        "PASS",
        "PWD",
        "SECRET",
        "TOKEN",
    ];
    const SHORTEST: usize = 4;
    let is_secret = |(name, value): &(&String, &Secret)| {
        let name = name.to_ascii_uppercase();
        SHORTEST <= value.reveal().len() && SIGNS.iter().any(|sign| name.contains(sign))
    };
    let found = env.iter().filter(is_secret);
    found.map(|(_, value)| value.clone()).collect()
}

struct Writer {
    lines: Arc<Mutex<VecDeque<String>>>,
    secrets: Vec<Secret>,
    line: Vec<u8>,
}

impl Writer {
    async fn read(mut self, mut stream: impl AsyncRead + Unpin) {
        let mut piece = vec![0; 8 << 10];
        while let Ok(length @ 1..) = stream.read(&mut piece).await {
            for part in piece[..length].split_inclusive(|byte| *byte == b'\n') {
                self.take(part);
            }
        }
        self.finish_line();
    }

    /// Adds a part of a line; what is too long is dropped as it comes.
    fn take(&mut self, part: &[u8]) {
        // A letter takes four bytes at most.
        let room = (4 * LONGEST).saturating_sub(self.line.len());
        self.line.extend_from_slice(&part[..part.len().min(room)]);
        if part.ends_with(b"\n") {
            self.finish_line();
        }
    }

    fn finish_line(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        let line = text::line(&self.without_secrets(&line), LONGEST);
        self.line.clear();
        if line.is_empty() {
            return;
        }
        debug!(target: "toolscript::mcp::stderr", line);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    fn without_secrets(&self, line: &str) -> String {
        let hide = |line: String, secret: &Secret| line.replace(secret.reveal(), "[secret]");
        self.secrets.iter().fold(line.to_owned(), hide)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn tail_of(text: &str, env: &[(&str, &str)]) -> Tail {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Secret::new(*value)));
        let stream = std::io::Cursor::new(text.as_bytes().to_vec());
        let tail = Tail::follow(Some(stream), &env.collect());
        let _finished = tail.last_words().await;
        tail
    }

    #[tokio::test]
    async fn the_last_lines_are_kept() {
        let text: Vec<String> = (0..500).map(|number| format!("line {number}")).collect();
        let lines = tail_of(&text.join("\n"), &[]).await.lines();
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines.last().map(String::as_str), Some("line 499"));
    }

    #[tokio::test]
    async fn a_line_without_end_takes_no_memory() {
        let lines = tail_of(&"x".repeat(1 << 20), &[]).await.lines();
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].chars().count() <= LONGEST + 1,
            "{}",
            lines[0].len()
        );
    }

    #[tokio::test]
    async fn errors_show_a_few_lines_without_colours_and_secrets() {
        let env = [("API_TOKEN", "s3cr3t"), ("FOLDER", "/data")];
        let tail = tail_of("\u{1b}[31mbad\u{1b}[0m s3cr3t in /data\r\n\n", &env).await;
        assert_eq!(
            tail.last_words().await,
            "; its stderr ends with:\n  bad [secret] in /data"
        );
    }

    #[tokio::test]
    async fn silence_says_nothing() {
        assert_eq!(tail_of("", &[]).await.last_words().await, "");
    }
}
