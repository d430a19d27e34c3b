//! `Node`: a foreign JSON or YAML document as it is, read tolerantly.
//!
//! Documents are large and mostly read once, so a node is small (24 bytes), an
//! object is a list of pairs in the order of the document, and nothing is
//! rejected for a field of an odd type: asking for what is not there gives `None`.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

/// One value of a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Node {
    /// Null, or nothing.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    String(Box<str>),
    /// A list.
    Array(Box<[Node]>),
    /// Keys and values, in the order of the document.
    Object(Box<[(Box<str>, Node)]>),
}

impl Node {
    /// The value under a key of an object.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let found = self.entries().iter().find(|(name, _)| &**name == key);
        found.map(|(_, node)| node)
    }

    /// The text under a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// Whether the key holds `true`.
    pub fn flag(&self, key: &str) -> bool {
        self.get(key).and_then(Node::as_bool).unwrap_or(false)
    }

    /// The items under a key; none where it is no list.
    pub fn items(&self, key: &str) -> &[Node] {
        self.get(key).and_then(Node::as_array).unwrap_or_default()
    }

    /// The pairs of an object; none where it is no object.
    pub fn entries(&self) -> &[(Box<str>, Node)] {
        match self {
            Self::Object(entries) => entries,
            _ => &[],
        }
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The flag, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    /// The number, if it is a whole one from zero up.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn as_array(&self) -> Option<&[Node]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Whether it is an object.
    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// The node a JSON pointer (`/a/b/0`) leads to.
    pub fn pointer(&self, pointer: &str) -> Option<&Node> {
        if pointer.is_empty() {
            return Some(self);
        }
        let mut node = self;
        for token in pointer.strip_prefix('/')?.split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            node = match node {
                Self::Object(_) => node.get(&token)?,
                Self::Array(items) => items.get(token.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(node)
    }

    /// The same as a JSON value.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(flag) => Value::Bool(*flag),
            Self::Number(number) => Value::Number(number.clone()),
            Self::String(text) => Value::String(text.to_string()),
            Self::Array(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Self::Object(entries) => {
                let pair = |(key, node): &(Box<str>, Node)| (key.to_string(), node.to_value());
                Value::Object(entries.iter().map(pair).collect::<Map<_, _>>())
            }
        }
    }
}

impl From<&Value> for Node {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::String(text.as_str().into()),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(object) => {
                let pair = |(key, value): (&String, &Value)| (key.as_str().into(), value.into());
                Self::Object(object.iter().map(pair).collect())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Node, E> {
        Ok(Node::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(Number::from_f64(number).map_or(Node::Null, Node::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::String(text.into()))
    }

    fn visit_string<E>(self, text: String) -> Result<Node, E> {
        Ok(Node::String(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Node::Array(items.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Object(entries.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_what_is_there_and_nothing_else() {
        let node: Node = serde_json::from_str(r#"{"b": {"x/y": [1, "two"]}, "a": true}"#).unwrap();
        assert_eq!(
            node.pointer("/b/x~1y/1").and_then(Node::as_str),
            Some("two")
        );
        assert!(node.flag("a") && !node.flag("b"));
        assert_eq!(node.text("a"), None);
        assert_eq!(node.pointer("/b/none"), None);
        assert_eq!(
            node.to_value(),
            json!({"b": {"x/y": [1, "two"]}, "a": true})
        );
    }

    #[test]
    fn a_node_is_small() {
        assert!(size_of::<Node>() <= 24, "{}", size_of::<Node>());
    }
}
