//! Whether settings would do for a server, before they are written down.

use std::path::Path;

use serde_json::{Map, Value};
use toolscript_catalog::SourceName;
use toolscript_sources::{Context, KINDS};

use super::SECTION;

/// Settings no server can have.
#[derive(Debug, thiserror::Error)]
#[error("`{key}` {problem}")]
pub struct BadSettings {
    /// Which key.
    pub key: String,
    /// What is wrong and what would do.
    pub problem: String,
}

/// Checks the settings of a server, as far as that can be done before variables are set; relative
/// paths start from `folder`.
pub fn check(
    name: &SourceName,
    settings: &Map<String, Value>,
    folder: &Path,
) -> Result<(), BadSettings> {
    let cx = Context {
        folder: folder.to_owned(),
        ..Context::default()
    };
    let Some(kind) = KINDS.iter().find(|kind| kind.section() == SECTION) else {
        return Ok(());
    };
    let mut filled = Value::Object(settings.clone());
    fill(&mut filled);
    if let Some(Value::String(url)) = filled.get_mut("url")
        && url.starts_with("${")
    {
        "https://unknown.invalid/".clone_into(url);
    }
    let opened = kind.open(&cx, name.clone(), filled);
    opened.map(drop).map_err(|error| BadSettings {
        key: error.key,
        problem: error.problem,
    })
}

/// Puts something into the place of every variable but one that is the beginning of a text.
fn fill(value: &mut Value) {
    match value {
        Value::String(text) if !text.starts_with("${") => {
            while let Some(at) = text.find("${") {
                let end = text[at..].find('}').map_or(text.len(), |end| at + end + 1);
                text.replace_range(at..end, "x");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(fill),
        Value::Object(fields) => fields.values_mut().for_each(fill),
        _ => {}
    }
}
