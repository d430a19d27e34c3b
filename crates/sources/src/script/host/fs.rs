//! `fs`: the files beside a script, to be read and nothing else.

use std::{path::PathBuf, sync::Arc};

use futures_util::FutureExt as _;
use serde_json::Value;
use toolscript_luau::{HostError, HostModule, library::Documented};

use super::{
    Host, Module,
    arguments::{Arguments, value_of},
    glob::Glob,
};
use crate::confined::{self, ConfinedError, Depth};

/// The largest file a script may read.
const LARGEST: u64 = 8 << 20;

pub(super) const HOST: Host = Host {
    name: "fs",
    about: "The files in the script's folder",
    definitions: include_str!("fs.d.luau"),
    functions: &[
        Documented {
            path: "fs.read",
            signature: "fs.read(path: string): string | buffer",
            summary: "Reads a file in the script's folder",
            description: "The path starts from the folder of the script; `..`, absolute paths and \
                          links are refused. Gives text where the file is text, else a buffer. A \
                          file may have 8 MiB.",
        },
        Documented {
            path: "fs.list",
            signature: "fs.list(dir: string?, glob: string?): {string}",
            summary: "Lists the files in the script's folder, or in one below it",
            description: "Gives the paths of files, ready for `fs.read`, in order. `glob` may hold \
                          `*`, `?`, and `**` for any number of folders: `fs.list(\"docs\", \
                          \"**/*.md\")`. Without it the files of the folder itself are given. \
                          Links are left out.",
        },
    ],
};

pub(super) fn module(folder: PathBuf) -> Arc<dyn HostModule> {
    let listed = folder.clone();
    Module::new("fs")
        .waits("read", move |values| {
            let folder = folder.clone();
            let work = async move {
                let arguments = Arguments {
                    usage: "fs.read(path)",
                    values: &values,
                };
                let path = arguments.text(0)?.to_owned();
                let bytes = aside(move || confined::read(&folder, &path, LARGEST)).await?;
                Ok(value_of(bytes))
            };
            work.boxed()
        })
        .waits("list", move |values| {
            let folder = listed.clone();
            let work = async move {
                let arguments = Arguments {
                    usage: "fs.list(dir, glob)",
                    values: &values,
                };
                let path = arguments.optional_text(0)?.unwrap_or_default().to_owned();
                let pattern = arguments.optional_text(1)?.unwrap_or("*").to_owned();
                let files = aside(move || list(&folder, &path, &pattern)).await?;
                Ok(Value::Array(files))
            };
            work.boxed()
        })
        .done()
}

fn list(folder: &std::path::Path, path: &str, pattern: &str) -> Result<Vec<Value>, ConfinedError> {
    let glob = Glob::new(pattern);
    let depth = if glob.is_deep() {
        Depth::Everything
    } else {
        Depth::Folder
    };
    let below: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let prefix = match below.join("/") {
        below if below.is_empty() => below,
        below => format!("{below}/"),
    };
    let found = confined::list(folder, path, depth)?;
    let files = found
        .into_iter()
        .filter(|found| !found.is_folder && glob.matches(&found.path));
    Ok(files
        .map(|found| Value::String(format!("{prefix}{}", found.path)))
        .collect())
}

/// Does work that blocks where nobody waits behind it.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ConfinedError> + Send + 'static,
) -> Result<T, HostError> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|_| HostError::failed("the program is shutting down"))?;
    done.map_err(|error| HostError::failed(error.to_string()))
}
