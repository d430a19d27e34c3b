//! The outside: every kind of source, one module each.
//!
//! To add a kind: write a module with a unit struct that implements [`Kind`],
//! then add it to [`KINDS`]. Nothing else in the program names a kind.

mod changed;
pub mod confined;
mod execution;
mod hidden;
pub mod mcp;
pub mod openapi;
pub mod outbound;
pub mod script;
pub mod settings;
mod text;
mod tool;
pub mod toolkit;
mod types;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use serde_json::Value;
use toolscript_catalog::{Source, SourceName};
use toolscript_luau::{Limits, Runtime};

pub use changed::Changed;
use outbound::Outbound;

/// A kind of source: how it is named in a configuration and how one is opened.
#[async_trait]
pub trait Kind: Sync {
    /// The word for it, such as `openapi`.
    fn name(&self) -> &'static str;

    /// The section of the configuration its sources stand in, such as `apis`.
    fn section(&self) -> &'static str;

    /// How its sources stand in that section.
    fn layout(&self) -> Layout {
        Layout::Apart
    }

    /// The JSON Schema of the settings of one entry; the reference page and the console's form come from it.
    fn settings_schema(&self) -> schemars::Schema;

    /// Checks the settings (of one entry, or of all by name where they stand together) and opens a
    /// source called `name`. Does no I/O: that waits for `list`.
    fn open(
        &self,
        cx: &Context,
        name: SourceName,
        settings: Value,
    ) -> Result<Arc<dyn Source>, SettingsError>;

    /// Opens a source nobody named, under the name it finds for itself; most kinds find none.
    async fn open_unnamed(
        &self,
        _cx: &Context,
        _settings: Value,
    ) -> Result<(SourceName, Arc<dyn Source>), UnnamedError> {
        Err(UnnamedError::Nameless)
    }
}

/// How the sources of a kind stand in a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `[section.<name>]`: every entry is a source of that name.
    Apart,
    /// `[section.<table>.<name>]`: all entries together are one source, whose functions they are.
    Together {
        /// The table inside the section.
        table: &'static str,
        /// The name of the source.
        source: &'static str,
    },
}

/// What the program lends to a source while it is open.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// The one way out to the network.
    pub outbound: Outbound,
    /// Where compiled documents are kept; `None` keeps nothing.
    pub cache: Option<PathBuf>,
    /// The folder relative paths in the settings start from.
    pub folder: PathBuf,
    /// Told when a source has something new to list.
    pub changed: Changed,
    /// Where small facts are remembered from one start to the next; `None` remembers nothing.
    pub state: Option<PathBuf>,
    /// Runs the scripts of sources. Not the one agents' scripts run in: those wait for these,
    /// and must not wait for their own turns.
    pub runtime: Runtime,
    /// What a script of a source may use; its own settings say how long it may take.
    pub limits: Limits,
}

/// Every kind of source this program knows.
pub const KINDS: &[&dyn Kind] = &[
    &openapi::OpenApi,
    &mcp::Mcp,
    &script::Script,
    &toolkit::Toolkit,
];

/// Settings that do not fit their kind.
#[derive(Debug, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct SettingsError {
    /// The key inside the settings, dotted; empty for the whole.
    pub key: String,
    /// What is wrong and what would do.
    pub problem: String,
}

/// A source that could not be opened without a name.
#[derive(Debug, thiserror::Error)]
pub enum UnnamedError {
    /// The settings do not fit.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Its document, which would give the name, cannot be read.
    #[error(transparent)]
    Load(#[from] openapi::LoadError),
    /// Sources of this kind have no name of their own.
    #[error("it needs a name")]
    Nameless,
}

/// Finds a kind by the section it stands in.
pub fn kind_of_section(section: &str) -> Option<&'static dyn Kind> {
    KINDS.iter().copied().find(|kind| kind.section() == section)
}
