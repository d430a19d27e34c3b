//! Opens the configured sources, asks all of them at once what they offer, and makes a snapshot.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Instant};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use toolscript_catalog::{Catalog, Entry, Source, SourceName, Warning};
use toolscript_sources::{Context, outbound::Outbound};

use crate::{
    config::{Config, Configured},
    dispatcher::Snapshot,
};

/// What became of one source at start.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Its name, or what it was asked for by where it has none.
    pub name: String,
    /// How many functions it has, or why it has none.
    pub outcome: Result<usize, String>,
    /// What was skipped or bent.
    pub warnings: Vec<Warning>,
    /// How long it took.
    pub elapsed: std::time::Duration,
}

/// Told about each source as it is ready.
pub trait Progress: Send + Sync {
    /// Loading begins.
    fn started(&self, sources: usize);
    /// One source is done, well or not.
    fn opened(&self, source: &Opened);
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
        "there is nothing to serve: give an OpenAPI document (`toolscript run petstore.yaml`), or add `[apis.<name>]` with `spec = \"…\"` to toolscript.toml"
    )]
    Nothing,
    /// Every source failed.
    #[error("no source could be loaded:\n{}", problems.join("\n"))]
    AllFailed {
        /// One line per source.
        problems: Vec<String>,
    },
}

/// What the registry made.
pub(crate) struct Registered {
    pub(crate) snapshot: Snapshot,
    pub(crate) report: Vec<Opened>,
}

/// Where compiled documents are kept: the user's cache folder.
pub fn cache_folder() -> Option<PathBuf> {
    let folder = match std::env::var_os("XDG_CACHE_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".cache"),
    };
    Some(folder.join("toolscript"))
}

/// What the sources of a configuration are lent.
pub(crate) fn context(config: &Config) -> Context {
    Context {
        outbound: Outbound::new(),
        cache: cache_folder(),
        folder: config.folder.clone(),
        changed: toolscript_sources::Changed::ignored(),
        state: cache_folder(),
    }
}

/// Opens and lists everything in the configuration.
pub(crate) async fn open(
    config: &Config,
    libraries: Arc<Entry>,
    progress: Option<&dyn Progress>,
) -> Result<Registered, OpenError> {
    if config.sources.is_empty() {
        return Err(OpenError::Nothing);
    }
    let cx = context(config);
    if let Some(progress) = progress {
        progress.started(config.sources.len());
    }
    let mut listed = FuturesUnordered::new();
    for (at, configured) in config.sources.iter().enumerate() {
        let (cx, configured) = (cx.clone(), configured.clone());
        listed.push(async move { (at, tokio::spawn(load(cx, configured)).await) });
    }
    let mut loaded: Vec<(usize, Loaded)> = Vec::new();
    while let Some((at, outcome)) = listed.next().await {
        let outcome = outcome.map_err(|error| OpenError::AllFailed {
            problems: vec![error.to_string()],
        })??;
        if let Some(progress) = progress {
            progress.opened(&outcome.opened);
        }
        loaded.push((at, outcome));
    }
    loaded.sort_by_key(|(at, _)| *at);
    assemble(
        config,
        libraries,
        loaded.into_iter().map(|(_, loaded)| loaded).collect(),
    )
}

/// One source after it was asked.
struct Loaded {
    opened: Opened,
    entry: Option<(Arc<Entry>, Arc<dyn Source>)>,
}

async fn load(cx: Context, configured: Configured) -> Result<Loaded, OpenError> {
    let clock = Instant::now();
    let settings_error = |error: toolscript_sources::SettingsError| OpenError::Settings {
        place: configured.origin.place(&error.key),
        key: if error.key.is_empty() {
            String::new()
        } else {
            format!("`{}` ", error.key)
        },
        problem: error.problem,
    };
    let failed = |problem: String, name: String| Loaded {
        opened: Opened {
            name,
            outcome: Err(problem),
            warnings: Vec::new(),
            elapsed: clock.elapsed(),
        },
        entry: None,
    };
    let settings = configured.settings.clone();
    let (name, source) = match &configured.name {
        Some(name) => {
            let source = configured
                .kind
                .open(&cx, name.clone(), settings)
                .map_err(settings_error)?;
            (name.clone(), source)
        }
        None => match configured.kind.open_unnamed(&cx, settings).await {
            Ok(opened) => opened,
            Err(error) => return Ok(failed(error.to_string(), configured.origin.place(""))),
        },
    };
    match source.list().await {
        Err(error) => Ok(failed(error.to_string(), name.to_string())),
        Ok(listing) => {
            let opened = Opened {
                name: name.to_string(),
                outcome: Ok(listing.functions.len()),
                warnings: listing.warnings.clone(),
                elapsed: clock.elapsed(),
            };
            let indexed =
                tokio::task::spawn_blocking(move || Arc::new(Entry::new(name, listing))).await;
            match indexed {
                Ok(entry) => Ok(Loaded {
                    opened,
                    entry: Some((entry, source)),
                }),
                Err(error) => Ok(failed(error.to_string(), opened.name)),
            }
        }
    }
}

fn assemble(
    config: &Config,
    libraries: Arc<Entry>,
    loaded: Vec<Loaded>,
) -> Result<Registered, OpenError> {
    let mut entries = vec![libraries];
    let mut sources: BTreeMap<SourceName, Arc<dyn Source>> = BTreeMap::new();
    let mut report = Vec::new();
    for (loaded, configured) in loaded.into_iter().zip(&config.sources) {
        report.push(loaded.opened);
        let Some((entry, source)) = loaded.entry else {
            continue;
        };
        if sources.insert(entry.name.clone(), source).is_some() {
            let (place, name) = (configured.origin.place(""), entry.name.clone());
            return Err(OpenError::Twice { place, name });
        }
        entries.push(entry);
    }
    if sources.is_empty() {
        let failure = |opened: &Opened| {
            opened
                .outcome
                .as_ref()
                .err()
                .map(|problem| format!("  {}: {problem}", opened.name))
        };
        return Err(OpenError::AllFailed {
            problems: report.iter().filter_map(failure).collect(),
        });
    }
    let catalog = Arc::new(Catalog::new(entries));
    Ok(Registered {
        snapshot: Snapshot { catalog, sources },
        report,
    })
}
