//! Which protocol era a server speaks, remembered from one start to the next.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use tracing::debug;

use super::upstream::Upstream;

/// The file in the folder for remembered facts.
const FILE: &str = "mcp-eras.json";

/// More servers than this are not remembered, so that the file cannot grow without end.
const MOST: usize = 1_000;

/// Servers come up at the same time, and each rewrites the whole file.
static WRITING: Mutex<()> = Mutex::new(());

/// The two ways servers speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Era {
    /// A handshake first: revisions 2024-11-05 to 2025-11-25.
    Handshake,
    /// Every request stands alone: revision 2026-07-28.
    Stateless,
}

/// What is known about one server from earlier.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    file: Option<PathBuf>,
    name: String,
    fingerprint: String,
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    /// Which server had the name then.
    fingerprint: String,
    era: Era,
}

type Entries = BTreeMap<String, Entry>;

impl Memory {
    /// The memory of one server, kept in `folder`; without a folder nothing is remembered.
    pub(super) fn new(folder: Option<&Path>, upstream: &Upstream) -> Self {
        Self {
            file: folder.map(|folder| folder.join(FILE)),
            name: upstream.name.to_string(),
            fingerprint: upstream.fingerprint(),
        }
    }

    /// The era it spoke last time.
    pub(super) async fn recall(&self) -> Option<Era> {
        let file = self.file.clone()?;
        let entries = tokio::task::spawn_blocking(move || read(&file)).await;
        let entry = entries.ok()?.remove(&self.name)?;
        (entry.fingerprint == self.fingerprint).then_some(entry.era)
    }

    /// Keeps the era for next time. Not being able to costs time then, and nothing else.
    pub(super) async fn keep(&self, era: Era) {
        let Some(file) = self.file.clone() else {
            return;
        };
        let (name, fingerprint) = (self.name.clone(), self.fingerprint.clone());
        let written = tokio::task::spawn_blocking(move || {
            let entry = Entry { fingerprint, era };
            add(&file, name, entry)
        });
        if let Ok(Err(error)) = written.await {
            debug!(server = self.name, %error, "era not remembered");
        }
    }
}

/// What the file holds; one that cannot be read holds nothing.
fn read(file: &Path) -> Entries {
    let text = std::fs::read(file).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn add(file: &Path, name: String, entry: Entry) -> std::io::Result<()> {
    let _turn = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut entries = read(file);
    let known = entries.get(&name);
    if known.is_some_and(|known| known.fingerprint == entry.fingerprint && known.era == entry.era) {
        return Ok(());
    }
    if MOST <= entries.len() {
        entries.clear();
    }
    entries.insert(name, entry);
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    // Another process may read at this moment: it finds the old file or the new one.
    let fresh = file.with_extension(format!("{}.tmp", std::process::id()));
    std::fs::File::create(&fresh)?.write_all(&serde_json::to_vec_pretty(&entries)?)?;
    std::fs::rename(&fresh, file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::settings::Settings;
    use toolscript_catalog::SourceName;

    fn memory(folder: &Path, name: &str, command: &str) -> Memory {
        let settings = Settings {
            command: Some(command.to_owned()),
            ..Settings::default()
        };
        let name = SourceName::parse(name).unwrap();
        Memory::new(
            Some(folder),
            &Upstream::check(name, settings, folder).unwrap(),
        )
    }

    #[tokio::test]
    async fn an_era_is_remembered_by_name_and_command() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("not").join("there");
        let (time, git) = (memory(&folder, "time", "a"), memory(&folder, "git", "b"));
        assert_eq!(time.recall().await, None);
        tokio::join!(time.keep(Era::Stateless), git.keep(Era::Handshake));
        assert_eq!(time.recall().await, Some(Era::Stateless));
        assert_eq!(git.recall().await, Some(Era::Handshake));
        assert_eq!(memory(&folder, "time", "other").recall().await, None);
    }

    #[tokio::test]
    async fn a_broken_file_is_no_obstacle() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), "{oops").unwrap();
        let time = memory(folder.path(), "time", "a");
        assert_eq!(time.recall().await, None);
        time.keep(Era::Handshake).await;
        assert_eq!(time.recall().await, Some(Era::Handshake));
    }
}
