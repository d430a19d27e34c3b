//! `Printer`: the one place that writes to standard output and standard error.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::Context as _;
use clap::builder::styling::{AnsiColor, Style};
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

use super::options::OutputOptions;

/// Writes results to standard output, and everything about them to standard error.
///
/// Somebody who closes the pipe has read enough: from then on results go nowhere, and that is
/// not a failure.
#[derive(Debug)]
pub(crate) struct Printer {
    options: OutputOptions,
    colourful: bool,
    closed: AtomicBool,
}

/// What a line on standard error is.
#[derive(Debug, Clone, Copy)]
enum Label {
    Warning,
    Error,
}

impl Label {
    fn word(self) -> &'static str {
        match self {
            Self::Warning => "warning:",
            Self::Error => "error:",
        }
    }

    fn style(self) -> Style {
        let color = match self {
            Self::Warning => AnsiColor::Yellow,
            Self::Error => AnsiColor::Red,
        };
        Style::new().bold().fg_color(Some(color.into()))
    }
}

impl Printer {
    /// Writes the way the command line asks for.
    pub(crate) fn new(options: &OutputOptions) -> Self {
        Self {
            options: options.clone(),
            colourful: is_colourful(),
            closed: AtomicBool::new(false),
        }
    }

    /// Whether results are wanted as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.options.json
    }

    /// Whether progress may be drawn over itself: nobody else writes to the terminal meanwhile.
    pub(crate) fn may_draw(&self) -> bool {
        !self.options.quiet && self.options.verbose == 0 && io::stderr().is_terminal()
    }

    /// A result: text as it is, with a line end where it has none.
    pub(crate) fn text(&self, text: &str) -> anyhow::Result<()> {
        if self.closed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let mut out = io::stdout().lock();
        match write!(out, "{text}{end}").and_then(|()| out.flush()) {
            Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {
                self.closed.store(true, Ordering::Relaxed);
                Ok(())
            }
            written => written.context("cannot write to standard output"),
        }
    }

    /// A result as JSON.
    pub(crate) fn value(&self, value: &impl Serialize) -> anyhow::Result<()> {
        self.text(&serde_json::to_string_pretty(value)?)
    }

    /// A result in columns, as wide as the terminal; a row stays one line where there is none.
    pub(crate) fn table<const N: usize>(
        &self,
        header: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> anyhow::Result<()> {
        self.text(&columns(header, rows, terminal_width()))
    }

    /// Something a person may want to know.
    pub(crate) fn note(&self, text: &str) {
        if !self.options.quiet {
            to_stderr(text);
        }
    }

    /// What a person has to do for the work to go on; said even to those who want no notes.
    #[expect(clippy::unused_self, reason = "the printer is who speaks")]
    pub(crate) fn prompt(&self, text: &str) {
        to_stderr(text);
    }

    /// Something that is not as it should be, but does not stop the work.
    pub(crate) fn warning(&self, text: &str) {
        if !self.options.quiet {
            self.labelled(Label::Warning, text);
        }
    }

    /// Why there is no result, with the causes below it.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        self.failure(&message(error));
    }

    /// Why there is no result, in words that are ready.
    pub(crate) fn failure(&self, text: &str) {
        self.labelled(Label::Error, text);
    }

    fn labelled(&self, label: Label, text: &str) {
        let word = label.word();
        let style = if self.colourful {
            label.style()
        } else {
            Style::new()
        };
        to_stderr(&format!("{style}{word}{style:#} {text}"));
    }
}

/// The message of an error and of its causes, without those its parent already quotes.
fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let part = cause.to_string();
        if text.is_empty() {
            text = part;
        } else if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
    }
    text
}

fn columns<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    width: Option<u16>,
) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(header)
        .add_rows(rows);
    if let Some(width) = width {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

fn terminal_width() -> Option<u16> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(width.0)
}

fn is_colourful() -> bool {
    let plain = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    io::stderr().is_terminal() && !plain("NO_COLOR") && !dumb
}

fn to_stderr(text: &str) {
    // Nobody is left to tell when standard error is closed.
    let _closed = writeln!(io::stderr().lock(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stay_one_line_without_a_terminal() {
        let rows = [
            ["a".to_owned(), "x ".repeat(200)],
            ["longer".to_owned(), "y".to_owned()],
        ];
        let text = columns(["NAME", "ABOUT"], rows, None);
        assert_eq!(text.lines().count(), 3);
        assert!(text.starts_with("NAME    ABOUT\na       x x"), "{text}");
    }

    #[test]
    fn rows_wrap_in_a_terminal() {
        let rows = [["name".to_owned(), "word ".repeat(30)]];
        let text = columns(["NAME", "ABOUT"], rows, Some(40));
        assert!(text.lines().all(|line| line.len() <= 40), "{text}");
        assert!(3 < text.lines().count(), "{text}");
    }

    #[test]
    fn a_cause_is_told_once() {
        let cause = io::Error::other("no such file");
        let quoted = anyhow::Error::from(cause).context("cannot read `x`: no such file");
        assert_eq!(message(&quoted), "cannot read `x`: no such file");
        let apart = anyhow::anyhow!("refused").context("cannot reach `x`");
        assert_eq!(message(&apart), "cannot reach `x`: refused");
    }
}
