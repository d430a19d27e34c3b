//! The open sources: opens what is configured, asks all of them at once what they offer, and
//! keeps the catalog true when one of them has something new.
//!
//! One task, the keeper, does all the asking. The first listing of a source and every later one
//! take the same way: somebody wishes it, the keeper asks, the answer goes into the source's
//! slot, and a new snapshot takes the place of the old one.

mod keeper;
mod names;
mod slots;

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::try_join_all;
use tokio::{
    sync::{mpsc, watch},
    time::timeout_at,
};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolscript_catalog::{Entry, Source, SourceName, Warning};
use toolscript_sources::{Changed, Context};
use tracing::{field::Empty, info_span};

use crate::{
    config::{Config, Configured},
    dispatcher::Snapshot,
};
use keeper::{Keeper, Wish};
use slots::{Blueprint, Slot, Slots};

/// What became of one source when it was asked what it offers.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Its name, or what it was asked for by where it has none.
    pub name: String,
    /// How many functions it has, or why it has none.
    pub outcome: Result<usize, String>,
    /// What was skipped or bent.
    pub warnings: Vec<Warning>,
    /// How long it took.
    pub elapsed: Duration,
}

/// Told about each source as it is ready.
pub trait Progress: Send + Sync {
    /// Loading begins.
    fn started(&self, sources: usize);
    /// One source is done, well or not.
    fn opened(&self, source: &Opened);
}

/// How long to wait for sources before going on with those that are there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Patience {
    /// Until each has answered or failed.
    #[default]
    Unlimited,
    /// This long; the others join when they are ready.
    AtMost(Duration),
}

/// Sources that cannot be opened at all: what was asked for makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The settings do not fit.
    #[error("{place}: {key}{problem}")]
    Settings {
        /// Where.
        place: String,
        /// The key, followed by a blank; empty for the whole.
        key: String,
        /// What is wrong and what would do.
        problem: String,
    },
    /// Two sources want the same name.
    #[error(
        "{place}: there is already a source called `{name}`; give this one another name, as in `{name}_2=…`"
    )]
    Twice {
        /// Where the second one is.
        place: String,
        /// The name.
        name: SourceName,
    },
    /// Nothing to do.
    #[error(
        "there is nothing to serve: give an OpenAPI document (`toolscript run petstore.yaml`) or an MCP server (`--mcp files='npx -y some-server'`), or add `[apis.<name>]` with `spec = \"…\"`, `[mcp_servers.<name>]` with `command = \"…\"` or `[tools.script.<name>]` with `path = \"…\"` to toolscript.toml"
    )]
    Nothing,
    /// Every source failed.
    #[error("no source could be loaded:\n{}", problems.join("\n"))]
    AllFailed {
        /// One line per source.
        problems: Vec<String>,
    },
}

/// The open sources.
pub(crate) struct Registry {
    slots: Arc<Slots>,
    wishes: mpsc::UnboundedSender<Wish>,
    _ends_the_keeper: DropGuard,
}

/// Where compiled documents are kept: the user's cache folder.
pub fn cache_folder() -> Option<PathBuf> {
    user_folder("XDG_CACHE_HOME", ".cache")
}

/// Where small facts and logins are kept from one start to the next.
pub fn state_folder() -> Option<PathBuf> {
    user_folder("XDG_STATE_HOME", ".local/state")
}

fn user_folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os(variable) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME")?).join(below_home),
    };
    Some(folder.join("toolscript"))
}

/// What the sources of a configuration are lent when nobody listens to their changes.
pub(crate) fn context(config: &Config) -> Context {
    Context {
        cache: cache_folder(),
        folder: config.folder.clone(),
        changed: Changed::ignored(),
        state: state_folder(),
        limits: config.settings.limits.clone(),
        ..Context::default()
    }
}

impl Registry {
    /// Opens everything in the configuration and waits for the answers.
    pub(crate) async fn open(
        config: &Config,
        libraries: Arc<Entry>,
        patience: Patience,
        progress: Option<&dyn Progress>,
    ) -> Result<(Self, Vec<Opened>), OpenError> {
        if config.sources.is_empty() {
            return Err(OpenError::Nothing);
        }
        let span = info_span!(
            "proxy.init",
            serverCount = Empty,
            connected = Empty,
            failed = Empty,
            toolCount = Empty,
        );
        if let Some(progress) = progress {
            progress.started(config.sources.len());
        }
        let (wishes, heard) = mpsc::unbounded_channel();
        let cx = Context {
            changed: changed(wishes.clone()),
            ..context(config)
        };
        let (slots, mut report) = open_all(&cx, &config.sources).await?;
        let slots = Arc::new(Slots::new(libraries, slots));
        let end = CancellationToken::new();
        let (tell, mut answers) = mpsc::unbounded_channel();
        tokio::spawn(Keeper::new(slots.clone(), heard, tell).keep(end.clone()));
        let registry = Self {
            slots,
            wishes,
            _ends_the_keeper: end.drop_guard(),
        };
        registry.wish_all();
        registry
            .wait(&mut answers, patience, progress, &mut report)
            .await;
        registry.slots.record(&span);
        if registry.slots.is_hopeless() {
            return Err(all_failed(&report));
        }
        Ok((registry, in_order(report, &config.sources)))
    }

    /// The snapshot of this moment.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.slots.snapshot()
    }

    /// Counts the snapshots, for whoever wants to know when there is a new one.
    pub(crate) fn generations(&self) -> watch::Receiver<u64> {
        self.slots.generations()
    }

    /// The files each source was made from.
    pub(crate) fn files(&self) -> Vec<(SourceName, Vec<PathBuf>)> {
        self.slots.files()
    }

    /// Why the latest version of a source could not be used, where an older one still is.
    pub(crate) fn setbacks(&self) -> Vec<(SourceName, String)> {
        self.slots.setbacks()
    }

    /// Asks a source again what it offers.
    pub(crate) fn refresh(&self, name: SourceName) {
        // The keeper lives as long as we do.
        self.wishes.send(Wish::List(name)).ok();
    }

    /// Makes the open sources those of another configuration. What is configured as before stays
    /// open; what is new joins when it has answered; what is gone is let go.
    pub(crate) async fn change(&self, config: &Config) -> Result<(), OpenError> {
        if config.sources.is_empty() {
            return Err(OpenError::Nothing);
        }
        let cx = Context {
            changed: changed(self.wishes.clone()),
            ..context(config)
        };
        let mut kept = BTreeSet::new();
        let mut wanted = Vec::new();
        for settled in names::settle(&config.sources) {
            let origin = Blueprint::of(settled.configured);
            let known = match &settled.name {
                Some(name) => self.slots.holds(name, &origin).then(|| name.clone()),
                None => self.slots.name_of(&origin),
            };
            match known {
                Some(name) => drop(kept.insert(name)),
                None => wanted.push((settled, origin)),
            }
        }
        // All are opened before the first one is adopted: one mistake changes nothing.
        let opening = wanted.iter().map(|(settled, _)| open_one(&cx, settled));
        let opened = try_join_all(opening).await?;
        for (opened, (settled, origin)) in opened.into_iter().zip(wanted) {
            if let Some(warning) = &settled.warning {
                tracing::warn!(place = warning.place, reason = warning.reason, "renamed");
            }
            match opened {
                Ok((name, source)) => {
                    kept.insert(name.clone());
                    let slot = Slot::new(name, origin, source);
                    self.wishes.send(Wish::Adopt(slot)).ok();
                }
                Err(failed) => {
                    tracing::warn!(source = failed.name, problem = ?failed.outcome, "cannot be opened");
                }
            }
        }
        self.slots.retain(&kept);
        Ok(())
    }

    /// Lets go of every source and waits for that.
    pub(crate) async fn close(&self) {
        let snapshot = self.snapshot();
        let closing = snapshot.sources.values().map(|source| source.close());
        futures_util::future::join_all(closing).await;
    }

    fn wish_all(&self) {
        for name in self.slots.names() {
            self.refresh(name);
        }
    }

    /// Collects what became of each source until all have answered or patience is over.
    async fn wait(
        &self,
        answers: &mut mpsc::UnboundedReceiver<Opened>,
        patience: Patience,
        progress: Option<&dyn Progress>,
        report: &mut Vec<Opened>,
    ) {
        let latest = match patience {
            Patience::Unlimited => None,
            Patience::AtMost(time) => Some(tokio::time::Instant::now() + time),
        };
        let mut waiting: BTreeSet<String> =
            self.slots.names().iter().map(ToString::to_string).collect();
        while !waiting.is_empty() {
            let answer = match latest {
                None => answers.recv().await,
                Some(latest) => timeout_at(latest, answers.recv()).await.unwrap_or_default(),
            };
            let Some(mut opened) = answer else { break };
            waiting.remove(&opened.name);
            merge(report, &mut opened);
            if let Some(progress) = progress {
                progress.opened(&opened);
            }
            report.push(opened);
        }
        for name in waiting {
            tracing::info!(server = name, "still starting; it joins when it is ready");
        }
    }
}

/// Passes on the wish to be listed again.
fn changed(wishes: mpsc::UnboundedSender<Wish>) -> Changed {
    Changed::new(move |name| {
        // After the end nobody needs to know.
        wishes.send(Wish::List(name.clone())).ok();
    })
}

/// Opens every source, none of them asked yet; what could not be opened is told at once.
async fn open_all(
    cx: &Context,
    sources: &[Configured],
) -> Result<(Vec<Slot>, Vec<Opened>), OpenError> {
    let settled = names::settle(sources);
    let opening = settled.iter().map(|settled| open_one(cx, settled));
    let mut slots: Vec<Slot> = Vec::new();
    let mut report = Vec::new();
    for (opened, settled) in try_join_all(opening).await?.into_iter().zip(&settled) {
        match opened {
            Err(failed) => report.push(failed),
            Ok((name, source)) => {
                if slots.iter().any(|slot| slot.name == name) {
                    let place = settled.configured.origin.place("");
                    return Err(OpenError::Twice { place, name });
                }
                report.extend(
                    settled
                        .warning
                        .clone()
                        .map(|warning| renamed(&name, warning)),
                );
                let origin = Blueprint::of(settled.configured);
                slots.push(Slot::new(name, origin, source));
            }
        }
    }
    Ok((slots, report))
}

type Named = (SourceName, Arc<dyn Source>);

async fn open_one(
    cx: &Context,
    settled: &names::Settled<'_>,
) -> Result<Result<Named, Opened>, OpenError> {
    let clock = Instant::now();
    let configured = settled.configured;
    let settings = configured.settings.clone();
    if let Some(name) = &settled.name {
        let source = configured.kind.open(cx, name.clone(), settings);
        let source = source.map_err(|error| settings_error(configured, error))?;
        return Ok(Ok((name.clone(), source)));
    }
    let opened = configured.kind.open_unnamed(cx, settings).await;
    Ok(opened.map_err(|error| Opened {
        name: configured.origin.place(""),
        outcome: Err(error.to_string()),
        warnings: Vec::new(),
        elapsed: clock.elapsed(),
    }))
}

fn settings_error(configured: &Configured, error: toolscript_sources::SettingsError) -> OpenError {
    OpenError::Settings {
        place: configured.origin.place(&error.key),
        key: match error.key.as_str() {
            "" => String::new(),
            key => format!("`{key}` "),
        },
        problem: error.problem,
    }
}

/// The note that a source goes by another name, until the source itself has answered.
fn renamed(name: &SourceName, warning: Warning) -> Opened {
    Opened {
        name: name.to_string(),
        outcome: Ok(0),
        warnings: vec![warning],
        elapsed: Duration::ZERO,
    }
}

/// Takes an earlier note about the same source into its answer.
fn merge(report: &mut Vec<Opened>, opened: &mut Opened) {
    if let Some(at) = report.iter().position(|known| known.name == opened.name) {
        opened.warnings.splice(0..0, report.remove(at).warnings);
    }
}

/// The report in the order of the configuration; what has no name there comes first.
fn in_order(mut report: Vec<Opened>, sources: &[Configured]) -> Vec<Opened> {
    report.sort_by_key(|opened| {
        sources.iter().position(|source| {
            let name = source.name.as_ref();
            name.is_some_and(|name| name.as_str() == opened.name)
        })
    });
    report
}

fn all_failed(report: &[Opened]) -> OpenError {
    let failure = |opened: &Opened| {
        let problem = opened.outcome.as_ref().err();
        problem.map(|problem| format!("  {}: {problem}", opened.name))
    };
    OpenError::AllFailed {
        problems: report.iter().filter_map(failure).collect(),
    }
}
