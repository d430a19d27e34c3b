//! YAML text to [`Node`], event by event, under budgets of nodes, copies and depth.
//!
//! Scalars follow the core schema of YAML 1.2, with one exception: a number that
//! starts with a superfluous zero (`01234`) is a code somebody forgot to quote, and stays text.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use serde_json::Number;
use toolscript_catalog::Node;
use yaml_rust2::{
    parser::{Event, Parser, Tag},
    scanner::{Marker, ScanError, TScalarStyle},
};

use super::repair;

/// How deep a document may nest; the same as that of `serde_json`.
pub(super) const DEEPEST: usize = 128;
/// How many values a document may hold.
const MOST_NODES: usize = 5_000_000;
/// How many of these may be copies made by anchors and aliases.
const MOST_COPIES: usize = 500_000;

/// How many times a text is repaired and read again.
const MOST_REPAIRS: usize = 100;
/// How many bytes may be read again in all.
const MOST_REPAIR_WORK: usize = 256 << 20;

/// Why a YAML text gives no document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum YamlError {
    #[error("line {line}, column {column}: {problem}")]
    Syntax {
        line: usize,
        column: usize,
        problem: String,
    },
    #[error("line {line}: more than {DEEPEST} levels deep")]
    TooDeep { line: usize },
    #[error("line {line}: aliases repeat more than {MOST_COPIES} values")]
    TooManyCopies { line: usize },
    #[error("line {line}: more than {MOST_NODES} values")]
    TooManyNodes { line: usize },
}

/// Reads the first document of a YAML text.
pub(super) fn parse(text: &str) -> Result<Node, YamlError> {
    let mut text = Cow::Borrowed(text);
    let most_repairs = MOST_REPAIRS.min(MOST_REPAIR_WORK / text.len().max(1));
    for _ in 0..most_repairs {
        match parse_strictly(&text) {
            Err(Failure::Scan(error)) => match repair::indentation(&text, &error) {
                Some(better) => text = better.into(),
                None => return Err(syntax(&text, &error)),
            },
            Err(Failure::Build(error)) => return Err(error),
            Ok(node) => return Ok(node),
        }
    }
    parse_strictly(&text).map_err(|failure| match failure {
        Failure::Scan(error) => syntax(&text, &error),
        Failure::Build(error) => error,
    })
}

/// Why a text could not be read as it is.
enum Failure {
    Scan(ScanError),
    Build(YamlError),
}

fn parse_strictly(text: &str) -> Result<Node, Failure> {
    let mut parser = Parser::new_from_str(text);
    let mut builder = Builder::default();
    loop {
        let (event, mark) = parser.next_token().map_err(Failure::Scan)?;
        match event {
            Event::DocumentEnd | Event::StreamEnd => break,
            event => builder.take(event, mark).map_err(Failure::Build)?,
        }
    }
    Ok(builder.root.unwrap_or_default())
}

fn syntax(text: &str, error: &ScanError) -> YamlError {
    let mark = error.marker();
    // The scanner counts flow levels in a byte and looks ahead, so it meets
    // absurd depth before the builder does.
    if DEEPEST < flow_depth(text, mark.index()) {
        return YamlError::TooDeep { line: mark.line() };
    }
    let problem = error.info().to_owned();
    YamlError::Syntax {
        line: mark.line(),
        column: mark.col() + 1,
        problem,
    }
}

/// How many brackets are open at a character of the text.
fn flow_depth(text: &str, end: usize) -> usize {
    text.chars()
        .take(end)
        .fold(0, |depth: usize, letter| match letter {
            '[' | '{' => depth + 1,
            ']' | '}' => depth.saturating_sub(1),
            _ => depth,
        })
}

/// The document under construction.
#[derive(Default)]
struct Builder {
    root: Option<Node>,
    open: Vec<Frame>,
    anchors: HashMap<usize, Anchor>,
    nodes: usize,
    copies: usize,
}

/// A list or mapping whose end has not come yet.
struct Frame {
    content: Content,
    anchor: usize,
    /// The node count when it began, so that its size is known at its end.
    began: usize,
}

enum Content {
    List(Vec<Node>),
    Mapping {
        entries: Vec<(Box<str>, Node)>,
        key: Option<Key>,
        merges: Vec<Node>,
    },
}

/// The left side of an entry whose value has not come yet.
enum Key {
    Name(Box<str>),
    /// An unquoted `<<`.
    Merge,
}

/// What an alias stands for.
struct Anchor {
    /// `None` where it was too large to keep a copy of.
    node: Option<Node>,
    size: usize,
}

impl Builder {
    fn take(&mut self, event: Event, mark: Marker) -> Result<(), YamlError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.count(1, mark)?;
                if self.expects_key() {
                    let plain = style == TScalarStyle::Plain;
                    self.keep(anchor, 1, || Node::String(text.as_str().into()));
                    self.set_key(if plain && text == "<<" {
                        Key::Merge
                    } else {
                        Key::Name(text.into())
                    });
                    return Ok(());
                }
                let node = if self.is_version() {
                    Node::String(text.into())
                } else {
                    scalar(text, style, tag.as_ref())
                };
                self.keep(anchor, 1, || node.clone());
                self.add(node);
            }
            Event::SequenceStart(anchor, _) => {
                self.begin(Content::List(Vec::new()), anchor, mark)?;
            }
            Event::MappingStart(anchor, _) => {
                let content = Content::Mapping {
                    entries: Vec::new(),
                    key: None,
                    merges: Vec::new(),
                };
                self.begin(content, anchor, mark)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.alias(anchor, mark)?,
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, content: Content, anchor: usize, mark: Marker) -> Result<(), YamlError> {
        if DEEPEST <= self.open.len() {
            return Err(YamlError::TooDeep { line: mark.line() });
        }
        let began = self.nodes;
        self.count(1, mark)?;
        self.open.push(Frame {
            content,
            anchor,
            began,
        });
        Ok(())
    }

    fn end(&mut self) {
        let Some(frame) = self.open.pop() else { return };
        let size = self.nodes - frame.began;
        let node = match frame.content {
            Content::List(items) => Node::Array(items.into()),
            Content::Mapping {
                entries, merges, ..
            } => Node::Object(merge(entries, merges).into()),
        };
        self.keep(frame.anchor, size, || node.clone());
        self.add(node);
    }

    fn alias(&mut self, anchor: usize, mark: Marker) -> Result<(), YamlError> {
        let Some(known) = self.anchors.get(&anchor) else {
            let problem = "an alias stands inside its own anchor".to_owned();
            return Err(YamlError::Syntax {
                line: mark.line(),
                column: mark.col() + 1,
                problem,
            });
        };
        self.copies += known.size;
        let node = match &known.node {
            Some(node) if self.copies <= MOST_COPIES => node.clone(),
            _ => return Err(YamlError::TooManyCopies { line: mark.line() }),
        };
        self.count(known.size, mark)?;
        self.add(node);
        Ok(())
    }

    /// Remembers an anchored value. One that is too large is only missed if an alias asks for it.
    fn keep(&mut self, anchor: usize, size: usize, node: impl Fn() -> Node) {
        if anchor == 0 {
            return;
        }
        let fits = self.copies + size <= MOST_COPIES;
        self.copies += if fits { size } else { 0 };
        self.anchors.insert(
            anchor,
            Anchor {
                node: fits.then(node),
                size,
            },
        );
    }

    fn count(&mut self, nodes: usize, mark: Marker) -> Result<(), YamlError> {
        self.nodes += nodes;
        if MOST_NODES < self.nodes {
            return Err(YamlError::TooManyNodes { line: mark.line() });
        }
        Ok(())
    }

    fn add(&mut self, node: Node) {
        match self.open.last_mut().map(|frame| &mut frame.content) {
            None => self.root = Some(node),
            Some(Content::List(items)) => items.push(node),
            Some(Content::Mapping {
                entries,
                key,
                merges,
            }) => match key.take() {
                Some(Key::Name(name)) => entries.push((name, node)),
                Some(Key::Merge) => merges.push(node),
                // A list or mapping as a key, as in `{{template}}`: keep its text.
                None => *key = Some(Key::Name(key_text(&node))),
            },
        }
    }

    fn expects_key(&self) -> bool {
        let content = self.open.last().map(|frame| &frame.content);
        matches!(content, Some(Content::Mapping { key: None, .. }))
    }

    fn set_key(&mut self, name: Key) {
        if let Some(Content::Mapping { key, .. }) =
            self.open.last_mut().map(|frame| &mut frame.content)
        {
            *key = Some(name);
        }
    }

    /// Whether the next value is a version, which reads like a number and is none: `1.10`.
    fn is_version(&self) -> bool {
        let Some(Content::Mapping {
            key: Some(Key::Name(name)),
            ..
        }) = self.open.last().map(|frame| &frame.content)
        else {
            return false;
        };
        match self.open.len() {
            1 => matches!(&**name, "openapi" | "swagger"),
            2 => &**name == "version",
            _ => false,
        }
    }
}

fn key_text(node: &Node) -> Box<str> {
    match node {
        Node::String(text) => text.clone(),
        other => other.to_value().to_string().into(),
    }
}

/// Adds what `<<` brings along; what is already there stays.
fn merge(mut entries: Vec<(Box<str>, Node)>, merges: Vec<Node>) -> Vec<(Box<str>, Node)> {
    if merges.is_empty() {
        return entries;
    }
    let mut known: HashSet<Box<str>> = entries.iter().map(|(name, _)| name.clone()).collect();
    let mut pending: Vec<Node> = merges.into_iter().rev().collect();
    while let Some(node) = pending.pop() {
        match node {
            Node::Array(items) => pending.extend(items.into_vec().into_iter().rev()),
            Node::Object(others) => {
                let new = others
                    .into_vec()
                    .into_iter()
                    .filter(|(name, _)| known.insert(name.clone()));
                entries.extend(new);
            }
            _ => {}
        }
    }
    entries
}

fn scalar(text: String, style: TScalarStyle, tag: Option<&Tag>) -> Node {
    let is_text = tag.is_some_and(|tag| tag.suffix == "str");
    if style != TScalarStyle::Plain || is_text {
        return Node::String(text.into());
    }
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Node::Null,
        "true" | "True" | "TRUE" => Node::Bool(true),
        "false" | "False" | "FALSE" => Node::Bool(false),
        plain => number(plain).map_or_else(|| Node::String(plain.into()), Node::Number),
    }
}

/// The number a plain scalar stands for, if it does.
fn number(text: &str) -> Option<Number> {
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let bytes = unsigned.as_bytes();
    let starts_well = matches!(bytes, [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..]);
    let superfluous_zero = matches!(bytes, [b'0', b'0'..=b'9', ..]);
    let allowed =
        |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    if !starts_well || superfluous_zero || !bytes.iter().all(allowed) {
        return None;
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    if let Ok(whole) = text.parse::<u64>() {
        return Some(whole.into());
    }
    // Whole numbers beyond 64 bits end up here too.
    Number::from_f64(text.parse::<f64>().ok()?)
}

fn radix(digits: &str, radix: u32) -> Option<Number> {
    let valid = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    valid
        .then(|| u64::from_str_radix(digits, radix).ok())?
        .map(Number::from)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(yaml: &str, value: impl Into<Value>) {
        assert_eq!(parse(yaml).unwrap().to_value(), value.into(), "{yaml}");
    }

    #[track_caller]
    fn stays_text(scalar: &str) {
        check(&format!("a: {scalar}"), json!({ "a": scalar }));
    }

    #[test]
    fn scalars_of_the_core_schema() {
        check("[1, -2, +3, 0x1F, 0o17]", json!([1, -2, 3, 31, 15]));
        check("[1.5, .5, 1e3, -0.25]", json!([1.5, 0.5, 1000.0, -0.25]));
        check(
            "[true, False, null, ~, NULL]",
            json!([true, false, null, null, null]),
        );
        check("a:\nb: ''", json!({"a": null, "b": ""}));
        check("['1', \"true\", !!str 5]", json!(["1", "true", "5"]));
        check(
            "[18446744073709551615]",
            json!([18_446_744_073_709_551_615_u64]),
        );
        check(
            "[123456789012345678901234567890]",
            json!([123_456_789_012_345_678_901_234_567_890_f64]),
        );
    }

    #[test]
    fn what_only_looks_like_something_else_stays_text() {
        for scalar in [
            "Y",
            "n",
            "yes",
            "no",
            "on",
            "off",
            "1_3008",
            "01234",
            "2024-01-01",
            "12:30:45",
            "1.2.3",
            ".inf",
            ".NaN",
            "1e",
            ".",
            "+",
            "0x",
            "0xfg",
            "1-2",
        ] {
            stays_text(scalar);
        }
    }

    #[test]
    fn keys_are_text_as_written() {
        check(
            "200: a\n4XX: b\ntrue: c\n0x1: d",
            json!({"200": "a", "4XX": "b", "true": "c", "0x1": "d"}),
        );
        check("? [a, b]\n: c", json!({"[\"a\",\"b\"]": "c"}));
    }

    #[test]
    fn versions_keep_their_zeros() {
        check(
            "openapi: 3.0\ninfo:\n  version: 1.10\nx:\n  y:\n    version: 1.10",
            json!({"openapi": "3.0", "info": {"version": "1.10"}, "x": {"y": {"version": 1.1}}}),
        );
    }

    #[test]
    fn aliases_and_merge_keys() {
        check("a: &x {p: 1}\nb: *x", json!({"a": {"p": 1}, "b": {"p": 1}}));
        check(
            "base: &b {p: 1, q: 1}\nmore: &m {q: 2, r: 2}\nall:\n  <<: [*b, *m]\n  p: 0",
            json!({"base": {"p": 1, "q": 1}, "more": {"q": 2, "r": 2}, "all": {"p": 0, "q": 1, "r": 2}}),
        );
        check("'<<': 1", json!({"<<": 1}));
        check("&k key: 1\nother: *k", json!({"key": 1, "other": "key"}));
    }

    #[test]
    fn block_scalars_tabs_and_several_documents() {
        check("a: |\n  one\n  \ttwo\n", json!({"a": "one\n\ttwo\n"}));
        check("a: 1\n---\nb: 2", json!({"a": 1}));
        check("", json!(null));
        check("# nothing", json!(null));
    }

    #[test]
    fn lines_in_brackets_and_quotes_may_stand_too_far_left() {
        check(
            "a:\n  b: [\n    'x',\n  ]\n  c: 1",
            json!({"a": {"b": ["x"], "c": 1}}),
        );
        check(
            "a:\n  b: [\nx,\n{y: 1\n}\n]\n  c: 1",
            json!({"a": {"b": ["x", {"y": 1}], "c": 1}}),
        );
        check(
            "- d: 'one''s\n  two\n\n  three'\n  n: x",
            json!([{"d": "one's two\nthree", "n": "x"}]),
        );
        check(
            "- d: \"a \\\" b\n  c\"\n  n: x",
            json!([{"d": "a \" b c", "n": "x"}]),
        );
        check("a: |\n  [\n  'x\nb: 1", json!({"a": "[\n'x\n", "b": 1}));
    }

    #[test]
    fn an_alias_inside_its_own_anchor_is_an_error() {
        assert!(matches!(
            parse("a: &x [*x]"),
            Err(YamlError::Syntax { line: 1, .. })
        ));
    }

    #[test]
    fn bombs_are_refused() {
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..9 {
            let below = format!("*a{}", level - 1);
            writeln!(bomb, "a{level}: &a{level} [{}]", vec![below; 10].join(",")).unwrap();
        }
        assert!(matches!(parse(&bomb), Err(YamlError::TooManyCopies { .. })));
        for deep in ["[".repeat(20_000), "- ".repeat(200), "{a: ".repeat(300)] {
            assert!(
                matches!(parse(&deep), Err(YamlError::TooDeep { line: 1 })),
                "{}",
                &deep[..8]
            );
        }
    }

    #[test]
    fn a_large_anchor_nobody_uses_does_no_harm() {
        let list = format!("[1]{}", ", [1,1,1,1,1,1,1,1,1,1]".repeat(50_000));
        let text = format!("a: &big [{list}]\nb: 1");
        assert_eq!(
            parse(&text).unwrap().get("b"),
            Some(&Node::Number(1.into()))
        );
        assert!(matches!(
            parse(&format!("{text}\nc: *big")),
            Err(YamlError::TooManyCopies { line: 3 })
        ));
    }

    #[test]
    fn errors_have_a_line_and_a_column() {
        let error = parse("a: 1\nb: [1, 2\nc: 3\n").unwrap_err();
        assert!(
            matches!(error, YamlError::Syntax { line, .. } if 2 <= line),
            "{error:?}"
        );
    }
}
