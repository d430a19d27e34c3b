//! The program without a face: configuration, sources, catalog, the one door, runs.
//!
//! Frontends talk to [`Engine`] and to nothing below it: plain data in, plain data out.

pub mod config;
pub mod discover;
mod dispatcher;
mod generate;
mod guide;
mod knowledge;
pub mod mcp_servers;
mod rate;
mod registry;
mod reload;
pub mod resources;
pub mod servers;
pub mod toolbox;
mod tools;

use std::{
    fmt,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use serde::Serialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use toolscript_catalog::{Catalog, Credentials, Entry, Observer, Person, SourceName};
use toolscript_luau::{Asked, Limits, Run, Runtime, RuntimeSettings};

pub use dispatcher::CallRecord;
pub use generate::{GenerateFailure, GenerateReport, generate};
pub use registry::{OpenError, Opened, Patience, Progress, cache_folder, state_folder};
pub use reload::{Reread, WatchError};
pub use tools::{Tool, ToolCall};
pub use toolscript_catalog::Level;
pub use toolscript_luau::{
    Kept, LogLine, Outcome, Phase, Progress as RunProgress, ScriptError, ScriptResult, Stats,
};
pub use toolscript_sources::mcp::guard;

use config::{Config, Settings};
use discover::{AskError, Docs, Found, Listed, Page, Row, SourceRow};
use dispatcher::{Dispatcher, Door, Visit};
use guide::SnapshotGuide;
use registry::Registry;
use servers::ServerRow;

/// A running toolscript.
pub struct Engine {
    settings: ArcSwap<Settings>,
    /// Why the latest version of the configuration is not in use.
    problem: ArcSwapOption<String>,
    registry: Registry,
    dispatcher: Arc<Dispatcher>,
    runtime: Runtime,
    report: Vec<Opened>,
}

/// Something new that could not be used; the old is still in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setback {
    /// `configuration`, or the name of a source.
    pub about: String,
    /// What is wrong and what would do.
    pub problem: String,
}

/// A script somebody wants run.
#[derive(Default)]
pub struct Script {
    /// Luau text.
    pub text: String,
    /// How long it may take; the configured limit where left out, and never more than the ceiling.
    pub timeout_ms: Option<u64>,
    /// Credentials for this run alone, by source.
    pub credentials: Credentials,
    /// Who asks; results that are kept belong to this name.
    pub owner: String,
    /// Ends the run when it fires.
    pub cancel: CancellationToken,
    /// Told about each call.
    pub progress: Option<Arc<dyn RunProgress>>,
    /// Somebody a source may ask while a call waits.
    pub person: Option<Arc<dyn Person>>,
    /// Hears what happens inside the calls.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Engine {
    /// Opens every configured source and waits, as long as there is patience, until each has
    /// answered or failed.
    pub async fn open(
        config: Config,
        patience: Patience,
        progress: Option<&dyn Progress>,
    ) -> Result<Self, OpenError> {
        let libraries = Entry::new(SourceName::luau(), toolbox::libraries(&config));
        let (registry, report) =
            Registry::open(&config, Arc::new(libraries), patience, progress).await?;
        Ok(Self {
            runtime: Runtime::new(RuntimeSettings::default()),
            settings: ArcSwap::from_pointee(config.settings),
            problem: ArcSwapOption::empty(),
            registry,
            dispatcher: Arc::default(),
            report,
        })
    }

    /// The settings that belong to no source.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.load_full()
    }

    /// Watches the configuration `file` and the files of the sources from now on, and takes in
    /// what changes. `reread` gives the configuration with what the command line adds to it.
    pub fn watch(
        self: &Arc<Self>,
        file: Option<PathBuf>,
        reread: Reread,
    ) -> Result<(), WatchError> {
        reload::start(self, file, reread)
    }

    /// Takes on another configuration; where it cannot be used, nothing changes.
    pub async fn reconfigure(&self, config: Config) -> Result<(), OpenError> {
        self.registry.change(&config).await?;
        self.settings.store(Arc::new(config.settings));
        Ok(())
    }

    fn note_problem(&self, problem: Option<String>) {
        self.problem.store(problem.map(Arc::new));
    }

    /// What could not be taken in since the start: of the configuration, or of a source whose
    /// older version is still in use.
    pub fn setbacks(&self) -> Vec<Setback> {
        let configuration = self.problem.load_full().map(|problem| Setback {
            about: "configuration".to_owned(),
            problem: problem.to_string(),
        });
        let sources = self.registry.setbacks().into_iter();
        let sources = sources.map(|(name, problem)| Setback {
            about: name.to_string(),
            problem,
        });
        configuration.into_iter().chain(sources).collect()
    }

    /// What became of each source at start.
    pub fn report(&self) -> &[Opened] {
        &self.report
    }

    /// All functions at this moment.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.registry.snapshot().catalog.clone()
    }

    /// The sources.
    pub fn sources(&self) -> Vec<SourceRow> {
        discover::sources(&self.catalog())
    }

    /// A page of functions.
    pub fn functions(&self, asked: &Listed<'_>) -> Result<Page<Row>, AskError> {
        discover::functions(&self.catalog(), asked)
    }

    /// The best matches for some words.
    pub fn search(
        &self,
        text: &str,
        source: Option<&str>,
        cursor: Option<&str>,
        limit: Option<usize>,
    ) -> Result<Found, AskError> {
        discover::search(&self.catalog(), text, source, cursor, limit)
    }

    /// The docs of functions and types, types beyond `most_bytes` left out and named.
    pub fn docs(&self, names: &[impl AsRef<str>], most_bytes: usize) -> Result<Docs, AskError> {
        discover::docs(&self.catalog(), names, most_bytes)
    }

    /// The names of the sources and how many functions each has, in at most `longest` bytes.
    pub fn overview(&self, longest: usize) -> String {
        discover::overview(&self.catalog(), longest)
    }

    /// The latest calls, oldest first.
    pub fn calls(&self) -> Vec<CallRecord> {
        self.dispatcher.records()
    }

    /// What the calls of a source will be missing, by source; such as a credential nobody has set.
    pub fn lacks(&self) -> Vec<(String, String)> {
        let snapshot = self.registry.snapshot();
        let sources = snapshot.sources.iter();
        sources
            .filter_map(|(name, source)| Some((name.to_string(), source.lacks()?)))
            .collect()
    }

    /// Runs a script on the snapshot of this moment.
    pub async fn execute(&self, script: Script) -> Outcome {
        let asked = Asked {
            timeout_ms: script.timeout_ms,
            ..Asked::default()
        };
        let limits = self.settings().limits.asked(&asked, &Limits::ceiling());
        let snapshot = self.registry.snapshot();
        let catalog = snapshot.catalog.clone();
        let guide = SnapshotGuide {
            snapshot: snapshot.clone(),
        };
        let caller = Door::new(Visit {
            dispatcher: self.dispatcher.clone(),
            snapshot,
            owner: script.owner.clone(),
            credentials: script.credentials,
            deadline: Instant::now() + Duration::from_millis(limits.timeout_ms),
            person: script.person,
            observer: script.observer,
        });
        let run = Run {
            limits,
            owner: script.owner,
            cancel: script.cancel,
            progress: script.progress,
            guide: Some(Arc::new(guide)),
            ..Run::new(script.text, catalog, Arc::new(caller))
        };
        self.runtime.run(run).await
    }

    /// Counts up whenever the catalog has changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.registry.generations()
    }

    /// How the sources that are servers are connected.
    pub fn servers(&self) -> Vec<ServerRow> {
        servers::list(&self.registry.snapshot())
    }

    /// Lets go of every source.
    pub async fn close(&self) {
        self.registry.close().await;
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script")
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("catalog", &self.catalog())
            .finish_non_exhaustive()
    }
}
