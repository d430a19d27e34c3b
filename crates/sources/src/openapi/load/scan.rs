//! One walk over a parsed document: which other documents it needs, which anchors it sets,
//! which keys stand there twice.

use std::collections::HashSet;

use toolscript_catalog::Node;

/// What a walk over a document found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The documents it refers to, each once, in the order of the document.
    pub(super) references: Vec<Reference>,
    /// `$anchor`s and the pointers they stand at.
    pub(super) anchors: Vec<(String, String)>,
    /// Absolute `$id`s and the pointers they stand at.
    pub(super) ids: Vec<(String, String)>,
    /// Pointers to keys that were there more than once.
    pub(super) duplicates: Vec<String>,
}

/// A need for another document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reference {
    /// The reference without its fragment.
    pub(super) document: String,
    /// Where it stands.
    pub(super) pointer: String,
}

/// Walks over a document and removes all but the last of keys that are there twice.
pub(super) fn scan(root: &mut Node) -> Scan {
    let mut walk = Walk {
        scan: Scan::default(),
        path: Vec::new(),
        seen: HashSet::new(),
    };
    let is_map_of_names = !FAMILIAR.iter().any(|key| root.get(key).is_some());
    walk.node(root, is_map_of_names);
    let scan = walk.scan;
    if !scan.duplicates.is_empty() {
        keep_last(root);
    }
    scan
}

/// Keys under which every further key is a name somebody chose.
const NAMES_BELOW: &[&str] = &[
    "$defs",
    "callbacks",
    "content",
    "definitions",
    "dependentSchemas",
    "encoding",
    "examples",
    "headers",
    "links",
    "mediaTypes",
    "parameters",
    "pathItems",
    "paths",
    "patternProperties",
    "properties",
    "requestBodies",
    "responses",
    "schemas",
    "securityDefinitions",
    "securitySchemes",
    "variables",
];

/// Keys under which everything is data, however much it looks like a reference.
const DATA: &[&str] = &["const", "dataValue", "default", "enum", "example", "value"];

/// Keys that show a document to be an object of the specification rather than a collection of them.
const FAMILIAR: &[&str] = &[
    "$ref",
    "allOf",
    "anyOf",
    "content",
    "delete",
    "get",
    "in",
    "oneOf",
    "openapi",
    "operationId",
    "patch",
    "post",
    "properties",
    "put",
    "responses",
    "schema",
    "swagger",
    "type",
];

struct Walk<'a> {
    scan: Scan,
    path: Vec<Step<'a>>,
    seen: HashSet<&'a str>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> Walk<'a> {
    /// `names` says whether the keys of this object are names somebody chose.
    fn node(&mut self, node: &'a Node, names: bool) {
        match node {
            Node::Object(entries) => {
                self.duplicates(entries);
                self.reference(node);
                if !names {
                    self.marks(node);
                }
                for (key, value) in entries {
                    if !names && is_data(key, value) {
                        continue;
                    }
                    self.path.push(Step::Key(key));
                    self.node(value, !names && NAMES_BELOW.contains(&&**key));
                    self.path.pop();
                }
            }
            Node::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.path.push(Step::Index(index));
                    self.node(item, false);
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    /// Takes down which document an object refers to.
    fn reference(&mut self, node: &'a Node) {
        let document = node
            .text("$ref")
            .and_then(|reference| reference.split('#').next())
            .unwrap_or_default();
        if !document.is_empty() && self.seen.insert(document) {
            let pointer = self.pointer();
            self.scan.references.push(Reference {
                document: document.to_owned(),
                pointer,
            });
        }
    }

    /// Takes down the names other places may refer to an object by.
    fn marks(&mut self, node: &'a Node) {
        for key in ["$anchor", "$dynamicAnchor"] {
            if let Some(anchor) = node.text(key) {
                self.scan.anchors.push((anchor.to_owned(), self.pointer()));
            }
        }
        if let Some(id) = node.text("$id").or_else(|| node.text("$self"))
            && id.contains("://")
        {
            let id = id.trim_end_matches('#').to_owned();
            self.scan.ids.push((id, self.pointer()));
        }
    }

    fn duplicates(&mut self, entries: &'a [(Box<str>, Node)]) {
        const FEW: usize = 12;
        if FEW < entries.len() {
            let mut keys: HashSet<&str> = HashSet::with_capacity(entries.len());
            for (key, _) in entries {
                if !keys.insert(key) {
                    self.duplicate(key);
                }
            }
            return;
        }
        for (at, (key, _)) in entries.iter().enumerate() {
            if entries[..at].iter().any(|(other, _)| other == key) {
                self.duplicate(key);
            }
        }
    }

    fn duplicate(&mut self, key: &str) {
        self.scan
            .duplicates
            .push(format!("{}/{}", self.pointer(), escape(key)));
    }

    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.path {
            pointer.push('/');
            match step {
                Step::Key(key) => pointer.push_str(&escape(key)),
                Step::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }
}

fn is_data(key: &str, value: &Node) -> bool {
    key.starts_with("x-")
        || DATA.contains(&key)
        || (key == "examples" && value.as_array().is_some())
}

/// A key as it stands in a JSON pointer.
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn keep_last(node: &mut Node) {
    match node {
        Node::Object(entries) => {
            let mut seen: HashSet<Box<str>> = HashSet::with_capacity(entries.len());
            let mut kept: Vec<(Box<str>, Node)> = Vec::with_capacity(entries.len());
            for (key, mut value) in std::mem::take(entries).into_vec().into_iter().rev() {
                if seen.insert(key.clone()) {
                    keep_last(&mut value);
                    kept.push((key, value));
                }
            }
            kept.reverse();
            *entries = kept.into();
        }
        Node::Array(items) => items.iter_mut().for_each(keep_last),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(json: &str) -> (Node, Scan) {
        let mut root: Node = serde_json::from_str(json).unwrap();
        let scan = scan(&mut root);
        (root, scan)
    }

    #[track_caller]
    fn needs(json: &str, documents: &[&str]) {
        let (_, scan) = scanned(json);
        let found: Vec<&str> = scan
            .references
            .iter()
            .map(|reference| reference.document.as_str())
            .collect();
        assert_eq!(found, documents, "{json}");
    }

    #[test]
    fn references_to_other_documents_are_found_once() {
        needs(
            r##"{"get": {"a": {"$ref": "#/b"}, "b": {"$ref": "x.yaml#/c"}, "c": {"$ref": "x.yaml"}}}"##,
            &["x.yaml"],
        );
        needs(
            r#"{"properties": {"$ref": {"type": "string"}, "x-id": {"$ref": "x.yaml"}}}"#,
            &["x.yaml"],
        );
        needs(
            r#"{"responses": {"default": {"$ref": "x.yaml"}}}"#,
            &["x.yaml"],
        );
        needs(
            r#"{"x-rate-limit": {"$ref": "x.yaml"}, "other": {"$ref": "y.yaml"}}"#,
            &["x.yaml", "y.yaml"],
        );
    }

    #[test]
    fn data_holds_no_references() {
        needs(
            r#"{"get": {"x-samples": [{"$ref": "a"}]}, "type": "object", "example": {"$ref": "b"}}"#,
            &[],
        );
        needs(
            r#"{"schema": {"default": {"$ref": "a"}, "examples": [{"$ref": "b"}], "enum": [{"$ref": "c"}]}}"#,
            &[],
        );
        needs(
            r#"{"content": {"a/b": {"examples": {"one": {"$ref": "a.yaml"}}}}}"#,
            &["a.yaml"],
        );
    }

    #[test]
    fn places_are_pointers() {
        let (_, scan) = scanned(r#"{"paths": {"/a/{b}": {"$ref": "x.yaml"}}, "openapi": "3.0.0"}"#);
        assert_eq!(scan.references[0].pointer, "/paths/~1a~1{b}");
    }

    #[test]
    fn anchors_and_ids_are_found() {
        let (_, scan) = scanned(
            r#"{"type": "a", "$defs": {"A": {"$anchor": "here", "$id": "https://x.com/a"}}}"#,
        );
        assert_eq!(scan.anchors, [("here".to_owned(), "/$defs/A".to_owned())]);
        assert_eq!(
            scan.ids,
            [("https://x.com/a".to_owned(), "/$defs/A".to_owned())]
        );
    }

    #[test]
    fn the_last_of_equal_keys_stays() {
        let (root, scan) = scanned(r#"{"a": {"b": 1, "c": 2, "b": 3}}"#);
        assert_eq!(scan.duplicates, ["/a/b"]);
        assert_eq!(root.to_value(), serde_json::json!({"a": {"c": 2, "b": 3}}));
    }
}
