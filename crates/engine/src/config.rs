//! `toolscript.toml`: read, checked, and with every error pointing at file, line and key.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Map, Value, json};
use toolscript_catalog::{BadName, Secret, SourceName};
use toolscript_luau::Limits;
use toolscript_sources::{
    KINDS, Kind, Layout, kind_of_section,
    mcp::Mcp,
    openapi::{LoadError, OpenApi, read_generated},
};

mod file;
mod keys;

use file::{File, Lines};

/// The name of the file that is looked for.
pub const FILE_NAME: &str = "toolscript.toml";

/// Everything the program was told.
#[derive(Debug)]
pub struct Config {
    /// The file it came from, if there was one.
    pub file: Option<PathBuf>,
    /// The folder relative paths start from.
    pub folder: PathBuf,
    /// The sources to open.
    pub sources: Vec<Configured>,
    /// Everything else.
    pub settings: Settings,
}

/// One source somebody wants.
#[derive(Clone)]
pub struct Configured {
    /// Its kind.
    pub kind: &'static dyn Kind,
    /// Its name; `None` takes the title of what it lists.
    pub name: Option<SourceName>,
    /// The settings of its kind.
    pub settings: Value,
    /// Where it was asked for.
    pub origin: Origin,
}

/// Where something was asked for.
#[derive(Debug, Clone)]
pub enum Origin {
    /// On the command line, in this argument.
    CommandLine(String),
    /// In a file, under this key.
    #[expect(private_interfaces, reason = "made by `Config::parse` alone")]
    File {
        /// The lines of the file.
        lines: Arc<Lines>,
        /// The dotted key.
        key: String,
    },
}

impl Origin {
    /// Where a key below it stands: `toolscript.toml:3`.
    pub fn place(&self, key: &str) -> String {
        match self {
            Self::CommandLine(argument) => format!("argument `{argument}`"),
            Self::File { lines, key: base } => lines.place(&format!("{base}.{key}")),
        }
    }
}

impl std::fmt::Debug for Configured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Settings hold credentials.
        f.debug_struct("Configured")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The settings that belong to no source.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How the program is reached.
    pub server: Server,
    /// What a script may use up.
    pub limits: Limits,
}

/// How the program is reached.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// The address to listen on over HTTP.
    pub bind: String,
    /// Origins a browser may come from besides this server's own; `*` allows all.
    pub allowed_origins: Vec<String>,
    /// Host names requests may be addressed to besides loopback ones.
    pub allowed_hosts: Vec<String>,
    /// Who is let in over HTTP: `{ token = "…" }` asks every client for this bearer token.
    pub auth: Option<Auth>,
    /// Serve an address that is not loopback although nobody has to log in.
    pub allow_unauthenticated: bool,
    /// How large a request over HTTP may be.
    pub max_body_bytes: usize,
    /// Which tools the agent sees: `standard` (five tools) or `single` (one, `run`).
    pub surface: Surface,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            bind: "127.0.0.1:8080".to_owned(),
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            auth: None,
            allow_unauthenticated: false,
            max_body_bytes: 4 << 20,
            surface: Surface::Standard,
        }
    }
}

/// Who is let in over HTTP.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// The token clients send as `Authorization: Bearer …`.
    #[serde(deserialize_with = "not_empty")]
    #[schemars(with = "String")]
    pub token: Secret,
}

/// An empty token would let in whoever sends an empty one.
fn not_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
    let secret = Secret::deserialize(deserializer)?;
    if secret.reveal().is_empty() {
        return Err(D::Error::custom("it is empty; give a token"));
    }
    Ok(secret)
}

/// Which tools the agent sees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// Discovery and execution as five tools.
    #[default]
    Standard,
    /// One tool; discovery happens inside the script.
    Single,
}

/// A configuration that cannot be used. Each message says where and what would do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is not there or not readable.
    #[error("cannot read the configuration `{}`: {cause}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// Not TOML.
    #[error("{place}: {problem}")]
    Syntax {
        /// `file:line`.
        place: String,
        /// What the parser says.
        problem: String,
    },
    /// A key nobody knows.
    #[error("{place}: unknown key `{key}`; {}", known_keys(known))]
    UnknownKey {
        /// `file:line`.
        place: String,
        /// The dotted key.
        key: String,
        /// What comes near.
        known: Vec<String>,
    },
    /// A variable that is not set.
    #[error(
        "{place}: `{key}` wants the environment variable `{variable}`, which is not set; set it, or write `${{{variable}:-default}}`"
    )]
    Unset {
        /// `file:line`.
        place: String,
        /// The dotted key.
        key: String,
        /// The variable.
        variable: String,
    },
    /// A value that does not fit its key.
    #[error("{place}: `{key}` {problem}")]
    Key {
        /// `file:line`.
        place: String,
        /// The dotted key.
        key: String,
        /// What is wrong and what would do.
        problem: String,
    },
    /// A directory that `toolscript generate` did not write.
    #[error("{cause}")]
    Generated {
        /// Why it cannot be served.
        #[source]
        cause: LoadError,
    },
    /// A name that cannot be one.
    #[error("{place}: {cause}")]
    Name {
        /// `file:line`, or the command line.
        place: String,
        /// Why.
        #[source]
        cause: BadName,
    },
}

impl Config {
    /// An empty configuration, for what the command line adds.
    pub fn empty() -> Self {
        Self {
            file: None,
            folder: PathBuf::from("."),
            sources: Vec::new(),
            settings: Settings::default(),
        }
    }

    /// Reads the file given, else `./toolscript.toml`, else the one in the user's
    /// configuration folder; none of them is fine too.
    pub fn load(given: Option<&Path>) -> Result<Self, ConfigError> {
        let Some(path) = given.map(Path::to_owned).or_else(default_file) else {
            return Ok(Self::empty());
        };
        let text = std::fs::read_to_string(&path).map_err(|cause| ConfigError::Read {
            path: path.clone(),
            cause,
        })?;
        Self::parse(&path, &text, &|name| std::env::var(name).ok())
    }

    /// Adds a document given on the command line: `path`, `url`, `name=path` or `name=url`.
    pub fn add_api(&mut self, argument: &str) -> Result<(), ConfigError> {
        let (name, location) = match argument.split_once('=') {
            // A URL may hold `=` too; what stands before it is then no name.
            Some((name, location)) if is_word(name) => (Some(name), location),
            _ => (None, argument),
        };
        let settings = json!({"spec": from_here(location)});
        self.add_source(&OpenApi, argument, name, settings)
    }

    /// Adds an MCP server given on the command line: `name=url`, or `name=command arguments…`
    /// with the quoting of a shell.
    pub fn add_mcp(&mut self, argument: &str) -> Result<(), ConfigError> {
        let problem = |problem: &str| ConfigError::Key {
            place: format!("argument `--mcp {argument}`"),
            key: "--mcp".to_owned(),
            problem: problem.to_owned(),
        };
        let (name, server) = argument
            .split_once('=')
            .filter(|(name, _)| is_word(name))
            .ok_or_else(|| {
                problem(
                    "wants a name first, as in `files=npx -y some-server /tmp` or `wiki=https://…`",
                )
            })?;
        let settings = if is_url(server) {
            json!({"url": server})
        } else {
            let words = shlex::split(server)
                .ok_or_else(|| problem("has a quote that is not closed, or ends with `\\`"))?;
            let Some((command, arguments)) = words.split_first() else {
                return Err(problem("names no command after the `=`"));
            };
            // A path is meant from where the person stands; a plain name is found by `PATH`.
            let command = if command.contains('/') {
                from_here(command)
            } else {
                command.clone()
            };
            json!({"command": command, "args": arguments})
        };
        self.add_source(&Mcp, argument, Some(name), settings)
    }

    /// Adds the APIs of a directory written by `toolscript generate`.
    pub fn add_generated(&mut self, directory: &Path) -> Result<(), ConfigError> {
        let shown = directory.display().to_string();
        let apis = read_generated(directory).map_err(|cause| ConfigError::Generated { cause })?;
        for api in apis {
            let settings = json!({"generated": from_here(&shown)});
            self.add_source(&OpenApi, &shown, Some(api.name.as_str()), settings)?;
        }
        Ok(())
    }

    /// Takes the credential of an API from an environment variable.
    pub fn set_auth(&mut self, name: Option<&str>, variable: &str) -> Result<(), ConfigError> {
        let place = format!("argument `--auth {variable}`");
        let problem = |key: &str, problem: String| ConfigError::Key {
            place: place.clone(),
            key: key.to_owned(),
            problem,
        };
        if std::env::var_os(variable).is_none() {
            return Err(problem(
                variable,
                "is an environment variable that is not set".to_owned(),
            ));
        }
        let known: Vec<String> = self
            .sources
            .iter()
            .filter_map(|source| source.name.as_ref())
            .map(ToString::to_string)
            .collect();
        let source = match (name, self.sources.as_mut_slice()) {
            (None, [only]) => Some(only),
            (None, _) => {
                let sources = self.sources.len();
                let advice = format!(
                    "says not which of the {sources} sources it is for; write `--auth NAME:{variable}`"
                );
                return Err(problem("--auth", advice));
            }
            (Some(name), sources) => sources.iter_mut().find(|source| {
                source
                    .name
                    .as_ref()
                    .is_some_and(|known| known.as_str() == name)
            }),
        };
        let Some(source) = source else {
            let advice = format!("names no source; named sources: {}", known.join(", "));
            return Err(problem(name.unwrap_or_default(), advice));
        };
        if let Some(settings) = source.settings.as_object_mut() {
            settings.remove("auth");
            settings.insert("auth_env".to_owned(), Value::from(variable));
        }
        Ok(())
    }

    fn add_source(
        &mut self,
        kind: &'static dyn Kind,
        argument: &str,
        name: Option<&str>,
        settings: Value,
    ) -> Result<(), ConfigError> {
        let origin = Origin::CommandLine(argument.to_owned());
        let name = name
            .map(SourceName::parse)
            .transpose()
            .map_err(|cause| ConfigError::Name {
                place: origin.place(""),
                cause,
            })?;
        // What the command line says wins over the file's entry of the same name.
        if name.is_some() {
            self.sources
                .retain(|source| source.name != name || source.kind.section() != kind.section());
        }
        self.sources.push(Configured {
            kind,
            name,
            settings,
            origin,
        });
        Ok(())
    }

    /// Every environment variable the configuration wants and there is not, each as the error it
    /// is; empty where nothing is wrong, or where something else is.
    pub fn unset_variables(given: Option<&Path>) -> Vec<ConfigError> {
        let Some(path) = given.map(Path::to_owned).or_else(default_file) else {
            return Vec::new();
        };
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let mut missing: Vec<ConfigError> = Vec::new();
        loop {
            let is_missing = |name: &str| {
                let is_it = |error: &ConfigError| matches!(error, ConfigError::Unset { variable, .. } if variable == name);
                missing.iter().any(is_it)
            };
            let environment = |name: &str| match std::env::var(name) {
                Ok(value) => Some(value),
                Err(_) => is_missing(name).then(String::new),
            };
            match Self::parse(&path, &text, &environment) {
                Err(unset @ ConfigError::Unset { .. }) => missing.push(unset),
                _ => return missing,
            }
        }
    }

    /// Reads a configuration out of a text.
    pub fn parse(
        path: &Path,
        text: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let file = File::parse(path, text, environment)?;
        let whole = Value::Object(file.value.clone());
        if let Some(unknown) = keys::find_unknown(&schema(), &whole) {
            let place = file.lines.place(&unknown.key);
            return Err(ConfigError::UnknownKey {
                place,
                key: unknown.key,
                known: unknown.known,
            });
        }
        let lines = Arc::new(file.lines);
        let mut rest = Map::new();
        let mut sources = Vec::new();
        for (section, value) in file.value {
            match kind_of_section(&section) {
                Some(kind) => sources.extend(configured(&lines, kind, value)?),
                None => {
                    rest.insert(section, value);
                }
            }
        }
        let settings = typed(&lines, Value::Object(rest))?;
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        Ok(Self {
            file: Some(path.to_owned()),
            folder: folder.unwrap_or(Path::new(".")).to_owned(),
            sources,
            settings,
        })
    }
}

/// The JSON Schema of the whole file, made from the settings structs.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Settings).to_value();
    let mut definitions = Map::new();
    let mut properties = Map::new();
    for kind in KINDS {
        let mut settings = kind.settings_schema().to_value();
        if let Some(Value::Object(own)) = settings.as_object_mut().and_then(|s| s.remove("$defs")) {
            definitions.extend(own);
        }
        definitions.insert(kind.name().to_owned(), settings);
        properties.insert(kind.section().to_owned(), section_schema(*kind));
    }
    for (key, added) in [("properties", properties), ("$defs", definitions)] {
        if let Some(Value::Object(known)) = schema.get_mut(key) {
            known.extend(added);
        } else if let Some(object) = schema.as_object_mut() {
            object.insert(key.to_owned(), Value::Object(added));
        }
    }
    schema
}

fn section_schema(kind: &dyn Kind) -> Value {
    let reference = json!({"$ref": format!("#/$defs/{}", kind.name())});
    let entries = json!({"type": "object", "additionalProperties": reference});
    match kind.layout() {
        Layout::Apart => entries,
        Layout::Together { table, .. } => {
            json!({"type": "object", "properties": {table: entries}, "additionalProperties": false})
        }
    }
}

/// The sources of one section.
fn configured(
    lines: &Arc<Lines>,
    kind: &'static dyn Kind,
    section: Value,
) -> Result<Vec<Configured>, ConfigError> {
    let Value::Object(mut entries) = section else {
        return Ok(Vec::new());
    };
    let one = |name: &str, key: String, settings| {
        let name = SourceName::parse(name).map_err(|cause| ConfigError::Name {
            place: lines.place(&key),
            cause,
        })?;
        let origin = Origin::File {
            lines: lines.clone(),
            key,
        };
        Ok(Configured {
            kind,
            name: Some(name),
            settings,
            origin,
        })
    };
    match kind.layout() {
        Layout::Apart => entries
            .into_iter()
            .map(|(name, settings)| one(&name, format!("{}.{name}", kind.section()), settings))
            .collect(),
        Layout::Together { table, source } => entries
            .remove(table)
            .into_iter()
            .map(|settings| one(source, format!("{}.{table}", kind.section()), settings))
            .collect(),
    }
}

/// A value as a settings struct; an error names the key it is about.
fn typed<T: DeserializeOwned>(lines: &Lines, value: Value) -> Result<T, ConfigError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let key = error.path().to_string();
        let problem = format!("does not fit: {}", error.inner());
        ConfigError::Key {
            place: lines.place(&key),
            key,
            problem,
        }
    })
}

/// A location on the command line is meant from where the person stands, not from the
/// folder of the configuration file.
fn from_here(location: &str) -> String {
    if is_url(location) {
        return location.to_owned();
    }
    match std::path::absolute(location) {
        Ok(path) => path.display().to_string(),
        Err(_) => location.to_owned(),
    }
}

fn is_url(location: &str) -> bool {
    location.starts_with("http://") || location.starts_with("https://")
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// The file that is read where none is named: `./toolscript.toml`, else the one in the user's
/// configuration folder; `None` where there is neither.
pub fn default_file() -> Option<PathBuf> {
    let here = PathBuf::from(FILE_NAME);
    if here.is_file() {
        return Some(here);
    }
    let folder = match std::env::var_os("XDG_CONFIG_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".config"),
    };
    Some(folder.join("toolscript").join(FILE_NAME)).filter(|path| path.is_file())
}

fn known_keys(known: &[String]) -> String {
    match known {
        [] => "nothing may stand there".to_owned(),
        [only] => format!("did you mean `{only}`?"),
        several => {
            let names: Vec<String> = several.iter().map(|name| format!("`{name}`")).collect();
            format!("known keys: {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests;
