//! Watches the files everything was made from, and takes in what changes in them.
//!
//! A change of a source's file lists that source again; a change of the configuration opens what
//! is new in it and lets go of what is gone. What cannot be used is reported, and everything goes
//! on as before.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, timeout_at},
};

use crate::{
    Engine,
    config::{Config, ConfigError},
};

/// Reads the configuration once more, as it was read at the start.
pub type Reread = Box<dyn Fn() -> Result<Config, ConfigError> + Send + Sync>;

/// Editors write in several steps: wait until nothing has happened for this long …
const QUIET: Duration = Duration::from_millis(100);
/// … but not longer than this.
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// How many changes may wait to be looked at; when there are more, all files are.
const MOST_EVENTS: usize = 1_024;

/// The files cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error("changes of files cannot be watched for: {0}")]
pub struct WatchError(#[from] notify::Error);

/// Watches until the engine is gone.
pub(crate) fn start(
    engine: &Arc<Engine>,
    file: Option<PathBuf>,
    reread: Reread,
) -> Result<(), WatchError> {
    let (sender, events) = mpsc::channel(MOST_EVENTS);
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let paths = match event {
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
            Ok(event) => event.paths,
            // What was missed may have been anything.
            Err(_) => Vec::new(),
        };
        // A full queue means that everything will be looked at anyway.
        sender.try_send(paths).ok();
    })?;
    let mut task = Reload {
        engine: Arc::downgrade(engine),
        changes: engine.changes(),
        file: file.map(|file| whole(&file)),
        reread,
        watcher,
        folders: BTreeSet::new(),
        events,
    };
    // At once: whoever hears that we serve may change a file the next moment.
    task.watch(engine);
    tokio::spawn(task.keep());
    Ok(())
}

struct Reload {
    engine: std::sync::Weak<Engine>,
    changes: watch::Receiver<u64>,
    file: Option<PathBuf>,
    reread: Reread,
    watcher: RecommendedWatcher,
    /// What is watched. Folders, not files: editors put a new file in the place of the old.
    folders: BTreeSet<PathBuf>,
    events: mpsc::Receiver<Vec<PathBuf>>,
}

impl Reload {
    async fn keep(mut self) {
        loop {
            tokio::select! {
                // Another listing may come from other files. Ends with the engine.
                changed = self.changes.changed() => {
                    let Some(engine) = self.engine.upgrade() else { return };
                    if changed.is_err() {
                        return;
                    }
                    self.watch(&engine);
                }
                first = self.events.recv() => {
                    let Some(first) = first else { return };
                    let changed = self.gather(first).await;
                    let Some(engine) = self.engine.upgrade() else { return };
                    self.take_in(&engine, &changed).await;
                }
            }
        }
    }

    /// Watches the folders of all files there are now.
    fn watch(&mut self, engine: &Engine) {
        let files = engine.registry.files().into_iter();
        let files = files.flat_map(|(_, files)| files).chain(self.file.clone());
        let folders: BTreeSet<PathBuf> = files
            .filter_map(|file| whole(&file).parent().map(Path::to_owned))
            .collect();
        for gone in self.folders.difference(&folders) {
            // It may have been deleted, and then nobody watches it any more.
            self.watcher.unwatch(gone).ok();
        }
        let new: Vec<PathBuf> = folders.difference(&self.folders).cloned().collect();
        for folder in new {
            if let Err(error) = self.watcher.watch(&folder, RecursiveMode::NonRecursive) {
                tracing::warn!(folder = %folder.display(), %error, "cannot be watched");
            }
        }
        self.folders = folders;
    }

    /// All that changes in a short time.
    async fn gather(&mut self, first: Vec<PathBuf>) -> BTreeSet<PathBuf> {
        let latest = Instant::now() + LONGEST_WAIT;
        let mut changed: BTreeSet<PathBuf> = first.into_iter().collect();
        loop {
            let end = (Instant::now() + QUIET).min(latest);
            match timeout_at(end, self.events.recv()).await {
                Ok(Some(paths)) => changed.extend(paths),
                Ok(None) | Err(_) => return changed,
            }
        }
    }

    async fn take_in(&self, engine: &Engine, changed: &BTreeSet<PathBuf>) {
        let is_new = |file: &Path| changed.is_empty() || changed.contains(&whole(file));
        for (name, files) in engine.registry.files() {
            if files.iter().any(|file| is_new(file)) {
                tracing::info!(source = %name, "its files have changed");
                engine.registry.refresh(name);
            }
        }
        if self.file.as_deref().is_some_and(is_new) {
            self.reconfigure(engine).await;
        }
    }

    async fn reconfigure(&self, engine: &Engine) {
        let problem = match (self.reread)() {
            Ok(config) => {
                let changed = engine.reconfigure(config).await;
                changed.err().map(|error| error.to_string())
            }
            Err(error) => Some(error.to_string()),
        };
        match &problem {
            None => tracing::info!("the configuration has changed"),
            Some(problem) => {
                tracing::warn!(
                    problem,
                    "the new configuration cannot be used; the old one stays"
                );
            }
        }
        engine.note_problem(problem);
    }
}

/// A path that is the same however it was written; the file itself need not be there.
fn whole(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return path;
    };
    match folder.canonicalize() {
        Ok(folder) => folder.join(name),
        Err(_) => path,
    }
}
