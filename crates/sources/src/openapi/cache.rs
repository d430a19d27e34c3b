//! The cache of compiled documents: a second start skips parsing.
//!
//! An entry is named after the content and the address of its document, and lists every other
//! document with the hash of its content, so that a change anywhere makes a new entry.
//! Whatever goes wrong here costs time, never a source.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use toolscript_catalog::Listing;
use tracing::warn;

use super::{
    load::{fetch, location::Location},
    operation::Api,
};
use crate::Context;

/// Changes whenever the loader reads documents differently, so that old entries are not used.
const FORMAT: u32 = 2;
/// How many entries are kept.
const MOST_ENTRIES: usize = 200;
/// How every entry's name ends.
const SUFFIX: &str = ".openapi.json";
/// How the name of a file ends that is still being written.
const UNFINISHED: &str = ".unfinished";
/// How old such a file must be to be nobody's any more.
const LONG_AGO: Duration = Duration::from_hours(1);
/// How many other documents are checked at once.
const AT_ONCE: usize = 16;

/// What an entry is found by.
#[derive(Debug)]
pub(super) struct Key(blake3::Hash);

/// Another document an entry depends on.
#[derive(Debug, Serialize, Deserialize)]
struct Other {
    location: String,
    /// `None` where it could not be read.
    hash: Option<String>,
}

/// The first line of an entry.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    others: Vec<Other>,
}

/// The rest of an entry.
#[derive(Debug, Deserialize)]
struct Content {
    listing: Listing,
    api: Api,
}

/// The same, on its way out.
#[derive(Serialize)]
struct ContentRef<'a> {
    listing: &'a Listing,
    api: &'a Api,
}

impl Key {
    /// The key of a document; `None` where nothing is kept anyway.
    pub(super) async fn new(cx: &Context, location: &Location, bytes: &Bytes) -> Option<Self> {
        cx.cache.as_ref()?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&FORMAT.to_le_bytes());
        hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
        hasher.update(address(location).as_bytes());
        hasher.update(&[0]);
        finish(hasher, bytes).await.map(Self)
    }

    fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}{SUFFIX}", self.0.to_hex()))
    }
}

/// What was compiled before, if nothing has changed since, and what else it was compiled from.
pub(super) async fn load(
    cx: &Context,
    key: Option<&Key>,
) -> Option<((Listing, Api), Vec<Location>)> {
    let path = key?.path(cx.cache.as_deref()?);
    let read = tokio::task::spawn_blocking(move || std::fs::read(path).ok());
    let bytes = read.await.ok()??;
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let head: Head = serde_json::from_slice(&bytes[..end]).ok()?;
    if !are_unchanged(cx, &head.others).await {
        return None;
    }
    let parse =
        tokio::task::spawn_blocking(move || serde_json::from_slice::<Content>(&bytes[end..]).ok());
    let content = parse.await.ok()??;
    let others = head.others.iter();
    let others = others.map(|other| Location::parse(&other.location, &cx.folder));
    Some(((content.listing, content.api), others.collect()))
}

/// Keeps what was compiled and hands it back.
pub(super) async fn store(
    cx: &Context,
    key: Option<Key>,
    others: Vec<(Location, Option<blake3::Hash>)>,
    compiled: (Listing, Api),
) -> (Listing, Api) {
    let (Some(folder), Some(key)) = (cx.cache.clone(), key) else {
        return compiled;
    };
    let path = key.path(&folder);
    let compiled = std::sync::Arc::new(compiled);
    let shared = compiled.clone();
    let work = tokio::task::spawn_blocking(move || {
        let written = write(&folder, &path, &others, &shared);
        if let Err(error) = written {
            warn!(folder = %folder.display(), %error, "cannot write the cache of compiled documents");
        }
    });
    if work.await.is_err() {
        warn!("writing the cache of compiled documents failed");
    }
    std::sync::Arc::unwrap_or_clone(compiled)
}

async fn are_unchanged(cx: &Context, others: &[Other]) -> bool {
    let checks: Vec<_> = others.iter().map(|other| is_unchanged(cx, other)).collect();
    stream::iter(checks)
        .buffer_unordered(AT_ONCE)
        .all(|unchanged| async move { unchanged })
        .await
}

async fn is_unchanged(cx: &Context, other: &Other) -> bool {
    let location = Location::parse(&other.location, &cx.folder);
    let hash = match fetch::read(cx, &location).await {
        Ok(content) => finish(blake3::Hasher::new(), &content.bytes).await,
        Err(_) => None,
    };
    hash.map(|hash| hash.to_hex().to_string()) == other.hash
}

/// The hash after some bytes, worked out where it holds up nobody.
async fn finish(mut hasher: blake3::Hasher, bytes: &Bytes) -> Option<blake3::Hash> {
    let bytes = bytes.clone();
    tokio::task::spawn_blocking(move || hasher.update(&bytes).finalize())
        .await
        .ok()
}

fn write(
    folder: &Path,
    path: &Path,
    others: &[(Location, Option<blake3::Hash>)],
    (listing, api): &(Listing, Api),
) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let other = |(location, hash): &(Location, Option<blake3::Hash>)| Other {
        location: address(location),
        hash: hash.map(|hash| hash.to_hex().to_string()),
    };
    let head = Head {
        others: others.iter().map(other).collect(),
    };
    let mut bytes = serde_json::to_vec(&head)?;
    bytes.push(b'\n');
    serde_json::to_writer(&mut bytes, &ContentRef { listing, api })?;
    write_whole(path, &bytes)?;
    prune(folder)
}

/// Writes a file so that a reader sees the old one or the new one, never half of it.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}-{count}{UNFINISHED}", std::process::id()));
    let unfinished = path.with_file_name(name);
    let written =
        std::fs::write(&unfinished, bytes).and_then(|()| std::fs::rename(&unfinished, path));
    if written.is_err() {
        // The failure above is the one to tell; what it left behind goes if it can.
        let _gone = std::fs::remove_file(&unfinished);
    }
    written
}

/// Drops the oldest entries beyond the limit, and what a crash left behind.
fn prune(folder: &Path) -> std::io::Result<()> {
    let mut entries: Vec<(SystemTime, PathBuf)> = Vec::new();
    let mut surplus: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Another process may have renamed or dropped it since.
        let Ok(modified) = entry.metadata().and_then(|about| about.modified()) else {
            continue;
        };
        if name.ends_with(SUFFIX) {
            entries.push((modified, entry.path()));
        } else if name.ends_with(UNFINISHED) && modified.elapsed().is_ok_and(|age| LONG_AGO < age) {
            surplus.push(entry.path());
        }
    }
    entries.sort();
    let too_many = entries.len().saturating_sub(MOST_ENTRIES);
    surplus.extend(entries.into_iter().take(too_many).map(|(_, path)| path));
    // Another process may have dropped the same entry.
    for path in surplus {
        drop(std::fs::remove_file(path));
    }
    Ok(())
}

/// The address in full: it is hashed, or stays in the cache folder.
fn address(location: &Location) -> String {
    match location {
        Location::File(path) => path.to_string_lossy().into_owned(),
        Location::Url(url) => url.to_string(),
    }
}
