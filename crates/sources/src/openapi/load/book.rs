//! `Book`: the documents of one source, open for reading: references followed, warnings taken down.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use percent_encoding::percent_decode_str;
use toolscript_catalog::{
    Node, Warning,
    schema::{Resolver, Target},
};

use super::{documents::Documents, scan::escape, view::View};

/// How many references one pointer may lead through.
const MOST_DETOURS: usize = 16;
/// The longest suggestion for a type's name, so that a number still fits behind it.
const LONGEST_NAME: usize = 90;
/// How many warnings are kept.
const MOST_WARNINGS: usize = 20_000;

/// The documents of one source, open for reading.
#[derive(Debug)]
pub(super) struct Book<'d> {
    documents: &'d Documents,
    /// What each reference led to, per document: looking through a thousand schemas once is enough.
    found: RefCell<HashMap<usize, Answers<'d>>>,
    warnings: RefCell<Warnings>,
}

/// What the references of one document led to, by their text.
type Answers<'d> = HashMap<Box<str>, Option<Found<'d>>>;

/// Where a reference led.
#[derive(Debug, Clone)]
pub(super) struct Found<'d> {
    pub(super) scope: usize,
    pub(super) node: &'d Node,
    pub(super) pointer: String,
}

#[derive(Debug, Default)]
struct Warnings {
    list: Vec<Warning>,
    seen: HashSet<(String, String)>,
}

impl<'d> Book<'d> {
    /// Opens documents.
    pub(super) fn new(documents: &'d Documents) -> Self {
        Self {
            documents,
            found: RefCell::default(),
            warnings: RefCell::default(),
        }
    }

    /// The root of the root document.
    pub(super) fn root(&'d self) -> View<'d> {
        View::new(self, 0, &self.documents.get(0).root)
    }

    /// Takes down what was skipped or bent.
    pub(super) fn warn(&self, place: String, reason: String) {
        let mut warnings = self.warnings.borrow_mut();
        if warnings.list.len() < MOST_WARNINGS
            && warnings.seen.insert((place.clone(), reason.clone()))
        {
            warnings.list.push(Warning { place, reason });
        }
    }

    /// Hands over everything that was taken down.
    pub(super) fn take_warnings(&self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings.borrow_mut().list)
    }

    /// A place as it is shown: the file and a pointer into it.
    pub(super) fn place(&self, scope: usize, pointer: &str) -> String {
        format!("{}#{pointer}", self.documents.get(scope).shown)
    }

    /// What a reference leads to.
    pub(super) fn find(&self, scope: usize, reference: &str) -> Option<Found<'d>> {
        if let Some(known) = self
            .found
            .borrow()
            .get(&scope)
            .and_then(|known| known.get(reference))
        {
            return known.clone();
        }
        let found = self.look(scope, reference, 0);
        let mut memory = self.found.borrow_mut();
        memory
            .entry(scope)
            .or_default()
            .insert(reference.into(), found.clone());
        found
    }

    fn look(&self, scope: usize, reference: &str, detours: usize) -> Option<Found<'d>> {
        if MOST_DETOURS < detours {
            return None;
        }
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let Some((target, base)) = self.documents.target(scope, document) else {
            return self.named(scope, reference, detours);
        };
        let found = self.fragment(target, base, fragment, detours);
        // A piece of a document split over files often points at the whole it was cut from.
        let in_whole = || {
            (target != 0 && document.is_empty()).then(|| self.fragment(0, "", fragment, detours))?
        };
        found.or_else(in_whole)
    }

    fn fragment(
        &self,
        scope: usize,
        base: &str,
        fragment: &str,
        detours: usize,
    ) -> Option<Found<'d>> {
        if fragment.is_empty() {
            return self.walk(scope, base, detours);
        }
        if let Some(pointer) = self.documents.get(scope).anchor(fragment) {
            return self.walk(scope, pointer, detours);
        }
        let slash = if fragment.starts_with('/') { "" } else { "/" };
        let decoded = percent_decode_str(fragment).decode_utf8_lossy();
        self.walk(scope, &format!("{base}{slash}{decoded}"), detours)
            .or_else(|| self.walk(scope, &format!("{base}{slash}{fragment}"), detours))
    }

    /// A bare name, as discriminators and sloppy documents write it.
    fn named(&self, scope: usize, name: &str, detours: usize) -> Option<Found<'d>> {
        if name.contains(['/', '#', '.']) {
            return None;
        }
        let homes = ["/components/schemas", "/definitions"];
        let pointers = homes.map(|home| format!("{home}/{}", escape(name)));
        let mut found = pointers
            .iter()
            .filter_map(|pointer| self.walk(scope, pointer, detours));
        found.next().or_else(|| {
            pointers
                .iter()
                .find_map(|pointer| self.walk(0, pointer, detours))
        })
    }

    /// Goes down a pointer, through references that stand in its way.
    fn walk(&self, scope: usize, pointer: &str, detours: usize) -> Option<Found<'d>> {
        let documents = self.documents;
        let mut at = Found {
            scope,
            node: &documents.get(scope).root,
            pointer: String::new(),
        };
        for token in pointer.split('/').skip(1) {
            let key = token.replace("~1", "/").replace("~0", "~");
            if step(at.node, &key).is_none()
                && let Some(reference) = at.node.text("$ref")
            {
                at = self.look(at.scope, reference, detours + 1)?;
            }
            at.node = step(at.node, &key)?;
            at.pointer.push('/');
            at.pointer.push_str(token);
        }
        Some(at)
    }

    /// What a type that stands there might be called.
    fn type_name(&self, found: &Found<'_>) -> String {
        let tokens: Vec<String> = found
            .pointer
            .split('/')
            .skip(1)
            .map(|token| token.replace("~1", "/").replace("~0", "~"))
            .collect();
        let Some(last) = tokens.last() else {
            return self.documents.get(found.scope).location.stem();
        };
        let is_home =
            |token: &String| matches!(token.as_str(), "schemas" | "definitions" | "$defs");
        let below = match tokens.iter().rposition(is_home) {
            Some(home) if home + 1 < tokens.len() => &tokens[home + 1..],
            _ if tokens[0] == "paths" => &tokens[1..],
            _ => return last.clone(),
        };
        let telling: Vec<&str> = below
            .iter()
            .map(String::as_str)
            .filter(|token| !says_nothing(token))
            .collect();
        telling.join("_").trim_matches(['/', '_']).to_owned()
    }
}

impl Resolver for Book<'_> {
    fn resolve<'a>(&'a self, scope: usize, reference: &str) -> Option<Target<'a>> {
        let found = self.find(scope, reference)?;
        Some(Target {
            scope: found.scope,
            node: found.node,
            key: self.place(found.scope, &found.pointer),
            name: self.type_name(&found).chars().take(LONGEST_NAME).collect(),
        })
    }
}

fn step<'d>(node: &'d Node, key: &str) -> Option<&'d Node> {
    match node {
        Node::Array(items) => items.get(key.parse::<usize>().ok()?),
        _ => node.get(key),
    }
}

/// Words of the specification inside a pointer, which name nothing.
fn says_nothing(token: &str) -> bool {
    let structure = [
        "additionalProperties",
        "allOf",
        "anyOf",
        "application/json",
        "content",
        "items",
        "oneOf",
        "parameters",
        "properties",
        "requestBody",
        "responses",
        "schema",
    ];
    structure.contains(&token)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = r##"{
        "openapi": "3.0.0",
        "paths": {"/a/{b}": {"get": {"responses": {"200": {"schema": {"type": "integer"}}}}}},
        "components": {"schemas": {
            "Pet": {"properties": {"owner": {"$ref": "#/components/schemas/Owner"}}},
            "Owner": {"properties": {"name": {"type": "string"}}},
            "Tree": {"$anchor": "tree", "$id": "https://x.com/tree"},
            "Odd Name": {"type": "number"},
            "Loop": {"$ref": "#/components/schemas/Loop/x"}
        }}
    }"##;

    #[track_caller]
    fn leads(scope: usize, reference: &str, place: &str, name: &str) {
        let documents = Documents::of(&[
            ("api.yaml", ROOT),
            (
                "models/pet.yaml",
                r##"{"type": "object", "a": {"$ref": "#/components/schemas/Pet"}}"##,
            ),
        ]);
        let book = Book::new(&documents);
        let target = book
            .resolve(scope, reference)
            .map(|target| (target.key, target.name));
        let wanted = (!place.is_empty()).then(|| (place.to_owned(), name.to_owned()));
        assert_eq!(target, wanted, "{reference}");
    }

    #[test]
    fn references_in_every_spelling() {
        leads(
            0,
            "#/components/schemas/Pet",
            "api.yaml#/components/schemas/Pet",
            "Pet",
        );
        leads(
            0,
            "#components/schemas/Pet",
            "api.yaml#/components/schemas/Pet",
            "Pet",
        );
        leads(0, "Pet", "api.yaml#/components/schemas/Pet", "Pet");
        leads(
            0,
            "#/components/schemas/Odd%20Name",
            "api.yaml#/components/schemas/Odd Name",
            "Odd Name",
        );
        leads(0, "#tree", "api.yaml#/components/schemas/Tree", "Tree");
        leads(
            0,
            "https://x.com/tree",
            "api.yaml#/components/schemas/Tree",
            "Tree",
        );
        leads(
            0,
            "#/paths/~1a~1%7Bb%7D/get/responses/200/schema",
            "api.yaml#/paths/~1a~1{b}/get/responses/200/schema",
            "a/{b}_get_200",
        );
    }

    #[test]
    fn references_lead_through_references() {
        leads(
            0,
            "#/components/schemas/Pet/properties/owner/properties/name",
            "api.yaml#/components/schemas/Owner/properties/name",
            "Owner_name",
        );
    }

    #[test]
    fn a_piece_may_point_at_the_whole() {
        leads(
            1,
            "#/components/schemas/Pet",
            "api.yaml#/components/schemas/Pet",
            "Pet",
        );
        leads(1, "#", "models/pet.yaml#", "pet");
    }

    #[test]
    fn nowhere_is_nowhere() {
        leads(0, "#/components/schemas/None", "", "");
        leads(0, "none.yaml#/x", "", "");
        leads(0, "#/components/schemas/Loop/x/y", "", "");
    }
}
