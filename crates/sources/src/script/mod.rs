//! Tool scripts: Luau files an operator writes, each a function `sdk.tools.<name>`.
//!
//! `settings` is what a person writes about a script. `described` reads what the script says of
//! itself, in the sandbox and under limits; `parameters` knows both forms of its parameters, and
//! `mistake` has the words for everything that can be wrong with it. `source` keeps the good ones
//! and runs them; `host` holds the modules only these scripts have.

mod described;
pub mod host;
mod mistake;
mod parameters;
mod settings;
mod source;

pub use mistake::{Mistake, Problem, Step};
pub use settings::Settings;

use std::sync::Arc;

use serde_json::Value;
use toolscript_catalog::{Source, SourceName};

use self::source::{ScriptSource, Tool};
use crate::{Context, Kind, Layout, SettingsError, settings::read};

/// The kind `script`: sections `[tools.script.<name>]`, together the source `tools`.
#[derive(Debug)]
pub struct Script;

impl Script {
    /// The section of the configuration.
    pub const SECTION: &str = "tools";
    /// The table in it.
    pub const TABLE: &str = "script";
    /// The source the scripts are functions of.
    pub const SOURCE: &str = "tools";
}

impl Kind for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn section(&self) -> &'static str {
        Self::SECTION
    }

    fn layout(&self) -> Layout {
        Layout::Together {
            table: Self::TABLE,
            source: Self::SOURCE,
        }
    }

    fn settings_schema(&self) -> schemars::Schema {
        schemars::schema_for!(Settings)
    }

    fn open(
        &self,
        cx: &Context,
        name: SourceName,
        settings: Value,
    ) -> Result<Arc<dyn Source>, SettingsError> {
        let Value::Object(entries) = settings else {
            return Err(SettingsError {
                key: String::new(),
                problem: "must hold a table for each script".to_owned(),
            });
        };
        let mut tools = Vec::new();
        for (key, entry) in entries {
            let within = |error: SettingsError| SettingsError {
                key: format!("{key}.{}", error.key)
                    .trim_end_matches('.')
                    .to_owned(),
                ..error
            };
            let settings = read(entry).map_err(within)?;
            tools.push(Tool::new(cx, &key, settings).map_err(within)?);
        }
        Ok(Arc::new(ScriptSource::new(cx.clone(), name, tools)))
    }
}

/// A script that cannot be looked into, or that has a mistake.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The settings do not fit.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The script does not fit.
    #[error(transparent)]
    Mistake(#[from] Mistake),
}

/// Reads one script without calling it, and gives the number of its parameters.
pub async fn inspect(cx: &Context, key: &str, settings: Value) -> Result<usize, InspectError> {
    let tool = Tool::new(cx, key, read(settings)?)?;
    Ok(tool.load(cx).await?.parameters())
}
