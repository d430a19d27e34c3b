//! `multipart/form-data`: fields, files and JSON parts in one body.
//!
//! | value of a field                                   | part                                    |
//! |----------------------------------------------------|-----------------------------------------|
//! | bytes                                              | a file                                  |
//! | `{ filename, content_type, content }`              | a file of that name and type            |
//! | a string, where the document says the field is one | a file                                  |
//! | a list                                             | one part for each item                  |
//! | an object                                          | JSON                                    |
//! | a scalar                                           | text                                    |
//!
//! The document's `encoding` wins over these habits: its content type is taken, one that is JSON
//! makes a single part of a whole list, and its style writes texts as it would in a form. The body is built whole, so that it can be sent again.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, Hasher, RandomState},
};

use serde_json::{Map, Value};
use toolscript_catalog::binary;

use super::{body, encode as percent, refusal::Refusal, style};
use crate::openapi::{media, operation::FieldEncoding};

/// The content type of a file nobody described.
const ANY_FILE: &str = "application/octet-stream";

/// One part.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    name: String,
    filename: Option<String>,
    content_type: Option<String>,
    content: Vec<u8>,
}

/// Writes a multipart body: its content type with the boundary, and its bytes.
pub(super) fn encode(
    content_type: &str,
    fields: &BTreeMap<String, FieldEncoding>,
    value: &Value,
) -> Result<(String, Vec<u8>), Refusal> {
    let Value::Object(object) = value else {
        return Err(Refusal::body("", "a table of fields", &value.to_string()));
    };
    let default = FieldEncoding::default();
    let mut parts = Vec::new();
    for (name, value) in object {
        let encoding = fields.get(name).unwrap_or(&default);
        parts.extend(parts_of(name, value, encoding)?);
    }
    let boundary = boundary();
    let bytes = write(&boundary, &parts);
    Ok((format!("{content_type}; boundary={boundary}"), bytes))
}

fn parts_of(name: &str, value: &Value, encoding: &FieldEncoding) -> Result<Vec<Part>, Refusal> {
    if let Some(parameter) = body::styled(name, encoding)
        && !holds_files(value, encoding)
    {
        let pairs = style::plain_pairs(&parameter, value).into_iter();
        return Ok(pairs.map(|(name, text)| Part::text(&name, &text)).collect());
    }
    let is_json = encoding.content_type.as_deref().is_some_and(media::is_json);
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) if !is_json => {
            let parts = items.iter().filter(|item| !item.is_null());
            parts.map(|item| part_of(name, item, encoding)).collect()
        }
        value => part_of(name, value, encoding).map(|part| vec![part]),
    }
}

fn part_of(name: &str, value: &Value, encoding: &FieldEncoding) -> Result<Part, Refusal> {
    let documented = encoding.content_type.as_deref().and_then(concrete);
    if let Some(part) = file_of(name, value, encoding)? {
        return Ok(part);
    }
    let is_compound = value.is_object() || value.is_array();
    if is_compound || documented.as_deref().is_some_and(media::is_json) {
        let content_type = documented.unwrap_or_else(|| "application/json".to_owned());
        let content = body::json(value).into_bytes();
        return Ok(Part {
            content_type: Some(content_type),
            content,
            ..Part::text(name, "")
        });
    }
    let text = style::text(value).unwrap_or_default();
    Ok(Part {
        content_type: documented,
        ..Part::text(name, &text)
    })
}

fn holds_files(value: &Value, encoding: &FieldEncoding) -> bool {
    let items = value
        .as_array()
        .map_or(std::slice::from_ref(value), Vec::as_slice);
    encoding.binary || items.iter().any(|item| binary::decode(item).is_some())
}

/// The value as a file, where it is one.
fn file_of(name: &str, value: &Value, encoding: &FieldEncoding) -> Result<Option<Part>, Refusal> {
    let documented = || encoding.content_type.as_deref().and_then(concrete);
    let file = |content: Vec<u8>| Part {
        name: name.to_owned(),
        filename: Some(name.to_owned()),
        content_type: Some(documented().unwrap_or_else(|| ANY_FILE.to_owned())),
        content,
    };
    if let Some(bytes) = binary::decode(value) {
        return Ok(Some(file(bytes)));
    }
    match value {
        Value::String(text) if encoding.binary => Ok(Some(file(text.clone().into_bytes()))),
        Value::Object(table) if is_file_table(table, encoding) => {
            let mut part = file(content_of(table));
            if let Some(filename) = table.get("filename").and_then(Value::as_str) {
                part.filename = Some(filename.to_owned());
            }
            if let Some(content_type) = table.get("content_type").and_then(Value::as_str) {
                part.content_type = Some(checked(name, content_type)?);
            }
            Ok(Some(part))
        }
        _ => Ok(None),
    }
}

/// A table describes a file if it holds nothing else, and something says it is no ordinary object.
fn is_file_table(table: &Map<String, Value>, encoding: &FieldEncoding) -> bool {
    let known = |key: &String| ["filename", "content_type", "content"].contains(&key.as_str());
    let Some(content) = table.get("content") else {
        return false;
    };
    let is_bytes = binary::decode(content).is_some();
    let is_described = encoding.binary || is_bytes || table.contains_key("filename");
    table.keys().all(known) && is_described && (content.is_string() || is_bytes)
}

fn content_of(table: &Map<String, Value>) -> Vec<u8> {
    let content = table.get("content").unwrap_or(&Value::Null);
    match content.as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => binary::decode(content).unwrap_or_default(),
    }
}

/// A content type from a script must not end its line.
fn checked(name: &str, content_type: &str) -> Result<String, Refusal> {
    if is_content_type(content_type) {
        return Ok(content_type.to_owned());
    }
    let field = format!("{name}.content_type");
    Err(Refusal::body(
        &field,
        "a content type such as `image/png`",
        content_type,
    ))
}

fn is_content_type(text: &str) -> bool {
    text.contains('/') && text.chars().all(|letter| (' '..='~').contains(&letter))
}

/// The first type of a list such as `image/png, image/*` that names one thing.
fn concrete(content_types: &str) -> Option<String> {
    let mut types = content_types.split(',').map(str::trim);
    types
        .find(|text| is_content_type(text) && !text.contains('*'))
        .map(str::to_owned)
}

impl Part {
    fn text(name: &str, text: &str) -> Self {
        let content = text.as_bytes().to_vec();
        Self {
            name: name.to_owned(),
            filename: None,
            content_type: None,
            content,
        }
    }
}

fn write(boundary: &str, parts: &[Part]) -> Vec<u8> {
    let mut body = Vec::new();
    for part in parts {
        body.extend_from_slice(head(boundary, part).as_bytes());
        body.extend_from_slice(&part.content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    body
}

fn head(boundary: &str, part: &Part) -> String {
    let name = quoted(&part.name);
    let filename = match &part.filename {
        Some(filename) => format!("; filename=\"{}\"", quoted(filename)),
        None => String::new(),
    };
    let content_type = match &part.content_type {
        Some(content_type) => format!("Content-Type: {content_type}\r\n"),
        None => String::new(),
    };
    format!(
        "--{boundary}\r\n\
         Content-Disposition: form-data; name=\"{name}\"{filename}\r\n\
         {content_type}\r\n"
    )
}

/// Names as browsers write them: UTF-8, with quotes and control characters percent-encoded.
fn quoted(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter == '"' || letter.is_ascii_control() {
            text.push_str(&percent::component(letter.encode_utf8(&mut [0; 4])));
        } else {
            text.push(letter);
        }
    }
    text
}

/// 128 random bits: no content can be made to contain it.
fn boundary() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("toolscript-{:016x}{:016x}", random(), random())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::operation::Style;
    use serde_json::json;

    fn fields(fields: &[(&str, FieldEncoding)]) -> BTreeMap<String, FieldEncoding> {
        fields
            .iter()
            .map(|(name, field)| ((*name).to_owned(), field.clone()))
            .collect()
    }

    fn file(content_type: &str) -> FieldEncoding {
        let content_type = (!content_type.is_empty()).then(|| content_type.to_owned());
        FieldEncoding {
            binary: true,
            content_type,
            ..FieldEncoding::default()
        }
    }

    /// The body with its boundary replaced by `B` and line ends by `|`.
    fn written(encodings: &[(&str, FieldEncoding)], value: &Value) -> String {
        let (content_type, bytes) =
            encode("multipart/form-data", &fields(encodings), value).unwrap();
        let boundary = content_type
            .strip_prefix("multipart/form-data; boundary=")
            .unwrap();
        String::from_utf8_lossy(&bytes)
            .replace(boundary, "B")
            .replace("\r\n", "|")
    }

    #[track_caller]
    fn check(encodings: &[(&str, FieldEncoding)], value: &Value, expected: &[&str]) {
        let start = "--B|Content-Disposition: form-data; ";
        let parts: String = expected
            .iter()
            .flat_map(|part| [start, part, "|"])
            .collect();
        assert_eq!(written(encodings, value), format!("{parts}--B--|"));
    }

    #[test]
    fn scalars_are_text_and_objects_json() {
        check(
            &[],
            &json!({"a": "x", "n": 1.5, "o": {"k": [1]}, "l": [1, {"k": 2}], "none": null}),
            &[
                "name=\"a\"||x",
                "name=\"n\"||1.5",
                "name=\"o\"|Content-Type: application/json||{\"k\":[1]}",
                "name=\"l\"||1",
                "name=\"l\"|Content-Type: application/json||{\"k\":2}",
            ],
        );
    }

    #[test]
    fn files_in_all_their_forms() {
        check(
            &[("c", file("image/png, image/jpeg"))],
            &json!({
                "a": binary::encode(b"bytes"),
                "b": {"filename": "b.txt", "content_type": "text/plain", "content": "text"},
                "c": "text",
                "d": [binary::encode(b"1"), {"content": binary::encode(b"2")}],
                "e": {"content": "an ordinary object"},
            }),
            &[
                "name=\"a\"; filename=\"a\"|Content-Type: application/octet-stream||bytes",
                "name=\"b\"; filename=\"b.txt\"|Content-Type: text/plain||text",
                "name=\"c\"; filename=\"c\"|Content-Type: image/png||text",
                "name=\"d\"; filename=\"d\"|Content-Type: application/octet-stream||1",
                "name=\"d\"; filename=\"d\"|Content-Type: application/octet-stream||2",
                "name=\"e\"|Content-Type: application/json||{\"content\":\"an ordinary object\"}",
            ],
        );
    }

    #[test]
    fn the_document_decides_the_type_of_a_part() {
        let typed = |content_type: &str| FieldEncoding {
            content_type: Some(content_type.into()),
            ..FieldEncoding::default()
        };
        check(
            &[
                ("a", typed("text/csv")),
                ("b", typed("application/json")),
                ("c", typed("image/*")),
            ],
            &json!({"a": "1,2", "b": [1, 2], "c": binary::encode(b"x")}),
            &[
                "name=\"a\"|Content-Type: text/csv||1,2",
                "name=\"b\"|Content-Type: application/json||[1,2]",
                "name=\"c\"; filename=\"c\"|Content-Type: application/octet-stream||x",
            ],
        );
    }

    #[test]
    fn texts_in_the_style_the_document_asks_for() {
        let styled = |style, explode| FieldEncoding {
            style: Some(style),
            explode,
            ..FieldEncoding::default()
        };
        check(
            &[
                ("a", styled(Style::DeepObject, None)),
                ("b", styled(Style::Form, Some(false))),
                ("c", styled(Style::PipeDelimited, None)),
                (
                    "d",
                    FieldEncoding {
                        binary: true,
                        ..styled(Style::Form, Some(false))
                    },
                ),
            ],
            &json!({"a": {"b": [1, 2]}, "b": ["x y", "z"], "c": ["x", "y"], "d": ["one", "two"]}),
            &[
                "name=\"a[b][]\"||1",
                "name=\"a[b][]\"||2",
                "name=\"b\"||x y,z",
                "name=\"c\"||x|y",
                "name=\"d\"; filename=\"d\"|Content-Type: application/octet-stream||one",
                "name=\"d\"; filename=\"d\"|Content-Type: application/octet-stream||two",
            ],
        );
    }

    #[test]
    fn no_name_can_end_its_line() {
        check(
            &[],
            &json!({"a\"\r\nX: 1": {"filename": "é\"\n.txt", "content": "x"}}),
            &[
                "name=\"a%22%0D%0AX: 1\"; filename=\"é%22%0A.txt\"|Content-Type: application/octet-stream||x",
            ],
        );
        let evil = json!({"a": {"filename": "a", "content_type": "a/b\r\nX: 1", "content": "x"}});
        assert!(encode("multipart/form-data", &BTreeMap::new(), &evil).is_err());
    }

    #[test]
    fn boundaries_differ() {
        assert_ne!(boundary(), boundary());
        assert!(encode("multipart/form-data", &BTreeMap::new(), &json!("x")).is_err());
    }
}
