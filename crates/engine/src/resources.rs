//! `sdk://` addresses: the catalog as resources, for clients that read rather than call.

use std::fmt::Write as _;

use toolscript_catalog::{Entry, docs, docs::Subject, name::is_identifier, render};

use crate::{
    Engine,
    discover::{AskError, LONGEST_PAGE, function_row},
};

/// How much one resource holds at most; a longer one says where it goes on.
const LONGEST: usize = 256 * 1024;

/// One resource in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// `sdk://petstore/overview`.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// What it holds.
    pub description: String,
}

/// A form of address: `sdk://{source}/functions/{function}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    /// The form.
    pub uri: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// What it holds.
    pub description: &'static str,
}

/// Every form of address there is.
pub const TEMPLATES: &[Template] = &[
    Template {
        uri: "sdk://{source}/overview",
        name: "Overview of a source",
        description: "Title, description, groups and links",
    },
    Template {
        uri: "sdk://{source}/functions{?page}",
        name: "Functions of a source",
        description: "One line each, in pages",
    },
    Template {
        uri: "sdk://{source}/schemas{?page}",
        name: "Types of a source",
        description: "Their names, in pages",
    },
    Template {
        uri: "sdk://{source}/functions/{function}",
        name: "One function",
        description: "Signature, docs and every type it reaches",
    },
    Template {
        uri: "sdk://{source}/schemas/{type}",
        name: "One type",
        description: "The type and every type it reaches",
    },
];

/// An address that leads nowhere.
#[derive(Debug, thiserror::Error)]
pub enum ResourceError {
    /// Not of a form we know.
    #[error(
        "`{0}` is no resource; they look like `sdk://petstore/overview`, `sdk://petstore/functions/get_pet`"
    )]
    Form(String),
    /// The source, function or type is not there.
    #[error(transparent)]
    Ask(#[from] AskError),
}

impl Engine {
    /// The resources a client is shown: three per source.
    pub fn resources(&self) -> Vec<Resource> {
        let catalog = self.catalog();
        let mut resources = Vec::new();
        for entry in catalog.entries() {
            let name = &entry.name;
            let counts = [
                ("overview", "what it is".to_owned()),
                (
                    "functions",
                    format!("{} functions", entry.listing.functions.len()),
                ),
                ("schemas", format!("{} types", entry.listing.types.len())),
            ];
            resources.extend(counts.map(|(part, description)| Resource {
                uri: format!("sdk://{name}/{part}"),
                name: format!("{name} {part}"),
                description,
            }));
        }
        resources
    }

    /// The text behind an address.
    pub fn resource(&self, uri: &str) -> Result<String, ResourceError> {
        let bad = || ResourceError::Form(uri.to_owned());
        let address = uri.strip_prefix("sdk://").ok_or_else(bad)?;
        let (path, page) = match address.split_once("?page=") {
            Some((path, page)) => (path, page.parse().map_err(|_| bad())?),
            None => (address, 1),
        };
        let parts: Vec<&str> = path.split('/').collect();
        let catalog = self.catalog();
        let source = parts
            .first()
            .copied()
            .filter(|name| is_identifier(name))
            .ok_or_else(bad)?;
        let entry = catalog.entry(source).map_err(AskError::from)?;
        match parts.as_slice() {
            [_, "overview"] => Ok(overview(entry)),
            [_, "functions"] => Ok(functions(entry, page)),
            [_, "schemas"] => Ok(schemas(entry, page)),
            [_, "functions", name] => {
                let (entry, function) = catalog.function(source, name).map_err(AskError::from)?;
                Ok(docs::pages(&[Subject::Function(entry, function)], LONGEST).text)
            }
            [_, "schemas", name] => {
                let found = entry.listing.types.get_key_value(*name);
                let (name, _) = found.ok_or_else(bad)?;
                Ok(docs::pages(&[Subject::Type(entry, name)], LONGEST).text)
            }
            _ => Err(bad()),
        }
    }
}

fn overview(entry: &Entry) -> String {
    let info = &entry.listing.info;
    let mut text = format!("# {} (sdk.{})\n", info.title, entry.name);
    if !info.version.is_empty() {
        let _infallible = writeln!(text, "Version {}", info.version);
    }
    if !info.description.is_empty() {
        let _infallible = writeln!(text, "\n{}", info.description);
    }
    for link in &info.links {
        let _infallible = writeln!(text, "\n{} {}", link.url, link.description);
    }
    for (group, description) in &info.groups {
        let _infallible = writeln!(text, "\n## {group}\n{description}");
    }
    let functions = entry.listing.functions.len();
    let types = entry.listing.types.len();
    let _infallible = writeln!(text, "\n{functions} functions, {types} types");
    text
}

fn functions(entry: &Entry, page: usize) -> String {
    paged(
        entry,
        "functions",
        page,
        &entry.listing.functions,
        |function| {
            let row = function_row(entry, function);
            format!("{}  -- {}", row.signature, row.summary)
        },
    )
}

fn schemas(entry: &Entry, page: usize) -> String {
    let types: Vec<_> = entry.listing.types.iter().collect();
    paged(entry, "schemas", page, &types, |(name, definition)| {
        let first = definition.description.lines().next().unwrap_or_default();
        let line = render::comment(first, " ");
        format!("{name}{}", line.trim_end())
    })
}

/// One line per item, and where the next page is.
fn paged<T>(
    entry: &Entry,
    part: &str,
    page: usize,
    items: &[T],
    line: impl Fn(&T) -> String,
) -> String {
    let start = page
        .saturating_sub(1)
        .saturating_mul(LONGEST_PAGE)
        .min(items.len());
    let end = (start + LONGEST_PAGE).min(items.len());
    let mut text = format!("{} to {end} of {}\n", (start + 1).min(end), items.len());
    for item in &items[start..end] {
        let _infallible = writeln!(text, "{}", line(item));
    }
    if end < items.len() {
        let _infallible = writeln!(text, "more: sdk://{}/{part}?page={}", entry.name, page + 1);
    }
    text
}
