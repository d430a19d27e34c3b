//! What there is to call: lists, search and docs as plain data, all of it bounded.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::Serialize;
use toolscript_catalog::{
    Catalog, Entry, ErrorCode, Function, FunctionId, SourceName, Unknown,
    docs::{self, Subject},
    render,
    search::{self, Query},
};

/// How many rows a page has when nobody says.
pub const PAGE: usize = 50;
/// How many rows a page has at most.
pub const LONGEST_PAGE: usize = 200;
/// How many hits a search gives when nobody says.
pub const HITS: usize = 8;
/// How many names one request for docs may hold.
const MOST_NAMES: usize = 20;
/// How long a summary may be in a list, in characters.
const LINE: usize = 90;

/// A part of a longer list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// How many there are in all.
    pub total: usize,
    /// What to ask with for the next part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// One source in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SourceRow {
    /// Its name in scripts.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Its title or the first line of its description, or why it is not available.
    pub about: String,
    /// How many functions it has.
    pub functions: usize,
    /// How many functions each group (tag) has; the largest ones where there are many.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, usize>,
}

/// One function or type in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// `source.function`.
    pub name: String,
    /// How it is called, in brief.
    pub signature: String,
    /// One line about it.
    pub summary: String,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The best ones.
    #[serde(flatten)]
    pub page: Page<Row>,
    /// Names that come near, where nothing was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub did_you_mean: Vec<String>,
}

/// The pages of some functions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Docs {
    /// Luau text.
    pub docs: String,
    /// Types that did not fit and can be asked for by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<String>,
}

/// Which functions to list.
#[derive(Debug, Clone, Default)]
pub struct Listed<'a> {
    /// Only of this source.
    pub source: Option<&'a str>,
    /// Only of this group (tag).
    pub group: Option<&'a str>,
    /// Where the last page ended.
    pub cursor: Option<&'a str>,
    /// How many at most.
    pub limit: Option<usize>,
}

/// A question that cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No such source or function.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// No such group.
    #[error("there is no tag `{group}`; the tags are {known}")]
    Group {
        /// What was asked for.
        group: String,
        /// What there is.
        known: String,
    },
    /// A cursor we did not make.
    #[error("`{0}` is not a cursor of this list; start again without one")]
    Cursor(String),
    /// Not the name of a function or type.
    #[error("`{0}` is not a name: write `source.function`")]
    Name(String),
    /// Nothing was asked.
    #[error("give at least one name, as `source.function`, and at most {MOST_NAMES}")]
    Count,
}

impl AskError {
    /// The stable word for this failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown(Unknown::Absent { .. }) => ErrorCode::Unavailable,
            Self::Unknown(_) | Self::Group { .. } => ErrorCode::NotFound,
            Self::Cursor(_) | Self::Name(_) | Self::Count => ErrorCode::BadRequest,
        }
    }
}

/// The sources; the sandbox's own libraries come last.
pub(crate) fn sources(catalog: &Catalog) -> Vec<SourceRow> {
    let luau = SourceName::luau();
    let (libraries, rows): (Vec<_>, Vec<_>) =
        catalog.entries().partition(|entry| entry.name == luau);
    let absent = catalog.absent().map(|(name, problem)| SourceRow {
        name: name.to_string(),
        about: one_line(&format!("not available: {problem}")),
        ..SourceRow::default()
    });
    let mut rows: Vec<SourceRow> = rows
        .into_iter()
        .map(|entry| source_row(entry))
        .chain(absent)
        .collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows.extend(libraries.into_iter().map(|entry| source_row(entry)));
    rows
}

fn source_row(entry: &Entry) -> SourceRow {
    const MOST_GROUPS: usize = 40;
    let info = &entry.listing.info;
    let about = if info.title.is_empty() {
        &info.description
    } else {
        &info.title
    };
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    for function in entry
        .listing
        .functions
        .iter()
        .filter(|function| !function.group.is_empty())
    {
        *groups.entry(function.group.clone()).or_default() += 1;
    }
    if MOST_GROUPS < groups.len() {
        let mut counts: Vec<(String, usize)> = groups.into_iter().collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        groups = counts.into_iter().take(MOST_GROUPS).collect();
    }
    SourceRow {
        name: entry.name.to_string(),
        kind: info.kind.clone(),
        about: one_line(about),
        functions: entry.listing.functions.len(),
        groups,
    }
}

/// A page of functions, in the order of their sources and documents.
pub(crate) fn functions(catalog: &Catalog, asked: &Listed<'_>) -> Result<Page<Row>, AskError> {
    let offset = offset(asked.cursor)?;
    let limit = asked.limit.unwrap_or(PAGE).clamp(1, LONGEST_PAGE);
    let entries: Vec<&Entry> = match asked.source {
        Some(source) => vec![catalog.entry(source)?],
        None => catalog.entries().map(AsRef::as_ref).collect(),
    };
    let mut total = 0;
    let mut items = Vec::new();
    for entry in &entries {
        for function in &entry.listing.functions {
            if asked.group.is_some_and(|group| function.group != group) {
                continue;
            }
            if offset <= total && items.len() < limit {
                items.push(function_row(entry, function));
            }
            total += 1;
        }
    }
    if let (0, Some(group)) = (total, asked.group) {
        let known: Vec<String> = entries
            .iter()
            .flat_map(|entry| source_row(entry).groups.into_keys())
            .collect();
        return Err(AskError::Group {
            group: group.to_owned(),
            known: known.join(", "),
        });
    }
    let next = offset + items.len();
    Ok(Page {
        items,
        total,
        next_cursor: (next < total).then(|| next.to_string()),
    })
}

/// The best matches for some words.
pub(crate) fn search(
    catalog: &Catalog,
    text: &str,
    source: Option<&str>,
    cursor: Option<&str>,
    limit: Option<usize>,
) -> Result<Found, AskError> {
    if let Some(source) = source {
        catalog.entry(source)?;
    }
    let offset = offset(cursor)?;
    let limit = limit.unwrap_or(HITS).clamp(1, LONGEST_PAGE);
    let answer = search::search(
        catalog,
        &Query {
            text,
            source,
            offset,
            limit,
        },
    );
    let items: Vec<Row> = answer
        .hits
        .iter()
        .map(|hit| match hit.subject {
            search::Subject::Function(function) => function_row(hit.entry, function),
            search::Subject::Type(name, definition) => Row {
                name: format!("{}.{name}", hit.entry.name),
                signature: format!("type {name}"),
                summary: one_line(&definition.description),
            },
        })
        .collect();
    let next = offset + items.len();
    let next_cursor = (next < answer.total && !items.is_empty()).then(|| next.to_string());
    let page = Page {
        items,
        total: answer.total,
        next_cursor,
    };
    Ok(Found {
        page,
        did_you_mean: answer.near,
    })
}

/// The docs of functions and types by name.
pub(crate) fn docs(
    catalog: &Catalog,
    names: &[impl AsRef<str>],
    most_bytes: usize,
) -> Result<Docs, AskError> {
    if names.is_empty() || MOST_NAMES < names.len() {
        return Err(AskError::Count);
    }
    let subjects = names
        .iter()
        .map(|name| subject(catalog, name.as_ref()))
        .collect::<Result<Vec<Subject<'_>>, AskError>>()?;
    let page = docs::pages(&subjects, most_bytes);
    Ok(Docs {
        docs: page.text,
        omitted: page.omitted,
    })
}

/// The function or type a name stands for; `json.encode` finds a library function too.
fn subject<'a>(catalog: &'a Catalog, name: &str) -> Result<Subject<'a>, AskError> {
    let address = name.strip_prefix("sdk.").unwrap_or(name);
    if let Some(library) = library_function(catalog, address) {
        return Ok(library);
    }
    let (source, inner) = address
        .split_once('.')
        .ok_or_else(|| AskError::Name(name.to_owned()))?;
    let entry = catalog.entry(source)?;
    if let Some((name, _)) = entry.listing.types.get_key_value(inner) {
        return Ok(Subject::Type(entry, name));
    }
    let (entry, function) = catalog.function(source, inner)?;
    Ok(Subject::Function(entry, function))
}

fn library_function<'a>(catalog: &'a Catalog, address: &str) -> Option<Subject<'a>> {
    let entry = catalog.entry(SourceName::luau().as_str()).ok()?;
    let address = address.strip_prefix("luau.").unwrap_or(address);
    let function = entry.listing.functions.iter().find(|function| {
        let called = function.signature.split('(').next().unwrap_or_default();
        called == address
    })?;
    Some(Subject::Function(entry, function))
}

pub(crate) fn function_row(entry: &Entry, function: &Function) -> Row {
    let mut summary = one_line(&function.summary);
    if function.deprecated {
        summary.insert_str(0, "(deprecated) ");
    }
    let id = FunctionId {
        source: entry.name.clone(),
        name: function.name.clone(),
    };
    Row {
        name: id.to_string(),
        signature: render::brief(&entry.name, function),
        summary,
    }
}

/// The names of the sources and how to begin, for `instructions` and `help()`. Holds nothing
/// the outside wrote but source names, which are checked.
pub(crate) fn overview(catalog: &Catalog, longest: usize) -> String {
    let luau = SourceName::luau();
    let mut text = String::from("Sources: ");
    let mut first = true;
    let rows: Vec<_> = catalog
        .entries()
        .filter(|entry| entry.name != luau)
        .collect();
    for (at, entry) in rows.iter().enumerate() {
        let part = format!("{} ({})", entry.name, entry.listing.functions.len());
        if longest < text.len() + part.len() + 40 {
            let _infallible = write!(text, " and {} more (list_apis names all)", rows.len() - at);
            break;
        }
        text.push_str(if first { "" } else { ", " });
        text.push_str(&part);
        first = false;
    }
    text
}

fn offset(cursor: Option<&str>) -> Result<usize, AskError> {
    match cursor {
        None | Some("") => Ok(0),
        Some(cursor) => cursor
            .parse()
            .map_err(|_| AskError::Cursor(cursor.to_owned())),
    }
}

/// The first line, cut to a readable length.
fn one_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim();
    if line.chars().count() <= LINE {
        return line.to_owned();
    }
    let cut: String = line.chars().take(LINE - 1).collect();
    format!("{}…", cut.trim_end())
}
