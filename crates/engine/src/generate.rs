//! `toolscript generate`: documents written out as a manifest and typed Luau stubs.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use toolscript_sources::{
    Kind as _,
    openapi::{self, GenerateError, LoadError, OpenApi},
};

use crate::{
    config::{Config, Configured},
    registry::{self, Opened},
};

/// What was written.
#[derive(Debug)]
pub struct GenerateReport {
    /// The APIs, in the order they were given.
    pub apis: Vec<Opened>,
    /// The files, relative to the directory.
    pub files: Vec<PathBuf>,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum GenerateFailure {
    /// The settings of an API do not fit.
    #[error("{place}: {problem}")]
    Settings {
        /// Where.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// A document cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Two documents want one name.
    #[error("two documents are called `{0}`; give one another name, as in `{0}_2=…`")]
    Twice(String),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] GenerateError),
    /// There is no document.
    #[error("there is nothing to generate from: give an OpenAPI document, as a path or a URL")]
    Nothing,
}

/// Compiles every configured document and writes them into `folder`.
pub async fn generate(config: Config, folder: &Path) -> Result<GenerateReport, GenerateFailure> {
    let documents = |source: &&Configured| source.kind.section() == OpenApi.section();
    let sources: Vec<&Configured> = config.sources.iter().filter(documents).collect();
    if sources.is_empty() {
        return Err(GenerateFailure::Nothing);
    }
    let cx = registry::context(&config);
    let mut compiled: Vec<openapi::Compiled> = Vec::new();
    let mut apis = Vec::new();
    for source in sources {
        let settings = serde_json::from_value(source.settings.clone()).map_err(|error| {
            GenerateFailure::Settings {
                place: source.origin.place(""),
                problem: error.to_string(),
            }
        })?;
        let clock = Instant::now();
        let next = openapi::compile(&cx, source.name.clone(), &settings).await?;
        if compiled.iter().any(|known| known.name == next.name) {
            return Err(GenerateFailure::Twice(next.name.to_string()));
        }
        apis.push(Opened {
            name: next.name.to_string(),
            outcome: Ok(next.listing.functions.len()),
            warnings: next.listing.warnings.clone(),
            elapsed: clock.elapsed(),
        });
        compiled.push(next);
    }
    let files = openapi::write_generated(folder, &compiled)?;
    Ok(GenerateReport {
        apis,
        files: files.into_iter().map(PathBuf::from).collect(),
    })
}
