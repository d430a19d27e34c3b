//! One slot per source: what it last said, and the snapshot made of all slots.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arc_swap::ArcSwap;
use serde_json::Value;
use tokio::sync::watch;
use toolscript_catalog::{Catalog, Entry, Source, SourceName};

use crate::{config::Configured, dispatcher::Snapshot};

/// One source and what it last said.
pub(super) struct Slot {
    pub(super) name: SourceName,
    /// What it was opened from.
    origin: Blueprint,
    pub(super) source: Arc<dyn Source>,
    /// What it listed. Kept when a later listing fails.
    entry: Option<Arc<Entry>>,
    /// Why its latest listing failed; `None` before there was one.
    problem: Option<String>,
}

/// What a source is opened from: where this is the same, the source can stay.
#[derive(PartialEq)]
pub(super) struct Blueprint {
    section: &'static str,
    settings: Value,
}

impl Blueprint {
    pub(super) fn of(configured: &Configured) -> Self {
        Self {
            section: configured.kind.section(),
            settings: configured.settings.clone(),
        }
    }
}

/// All slots. Every change of one makes a new snapshot.
pub(super) struct Slots {
    libraries: Arc<Entry>,
    all: Mutex<Vec<Slot>>,
    snapshot: ArcSwap<Snapshot>,
    generation: watch::Sender<u64>,
}

impl Slot {
    pub(super) fn new(name: SourceName, origin: Blueprint, source: Arc<dyn Source>) -> Self {
        Self {
            name,
            origin,
            source,
            entry: None,
            problem: None,
        }
    }

    /// Why nothing of it can be called.
    fn absence(&self) -> String {
        match &self.problem {
            Some(problem) => problem.clone(),
            None => "it is still starting; try again in a moment".to_owned(),
        }
    }
}

impl Slots {
    pub(super) fn new(libraries: Arc<Entry>, slots: Vec<Slot>) -> Self {
        let snapshot = ArcSwap::from_pointee(assemble(&libraries, &slots));
        Self {
            libraries,
            all: Mutex::new(slots),
            snapshot,
            generation: watch::Sender::new(0),
        }
    }

    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    pub(super) fn generations(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    pub(super) fn names(&self) -> Vec<SourceName> {
        self.lock().iter().map(|slot| slot.name.clone()).collect()
    }

    /// The source in a slot.
    pub(super) fn source(&self, name: &SourceName) -> Option<Arc<dyn Source>> {
        let slots = self.lock();
        let slot = slots.iter().find(|slot| slot.name == *name)?;
        Some(slot.source.clone())
    }

    /// Takes in what a source said, unless another has its place by now.
    pub(super) fn fill(
        &self,
        name: &SourceName,
        source: &Arc<dyn Source>,
        answer: Result<Arc<Entry>, String>,
    ) {
        let mut slots = self.lock();
        let slot = slots
            .iter_mut()
            .find(|slot| slot.name == *name && Arc::ptr_eq(&slot.source, source));
        let Some(slot) = slot else { return };
        match answer {
            Ok(entry) => {
                slot.entry = Some(entry);
                slot.problem = None;
            }
            Err(problem) => slot.problem = Some(problem),
        }
        self.publish(&slots);
    }

    /// Whether a source of that name, opened from the same, is there already.
    pub(super) fn holds(&self, name: &SourceName, origin: &Blueprint) -> bool {
        let slots = self.lock();
        slots
            .iter()
            .any(|slot| slot.name == *name && slot.origin == *origin)
    }

    /// The name of the source that was opened from this.
    pub(super) fn name_of(&self, origin: &Blueprint) -> Option<SourceName> {
        let slots = self.lock();
        let slot = slots.iter().find(|slot| slot.origin == *origin)?;
        Some(slot.name.clone())
    }

    /// Puts a source that has answered in the place of the one with its name. One that failed
    /// and will not come back by itself does not push out what works.
    pub(super) fn adopt(&self, mut slot: Slot, answer: Result<Arc<Entry>, String>) {
        let mut slots = self.lock();
        let place = slots.iter_mut().find(|known| known.name == slot.name);
        match (answer, place) {
            (Err(problem), Some(place)) if !slot.source.comes_back() => {
                place.problem = Some(problem);
            }
            (answer, place) => {
                match answer {
                    Ok(entry) => slot.entry = Some(entry),
                    Err(problem) => slot.problem = Some(problem),
                }
                match place {
                    Some(place) => *place = slot,
                    None => slots.push(slot),
                }
            }
        }
        self.publish(&slots);
    }

    /// Lets go of all sources but these. Runs that use them keep them until they end.
    pub(super) fn retain(&self, names: &BTreeSet<SourceName>) {
        let mut slots = self.lock();
        let before = slots.len();
        slots.retain(|slot| names.contains(&slot.name));
        if slots.len() != before {
            self.publish(&slots);
        }
    }

    /// The files each source was made from.
    pub(super) fn files(&self) -> Vec<(SourceName, Vec<PathBuf>)> {
        let slots = self.lock();
        let files = |slot: &Slot| (slot.name.clone(), slot.source.files());
        slots.iter().map(files).collect()
    }

    /// Why the latest version of a source could not be used, where an older one still is.
    pub(super) fn setbacks(&self) -> Vec<(SourceName, String)> {
        let slots = self.lock();
        let setback = |slot: &Slot| {
            slot.entry.as_ref()?;
            Some((slot.name.clone(), slot.problem.clone()?))
        };
        slots.iter().filter_map(setback).collect()
    }

    /// Whether there is nothing to call and never will be.
    pub(super) fn is_hopeless(&self) -> bool {
        let slots = self.lock();
        slots.iter().all(|slot| {
            let has_failed = slot.entry.is_none() && slot.problem.is_some();
            has_failed && !slot.source.comes_back()
        })
    }

    /// Sets down how the connections stand.
    pub(super) fn record(&self, span: &tracing::Span) {
        let slots = self.lock();
        let servers: Vec<_> = slots
            .iter()
            .filter_map(|slot| Some((slot, slot.source.status()?)))
            .filter(|(_, status)| status.enabled)
            .collect();
        let tools = |slot: &Slot| {
            slot.entry
                .as_ref()
                .map_or(0, |entry| entry.listing.functions.len())
        };
        let connected = servers
            .iter()
            .filter(|(_, status)| status.connected)
            .count();
        let failed = servers
            .iter()
            .filter(|(_, status)| status.error.is_some())
            .count();
        let tool_count: usize = servers.iter().map(|(slot, _)| tools(slot)).sum();
        span.record("serverCount", servers.len());
        span.record("connected", connected);
        span.record("failed", failed);
        span.record("toolCount", tool_count);
        if !servers.is_empty() {
            span.in_scope(|| tracing::info!("servers are connected"));
        }
    }

    fn publish(&self, slots: &[Slot]) {
        self.snapshot
            .store(Arc::new(assemble(&self.libraries, slots)));
        self.generation.send_modify(|generation| *generation += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn assemble(libraries: &Arc<Entry>, slots: &[Slot]) -> Snapshot {
    let listed = slots.iter().filter_map(|slot| slot.entry.clone());
    let entries = std::iter::once(libraries.clone()).chain(listed);
    let absent = slots.iter().filter(|slot| slot.entry.is_none());
    let absent: BTreeMap<SourceName, String> = absent
        .map(|slot| (slot.name.clone(), slot.absence()))
        .collect();
    let sources = slots
        .iter()
        .map(|slot| (slot.name.clone(), slot.source.clone()))
        .collect();
    Snapshot {
        catalog: Arc::new(Catalog::new(entries).with_absent(absent)),
        sources,
    }
}
