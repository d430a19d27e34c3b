//! `Catalog`: every function of every source, at one moment. Never changed, only replaced.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};

use crate::{Function, FunctionId, FunctionName, Listing, SourceName, search::Segment, suggest};

/// All functions at one moment.
#[derive(Default)]
pub struct Catalog {
    entries: BTreeMap<SourceName, Arc<Entry>>,
    /// Sources that are configured but have listed nothing, and why.
    absent: BTreeMap<SourceName, String>,
}

/// One source in the catalog: what it listed, ready to look up and search.
///
/// Made once per listing and shared by every catalog that holds it, so that a
/// change of one source costs nothing for the others.
pub struct Entry {
    /// The name of the source.
    pub name: SourceName,
    /// What it listed.
    pub listing: Listing,
    by_name: HashMap<FunctionName, usize>,
    by_original: HashMap<String, usize>,
    pub(crate) segment: Segment,
}

/// A name nobody has, and what comes near.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// No such source.
    #[error(
        "there is no source `{source_name}`; {}",
        list("the sources are", known)
    )]
    Source {
        /// What was asked for.
        source_name: String,
        /// The sources there are.
        known: Vec<String>,
    },
    /// A source that is configured, but not there.
    #[error("source `{source_name}` is not available: {problem}")]
    Absent {
        /// Which source.
        source_name: String,
        /// Why, and what would help.
        problem: String,
    },
    /// No such function.
    #[error(
        "`{source_name}` has no function `{function}`; {} ({total} functions in all: search for what it should do)",
        list("did you mean", near)
    )]
    Function {
        /// The source.
        source_name: String,
        /// What was asked for.
        function: String,
        /// The nearest names.
        near: Vec<String>,
        /// How many functions the source has.
        total: usize,
    },
}

impl Entry {
    /// Makes a listing ready to look up and search.
    pub fn new(name: SourceName, listing: Listing) -> Self {
        let functions = &listing.functions;
        let by_name = functions
            .iter()
            .enumerate()
            .map(|(at, f)| (f.name.clone(), at))
            .collect();
        let by_original = functions
            .iter()
            .enumerate()
            .filter(|(_, function)| !function.original.is_empty())
            .map(|(at, function)| (function.original.clone(), at))
            .collect();
        let segment = Segment::build(&name, &listing);
        Self {
            name,
            listing,
            by_name,
            by_original,
            segment,
        }
    }

    /// Finds a function by its name, or by the name the source itself uses.
    pub fn function(&self, name: &str) -> Option<&Function> {
        let at = self
            .by_name
            .get(name)
            .or_else(|| self.by_original.get(name))?;
        self.listing.functions.get(*at)
    }
}

impl Catalog {
    /// Puts entries together.
    pub fn new(entries: impl IntoIterator<Item = Arc<Entry>>) -> Self {
        let entries = entries
            .into_iter()
            .map(|entry| (entry.name.clone(), entry))
            .collect();
        Self {
            entries,
            absent: BTreeMap::new(),
        }
    }

    /// Remembers why some sources have listed nothing.
    #[must_use]
    pub fn with_absent(self, absent: BTreeMap<SourceName, String>) -> Self {
        Self { absent, ..self }
    }

    /// The sources that have listed nothing, and why.
    pub fn absent(&self) -> impl Iterator<Item = (&SourceName, &str)> {
        let absent = self.absent.iter();
        absent.map(|(name, problem)| (name, problem.as_str()))
    }

    /// The sources, by name.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values()
    }

    /// How many functions there are.
    pub fn len(&self) -> usize {
        self.entries()
            .map(|entry| entry.listing.functions.len())
            .sum()
    }

    /// Whether there is nothing to call.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Finds a source.
    pub fn entry(&self, source: &str) -> Result<&Arc<Entry>, Unknown> {
        self.entries.get(source).ok_or_else(|| {
            let source_name = source.to_owned();
            match self.absent.get(source) {
                Some(problem) => Unknown::Absent {
                    source_name,
                    problem: problem.clone(),
                },
                None => Unknown::Source {
                    source_name,
                    known: self.entries.keys().map(ToString::to_string).collect(),
                },
            }
        })
    }

    /// Finds a function.
    pub fn function(&self, source: &str, name: &str) -> Result<(&Arc<Entry>, &Function), Unknown> {
        let entry = self.entry(source)?;
        let Some(function) = entry.function(name) else {
            let names = entry
                .listing
                .functions
                .iter()
                .map(|function| function.name.as_str());
            return Err(Unknown::Function {
                source_name: source.to_owned(),
                function: name.to_owned(),
                near: suggest::nearest(name, names, 3)
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
                total: entry.listing.functions.len(),
            });
        };
        Ok((entry, function))
    }

    /// Finds a function by its address.
    pub fn by_id(&self, id: &FunctionId) -> Result<(&Arc<Entry>, &Function), Unknown> {
        self.function(id.source.as_str(), id.name.as_str())
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog")
            .field("functions", &self.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// `introduction a, b, c`, with a bound on how many are named.
fn list(introduction: &str, names: &[String]) -> String {
    const MOST: usize = 20;
    if names.is_empty() {
        return "nothing comes near".to_owned();
    }
    let shown: Vec<String> = names
        .iter()
        .take(MOST)
        .map(|name| format!("`{name}`"))
        .collect();
    let rest = names.len().saturating_sub(MOST);
    let more = if rest == 0 {
        String::new()
    } else {
        format!(" and {rest} more")
    };
    format!("{introduction} {}{more}", shown.join(", "))
}
