//! `View`: a place in a document, read tolerantly, with references followed on the way.

use toolscript_catalog::Node;

use super::{book::Book, scan::escape, text, version::scalar_text};

/// How many references may follow one another.
const LONGEST_CHAIN: usize = 32;

/// A place in a document.
#[derive(Debug, Clone)]
pub(super) struct View<'b> {
    book: &'b Book<'b>,
    pub(super) scope: usize,
    pub(super) node: &'b Node,
    pointer: String,
    /// The node that referred here; its own words win over the target's.
    referrer: Option<&'b Node>,
}

impl<'b> View<'b> {
    /// The root of a document.
    pub(super) fn new(book: &'b Book<'b>, scope: usize, node: &'b Node) -> Self {
        Self {
            book,
            scope,
            node,
            pointer: String::new(),
            referrer: None,
        }
    }

    /// Where this is: the file and the pointer into it.
    pub(super) fn place(&self) -> String {
        self.book.place(self.scope, &self.pointer)
    }

    /// Takes down that something here was skipped or bent.
    pub(super) fn warn(&self, reason: impl Into<String>) {
        self.book.warn(self.place(), reason.into());
    }

    /// What stands under a key, as it is written: the way to a schema.
    pub(super) fn raw(&self, key: &str) -> Option<View<'b>> {
        let node = self.node.get(key).filter(|node| **node != Node::Null)?;
        Some(self.child(key, node))
    }

    /// What stands under a key, references followed.
    pub(super) fn get(&self, key: &str) -> Option<View<'b>> {
        self.raw(key)?.followed()
    }

    /// The entries of the object under a key, references followed; those that lead nowhere are left out.
    pub(super) fn entries(&self, key: &str) -> Vec<(&'b str, View<'b>)> {
        self.get(key)
            .map(|view| view.children())
            .unwrap_or_default()
    }

    /// The entries of this object, references followed; extensions are left out.
    pub(super) fn children(&self) -> Vec<(&'b str, View<'b>)> {
        let entries = self
            .node
            .entries()
            .iter()
            .filter(|(key, _)| !key.starts_with("x-"));
        let followed =
            entries.filter_map(|(key, node)| Some((&**key, self.child(key, node).followed()?)));
        followed.collect()
    }

    /// The items of the list under a key, references followed.
    pub(super) fn items(&self, key: &str) -> Vec<View<'b>> {
        let Some(list) = self.get(key) else {
            return Vec::new();
        };
        let items = list.node.as_array().unwrap_or_default().iter().enumerate();
        items
            .filter_map(|(index, node)| list.child(&index.to_string(), node).followed())
            .collect()
    }

    /// The scalars of the list under a key, as text; a lone scalar counts as a list of one.
    pub(super) fn texts(&self, key: &str) -> Vec<String> {
        match self.get(key).map(|view| view.node) {
            Some(Node::Array(items)) => items.iter().filter_map(scalar_text).collect(),
            Some(scalar) => scalar_text(scalar).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// A short text exactly as written, such as a name; numbers count as text.
    pub(super) fn word(&self, key: &str) -> Option<String> {
        scalar_text(self.get(key)?.node).filter(|word| !word.is_empty())
    }

    /// A text for people, cleaned; empty where there is none.
    pub(super) fn text(&self, key: &str) -> String {
        let own = self.referrer.and_then(|node| node.text(key));
        match own {
            Some(own) => text::clean(own),
            None => self
                .get(key)
                .and_then(|view| scalar_text(view.node))
                .map(|own| text::clean(&own))
                .unwrap_or_default(),
        }
    }

    /// Whether the key holds `true`.
    pub(super) fn flag(&self, key: &str) -> bool {
        self.node.flag(key)
    }

    /// Whether the key is there at all.
    pub(super) fn has(&self, key: &str) -> bool {
        self.node.get(key).is_some()
    }

    /// This place, or the one its reference leads to; `None`, with a warning, where it leads nowhere.
    pub(super) fn followed(self) -> Option<View<'b>> {
        let mut view = self;
        for _ in 0..LONGEST_CHAIN {
            let Some(reference) = view.node.text("$ref") else {
                return Some(view);
            };
            let Some(found) = view.book.find(view.scope, reference) else {
                view.warn(format!("`{reference}` leads nowhere; this is left out"));
                return None;
            };
            view = View {
                book: view.book,
                scope: found.scope,
                node: found.node,
                pointer: found.pointer,
                referrer: view.referrer.or(Some(view.node)),
            };
        }
        view.warn("the references here lead in a circle; this is left out");
        None
    }

    /// A node that stands below this one under a key.
    pub(super) fn child(&self, key: &str, node: &'b Node) -> View<'b> {
        let pointer = format!("{}/{}", self.pointer, escape(key));
        View {
            book: self.book,
            scope: self.scope,
            node,
            pointer,
            referrer: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::documents::Documents;
    use super::*;

    const DOCUMENT: &str = r##"{
        "paths": {"/a": {"parameters": [{"$ref": "#/p/one", "description": "mine"}, {"$ref": "#/p/none"}]}},
        "p": {"one": {"name": "one", "description": "theirs", "deep": 7}, "ring": {"$ref": "#/p/ring"}},
        "bad": {"$ref": "#/p/ring"},
        "type": "x"
    }"##;

    #[test]
    fn references_are_followed_and_told_where_they_break() {
        let documents = Documents::of(&[("api.yaml", DOCUMENT)]);
        let book = Book::new(&documents);
        let root = book.root();
        let item = root.get("paths").unwrap().get("/a").unwrap();
        let parameters = item.items("parameters");
        assert_eq!(parameters.len(), 1);
        assert_eq!(parameters[0].place(), "api.yaml#/p/one");
        assert_eq!(parameters[0].text("description"), "mine");
        assert_eq!(parameters[0].word("name").as_deref(), Some("one"));
        assert_eq!(parameters[0].word("deep").as_deref(), Some("7"));
        assert!(root.get("bad").is_none());
        let warnings = book.take_warnings();
        assert_eq!(warnings[0].place, "api.yaml#/paths/~1a/parameters/1");
        assert_eq!(
            warnings[0].reason,
            "`#/p/none` leads nowhere; this is left out"
        );
        assert!(warnings[1].reason.contains("circle"), "{warnings:?}");
    }
}
