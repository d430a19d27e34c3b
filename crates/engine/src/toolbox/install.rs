//! `tool install`: takes a script out of a registry, which is a folder or a git repository with
//! an index. Nothing of it is run.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde::Deserialize;
use tempfile::TempDir;
use toolscript_catalog::suggest;
use toolscript_sources::{
    confined::{self, ConfinedError},
    script::host,
};

use super::{
    section::{Addition, SectionError, is_tool_name},
    template::write_new,
};

/// The index of a registry.
const INDEX: &str = "registry.toml";
/// The largest index.
const LARGEST_INDEX: u64 = 1 << 20;
/// The largest script.
const LARGEST_SCRIPT: u64 = 1 << 20;
/// How long a repository may take to arrive.
const PATIENCE: Duration = Duration::from_mins(2);

/// What was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The script.
    pub script: PathBuf,
    /// The configuration that names it, where it was wanted.
    pub config: Option<PathBuf>,
    /// Its version, as the index says.
    pub version: Option<String>,
    /// The host modules it uses, as the index says.
    pub modules: Vec<String>,
    /// The keys it needs in its section, with what they are for.
    pub needs: Vec<(String, String)>,
}

/// What is to be installed, and where.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// The tool, by its name in the index.
    pub name: &'a str,
    /// The registry: a folder, or what `git clone` takes.
    pub from: &'a str,
    /// The folder the script goes to, below `tools`.
    pub folder: &'a Path,
    /// The configuration it is added to.
    pub config: Option<&'a Path>,
}

/// A tool that cannot be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The registry cannot be fetched.
    #[error("cannot fetch the registry `{from}`: {problem}")]
    Fetch {
        /// Where from.
        from: String,
        /// Why.
        problem: String,
    },
    /// Something in the registry cannot be read.
    #[error("the registry cannot be read: {0}")]
    Read(#[from] ConfinedError),
    /// The index is not one.
    #[error("`registry.toml` is not an index: {0}")]
    Index(String),
    /// No such tool.
    #[error("the registry has no tool `{name}`; {hint}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What would do.
        hint: String,
    },
    /// It is something else.
    #[error("`{0}` is a connector, not a tool")]
    Connector(String),
    /// The file is not the one the index means.
    #[error("`{path}` is not what the index promises: its SHA-256 is {found}, not {expected}")]
    Checksum {
        /// Which file.
        path: String,
        /// What the index says.
        expected: String,
        /// What it is.
        found: String,
    },
    /// It needs what is not there.
    #[error("`{name}` needs the module `{module}`, which this version of toolscript does not have")]
    Module {
        /// The tool.
        name: String,
        /// The module.
        module: String,
    },
    /// The configuration cannot be added to.
    #[error(transparent)]
    Section(#[from] SectionError),
    /// The script cannot be written.
    #[error("cannot write `{}`: {cause}", path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

/// What `registry.toml` holds.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Index {
    /// What the registry is.
    #[serde(rename = "description")]
    _description: String,
    tools: BTreeMap<String, Listed>,
    connectors: BTreeMap<String, Listed>,
}

/// One tool or connector.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    /// The script, from the folder of the index.
    path: String,
    /// Of the script, in hexadecimal.
    sha256: String,
    #[serde(default)]
    version: Option<String>,
    #[serde(default, rename = "description")]
    _description: String,
    /// The host modules it uses.
    #[serde(default)]
    modules: Vec<String>,
    /// The keys of its section.
    #[serde(default)]
    config: BTreeMap<String, Key>,
}

/// A key of a tool's section.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    #[serde(default)]
    description: String,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    default: Option<toml::Value>,
}

/// Takes a script out of a registry, checks it against the index, and puts it beside the
/// configuration. Nothing that is there already is touched.
pub async fn install(wanted: &Wanted<'_>) -> Result<Installed, InstallError> {
    let registry = Registry::fetch(wanted.from).await?;
    let mut index = registry.index()?;
    if index.connectors.contains_key(wanted.name) {
        return Err(InstallError::Connector(wanted.name.to_owned()));
    }
    let listed = index.tools.remove(wanted.name);
    // The name becomes that of a file.
    let Some(listed) = listed.filter(|_| is_tool_name(wanted.name)) else {
        return Err(InstallError::Unknown {
            name: wanted.name.to_owned(),
            hint: hint(wanted.name, &index),
        });
    };
    if let Some(module) = listed.modules.iter().find(|module| !host::is_known(module)) {
        return Err(InstallError::Module {
            name: wanted.name.to_owned(),
            module: module.clone(),
        });
    }
    let script = registry.script(&listed)?;
    place(wanted, listed, &script)
}

/// Writes the script and its section.
fn place(wanted: &Wanted<'_>, listed: Listed, script: &[u8]) -> Result<Installed, InstallError> {
    let section = section(wanted, &listed);
    let addition = wanted
        .config
        .map(|config| Addition::prepare(config, wanted.name, &section));
    let addition = addition.transpose()?;
    let path = wanted
        .folder
        .join("tools")
        .join(format!("{}.luau", wanted.name));
    write_new(&path, script).map_err(|cause| InstallError::Write {
        path: path.clone(),
        cause,
    })?;
    let needs = listed.config.into_iter();
    Ok(Installed {
        script: path,
        config: addition.map(Addition::write).transpose()?,
        version: listed.version,
        modules: listed.modules,
        needs: needs
            .filter(|(_, key)| key.required && key.default.is_none())
            .map(|(name, key)| (name, key.description))
            .collect(),
    })
}

/// The section of a tool, with its defaults, and with what it needs as comments to fill in.
fn section(wanted: &Wanted<'_>, listed: &Listed) -> String {
    let name = wanted.name;
    let mut text = format!("[tools.script.{name}]\npath = \"tools/{name}.luau\"\n");
    for (key, about) in &listed.config {
        let key = if is_tool_name(key) {
            key.clone()
        } else {
            toml::Value::String(key.clone()).to_string()
        };
        let words = about.description.replace(['\n', '\r'], " ");
        let line = match &about.default {
            Some(default) => format!("{key} = {default} # {words}"),
            None if about.required => format!("# {key} = \"\" # needed: {words}"),
            None => format!("# {key} = \"\" # {words}"),
        };
        text.push_str(line.trim_end_matches([' ', '#']));
        text.push('\n');
    }
    text
}

fn hint(name: &str, index: &Index) -> String {
    let known = || index.tools.keys().map(String::as_str);
    let near = suggest::nearest(name, known(), 3);
    match (near.is_empty(), index.tools.len()) {
        (false, _) => format!("did you mean `{}`?", near.join("`, `")),
        (true, 0) => "it has no tools at all".to_owned(),
        (true, _) => format!("it has {}", known().take(20).collect::<Vec<_>>().join(", ")),
    }
}

/// A registry on this machine.
struct Registry {
    folder: PathBuf,
    /// Where a repository was fetched to; it goes when this does.
    _fetched: Option<TempDir>,
}

impl Registry {
    async fn fetch(from: &str) -> Result<Self, InstallError> {
        let folder = Path::new(from);
        if folder.join(INDEX).is_file() {
            return Ok(Self {
                folder: folder.to_owned(),
                _fetched: None,
            });
        }
        let fetched = TempDir::new().map_err(|error| InstallError::Fetch {
            from: from.to_owned(),
            problem: error.to_string(),
        })?;
        let folder = fetched.path().join("registry");
        clone(from, &folder).await?;
        Ok(Self {
            folder,
            _fetched: Some(fetched),
        })
    }

    fn index(&self) -> Result<Index, InstallError> {
        let bytes = confined::read(&self.folder, INDEX, LARGEST_INDEX)?;
        let text = String::from_utf8_lossy(&bytes);
        toml::from_str(&text).map_err(|error| {
            let line = error
                .span()
                .map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            InstallError::Index(format!("line {line}: {}", error.message()))
        })
    }

    /// The script the index means.
    fn script(&self, listed: &Listed) -> Result<Vec<u8>, InstallError> {
        let script = confined::read(&self.folder, &listed.path, LARGEST_SCRIPT)?;
        let (expected, found) = (listed.sha256.to_ascii_lowercase(), host::sha256(&script));
        if expected != found {
            return Err(InstallError::Checksum {
                path: listed.path.clone(),
                expected,
                found,
            });
        }
        Ok(script)
    }
}

/// Fetches a repository without its history. What it holds is not run: no hooks, no programs
/// named in its address, no links on disk.
async fn clone(from: &str, folder: &Path) -> Result<(), InstallError> {
    let failed = |problem: String| InstallError::Fetch {
        from: from.to_owned(),
        problem,
    };
    let mut git = tokio::process::Command::new("git");
    git.args([
        "-c",
        "core.symlinks=false",
        "-c",
        "core.hooksPath=/dev/null",
    ])
    .args(["-c", "protocol.ext.allow=never"])
    .args([
        "clone",
        "--quiet",
        "--depth",
        "1",
        "--single-branch",
        "--no-tags",
        "--",
    ])
    .arg(from)
    .arg(folder)
    .env("GIT_TERMINAL_PROMPT", "0")
    .stdin(Stdio::null())
    .stdout(Stdio::null())
    .stderr(Stdio::piped())
    .kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, git.output()).await;
    let output = output
        .map_err(|_| failed(format!("it took longer than {} s", PATIENCE.as_secs())))?
        .map_err(|error| failed(format!("`git` cannot be started: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let last = words.lines().rfind(|line| !line.trim().is_empty());
    Err(failed(format!(
        "it is no folder with a `{INDEX}`, and git says: {}",
        last.unwrap_or("nothing")
    )))
}
