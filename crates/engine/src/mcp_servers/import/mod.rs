//! Takes MCP servers over from the files of other programs: Claude Code, Claude Desktop, Cursor,
//! VS Code and those that write the same.
//!
//! Nothing is lost silently: what cannot be taken over is told, word by word.

mod entry;
mod jsonc;
mod secrets;
mod variables;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use toolscript_catalog::SourceName;

use entry::Reader;
use secrets::Taken;
use variables::Surroundings;

/// A larger file is no configuration.
const LARGEST: u64 = 64 << 20;

/// What to do with secrets that are written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// Take them over as they are.
    Keep,
    /// Put variables in their place, which somebody has to set.
    ToEnvironment,
}

/// The servers of a file.
#[derive(Debug, Default)]
pub struct Import {
    /// Those that can be taken over, in their order.
    pub servers: Vec<Imported>,
    /// Those that cannot.
    pub refused: Vec<NotImported>,
}

/// A server in our words.
#[derive(Debug)]
pub struct Imported {
    /// Its name among our sources.
    pub name: SourceName,
    /// What the other program calls it.
    pub original: String,
    /// Its settings.
    pub settings: Map<String, Value>,
    /// The same with secrets masked, to be shown.
    pub shown: Map<String, Value>,
    /// Which settings hold a secret that is written out.
    pub secrets: Vec<String>,
    /// What was changed or left out.
    pub notes: Vec<String>,
    /// Environment variables that have to be set before it works.
    pub exports: Vec<Export>,
}

/// A server that cannot be taken over.
#[derive(Debug)]
pub struct NotImported {
    /// What the other program calls it.
    pub original: String,
    /// Why.
    pub reason: String,
}

/// A variable somebody has to set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its name.
    pub variable: String,
    /// What it stands for.
    pub meaning: String,
}

/// A file from which nothing can be taken.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is not there or not readable.
    #[error("cannot read `{}`: {cause}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// It is not JSON.
    #[error("{place}: {problem}")]
    Syntax {
        /// `file:line`.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// It is not a list of servers.
    #[error(
        "`{}` holds no MCP servers: it has neither `mcpServers` nor `servers`{}",
        path.display(),
        found(keys)
    )]
    NoServers {
        /// Which file.
        path: PathBuf,
        /// What it holds instead.
        keys: Vec<String>,
    },
}

fn found(keys: &[String]) -> String {
    const SHOWN: usize = 8;
    match keys {
        [] => String::new(),
        keys => {
            let shown: Vec<String> = keys
                .iter()
                .take(SHOWN)
                .map(|key| format!("`{key}`"))
                .collect();
            let more = if SHOWN < keys.len() { ", …" } else { "" };
            format!(", but {}{more}", shown.join(", "))
        }
    }
}

/// Reads the servers of another program's file; relative paths will start from `folder`.
pub fn read(path: &Path, folder: &Path, secrets: Secrets) -> Result<Import, ImportError> {
    let document = document(path)?;
    let Some(servers) = servers(&document) else {
        return Err(ImportError::NoServers {
            path: path.to_owned(),
            keys: document
                .as_object()
                .map(|document| document.keys().cloned().collect())
                .unwrap_or_default(),
        });
    };
    let workspace = workspace(path);
    let reader = Reader {
        surroundings: Surroundings {
            workspace: &workspace,
            inputs: inputs(&document),
        },
        folder,
    };
    let mut import = Import::default();
    let mut taken = Taken::new();
    for (original, entry) in servers {
        match reader.read(original, entry) {
            Err(reason) => import.refused.push(NotImported {
                original: original.clone(),
                reason: reason.to_string(),
            }),
            Ok(read) => import.add(original, read, secrets, &mut taken),
        }
    }
    Ok(import)
}

/// Which settings of a server hold a secret that is written out.
pub(super) fn secrets_in(name: &SourceName, settings: &Map<String, Value>) -> Vec<String> {
    secrets::find(name.as_str(), settings, &mut Taken::new()).places
}

impl Import {
    fn add(&mut self, original: &str, read: entry::Read, secrets: Secrets, taken: &mut Taken) {
        let name = self.name(original);
        let found = secrets::find(name.as_str(), &read.settings, taken);
        let mut notes = read.notes;
        if name.as_str() != original {
            notes.insert(
                0,
                format!("called `{name}` here, since `{original}` is no source name"),
            );
        }
        let mut exports = read.exports;
        let (settings, shown, places) = match secrets {
            Secrets::Keep => (read.settings, found.masked, found.places),
            Secrets::ToEnvironment => {
                exports.extend(found.exports);
                (found.replaced.clone(), found.replaced, Vec::new())
            }
        };
        self.servers.push(Imported {
            name,
            original: original.to_owned(),
            settings,
            shown,
            secrets: places,
            notes,
            exports,
        });
    }

    /// A name of ours that no other server of the file has.
    fn name(&self, original: &str) -> SourceName {
        let is_free = |name: &SourceName| self.servers.iter().all(|other| other.name != *name);
        let plain = original
            .to_ascii_lowercase()
            .replace([' ', '-', '.', '/'], "_");
        let name = SourceName::parse(&plain).unwrap_or_else(|_| SourceName::clean(original));
        let numbered = (2..).map(|number| SourceName::clean(&format!("{name}_{number}")));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        names.find(is_free).unwrap_or(name)
    }
}

fn document(path: &Path) -> Result<Value, ImportError> {
    let cannot = |cause| ImportError::Read {
        path: path.to_owned(),
        cause,
    };
    if LARGEST < fs::metadata(path).map_err(cannot)?.len() {
        return Err(cannot(io::Error::other(
            "it is too large for a configuration",
        )));
    }
    let text = fs::read_to_string(path).map_err(cannot)?;
    serde_json::from_str(&jsonc::plain(&text)).map_err(|error| {
        let problem = error.to_string();
        // The parser ends with the place, which stands in front here.
        let problem = problem
            .rsplit_once(" at line ")
            .map_or(&*problem, |(problem, _)| problem);
        ImportError::Syntax {
            place: format!("{}:{}", path.display(), error.line()),
            problem: format!("this is no JSON: {problem}"),
        }
    })
}

/// The servers, wherever programs put them.
fn servers(document: &Value) -> Option<&Map<String, Value>> {
    let settings = document.get("mcp").unwrap_or(&Value::Null);
    let places = [
        document.get("mcpServers"),
        document.get("servers"),
        document.get("mcp.servers"),
        settings.get("servers"),
        settings.get("mcpServers"),
    ];
    let named = places.into_iter().flatten().find_map(Value::as_object);
    // A plugin of Claude Code lists its servers without a word around them.
    let is_server = |entry: &Value| entry.get("command").is_some() || entry.get("url").is_some();
    let bare = || {
        let document = document.as_object()?;
        (!document.is_empty() && document.values().all(is_server)).then_some(document)
    };
    named.or_else(bare)
}

/// What VS Code asks for before it starts a server.
fn inputs(document: &Value) -> &[Value] {
    let places = [
        document.get("inputs"),
        document.get("mcp.inputs"),
        document
            .get("mcp")
            .and_then(|settings| settings.get("inputs")),
    ];
    let inputs = places.into_iter().flatten().find_map(Value::as_array);
    inputs.map(Vec::as_slice).unwrap_or_default()
}

/// The folder of the project a file belongs to: files in `.vscode` or `.cursor` belong to the
/// folder around it.
fn workspace(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("/"));
    let is_hidden = |name: &str| name.starts_with('.') && name.len() > 1;
    match folder.file_name().and_then(|name| name.to_str()) {
        Some(name) if is_hidden(name) => folder.parent().unwrap_or(folder).to_owned(),
        _ => folder.to_owned(),
    }
}

#[cfg(test)]
mod tests;
