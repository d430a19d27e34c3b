//! `sdk://` and `result://` addresses: the catalog and large results as resources, for clients
//! that read rather than call.

mod pages;

use std::fmt::Write as _;

use toolscript_catalog::{Entry, docs, docs::Subject, name::is_identifier, render};

use crate::{
    Engine, Kept,
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
    /// What its text is.
    pub media_type: &'static str,
}

/// What stands behind an address, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Where it is.
    pub uri: String,
    /// What it says.
    pub text: String,
    /// What its text is.
    pub media_type: &'static str,
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
    /// What its text is.
    pub media_type: &'static str,
}

const TEXT: &str = "text/plain";
const JSON: &str = "application/json";
/// How the address of a result begins.
const RESULT: &str = "result://";

/// Every form of address there is.
pub const TEMPLATES: &[Template] = &[
    Template {
        uri: "sdk://{source}/overview",
        name: "Overview of a source",
        description: "Title, description, groups and links",
        media_type: TEXT,
    },
    Template {
        uri: "sdk://{source}/functions{?page}",
        name: "Functions of a source",
        description: "One line each, in pages",
        media_type: TEXT,
    },
    Template {
        uri: "sdk://{source}/schemas{?page}",
        name: "Types of a source",
        description: "Their names, in pages",
        media_type: TEXT,
    },
    Template {
        uri: "sdk://{source}/functions/{function}",
        name: "One function",
        description: "Signature, docs and every type it reaches",
        media_type: TEXT,
    },
    Template {
        uri: "sdk://{source}/schemas/{type}",
        name: "One type",
        description: "The type and every type it reaches",
        media_type: TEXT,
    },
    Template {
        uri: "result://{handle}{?page}",
        name: "A large result",
        description: "What a script returned and was too large to hand over, as JSON, in pages",
        media_type: JSON,
    },
];

/// An address that leads nowhere.
#[derive(Debug, thiserror::Error)]
pub enum ResourceError {
    /// Not of a form we know.
    #[error(
        "`{0}` is no resource; they look like `sdk://petstore/overview`, `sdk://petstore/functions/get_pet`, `result://<handle>`"
    )]
    Form(String),
    /// There is no such result, or it is somebody else's.
    #[error(
        "there is no result `{0}`: it is not yours or too old; run the script that made it again"
    )]
    Result(String),
    /// The text is shorter than that.
    #[error("there is no page {page}: the pages go from 1 to {pages}")]
    Page {
        /// What was asked for.
        page: usize,
        /// How many there are.
        pages: usize,
    },
    /// The source, function or type is not there.
    #[error(transparent)]
    Ask(#[from] AskError),
}

impl Engine {
    /// The resources a client is shown: three per source, and the large results of its owner.
    pub fn resources(&self, owner: &str) -> Vec<Resource> {
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
                media_type: TEXT,
            }));
        }
        let results = self.runtime.results().of(owner);
        resources.extend(
            results
                .iter()
                .map(|(handle, kept)| kept_resource(handle, kept.bytes, &kept.shape)),
        );
        resources
    }

    /// What stands behind an address. A text of several pages comes with a second content that
    /// says where it goes on.
    pub fn resource(&self, owner: &str, uri: &str) -> Result<Vec<Content>, ResourceError> {
        let bad = || ResourceError::Form(uri.to_owned());
        let (path, page) = match uri.split_once("?page=") {
            Some((path, page)) => (path, page.parse().map_err(|_| bad())?),
            None => (uri, 1),
        };
        if let Some(handle) = path.strip_prefix(RESULT) {
            return self.result(owner, handle, page);
        }
        let text = self.described(uri, path, page)?;
        Ok(vec![Content {
            uri: uri.to_owned(),
            text,
            media_type: TEXT,
        }])
    }

    /// A page of a large result.
    fn result(
        &self,
        owner: &str,
        handle: &str,
        page: usize,
    ) -> Result<Vec<Content>, ResourceError> {
        let kept = self.runtime.results().get(owner, handle);
        let kept = kept.ok_or_else(|| ResourceError::Result(handle.to_owned()))?;
        let found = pages::page(&kept.value, page, LONGEST);
        let pages = found.pages;
        if page == 0 || pages < page {
            return Err(ResourceError::Page { page, pages });
        }
        let address = |page: usize| format!("{RESULT}{handle}?page={page}");
        let is_whole = pages == 1;
        let mut contents = vec![Content {
            uri: if is_whole {
                format!("{RESULT}{handle}")
            } else {
                address(page)
            },
            text: found.text,
            // A part of a JSON text is no JSON text.
            media_type: if is_whole { JSON } else { TEXT },
        }];
        if page < pages {
            let uri = address(page + 1);
            contents.push(Content {
                text: format!(
                    "This was page {page} of {pages}; the pages one after the other are the JSON. \
                     It goes on at {uri}. For parts of it run a script with \
                     result(\"{handle}\"):path(\"a.b\"), :slice(1, 10) or :grep(\"text\")."
                ),
                uri,
                media_type: TEXT,
            });
        }
        Ok(contents)
    }

    /// The text behind an `sdk://` address.
    fn described(&self, uri: &str, path: &str, page: usize) -> Result<String, ResourceError> {
        let bad = || ResourceError::Form(uri.to_owned());
        let path = path.strip_prefix("sdk://").ok_or_else(bad)?;
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

impl From<&Kept> for Resource {
    /// Where a large result can be read.
    fn from(kept: &Kept) -> Self {
        kept_resource(&kept.handle, kept.bytes, &kept.shape)
    }
}

fn kept_resource(handle: &str, bytes: usize, shape: &str) -> Resource {
    Resource {
        uri: format!("{RESULT}{handle}"),
        name: format!("result {handle}"),
        description: format!("{bytes} bytes: {shape}"),
        media_type: JSON,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Patience, Script, ScriptResult, config::Config};
    use std::path::Path;

    const DOCUMENT: &str = "openapi: 3.1.0\ninfo: {title: Pets, version: '1'}\npaths:\n  /pets: {get: {operationId: pets, responses: {}}}\n";

    async fn engine() -> (tempfile::TempDir, Engine) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("pets.yaml"), DOCUMENT).unwrap();
        let file = folder.path().join("toolscript.toml");
        let text = "[apis.pets]\nspec = 'pets.yaml'";
        let config = Config::parse(Path::new(&file), text, &|_| None).unwrap();
        let engine = Engine::open(config, Patience::Unlimited, None)
            .await
            .unwrap();
        (folder, engine)
    }

    async fn keep(engine: &Engine, owner: &str, script: &str) -> Kept {
        let script = Script {
            text: script.to_owned(),
            owner: owner.to_owned(),
            ..Script::default()
        };
        match engine.execute(script).await.result {
            Ok(ScriptResult::Kept(kept)) => kept,
            other => panic!("it should have been kept: {other:?}"),
        }
    }

    #[tokio::test]
    async fn a_large_result_is_read_by_its_owner() {
        let (_folder, engine) = engine().await;
        let kept = keep(&engine, "ann", "return string.rep('x', 100000)").await;
        let link = Resource::from(&kept);
        assert!(engine.resources("ann").contains(&link));
        let contents = engine.resource("ann", &link.uri).unwrap();
        assert_eq!(contents.len(), 1, "it fits on one page");
        assert_eq!(contents[0].uri, link.uri);
        assert_eq!(contents[0].media_type, JSON);
        assert_eq!(contents[0].text, format!("\"{}\"", "x".repeat(100_000)));

        assert!(!engine.resources("bob").contains(&link));
        for (owner, uri) in [("bob", link.uri.as_str()), ("ann", "result://res_1")] {
            let refused = engine.resource(owner, uri).unwrap_err();
            assert!(matches!(refused, ResourceError::Result(_)), "{refused}");
        }
    }

    #[tokio::test]
    async fn a_very_large_result_is_read_by_pages() {
        let (_folder, engine) = engine().await;
        let script = "local rows = {} for id = 1, 40000 do rows[id] = { id = id, name = 'row ' .. id } end return rows";
        let kept = keep(&engine, "ann", script).await;
        let mut uri = Resource::from(&kept).uri;
        let mut whole = String::new();
        let mut count = 0;
        loop {
            let contents = engine.resource("ann", &uri).unwrap();
            whole.push_str(&contents[0].text);
            count += 1;
            assert!(contents[0].text.len() <= LONGEST);
            assert_eq!(contents[0].media_type, TEXT);
            let Some(next) = contents.get(1) else { break };
            assert!(
                next.text.contains(&format!("page {count} of ")),
                "{}",
                next.text
            );
            uri.clone_from(&next.uri);
        }
        let rows: Vec<serde_json::Value> = serde_json::from_str(&whole).unwrap();
        assert_eq!((rows.len(), &rows[39_999]["id"]), (40_000, &40_000.into()));
        for page in [0, count + 1] {
            let uri = format!("{RESULT}{}?page={page}", kept.handle);
            let refused = engine.resource("ann", &uri).unwrap_err().to_string();
            assert!(refused.contains(&format!("from 1 to {count}")), "{refused}");
        }
        let bad = engine.resource("ann", &format!("{RESULT}{}?page=x", kept.handle));
        assert!(matches!(bad, Err(ResourceError::Form(_))));
    }
}
