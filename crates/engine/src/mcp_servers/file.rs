//! `ServerFile`: a `toolscript.toml` in which servers come and go, and all else stays as it was.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};
use toolscript_catalog::SourceName;

use super::SECTION;

/// A configuration file being edited; nothing is written before [`ServerFile::save`].
#[derive(Debug)]
pub struct ServerFile {
    path: PathBuf,
    document: DocumentMut,
    before: Option<String>,
    holds_new_secrets: bool,
}

/// What to do with a server that is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacing {
    /// Leave it.
    Never,
    /// Put the new one in its place.
    Always,
}

/// What became of a server that was to be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is new.
    New,
    /// It has taken the place of another.
    Replaced,
    /// It was there with the same settings already.
    Same,
    /// There is another of that name, which was left alone.
    Kept,
}

/// There is another server of the same name.
#[derive(Debug, thiserror::Error)]
#[error("there is another server `{name}` in `{}`; `--force` replaces it", path.display())]
pub struct Taken {
    /// The name.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

/// A configuration file that cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read `{}`: {cause}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// It is not TOML, so changing it might lose something.
    #[error("{place}: {problem}")]
    Syntax {
        /// `file:line`.
        place: String,
        /// What the parser says.
        problem: String,
    },
    /// Something else stands where the servers belong.
    #[error("`{}`: `mcp_servers` is no table; write `[mcp_servers.<name>]`", path.display())]
    Section {
        /// Which file.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error("cannot write `{}`: {cause}", path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl ServerFile {
    /// Opens a file; one that is not there yet is empty.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let before = match fs::read_to_string(path) {
            Ok(text) => Some(text),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
            Err(cause) => {
                let path = path.to_owned();
                return Err(FileError::Read { path, cause });
            }
        };
        let text = before.as_deref().unwrap_or_default();
        let document = text.parse().map_err(|error: toml_edit::TomlError| {
            let offset = error.span().map_or(0, |span| span.start);
            let line = text[..offset.min(text.len())].matches('\n').count() + 1;
            FileError::Syntax {
                place: format!("{}:{line}", path.display()),
                problem: error.message().trim().to_owned(),
            }
        })?;
        Ok(Self {
            path: path.to_owned(),
            document,
            before,
            holds_new_secrets: false,
        })
    }

    /// The same file with nothing in it, to show what would be added.
    #[must_use]
    pub fn emptied(self) -> Self {
        Self {
            document: DocumentMut::new(),
            ..self
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it will be a new file.
    pub fn is_new(&self) -> bool {
        self.before.is_none()
    }

    /// The whole file as it would be written.
    pub fn text(&self) -> String {
        let text = self.document.to_string();
        // The first of several tables leaves the blank line that stood after it.
        let begins_blank = |text: &str| text.starts_with('\n');
        if self.before.as_deref().is_some_and(begins_blank) {
            return text;
        }
        text.trim_start_matches('\n').to_owned()
    }

    /// The servers in it, in their order.
    pub fn names(&self) -> Vec<String> {
        let section = self.document.get(SECTION).and_then(Item::as_table_like);
        let names = section.map(|section| section.iter().map(|(name, _)| name.to_owned()));
        names.into_iter().flatten().collect()
    }

    /// Whether an API of the file has this name.
    pub fn has_api(&self, name: &SourceName) -> bool {
        let apis = self.document.get("apis").and_then(Item::as_table_like);
        apis.is_some_and(|apis| apis.contains_key(name.as_str()))
    }

    /// Adds a server with these settings.
    pub fn add(
        &mut self,
        name: &SourceName,
        settings: &Map<String, Value>,
        replacing: Replacing,
    ) -> Result<Added, FileError> {
        let new = table(settings);
        let section = self.section()?;
        let added = match section.get(name.as_str()) {
            None => Added::New,
            Some(old) if is_same(old, &new) => return Ok(Added::Same),
            Some(_) if replacing == Replacing::Never => return Ok(Added::Kept),
            Some(_) => Added::Replaced,
        };
        match section.get_mut(name.as_str()).and_then(Item::as_table_mut) {
            // What is written around the old one stays: its place and the comments above it.
            Some(old) => {
                old.clear();
                old.extend(new.iter().map(|(key, item)| (key.to_owned(), item.clone())));
            }
            None => {
                section.insert(name.as_str(), Item::Table(new));
            }
        }
        Ok(added)
    }

    /// Takes a server out; says whether it was there.
    pub fn remove(&mut self, name: &str) -> Result<bool, FileError> {
        if self.document.get(SECTION).is_none() {
            return Ok(false);
        }
        Ok(self.section()?.remove(name).is_some())
    }

    /// Makes a file that did not exist readable for its owner alone.
    pub fn holds_secrets(&mut self) {
        self.holds_new_secrets = true;
    }

    /// Writes the file: all of it or nothing.
    pub fn save(&self) -> Result<(), FileError> {
        self.write().map_err(|cause| FileError::Write {
            path: self.path.clone(),
            cause,
        })
    }

    fn write(&self) -> io::Result<()> {
        // A link stays one: what it leads to is replaced.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new()
            .prefix(".toolscript")
            .tempfile_in(folder)?;
        file.write_all(self.text().as_bytes())?;
        if let Some(permissions) = self.permissions(&path) {
            file.as_file().set_permissions(permissions)?;
        }
        file.as_file().sync_all()?;
        file.persist(&path)?;
        Ok(())
    }

    /// Those the file had; a new one is as open as any, unless there are secrets in it.
    fn permissions(&self, path: &Path) -> Option<fs::Permissions> {
        if let Ok(before) = fs::metadata(path) {
            return Some(before.permissions());
        }
        #[cfg(unix)]
        if !self.holds_new_secrets {
            use std::os::unix::fs::PermissionsExt as _;
            return Some(fs::Permissions::from_mode(0o644));
        }
        None
    }

    fn section(&mut self) -> Result<&mut dyn TableLike, FileError> {
        let section = self.document.entry(SECTION).or_insert_with(|| {
            let mut section = Table::new();
            section.set_implicit(true);
            Item::Table(section)
        });
        let path = &self.path;
        section
            .as_table_like_mut()
            .ok_or_else(|| FileError::Section { path: path.clone() })
    }
}

/// Settings as a table of TOML, in their order.
fn table(settings: &Map<String, Value>) -> Table {
    let mut table = Table::new();
    for (key, setting) in settings {
        if let Some(setting) = value(setting) {
            table.insert(key, Item::Value(setting));
        }
    }
    table
}

/// A setting as a value of TOML, which knows no null.
fn value(setting: &Value) -> Option<toml_edit::Value> {
    Some(match setting {
        Value::Null => return None,
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.into(),
        Value::Array(items) => items.iter().filter_map(value).collect::<Array>().into(),
        Value::Object(fields) => {
            let pairs = fields
                .iter()
                .filter_map(|(key, item)| Some((key, value(item)?)));
            pairs.collect::<InlineTable>().into()
        }
    })
}

/// Whether two entries say the same, however they are written.
fn is_same(old: &Item, new: &Table) -> bool {
    let plain = |item: &Item| -> Option<toml::Value> {
        let mut document = DocumentMut::new();
        document.insert("entry", item.clone());
        toml::from_str::<toml::Table>(&document.to_string())
            .ok()?
            .remove("entry")
    };
    let old = plain(old);
    old.is_some() && old == plain(&Item::Table(new.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn edit(text: &str, edit: impl FnOnce(&mut ServerFile)) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("toolscript.toml");
        fs::write(&path, text).unwrap();
        let mut file = ServerFile::open(&path).unwrap();
        edit(&mut file);
        file.save().unwrap();
        fs::read_to_string(path).unwrap()
    }

    fn add(file: &mut ServerFile, name: &str, settings: Value, replacing: Replacing) -> Added {
        let name = SourceName::parse(name).unwrap();
        let settings = serde_json::from_value(settings).unwrap();
        file.add(&name, &settings, replacing).unwrap()
    }

    const FILE: &str = "# mine\n[apis.pets]\nspec = \"pets.yaml\" # here\n\n# files\n[mcp_servers.files]\ncommand = \"npx\"\n\n[limits]\nmax_calls = 3\n";

    #[test]
    fn what_was_there_stays() {
        let after = edit(FILE, |file| {
            let settings = json!({"url": "https://x.test/mcp", "headers": {"X-Team": "a b"}, "enabled": false});
            assert_eq!(add(file, "remote", settings, Replacing::Never), Added::New);
        });
        let new = "\n[mcp_servers.remote]\nurl = \"https://x.test/mcp\"\nheaders = { X-Team = \"a b\" }\nenabled = false\n";
        assert!(after.contains(new), "{after}");
        assert_eq!(after.replace(new, ""), FILE);
    }

    #[test]
    fn another_of_the_same_name_is_replaced_on_request_alone() {
        let other = || json!({"command": "uvx", "args": ["files"]});
        let after = edit(FILE, |file| {
            assert_eq!(add(file, "files", other(), Replacing::Never), Added::Kept);
            let same = json!({"command": "npx"});
            assert_eq!(add(file, "files", same, Replacing::Never), Added::Same);
        });
        assert_eq!(after, FILE);
        let after = edit(FILE, |file| {
            assert_eq!(
                add(file, "files", other(), Replacing::Always),
                Added::Replaced
            );
        });
        let wanted = FILE.replace("command = \"npx\"", "command = \"uvx\"\nargs = [\"files\"]");
        assert_eq!(after, wanted);
    }

    #[test]
    fn a_server_is_taken_out_with_its_comment() {
        let after = edit(FILE, |file| {
            assert!(!file.remove("nothing").unwrap());
            assert!(file.remove("files").unwrap());
            assert!(file.names().is_empty());
        });
        assert!(!after.contains("npx"), "{after}");
        assert!(after.contains("max_calls = 3"), "{after}");
    }

    #[test]
    fn servers_on_one_line_are_servers_too() {
        let after = edit("mcp_servers = { a = { command = \"x\" } }\n", |file| {
            assert_eq!(file.names(), ["a"]);
            add(file, "b", json!({"command": "y"}), Replacing::Never);
        });
        let parsed: toml::Table = after.parse().unwrap();
        assert_eq!(parsed["mcp_servers"]["b"]["command"].as_str(), Some("y"));
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_are_kept() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (
            folder.path().join("real.toml"),
            folder.path().join("link.toml"),
        );
        fs::write(&real, "").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&real, &link).unwrap();
        let mut file = ServerFile::open(&link).unwrap();
        add(&mut file, "a", json!({"command": "x"}), Replacing::Never);
        file.save().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::read_to_string(&real).unwrap().contains("mcp_servers.a"));
        assert_eq!(
            fs::metadata(&real).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}
