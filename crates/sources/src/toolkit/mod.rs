//! Toolkits: tools defined in a JSON file, each by a piece of Luau or as another name for a
//! function.
//!
//! `document` reads the file and says what is wrong with it; `source` keeps the good tools and
//! runs them. Their code has `sdk` and the libraries of agents' scripts, not the host modules of
//! tool scripts: a toolkit may come from a user, a tool script comes from the operator.

mod document;
mod settings;
mod source;

pub use settings::Settings;

use std::sync::Arc;

use serde_json::Value;
use toolscript_catalog::{Source, SourceName};

use self::source::ToolkitSource;
use crate::{Context, Kind, SettingsError, settings::read};

/// The kind `toolkit`: sections `[toolkits.<name>]`.
#[derive(Debug)]
pub struct Toolkit;

impl Kind for Toolkit {
    fn name(&self) -> &'static str {
        "toolkit"
    }

    fn section(&self) -> &'static str {
        "toolkits"
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
        let source = ToolkitSource::new(cx.clone(), name, read(settings)?)?;
        Ok(Arc::new(source))
    }
}
