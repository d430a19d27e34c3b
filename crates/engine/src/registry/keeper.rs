//! The keeper: asks sources what they offer, each at most once at a time.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use toolscript_catalog::{CallError, Entry, Source, SourceName, Warning};

use super::{
    Opened,
    slots::{Slot, Slots},
};

/// What somebody wants from the keeper.
pub(super) enum Wish {
    /// Ask this source what it offers.
    List(SourceName),
    /// Ask this new source, then put it in the place of the one with its name.
    Adopt(Slot),
}

pub(super) struct Keeper {
    slots: Arc<Slots>,
    wishes: UnboundedReceiver<Wish>,
    /// Hears what became of each; nobody may listen any more.
    report: UnboundedSender<Opened>,
    asking: JoinSet<Asked>,
    busy: BTreeSet<SourceName>,
    /// Wished for again while they were being asked.
    again: BTreeSet<SourceName>,
}

/// What came of asking one source.
struct Asked {
    name: SourceName,
    subject: Subject,
    answer: Answer,
    elapsed: Duration,
}

/// Who was asked.
enum Subject {
    /// A source that has its slot.
    Settled(Arc<dyn Source>),
    /// One that wants a slot.
    New(Slot),
}

enum Answer {
    Listed(Arc<Entry>),
    /// Somebody has switched it off.
    Off,
    Failed(String),
}

impl Keeper {
    pub(super) fn new(
        slots: Arc<Slots>,
        wishes: UnboundedReceiver<Wish>,
        report: UnboundedSender<Opened>,
    ) -> Self {
        Self {
            slots,
            wishes,
            report,
            asking: JoinSet::new(),
            busy: BTreeSet::new(),
            again: BTreeSet::new(),
        }
    }

    /// Fulfils wishes until the end.
    pub(super) async fn keep(mut self, end: CancellationToken) {
        loop {
            tokio::select! {
                () = end.cancelled() => return,
                wish = self.wishes.recv() => match wish {
                    Some(Wish::List(name)) => self.ask(name),
                    Some(Wish::Adopt(slot)) => {
                        let source = slot.source.clone();
                        self.begin(slot.name.clone(), source, Subject::New(slot));
                    }
                    None => return,
                },
                Some(Ok(asked)) = self.asking.join_next(), if !self.asking.is_empty() => {
                    self.take_in(asked);
                }
            }
        }
    }

    fn ask(&mut self, name: SourceName) {
        if self.busy.contains(&name) {
            self.again.insert(name);
            return;
        }
        let Some(source) = self.slots.source(&name) else {
            return;
        };
        self.busy.insert(name.clone());
        self.begin(name, source.clone(), Subject::Settled(source));
    }

    fn begin(&mut self, name: SourceName, source: Arc<dyn Source>, subject: Subject) {
        self.asking.spawn(async move {
            let clock = Instant::now();
            // In a task of its own: a source that panics is one that failed.
            let answer = tokio::spawn(list(name.clone(), source)).await;
            let answer = answer.unwrap_or_else(|error| Answer::Failed(error.to_string()));
            Asked {
                name,
                subject,
                answer,
                elapsed: clock.elapsed(),
            }
        });
    }

    fn take_in(&mut self, asked: Asked) {
        let Asked {
            name,
            subject,
            answer,
            elapsed,
        } = asked;
        let (filling, outcome, warnings): (_, _, Vec<Warning>) = match answer {
            Answer::Listed(entry) => {
                let warnings = entry.listing.warnings.clone();
                let functions = entry.listing.functions.len();
                (Ok(entry), Ok(functions), warnings)
            }
            Answer::Off => {
                let problem = "it is switched off; set `enabled = true`".to_owned();
                (Err(problem), Ok(0), Vec::new())
            }
            Answer::Failed(problem) => (Err(problem.clone()), Err(problem), Vec::new()),
        };
        match subject {
            Subject::Settled(source) => {
                self.busy.remove(&name);
                self.slots.fill(&name, &source, filling);
            }
            Subject::New(slot) => self.slots.adopt(slot, filling),
        }
        let opened = Opened {
            name: name.to_string(),
            outcome,
            warnings,
            elapsed,
        };
        // Whoever waited for the start has been told; after that there is the log.
        if let Err(mpsc::error::SendError(opened)) = self.report.send(opened) {
            log(&opened);
        }
        if self.again.remove(&name) {
            self.ask(name);
        }
    }
}

fn log(opened: &Opened) {
    let source = &opened.name;
    match &opened.outcome {
        Ok(functions) => tracing::info!(source, functions, "listed"),
        Err(problem) => tracing::warn!(source, problem, "cannot be listed"),
    }
    for warning in &opened.warnings {
        tracing::warn!(
            source,
            place = warning.place,
            reason = warning.reason,
            "skipped"
        );
    }
}

async fn list(name: SourceName, source: Arc<dyn Source>) -> Answer {
    if source.status().is_some_and(|status| !status.enabled) {
        return Answer::Off;
    }
    let listing = match source.list().await {
        Ok(listing) => listing,
        // That it is not available is said by whoever tells the reason.
        Err(CallError::Unavailable { problem, .. }) => return Answer::Failed(problem),
        Err(error) => return Answer::Failed(error.to_string()),
    };
    let indexed = tokio::task::spawn_blocking(move || Arc::new(Entry::new(name, listing))).await;
    match indexed {
        Ok(entry) => Answer::Listed(entry),
        Err(error) => Answer::Failed(error.to_string()),
    }
}
