//! OpenAPI sources: documents become functions, calls become requests.

mod cache;
mod call;
mod load;
mod manifest;
mod media;
pub mod operation;
mod sdk;
mod settings;
mod source;

pub use load::{Compiled, LARGEST_DOCUMENT, LoadError, compile};
pub use manifest::{GenerateError, read_generated, write_generated};
pub use settings::{Auth, KeyLocation, Settings};

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use toolscript_catalog::{Source, SourceName};

use self::{call::Profile, source::OpenApiSource};
use crate::{Context, Kind, SettingsError, UnnamedError, settings::read};

/// The kind `openapi`: sections `[apis.<name>]`.
#[derive(Debug)]
pub struct OpenApi;

#[async_trait]
impl Kind for OpenApi {
    fn name(&self) -> &'static str {
        "openapi"
    }

    fn section(&self) -> &'static str {
        "apis"
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
        open(cx, name, read(settings)?)
    }

    async fn open_unnamed(
        &self,
        cx: &Context,
        settings: Value,
    ) -> Result<(SourceName, Arc<dyn Source>), UnnamedError> {
        let settings = read(settings)?;
        check(&settings)?;
        let compiled = compile(cx, None, &settings).await?;
        let name = compiled.name.clone();
        Ok((
            name,
            Arc::new(OpenApiSource::with(cx.clone(), compiled, settings)?),
        ))
    }
}

/// Checks the settings and opens a source that reads its document when it is first listed.
pub fn open(
    cx: &Context,
    name: SourceName,
    settings: Settings,
) -> Result<Arc<dyn Source>, SettingsError> {
    check(&settings)?;
    Ok(Arc::new(OpenApiSource::new(cx.clone(), name, settings)))
}

fn check(settings: &Settings) -> Result<(), SettingsError> {
    match (&settings.spec, &settings.generated) {
        (Some(_), Some(_)) => {
            return Err(bad(
                "generated",
                "set either `spec` or `generated`, not both",
            ));
        }
        (None, None) => {
            return Err(bad(
                "spec",
                "is missing: the path or URL of an OpenAPI document",
            ));
        }
        (Some(place), None) | (None, Some(place)) if place.trim().is_empty() => {
            return Err(bad("spec", "is empty; write a path or a URL"));
        }
        _ => {}
    }
    // The rest is about calls, and whoever makes them knows best.
    Profile::new(settings).map(drop)
}

fn bad(key: impl Into<String>, problem: impl Into<String>) -> SettingsError {
    SettingsError {
        key: key.into(),
        problem: problem.into(),
    }
}
