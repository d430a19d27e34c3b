//! Reading documents: from a path or URL to a listing and a plan for every request.
//!
//! The way of a document: [`fetch`] gets its bytes, [`parse`] makes a tree of them, [`documents`]
//! brings in everything it refers to, [`compiler`] turns each operation into a function with the
//! help of one file per part (parameters, bodies, responses, …), [`filters`] applies the settings.

mod bodies;
mod book;
mod compiler;
mod documents;
mod error;
mod examples;
pub(super) mod fetch;
mod filters;
mod info;
pub(super) mod location;
mod names;
mod paging;
mod parameters;
mod parse;
mod rank;
mod repair;
mod responses;
mod scan;
mod security;
mod servers;
mod text;
mod version;
mod view;
mod yaml;

pub use error::{LARGEST_DOCUMENT, LoadError};

use std::path::PathBuf;

use toolscript_catalog::{Listing, SourceName};

use self::{documents::Documents, location::Location};
use super::{Settings, cache, manifest, operation::Api};
use crate::Context;

/// A document, ready to be listed and called.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The name it was given, else one made of its title.
    pub name: SourceName,
    /// What it offers.
    pub listing: Listing,
    /// How to call it.
    pub api: Api,
    /// The files of this machine it was made from.
    pub files: Vec<PathBuf>,
}

/// Reads the document the settings name, or takes it from the cache, and applies the settings to it.
pub async fn compile(
    cx: &Context,
    name: Option<SourceName>,
    settings: &Settings,
) -> Result<Compiled, LoadError> {
    let (mut compiled, location) = match (&settings.spec, &settings.generated) {
        (Some(spec), _) => (from_document(cx, name, spec).await?, spec.clone()),
        (None, Some(folder)) => (from_generated(cx, name, folder).await?, folder.clone()),
        (None, None) => return Err(LoadError::Nothing),
    };
    filters::apply(&mut compiled, settings, &location);
    Ok(compiled)
}

async fn from_document(
    cx: &Context,
    name: Option<SourceName>,
    spec: &str,
) -> Result<Compiled, LoadError> {
    let location = Location::parse(spec, &cx.folder);
    let content = fetch::read(cx, &location).await?;
    let key = cache::Key::new(cx, &location, &content.bytes).await;
    let known = cache::load(cx, key.as_ref()).await;
    let ((listing, api), others) = if let Some(known) = known {
        known
    } else {
        let documents = Documents::load(cx, content).await?;
        let (others, compiled) = in_background(documents, location.shown(&cx.folder)).await?;
        let places = others.iter().map(|(place, _)| place.clone()).collect();
        (cache::store(cx, key, others, compiled).await, places)
    };
    let title = if listing.info.title.is_empty() {
        location.stem()
    } else {
        listing.info.title.clone()
    };
    let name = name.unwrap_or_else(|| SourceName::clean(&title));
    let places = std::iter::once(location).chain(others);
    Ok(Compiled {
        name,
        listing,
        api,
        files: places.filter_map(Location::into_file).collect(),
    })
}

/// Compiles where it holds up nobody. The documents are gone when it is done.
async fn in_background(
    documents: Documents,
    location: String,
) -> Result<(Vec<(Location, Option<blake3::Hash>)>, (Listing, Api)), LoadError> {
    let work = tokio::task::spawn_blocking(move || {
        let compiled = compiler::compile(&documents)?;
        Ok((documents.others, compiled))
    });
    work.await.unwrap_or(Err(LoadError::Fault { location }))
}

async fn from_generated(
    cx: &Context,
    name: Option<SourceName>,
    folder: &str,
) -> Result<Compiled, LoadError> {
    let path = cx.folder.join(folder);
    let manifest = path.join(manifest::FILE);
    let work = tokio::task::spawn_blocking(move || manifest::read_generated(&path));
    let all = work.await.unwrap_or(Err(LoadError::Fault {
        location: folder.to_owned(),
    }))?;
    let known: Vec<String> = all
        .iter()
        .map(|compiled| format!("`{}`", compiled.name))
        .collect();
    let wanted = name.as_ref().map(ToString::to_string).unwrap_or_default();
    let missing = LoadError::NotGenerated {
        location: folder.to_owned(),
        name: wanted,
        known,
    };
    let is_only = all.len() == 1;
    let mut fitting = all.into_iter().filter(|compiled| match &name {
        Some(name) => compiled.name == *name,
        None => is_only,
    });
    let compiled = fitting.next().ok_or(missing)?;
    Ok(Compiled {
        files: vec![manifest],
        ..compiled
    })
}
