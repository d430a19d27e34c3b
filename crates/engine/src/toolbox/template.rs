//! `tool init`: a commented script to start from, and its section in the configuration.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use super::section::{Addition, SectionError, is_tool_name};

const TEMPLATE: &str = include_str!("template.luau");

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The script.
    pub script: PathBuf,
    /// The configuration that names it, where it was wanted.
    pub config: Option<PathBuf>,
}

/// A tool that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// Not a name.
    #[error(
        "`{0}` is not a name for a tool: use letters, digits, `_` and `-`, starting with a letter"
    )]
    Name(String),
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

/// Writes `tools/<name>.luau` into a folder, and its section into a configuration where one is
/// given. Nothing that is there already is touched.
pub fn init(name: &str, folder: &Path, config: Option<&Path>) -> Result<Made, TemplateError> {
    if !is_tool_name(name) {
        return Err(TemplateError::Name(name.to_owned()));
    }
    let section = format!("[tools.script.{name}]\npath = \"tools/{name}.luau\"\n");
    let addition = config.map(|config| Addition::prepare(config, name, &section));
    let addition = addition.transpose()?;
    let script = folder.join("tools").join(format!("{name}.luau"));
    write_new(&script, TEMPLATE.replace("NAME", name).as_bytes()).map_err(|cause| {
        TemplateError::Write {
            path: script.clone(),
            cause,
        }
    })?;
    let config = addition.map(Addition::write).transpose()?;
    Ok(Made { script, config })
}

/// Writes a file that is not there yet, and the folder around it.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::File::create_new(path)?.write_all(bytes)
}
