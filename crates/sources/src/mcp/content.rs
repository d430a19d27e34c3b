//! What a tool answered, as the value a script sees.
//!
//! Structured content is its value. Otherwise nothing is `nil`, one text is a string, one other
//! item is a table, and several items are a list of tables, each with the `type` the protocol
//! gives it. Text that looks like JSON stays text.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Map, Value, json};
use toolscript_catalog::binary;

/// What a tool answered.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// It worked.
    Value(Value),
    /// It says that it failed.
    Error {
        /// The text in the answer.
        words: String,
        /// All of the answer.
        body: Value,
    },
}

/// Reads an answer.
pub(super) fn read(result: CallToolResult) -> Answer {
    let CallToolResult {
        content,
        structured_content,
        is_error,
        ..
    } = result;
    if is_error == Some(true) {
        let words: Vec<&str> = content.iter().filter_map(text_of).collect();
        return Answer::Error {
            words: words.join("\n"),
            body: structured_content.unwrap_or_else(|| items(content)),
        };
    }
    Answer::Value(structured_content.unwrap_or_else(|| value(content)))
}

/// Reads an answer the protocol library could not: one with items it does not know.
pub(super) fn read_unknown(result: &Value) -> Option<Answer> {
    let content = result.get("content")?.as_array()?;
    let known: Vec<ContentBlock> = content
        .iter()
        .filter_map(|item| serde_json::from_value(item.clone()).ok())
        .collect();
    if known.len() == content.len() {
        return None;
    }
    let body = result
        .get("structuredContent")
        .unwrap_or(&result["content"])
        .clone();
    if result.get("isError") == Some(&Value::Bool(true)) {
        let words: Vec<&str> = known.iter().filter_map(text_of).collect();
        return Some(Answer::Error {
            words: words.join("\n"),
            body,
        });
    }
    Some(Answer::Value(body))
}

fn text_of(item: &ContentBlock) -> Option<&str> {
    item.as_text().map(|text| text.text.as_str())
}

fn value(mut content: Vec<ContentBlock>) -> Value {
    match content.len() {
        0 => Value::Null,
        1 => match content.remove(0) {
            ContentBlock::Text(text) => Value::String(text.text),
            other => item(other),
        },
        _ => items(content),
    }
}

fn items(content: Vec<ContentBlock>) -> Value {
    content.into_iter().map(item).collect()
}

/// One item as a table; blobs become bytes.
fn item(item: ContentBlock) -> Value {
    match item {
        ContentBlock::Text(text) => json!({"type": "text", "text": text.text}),
        ContentBlock::Image(image) => {
            json!({"type": "image", "mimeType": image.mime_type, "data": bytes(image.data)})
        }
        ContentBlock::Audio(audio) => {
            json!({"type": "audio", "mimeType": audio.mime_type, "data": bytes(audio.data)})
        }
        ContentBlock::Resource(embedded) => resource(embedded.resource),
        // A link has no data to turn, so it is taken as it came.
        other => without_meta(json!(other)),
    }
}

fn resource(contents: ResourceContents) -> Value {
    let (uri, kind, key, data) = match contents {
        ResourceContents::TextResourceContents {
            uri,
            mime_type,
            text,
            ..
        } => (uri, mime_type, "text", Value::String(text)),
        ResourceContents::BlobResourceContents {
            uri,
            mime_type,
            blob,
            ..
        } => (uri, mime_type, "data", bytes(blob)),
        other => return without_meta(json!({"type": "resource", "resource": other})),
    };
    let mut table = Map::new();
    table.insert("type".to_owned(), json!("resource"));
    table.insert("uri".to_owned(), json!(uri));
    if let Some(kind) = kind {
        table.insert("mimeType".to_owned(), json!(kind));
    }
    table.insert(key.to_owned(), data);
    Value::Object(table)
}

/// Base64 as bytes; what is no base64 stays as it is.
fn bytes(data: String) -> Value {
    let candidate = json!({binary::KEY: data});
    if binary::decode(&candidate).is_some() {
        return candidate;
    }
    Value::String(data)
}

fn without_meta(mut item: Value) -> Value {
    if let Some(table) = item.as_object_mut() {
        table.remove("_meta");
        table.remove("icons");
    }
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(result: Value, value: Value) {
        let result: CallToolResult = serde_json::from_value(result).unwrap();
        assert_eq!(read(result), Answer::Value(value));
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn structured_content_is_its_value() {
        reads(
            json!({"content": [text("{}")], "structuredContent": {"a": [1]}}),
            json!({"a": [1]}),
        );
        reads(
            json!({"content": [text("x")], "structuredContent": null}),
            json!(null),
        );
        reads(
            json!({"content": [], "structuredContent": [1, 2]}),
            json!([1, 2]),
        );
    }

    #[test]
    fn one_text_is_a_string_and_stays_one() {
        reads(
            json!({"content": [text("{\"a\": 1}")]}),
            json!("{\"a\": 1}"),
        );
        reads(json!({"content": []}), json!(null));
    }

    #[test]
    fn several_items_are_a_list_of_tables() {
        reads(
            json!({"content": [text("a"), text("b")]}),
            json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        );
    }

    #[test]
    fn data_is_kept_as_bytes() {
        reads(
            json!({"content": [{"type": "image", "mimeType": "image/png", "data": "AAEC"}]}),
            json!({"type": "image", "mimeType": "image/png", "data": {"$base64": "AAEC"}}),
        );
        reads(
            json!({"content": [{"type": "audio", "mimeType": "audio/wav", "data": "no base64!"}]}),
            json!({"type": "audio", "mimeType": "audio/wav", "data": "no base64!"}),
        );
        reads(
            json!({"content": [{"type": "resource", "resource": {"uri": "a:b", "blob": "AA=="}}]}),
            json!({"type": "resource", "uri": "a:b", "data": {"$base64": "AA=="}}),
        );
        reads(
            json!({"content": [{"type": "resource", "resource": {
                "uri": "a:b", "mimeType": "text/plain", "text": "hi", "_meta": {"x": 1}
            }}]}),
            json!({"type": "resource", "uri": "a:b", "mimeType": "text/plain", "text": "hi"}),
        );
        reads(
            json!({"content": [{"type": "resource_link", "uri": "a:b", "name": "n", "size": 3}]}),
            json!({"type": "resource_link", "uri": "a:b", "name": "n", "size": 3}),
        );
    }

    #[test]
    fn an_error_keeps_its_words_and_its_items() {
        let result = json!({"isError": true, "content": [text("no such file"), text("sorry")]});
        let result: CallToolResult = serde_json::from_value(result).unwrap();
        let Answer::Error { words, body } = read(result) else {
            panic!("not an error")
        };
        assert_eq!(words, "no such file\nsorry");
        assert_eq!(body[1], text("sorry"));
    }

    #[test]
    fn items_from_the_future_are_passed_on() {
        let result = json!({"content": [text("a"), {"type": "hologram", "x": 1}]});
        assert_eq!(
            read_unknown(&result),
            Some(Answer::Value(result["content"].clone()))
        );
        assert_eq!(read_unknown(&json!({"other": 1})), None);
    }
}
