//! Adding a section to `toolscript.toml` without touching what stands there.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A section that cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum SectionError {
    /// The file cannot be read or written.
    #[error("cannot use the configuration `{}`", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The file is not TOML.
    #[error("`{}` is not TOML; repair it first: {problem}", path.display())]
    Syntax {
        /// Which file.
        path: PathBuf,
        /// What the parser says.
        problem: String,
    },
    /// It is there already.
    #[error("`{}` already has `[tools.script.{name}]`; choose another name", path.display())]
    Taken {
        /// Which file.
        path: PathBuf,
        /// The name of the tool.
        name: String,
    },
    /// The file has `tools` in a form a section cannot be added to.
    #[error(
        "`{}` writes `tools` in a form that takes no further section; add this to it yourself:\n{section}", path.display()
    )]
    Closed {
        /// Which file.
        path: PathBuf,
        /// What to add.
        section: String,
    },
}

/// A configuration with one more section, ready to be written.
#[derive(Debug)]
pub(super) struct Addition {
    path: PathBuf,
    text: String,
}

impl Addition {
    /// Makes sure that `[tools.script.<name>]` can be added. A file that is not there begins with it.
    pub(super) fn prepare(path: &Path, name: &str, section: &str) -> Result<Self, SectionError> {
        let before = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => String::new(),
            Err(cause) => return Err(file_error(path, cause)),
        };
        let known: toml::Table =
            before
                .parse()
                .map_err(|error: toml::de::Error| SectionError::Syntax {
                    path: path.to_owned(),
                    problem: error.message().to_owned(),
                })?;
        let scripts = known.get("tools").and_then(|tools| tools.get("script"));
        if scripts.is_some_and(|scripts| scripts.get(name).is_some()) {
            return Err(SectionError::Taken {
                path: path.to_owned(),
                name: name.to_owned(),
            });
        }
        let gap = match before.as_str() {
            "" => "",
            text if text.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        let text = format!("{before}{gap}{section}");
        if text.parse::<toml::Table>().is_err() {
            return Err(SectionError::Closed {
                path: path.to_owned(),
                section: section.to_owned(),
            });
        }
        Ok(Self {
            path: path.to_owned(),
            text,
        })
    }

    /// Writes the file, whole or not at all.
    pub(super) fn write(self) -> Result<PathBuf, SectionError> {
        let beside = self.path.with_extension("toml.new");
        fs::write(&beside, &self.text)
            .and_then(|()| fs::rename(&beside, &self.path))
            .map_err(|cause| file_error(&self.path, cause))?;
        Ok(self.path)
    }
}

fn file_error(path: &Path, cause: io::Error) -> SectionError {
    SectionError::File {
        path: path.to_owned(),
        cause,
    }
}

/// Whether a text can be the name of a tool, and of its file.
pub(super) fn is_tool_name(name: &str) -> bool {
    const LONGEST: usize = 100;
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(allowed)
        && name.len() <= LONGEST
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const SECTION: &str = "[tools.script.x]\npath = \"tools/x.luau\"\n";

    fn add(before: Option<&str>) -> Result<String, SectionError> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("toolscript.toml");
        if let Some(before) = before {
            fs::write(&path, before).unwrap();
        }
        Addition::prepare(&path, "x", SECTION)?.write()?;
        Ok(fs::read_to_string(path).unwrap())
    }

    #[test]
    fn what_stands_there_stays() {
        assert_eq!(add(None).unwrap(), SECTION);
        assert_eq!(
            add(Some("# mine\n[limits]\n")).unwrap(),
            format!("# mine\n[limits]\n\n{SECTION}")
        );
        assert_eq!(add(Some("a = 1")).unwrap(), format!("a = 1\n\n{SECTION}"));
    }

    #[test]
    fn what_cannot_be_added_is_said() {
        assert!(matches!(
            add(Some(SECTION)),
            Err(SectionError::Taken { .. })
        ));
        assert!(matches!(
            add(Some("tools = {}")),
            Err(SectionError::Closed { .. })
        ));
        assert!(matches!(add(Some("[")), Err(SectionError::Syntax { .. })));
    }

    #[test]
    fn names_of_tools_are_names_of_files() {
        for name in ["hello", "create-ticket", "a1_b"] {
            assert!(is_tool_name(name), "{name}");
        }
        for name in ["", "1a", "../x", "a b", "a.b", "-a", "é"] {
            assert!(!is_tool_name(name), "{name}");
        }
    }
}
