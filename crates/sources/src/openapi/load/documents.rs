//! A document and every other document it refers to, read before anything is made of them.

use std::{
    collections::{HashMap, HashSet},
    sync::atomic::{AtomicUsize, Ordering},
};

use futures_util::{StreamExt as _, stream};
use toolscript_catalog::{Node, Warning};

use super::{
    LoadError, fetch,
    location::Location,
    parse::{self, Parsed},
    scan::{Reference, Scan, scan},
};
use crate::Context;

/// How many documents one source may be spread over.
const MOST_DOCUMENTS: usize = 5_000;
/// How many bytes they may have together.
const MOST_BYTES: usize = 256 << 20;
/// How many are read at once.
const AT_ONCE: usize = 16;

/// A root document and all it needs, in the order they were first referred to.
#[derive(Debug, Default)]
pub(super) struct Documents {
    list: Vec<Document>,
    /// Absolute `$id`s and `$self`s: the document and the pointer they stand for.
    ids: HashMap<String, (usize, String)>,
    /// What could not be read, and what was bent.
    pub(super) warnings: Vec<Warning>,
    /// Every other document that was wanted, with the hash of its content if it was there.
    pub(super) others: Vec<(Location, Option<blake3::Hash>)>,
}

/// One document.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) location: Location,
    /// How it is shown in warnings; unlike any other document's.
    pub(super) shown: String,
    pub(super) root: Node,
    /// Which document each reference leads to, by its text without the fragment.
    links: HashMap<String, usize>,
    anchors: HashMap<String, String>,
}

/// A document that has just been read.
struct Arrival {
    /// Where it really was, after redirects.
    location: Location,
    root: Node,
    scan: Scan,
    remarks: Vec<String>,
    hash: blake3::Hash,
}

/// The documents on their way in.
struct Loader<'c> {
    cx: &'c Context,
    documents: Documents,
    by_location: HashMap<Location, Option<usize>>,
    shown: HashSet<String>,
    bytes: AtomicUsize,
}

/// A document that is wanted, and who wants it.
struct Wanted {
    location: Location,
    asked_by: usize,
    reference: Reference,
}

impl Documents {
    /// Parses the root document, checks its version and reads everything it refers to.
    pub(super) async fn load(cx: &Context, root: fetch::Content) -> Result<Self, LoadError> {
        let shown = root.location.shown(&cx.folder);
        let bytes = AtomicUsize::new(root.bytes.len());
        let asked = root.location.clone();
        let arrival = prepare(root, shown.clone()).await?;
        super::version::check(&arrival.root, &shown)?;
        let mut loader = Loader {
            cx,
            documents: Self::default(),
            by_location: HashMap::from([(asked, Some(0)), (arrival.location.clone(), Some(0))]),
            shown: HashSet::new(),
            bytes,
        };
        let references = loader.admit(arrival);
        loader.follow(references).await;
        Ok(loader.documents)
    }

    /// Documents that are already in memory, for tests.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let folder = std::path::Path::new("");
        let mut documents = Self::default();
        let mut wants = Vec::new();
        for (name, text) in files {
            let location = Location::parse(name, folder);
            let content = fetch::Content {
                location,
                bytes: text.as_bytes().to_vec().into(),
            };
            let arrival = read(&content, name).unwrap();
            wants.push(documents.push(arrival, (*name).to_owned()));
        }
        for (from, references) in wants.into_iter().enumerate() {
            for reference in references {
                let target = documents.list[from].location.join(&reference.document);
                let index = documents
                    .list
                    .iter()
                    .position(|document| Ok(&document.location) == target.as_ref());
                if let Some(index) = index {
                    documents.list[from].links.insert(reference.document, index);
                }
            }
        }
        documents
    }

    /// The document at an index; the root is 0.
    pub(super) fn get(&self, index: usize) -> &Document {
        &self.list[index]
    }

    /// The document a reference in `scope` leads to, by its text without the fragment, and the
    /// pointer it stands for there.
    pub(super) fn target(&self, scope: usize, document: &str) -> Option<(usize, &str)> {
        if document.is_empty() {
            return Some((scope, ""));
        }
        if let Some(index) = self.list[scope].links.get(document) {
            return Some((*index, ""));
        }
        self.ids
            .get(document)
            .map(|(index, pointer)| (*index, pointer.as_str()))
    }

    /// Takes a document in and gives what it refers to.
    fn push(&mut self, arrival: Arrival, shown: String) -> Vec<Reference> {
        let index = self.list.len();
        for remark in arrival.remarks {
            self.warnings.push(Warning {
                place: shown.clone(),
                reason: remark,
            });
        }
        for pointer in arrival.scan.duplicates {
            let reason = "stands there more than once; the last one counts".to_owned();
            self.warnings.push(Warning {
                place: format!("{shown}#{pointer}"),
                reason,
            });
        }
        for (id, pointer) in arrival.scan.ids {
            self.ids.entry(id).or_insert((index, pointer));
        }
        let anchors = arrival.scan.anchors.into_iter().collect();
        let (location, root) = (arrival.location, arrival.root);
        self.list.push(Document {
            location,
            shown,
            root,
            links: HashMap::new(),
            anchors,
        });
        arrival.scan.references
    }
}

impl Document {
    /// The pointer an anchor stands at.
    pub(super) fn anchor(&self, name: &str) -> Option<&str> {
        self.anchors.get(name).map(String::as_str)
    }
}

impl Loader<'_> {
    fn admit(&mut self, arrival: Arrival) -> Vec<(usize, Reference)> {
        let index = self.documents.list.len();
        let mut shown = arrival.location.shown(&self.cx.folder);
        // Addresses are shown without their queries, and two may differ in nothing else.
        if !self.shown.insert(shown.clone()) {
            shown = format!("{shown}({index})");
        }
        let references = self.documents.push(arrival, shown);
        references
            .into_iter()
            .map(|reference| (index, reference))
            .collect()
    }

    /// Reads what is referred to, then what that refers to, until nothing is missing.
    async fn follow(&mut self, mut references: Vec<(usize, Reference)>) {
        while !references.is_empty() {
            let (wanted, repeated) = self.sort(references);
            let arrivals: Vec<(Wanted, Result<Arrival, LoadError>)> = stream::iter(wanted)
                .map(|wanted| self.fetch(wanted))
                .buffered(AT_ONCE)
                .collect()
                .await;
            references = Vec::new();
            for (wanted, arrival) in arrivals {
                references.extend(self.settle(&wanted, arrival));
            }
            for wanted in repeated {
                self.link(&wanted);
            }
        }
    }

    /// Tells new documents from those that are known or already wanted.
    fn sort(&mut self, references: Vec<(usize, Reference)>) -> (Vec<Wanted>, Vec<Wanted>) {
        let (mut new, mut known) = (Vec::new(), Vec::new());
        for (asked_by, reference) in references {
            let location = match self.documents.list[asked_by]
                .location
                .join(&reference.document)
            {
                Ok(location) => location,
                Err(problem) => {
                    let reason = format!("`{}` {problem}", reference.document);
                    self.warn(asked_by, &reference, reason);
                    continue;
                }
            };
            let wanted = Wanted {
                location,
                asked_by,
                reference,
            };
            if self.by_location.contains_key(&wanted.location) {
                known.push(wanted);
            } else if self.by_location.len() < MOST_DOCUMENTS {
                self.by_location.insert(wanted.location.clone(), None);
                new.push(wanted);
            } else {
                let reason =
                    format!("is left out: a source may be spread over {MOST_DOCUMENTS} documents");
                self.warn(asked_by, &wanted.reference, reason);
            }
        }
        (new, known)
    }

    async fn fetch(&self, wanted: Wanted) -> (Wanted, Result<Arrival, LoadError>) {
        let arrival = self.read(&wanted.location).await;
        (wanted, arrival)
    }

    async fn read(&self, location: &Location) -> Result<Arrival, LoadError> {
        let shown = location.shown(&self.cx.folder);
        let content = fetch::read(self.cx, location).await?;
        if MOST_BYTES < self.bytes.fetch_add(content.bytes.len(), Ordering::Relaxed) {
            return Err(LoadError::TooLarge { location: shown });
        }
        prepare(content, shown).await
    }

    fn settle(
        &mut self,
        wanted: &Wanted,
        arrival: Result<Arrival, LoadError>,
    ) -> Vec<(usize, Reference)> {
        let hash = arrival.as_ref().ok().map(|arrival| arrival.hash);
        self.documents.others.push((wanted.location.clone(), hash));
        match arrival {
            Err(error) => {
                let reason = format!("leads nowhere: {error}");
                self.warn(wanted.asked_by, &wanted.reference, reason);
                Vec::new()
            }
            Ok(arrival) => {
                let index = self.documents.list.len();
                self.by_location
                    .insert(arrival.location.clone(), Some(index));
                self.by_location
                    .insert(wanted.location.clone(), Some(index));
                let references = self.admit(arrival);
                self.link(wanted);
                references
            }
        }
    }

    fn link(&mut self, wanted: &Wanted) {
        if let Some(Some(index)) = self.by_location.get(&wanted.location) {
            let links = &mut self.documents.list[wanted.asked_by].links;
            links.insert(wanted.reference.document.clone(), *index);
        }
    }

    fn warn(&mut self, index: usize, reference: &Reference, reason: String) {
        let place = format!("{}#{}", self.documents.list[index].shown, reference.pointer);
        self.documents.warnings.push(Warning { place, reason });
    }
}

/// Parses a document where it holds up nobody.
async fn prepare(content: fetch::Content, shown: String) -> Result<Arrival, LoadError> {
    let location = shown.clone();
    let work = tokio::task::spawn_blocking(move || read(&content, &shown));
    work.await.unwrap_or(Err(LoadError::Fault { location }))
}

fn read(content: &fetch::Content, shown: &str) -> Result<Arrival, LoadError> {
    let Parsed { mut root, remarks } = if content.location.is_prose() {
        parse::prose(&content.bytes)
    } else {
        parse::parse(&content.bytes, shown)?
    };
    let scan = scan(&mut root);
    let hash = blake3::hash(&content.bytes);
    Ok(Arrival {
        location: content.location.clone(),
        root,
        scan,
        remarks,
        hash,
    })
}
