//! One server of another program's file, read key by key.

use std::{collections::BTreeSet, path::Path};

use serde_json::{Map, Value, json};
use toolscript_catalog::SourceName;

use super::{
    Export,
    variables::{Findings, Surroundings, is_variable},
};
use crate::mcp_servers::check::{BadSettings, check};

/// Reads servers.
pub(super) struct Reader<'a> {
    pub(super) surroundings: Surroundings<'a>,
    /// Where relative paths of ours start.
    pub(super) folder: &'a Path,
}

/// A server in our words.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) settings: Map<String, Value>,
    pub(super) notes: Vec<String>,
    pub(super) exports: Vec<Export>,
}

/// Why a server cannot be taken over.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("it is no object with `command` or `url`")]
    Shape,
    #[error("`{key}` should be {wanted}")]
    Kind { key: String, wanted: &'static str },
    #[error("it speaks `{0}`, which is not supported; stdio, http and sse are")]
    Transport(String),
    #[error(transparent)]
    Settings(#[from] BadSettings),
}

impl Reader<'_> {
    /// Reads one server.
    pub(super) fn read(&self, name: &str, entry: &Value) -> Result<Read, Refusal> {
        let Value::Object(entry) = entry else {
            return Err(Refusal::Shape);
        };
        let mut draft = Draft {
            reader: self,
            read: Read::default(),
            findings: Findings::default(),
        };
        draft.place(entry)?;
        draft.rest(entry)?;
        draft.paths();
        let read = draft.finish();
        check(&SourceName::clean(name), &read.settings, self.folder)?;
        Ok(read)
    }
}

/// A server being read.
struct Draft<'a> {
    reader: &'a Reader<'a>,
    read: Read,
    findings: Findings,
}

impl Draft<'_> {
    /// Where the server is: a command with its arguments, or an address.
    fn place(&mut self, entry: &Map<String, Value>) -> Result<(), Refusal> {
        if let Some(command) = entry.get("command") {
            let command = self.text("command", command)?;
            self.set("command", Value::from(command));
        }
        if let Some(arguments) = entry.get("args") {
            let Value::Array(arguments) = arguments else {
                return Err(kind("args", "a list of texts"));
            };
            let arguments = arguments.iter().map(|argument| self.text("args", argument));
            let arguments: Vec<String> = arguments.collect::<Result<_, _>>()?;
            self.set("args", json!(arguments));
        }
        // Windsurf and Gemini have names of their own for it.
        for key in ["url", "serverUrl", "httpUrl"] {
            if let Some(url) = entry.get(key) {
                let url = self.text(key, url)?;
                self.set("url", Value::from(url));
            }
        }
        for key in ["type", "transport"] {
            if let Some(transport) = entry.get(key) {
                let transport = self.text(key, transport)?;
                self.transport(&transport)?;
            }
        }
        let is_placed = ["command", "url"]
            .iter()
            .any(|key| self.read.settings.contains_key(*key));
        if is_placed {
            Ok(())
        } else {
            Err(Refusal::Shape)
        }
    }

    fn transport(&mut self, transport: &str) -> Result<(), Refusal> {
        match transport {
            // What is there says it already; and `http` means: find out.
            "stdio" | "local" | "http" | "remote" => {}
            "sse" => self.set("transport", Value::from("sse")),
            "streamable-http" | "streamableHttp" | "streamable_http" => {
                self.set("transport", Value::from("streamable-http"));
            }
            other => return Err(Refusal::Transport(other.to_owned())),
        }
        Ok(())
    }

    /// Everything else; keys nobody knows are told.
    fn rest(&mut self, entry: &Map<String, Value>) -> Result<(), Refusal> {
        let mut skipped = BTreeSet::new();
        for (key, value) in entry {
            match (key.as_str(), value) {
                (
                    "command" | "args" | "url" | "serverUrl" | "httpUrl" | "type" | "transport",
                    _,
                ) => {}
                ("env" | "headers", Value::Object(fields)) => self.fields(key, fields)?,
                ("env" | "headers", _) => return Err(kind(key, "an object of texts")),
                ("envFile", file) => self.env_file(file)?,
                ("cwd" | "description", value) => {
                    let text = self.text(key, value)?;
                    self.set(key, Value::from(text));
                }
                ("disabled", Value::Bool(disabled)) => self.enable(!disabled),
                ("enabled", Value::Bool(enabled)) => self.enable(*enabled),
                _ => {
                    skipped.insert(format!("`{key}`"));
                }
            }
        }
        if !skipped.is_empty() {
            let keys: Vec<String> = skipped.into_iter().collect();
            self.note(format!(
                "left out, since there is nothing like it here: {}",
                keys.join(", ")
            ));
        }
        Ok(())
    }

    fn enable(&mut self, is_enabled: bool) {
        if !is_enabled {
            self.set("enabled", Value::Bool(false));
        }
    }

    fn fields(&mut self, section: &str, fields: &Map<String, Value>) -> Result<(), Refusal> {
        let mut read = Map::new();
        for (name, value) in fields {
            let key = format!("{section}.{name}");
            match value {
                Value::Null => self.note(format!("`{key}` is empty and left out")),
                Value::String(text) => {
                    let text = self.translate(text);
                    read.insert(name.clone(), Value::from(text));
                }
                Value::Bool(_) | Value::Number(_) => {
                    read.insert(name.clone(), Value::from(value.to_string()));
                }
                _ => return Err(kind(&key, "a text")),
            }
        }
        if !read.is_empty() {
            let known = self
                .read
                .settings
                .entry(section)
                .or_insert_with(|| json!({}));
            if let Value::Object(known) = known {
                known.extend(read);
            }
        }
        Ok(())
    }

    /// A file of variables, which we do not read at start: its variables have to be set.
    fn env_file(&mut self, file: &Value) -> Result<(), Refusal> {
        let file = self.text("envFile", file)?;
        let path = self.reader.surroundings.workspace.join(&file);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(cause) => {
                self.note(format!(
                    "`envFile` cannot be read and is left out: `{}`: {cause}",
                    path.display()
                ));
                return Ok(());
            }
        };
        let known = self.read.settings.entry("env").or_insert_with(|| json!({}));
        for variable in variables(&text) {
            if let Value::Object(known) = known
                && !known.contains_key(variable)
            {
                known.insert(variable.to_owned(), Value::from(format!("${{{variable}}}")));
                self.read.exports.push(Export {
                    variable: variable.to_owned(),
                    meaning: format!("in `{}`", path.display()),
                });
            }
        }
        self.note(format!(
            "`envFile` is not read at start; set its variables before, as in `set -a; . {}; set +a`",
            path.display()
        ));
        Ok(())
    }

    /// Relative paths start from the project there, and from our file or nowhere certain here.
    fn paths(&mut self) {
        let workspace = self.reader.surroundings.workspace;
        let is_elsewhere =
            std::path::absolute(self.reader.folder).ok().as_deref() != Some(workspace);
        let is_relative =
            |text: &str| ["./", "../"].iter().any(|start| text.starts_with(start)) || text == ".";
        let settings = &mut self.read.settings;
        for key in ["command", "cwd"] {
            let Some(Value::String(path)) = settings.get_mut(key) else {
                continue;
            };
            let is_path = key == "cwd" || path.contains('/');
            if is_elsewhere && is_path && !path.starts_with(['/', '$', '~']) {
                *path = workspace.join(&*path).display().to_string();
            }
        }
        let arguments = settings.get("args").and_then(Value::as_array);
        let mut arguments = arguments.into_iter().flatten().filter_map(Value::as_str);
        if arguments.any(is_relative) && !settings.contains_key("cwd") {
            let folder = if is_elsewhere {
                workspace.display().to_string()
            } else {
                ".".to_owned()
            };
            self.note(format!(
                "`cwd` is set to `{folder}`, where its relative paths start"
            ));
            self.set("cwd", Value::from(folder));
        }
    }

    fn finish(mut self) -> Read {
        for placeholder in std::mem::take(&mut self.findings.unknown) {
            self.note(format!(
                "`{placeholder}` has no meaning here and is kept as text"
            ));
        }
        self.read.exports.extend(self.findings.exports);
        self.read.settings = sorted(self.read.settings);
        self.read
    }

    fn text(&mut self, key: &str, value: &Value) -> Result<String, Refusal> {
        match value {
            Value::String(text) => Ok(self.translate(text)),
            Value::Number(number) => Ok(number.to_string()),
            _ => Err(kind(key, "a text")),
        }
    }

    fn translate(&mut self, text: &str) -> String {
        self.reader.surroundings.translate(text, &mut self.findings)
    }

    fn set(&mut self, key: &str, value: Value) {
        self.read.settings.insert(key.to_owned(), value);
    }

    fn note(&mut self, note: String) {
        self.read.notes.push(note);
    }
}

fn kind(key: &str, wanted: &'static str) -> Refusal {
    Refusal::Kind {
        key: key.to_owned(),
        wanted,
    }
}

/// The names a file of variables sets.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, _) = line.split_once('=')?;
        Some(name.trim()).filter(|name| is_variable(name))
    })
}

/// In the order a person would write them.
fn sorted(mut settings: Map<String, Value>) -> Map<String, Value> {
    const ORDER: &[&str] = &[
        "command",
        "args",
        "url",
        "transport",
        "headers",
        "env",
        "cwd",
        "enabled",
        "description",
    ];
    let in_order = ORDER.iter().filter_map(|key| settings.remove_entry(*key));
    in_order.collect()
}
