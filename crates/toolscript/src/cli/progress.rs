//! `LoadProgress`: what a person sees while sources load.

use std::sync::{Mutex, OnceLock, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};
use toolscript_engine::{Opened, Progress};

use super::printer::Printer;

/// Fewer sources than this load before anybody wonders.
const MANY: usize = 4;

/// A bar on a terminal and plain lines elsewhere, once there are many sources to wait for.
/// Remembers what became of each.
#[derive(Debug)]
pub(crate) struct LoadProgress<'a> {
    printer: &'a Printer,
    shown: OnceLock<Shown>,
    opened: Mutex<Vec<Opened>>,
}

#[derive(Debug)]
enum Shown {
    Nothing,
    Lines,
    Bar(ProgressBar),
}

impl<'a> LoadProgress<'a> {
    /// Shows nothing until loading begins.
    pub(crate) fn new(printer: &'a Printer) -> Self {
        Self {
            printer,
            shown: OnceLock::new(),
            opened: Mutex::default(),
        }
    }

    /// What became of each source, in the order they were ready.
    pub(crate) fn into_opened(self) -> Vec<Opened> {
        self.opened
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for LoadProgress<'_> {
    fn started(&self, sources: usize) {
        self.shown.get_or_init(|| match sources {
            0..MANY => Shown::Nothing,
            _ if self.printer.may_draw() => Shown::Bar(bar(sources)),
            _ => Shown::Lines,
        });
    }

    fn opened(&self, source: &Opened) {
        match self.shown.get() {
            Some(Shown::Bar(bar)) => {
                bar.set_message(source.name.clone());
                bar.inc(1);
            }
            Some(Shown::Lines) => self.printer.note(&line(source)),
            Some(Shown::Nothing) | None => {}
        }
        self.opened
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(source.clone());
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn bar(sources: usize) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(sources).unwrap_or(u64::MAX));
    let style = ProgressStyle::with_template("loading {bar:30} {pos}/{len} {msg}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn line(source: &Opened) -> String {
    let milliseconds = source.elapsed.as_millis();
    match source.outcome {
        Ok(functions) => {
            format!(
                "loaded {}: {functions} functions in {milliseconds} ms",
                source.name
            )
        }
        Err(_) => format!("could not load {} after {milliseconds} ms", source.name),
    }
}
