//! Bytes to [`Node`]: what a document is written in is seen from its content, not its name.

use toolscript_catalog::Node;

use super::{
    LoadError,
    yaml::{self, DEEPEST, YamlError},
};

/// A parsed document, and what had to be bent to parse it.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) root: Node,
    /// What was not as it should be.
    pub(super) remarks: Vec<String>,
}

/// Reads JSON or YAML. `location` is for the errors.
pub(super) fn parse(bytes: &[u8], location: &str) -> Result<Parsed, LoadError> {
    let mut remarks = Vec::new();
    let text = decode(bytes, &mut remarks);
    let text = text.trim_start_matches('\u{feff}');
    let start = text.trim_start();
    if start.is_empty() {
        return Err(LoadError::Empty {
            location: location.to_owned(),
        });
    }
    if is_html(start) {
        return Err(LoadError::Html {
            location: location.to_owned(),
        });
    }
    let root = if start.starts_with(['{', '[']) {
        json_or_flow_yaml(text, location, &mut remarks)?
    } else {
        yaml::parse(text).map_err(|error| yaml_error(error, location))?
    };
    if root == Node::Null {
        return Err(LoadError::Empty {
            location: location.to_owned(),
        });
    }
    Ok(Parsed { root, remarks })
}

/// Prose that a description refers to.
pub(super) fn prose(bytes: &[u8]) -> Parsed {
    let mut remarks = Vec::new();
    let root = Node::String(
        decode(bytes, &mut remarks)
            .trim_start_matches('\u{feff}')
            .into(),
    );
    Parsed { root, remarks }
}

fn decode<'a>(bytes: &'a [u8], remarks: &mut Vec<String>) -> std::borrow::Cow<'a, str> {
    let wide = match bytes {
        [0xff, 0xfe, rest @ ..] => Some((rest, u16::from_le_bytes as fn([u8; 2]) -> u16)),
        [0xfe, 0xff, rest @ ..] => Some((rest, u16::from_be_bytes as fn([u8; 2]) -> u16)),
        _ => None,
    };
    if let Some((rest, join)) = wide {
        let units = rest.chunks_exact(2).map(|pair| join([pair[0], pair[1]]));
        let letters = char::decode_utf16(units).map(|letter| letter.unwrap_or('\u{fffd}'));
        return letters.collect::<String>().into();
    }
    let text = String::from_utf8_lossy(bytes);
    if let std::borrow::Cow::Owned(_) = text {
        remarks.push("is not valid UTF-8; the broken bytes were replaced".to_owned());
    }
    text
}

fn is_html(start: &str) -> bool {
    let head: String = start
        .chars()
        .take(512)
        .collect::<String>()
        .to_ascii_lowercase();
    head.starts_with("<!doctype html")
        || head.starts_with("<html")
        || (head.starts_with('<') && head.contains("<html"))
}

/// A document in braces: JSON, or what only a YAML parser forgives (comments, trailing commas,
/// bare keys). If neither reads it, it was meant to be JSON.
fn json_or_flow_yaml(
    text: &str,
    location: &str,
    remarks: &mut Vec<String>,
) -> Result<Node, LoadError> {
    let error = match serde_json::from_str::<Node>(text) {
        Ok(root) => return Ok(root),
        Err(error) => error,
    };
    let (line, column) = (error.line(), error.column());
    if DEEPEST <= bracket_depth(text, line, column) {
        return Err(LoadError::TooDeep {
            location: location.to_owned(),
            line,
        });
    }
    match yaml::parse(text) {
        Ok(root) => {
            remarks.push(format!(
                "is not strict JSON at line {line}, column {column}; it was read as YAML"
            ));
            Ok(root)
        }
        Err(_) => Err(LoadError::Json {
            location: location.to_owned(),
            line,
            column,
            problem: json_problem(&error),
        }),
    }
}

/// What `serde_json` says, without the place it puts at the end.
fn json_problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// How many brackets are open where the parser stopped; strings do not count.
fn bracket_depth(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    let end = (before + column).min(text.len());
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in &text.as_bytes()[..end] {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn yaml_error(error: YamlError, location: &str) -> LoadError {
    let location = location.to_owned();
    match error {
        YamlError::Syntax {
            line,
            column,
            problem,
        } => LoadError::Yaml {
            location,
            line,
            column,
            problem,
        },
        YamlError::TooDeep { line } => LoadError::TooDeep { location, line },
        YamlError::TooManyCopies { line } | YamlError::TooManyNodes { line } => {
            LoadError::TooManyValues { location, line }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn fails(bytes: &[u8], message: &str) {
        assert_eq!(parse(bytes, "a.yaml").unwrap_err().to_string(), message);
    }

    #[test]
    fn content_decides_not_the_name() {
        let value = |bytes: &[u8]| parse(bytes, "a.yaml").unwrap().root.to_value();
        assert_eq!(value(b"{\"a\": 1}"), json!({"a": 1}));
        assert_eq!(value(b"\xef\xbb\xbf{\"a\": 1}"), json!({"a": 1}));
        assert_eq!(value(b"a: 1"), json!({"a": 1}));
        assert_eq!(value(b"\xef\xbb\xbfa: 1"), json!({"a": 1}));
        assert_eq!(value(b"{a: 1}"), json!({"a": 1}));
        let wide: Vec<u8> = "\u{feff}a: 1"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(value(&wide), json!({"a": 1}));
    }

    #[test]
    fn bent_documents_are_told() {
        let remarks = |bytes: &[u8]| parse(bytes, "a.yaml").unwrap().remarks.join("; ");
        assert_eq!(remarks(b"{\"a\": 1}"), "");
        assert_eq!(
            remarks(b"{\"a\": 1,}"),
            "is not strict JSON at line 1, column 9; it was read as YAML"
        );
        assert_eq!(
            remarks(b"a: caf\xe9"),
            "is not valid UTF-8; the broken bytes were replaced"
        );
    }

    #[test]
    fn broken_documents_say_where() {
        fails(
            b" \n",
            "`a.yaml` is empty; it should hold an OpenAPI document in JSON or YAML",
        );
        fails(
            b"<!DOCTYPE html>\n<html>",
            "`a.yaml` looks like an HTML page; is this the address of the raw document?",
        );
        fails(
            b"{\"a\": 1,\n \"b\": ]}",
            "`a.yaml` is not valid JSON at line 2, column 7: expected value",
        );
        let deep = format!("{}1", "[".repeat(500));
        fails(
            deep.as_bytes(),
            "`a.yaml` nests more than 128 levels deep at line 1; flatten it there",
        );
    }
}
