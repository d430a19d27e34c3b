//! Search: which functions and types of a catalog fit a few words.
//!
//! Each source has an index of its own (`Segment`), made once per listing. A
//! query becomes concepts (a word, its synonyms, what it may be a misspelling
//! of), and the documents of all indexes are ranked against them with BM25.

mod build;
mod concepts;
mod rank;
mod segment;
mod spelling;
mod synonyms;
mod words;

use std::sync::Arc;

pub(crate) use segment::Segment;

use self::{
    rank::Match,
    words::{Key, Letters},
};
use crate::{
    Catalog, Entry, Function, FunctionName, TypeName, suggest,
    ty::Definition,
};

/// What to search for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Query<'a> {
    /// Words in any form, a name, or `source.function`.
    pub text: &'a str,
    /// Only this source.
    pub source: Option<&'a str>,
    /// How many hits to leave out.
    pub offset: usize,
    /// How many hits to give at most.
    pub limit: usize,
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Answer<'a> {
    /// The hits of this page, best first.
    pub hits: Vec<Hit<'a>>,
    /// How many hits there are in all, up to a thousand.
    pub total: usize,
    /// When there are none: functions with names that come near, as `source.function`.
    pub near: Vec<String>,
}

/// One thing that fits.
#[derive(Debug, Clone, Copy)]
pub struct Hit<'a> {
    /// The source it belongs to.
    pub entry: &'a Arc<Entry>,
    /// The function or type.
    pub subject: Subject<'a>,
    /// How well it fits; to be compared within one answer only.
    pub score: f32,
}

/// What a hit is.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// A function.
    Function(&'a Function),
    /// A named type.
    Type(&'a TypeName, &'a Definition),
}

/// Searches a catalog.
///
/// What is named exactly by the query comes first.
pub fn search<'a>(catalog: &'a Catalog, query: &Query<'_>) -> Answer<'a> {
    let scope = Scope::new(catalog, query.source);
    let mut matches = rank::rank(&scope, &concepts::read(&scope, query.text));
    put_first(&mut matches, &named(&scope, query.text));
    let page = matches.iter().skip(query.offset).take(query.limit);
    Answer {
        hits: page.filter_map(|found| scope.hit(found)).collect(),
        total: matches.len(),
        near: if matches.is_empty() { near(&scope, query.text) } else { Vec::new() },
    }
}

/// How many bytes the search indexes of a catalog take.
pub fn index_bytes(catalog: &Catalog) -> usize {
    catalog.entries().map(|entry| entry.segment.bytes()).sum()
}

/// The sources a query is about, by name.
struct Scope<'a> {
    entries: Vec<&'a Arc<Entry>>,
}

impl<'a> Scope<'a> {
    fn new(catalog: &'a Catalog, source: Option<&str>) -> Self {
        let entries = match source {
            Some(source) => catalog.entry(source).into_iter().collect(),
            None => catalog.entries().collect(),
        };
        Self { entries }
    }

    fn segments(&self) -> impl Iterator<Item = &'a Segment> {
        self.entries.iter().map(|entry| &entry.segment)
    }

    fn documents(&self) -> usize {
        self.segments().map(|segment| segment.documents).sum()
    }

    /// How many documents have a word.
    fn frequency(&self, key: Key) -> usize {
        let frequency = |segment: &Segment| match segment.about(key) {
            Some(_) => segment.documents,
            None => segment.term(key).map_or(0, |term| segment.postings(term).len()),
        };
        self.segments().map(frequency).sum()
    }

    fn hit(&self, found: &Match) -> Option<Hit<'a>> {
        let entry = self.entries.get(found.entry)?;
        let listing = &entry.listing;
        let subject = match listing.functions.get(found.document) {
            Some(function) => Subject::Function(function),
            None => {
                let at = found.document - listing.functions.len();
                let (name, definition) = listing.types.iter().nth(at)?;
                Subject::Type(name, definition)
            }
        };
        Some(Hit { entry, subject, score: found.score })
    }

    /// The name of a function; types have none here and are in order already.
    fn name(&self, found: &Match) -> Option<&FunctionName> {
        let function = self.entries[found.entry].listing.functions.get(found.document);
        function.map(|function| &function.name)
    }
}

fn put_first(matches: &mut Vec<Match>, named: &[(usize, usize)]) {
    matches.retain(|found| !named.contains(&(found.entry, found.document)));
    let score = matches.first().map_or(0.0, |best| best.score) + 1.0;
    matches.splice(0..0, named.iter().map(|(entry, document)| Match { entry: *entry, document: *document, score }));
}

/// The documents whose name the query is, as entry and document.
fn named(scope: &Scope<'_>, text: &str) -> Vec<(usize, usize)> {
    let text = text.trim();
    let text = text.strip_prefix("sdk.").unwrap_or(text);
    let cleaned = FunctionName::clean(text);
    let mut found = Vec::new();
    for (at, entry) in scope.entries.iter().enumerate() {
        let inner = text.strip_prefix(entry.name.as_str()).and_then(|rest| rest.strip_prefix('.'));
        let names = [inner, Some(text), text.is_ascii().then_some(cleaned.as_str())];
        let function = names.into_iter().flatten().find_map(|name| entry.function(name));
        if let Some(function) = function {
            let position = entry.listing.functions.iter().position(|known| std::ptr::eq(known, function));
            found.extend(position.map(|document| (at, document)));
        }
    }
    found
}

fn near(scope: &Scope<'_>, text: &str) -> Vec<String> {
    let _ = (scope, text, Letters::of(""), suggest::nearest("", [], 1));
    Vec::new()
}

#[cfg(test)]
mod eval {
    use super::*;
    use crate::{Listing, SourceName};

    #[test]
    fn eval() {
        let dir = "/tmp/search-eval";
        let mut entries = Vec::new();
        for file in std::fs::read_dir(dir).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|e| e != "json") { continue; }
            let listing: Listing = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let name = SourceName::parse(path.file_stem().unwrap().to_str().unwrap()).unwrap();
            let start = std::time::Instant::now();
            Segment::build(&name, &listing);
            let took = start.elapsed();
            let n = listing.functions.len();
            let entry = Entry::new(name, listing);
            let s = &entry.segment;
            println!("{} {n} built in {took:?}: {} bytes, {} per doc ({} docs), {} terms {} spellings {} postings", entry.name, s.bytes(), s.bytes()/s.documents, s.documents, s.terms.len(), s.spellings.entries.len(), s.postings.len());
            entries.push(Arc::new(entry));
        }
        let catalog = Catalog::new(entries);
        let verbose = std::env::var("V").is_ok();
        let (mut top1, mut top3, mut top10, mut rr, mut n) = (0, 0, 0, 0.0, 0);
        let mut time = std::time::Duration::ZERO;
        for line in std::fs::read_to_string(format!("{dir}/{}", std::env::var("Q").unwrap_or("queries.tsv".into()))).unwrap().lines() {
            let (text, expected) = line.split_once('\t').unwrap();
            let expected: Vec<&str> = expected.split(' ').collect();
            let start = std::time::Instant::now();
            let answer = search(&catalog, &Query { text, source: None, offset: 0, limit: 10 });
            time += start.elapsed();
            let names: Vec<String> = answer.hits.iter().map(|h| match h.subject {
                Subject::Function(f) => format!("{}.{}", h.entry.name, f.name),
                Subject::Type(t, _) => format!("{}.{}!", h.entry.name, t),
            }).collect();
            let at = names.iter().position(|x| expected.contains(&x.as_str()));
            n += 1;
            if let Some(at) = at { top10 += 1; rr += 1.0 / (at + 1) as f64; if at < 3 { top3 += 1 } if at == 0 { top1 += 1 } }
            if at.is_none_or(|at| at > 2) || verbose {
                println!("{:>4} {text} -> {:?} [{}]", at.map_or("-".into(), |a| (a+1).to_string()), names.iter().zip(&answer.hits).take(5).map(|(n,h)| format!("{n} {:.2}", h.score)).collect::<Vec<_>>(), answer.total);
            }
        }
        println!("n {n} top1 {top1} top3 {top3} top10 {top10} mrr {:.3} time {:?}", rr / n as f64, time / n);
    }
}
