//! Tools an operator adds: what there is of them, a template, a trial, and a registry to take
//! them from.

mod install;
mod section;
mod template;
mod trial;

pub use install::{InstallError, Installed, Wanted, install};
pub use section::SectionError;
pub use template::{Made, TemplateError, init};
pub use trial::{Failed, Trial, TrialError, TrialReport, TrialStep, test};

use serde::Serialize;
use toolscript_catalog::{
    Catalog, Condition, Function, FunctionId, FunctionName, FunctionState, Listing, SourceName,
};

use toolscript_sources::{
    Kind as _,
    script::{Script, host},
};

use crate::{
    Engine,
    config::{Config, Configured},
};

/// One tool of a script or a toolkit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolRow {
    /// Its name in scripts: `tools.create_ticket`.
    pub name: String,
    /// Its parameters by name; those that may be left out end with `?`.
    pub parameters: Vec<String>,
    /// The file it comes from.
    pub path: String,
    /// Whether it can be called.
    pub state: ToolState,
    /// What is wrong with it, and where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Whether a tool can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolState {
    /// It can.
    Ok,
    /// It can, in the version before: the latest one is broken.
    OldVersion,
    /// It cannot.
    Error,
}

impl ToolState {
    /// The word for it, in a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::OldVersion => "old version kept",
            Self::Error => "error",
        }
    }
}

impl Engine {
    /// The tools of scripts and toolkits, with their state.
    pub fn tool_states(&self) -> Vec<ToolRow> {
        let snapshot = self.registry.snapshot();
        let mut rows = Vec::new();
        for (source, opened) in &snapshot.sources {
            let states = opened.states();
            rows.extend(
                states
                    .into_iter()
                    .map(|state| row(&snapshot.catalog, source, state)),
            );
        }
        rows
    }
}

fn row(catalog: &Catalog, source: &SourceName, state: FunctionState) -> ToolRow {
    let id = FunctionId {
        source: source.clone(),
        name: FunctionName::clean(&state.name),
    };
    let function = catalog.by_id(&id).ok().map(|(_, function)| function);
    let path = state.path.display().to_string();
    let lost = state
        .refers_to
        .filter(|target| catalog.by_id(target).is_err());
    let (state, problem) = match (lost, state.condition) {
        (Some(target), _) => {
            let problem = format!("it stands for `{target}`, which no source has");
            (ToolState::Error, Some(problem))
        }
        (None, Condition::Good) => (ToolState::Ok, None),
        (None, Condition::Kept { problem }) => (ToolState::OldVersion, Some(problem)),
        (None, Condition::Broken { problem }) => (ToolState::Error, Some(problem)),
    };
    ToolRow {
        name: id.to_string(),
        parameters: function.map(parameters).unwrap_or_default(),
        path,
        state,
        problem,
    }
}

fn parameters(function: &Function) -> Vec<String> {
    let fields = function.params.fields.iter();
    fields
        .map(|field| {
            let mark = if field.required { "" } else { "?" };
            format!("{}{mark}", field.name)
        })
        .collect()
}

/// What scripts have besides functions: the libraries of the sandbox and, where there are tool
/// scripts, the modules those have.
pub(crate) fn libraries(config: &Config) -> Listing {
    let mut listing = toolscript_luau::library::listing();
    let is_script = |source: &Configured| source.kind.name() == Script.name();
    if config.sources.iter().any(is_script) {
        host::document(&mut listing);
    }
    listing
}
