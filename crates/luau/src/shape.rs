//! What a large value looks like: its shape and its start, in few words.

use std::fmt::Write as _;

use serde_json::Value;

/// How many fields of an object are named.
const MOST_FIELDS: usize = 20;
/// How deep the shape goes.
const DEEPEST: usize = 3;
/// How long the shape may get, and how much of a key is shown.
const LONGEST: usize = 2_000;
const LONGEST_KEY: usize = 60;
/// How much of the value the preview shows.
const PREVIEW_BYTES: usize = 1_000;

/// The shape of a value: `{ items: [812 x { id: number, name: string }], total: number }`.
pub(crate) fn shape(value: &Value) -> String {
    let mut text = String::new();
    write_shape(&mut text, value, 0);
    text
}

/// How a value starts, as JSON.
pub(crate) fn preview(value: &Value) -> String {
    let mut start = Start {
        text: Vec::new(),
        left: PREVIEW_BYTES,
    };
    let whole = serde_json::to_writer(&mut start, value).is_ok();
    let text = String::from_utf8_lossy(&start.text);
    let text = text.trim_end_matches('\u{fffd}');
    if whole {
        text.to_owned()
    } else {
        format!("{text}…")
    }
}

/// Takes the first bytes and refuses the rest, so that a preview never costs the whole value.
struct Start {
    text: Vec<u8>,
    left: usize,
}

impl std::io::Write for Start {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        let taken = bytes.len().min(self.left);
        self.text.extend_from_slice(&bytes[..taken]);
        self.left -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn write_shape(text: &mut String, value: &Value, depth: usize) {
    if LONGEST < text.len() {
        text.push('…');
        return;
    }
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(_) => text.push_str("boolean"),
        Value::Number(_) => text.push_str("number"),
        Value::String(content) if content.len() <= 100 => text.push_str("string"),
        Value::String(content) => {
            // Writing to a string cannot fail.
            write!(text, "string of {} bytes", content.len()).ok();
        }
        Value::Array(items) if DEEPEST < depth => {
            write!(text, "[{} items]", items.len()).ok();
        }
        Value::Object(_) if DEEPEST < depth => text.push_str("{ … }"),
        Value::Array(items) => write_list(text, items, depth),
        Value::Object(fields) => {
            let shown = fields.iter().take(MOST_FIELDS);
            text.push_str("{ ");
            for (at, (key, field)) in shown.enumerate() {
                text.push_str(if at == 0 { "" } else { ", " });
                text.push_str(&key[..key.floor_char_boundary(LONGEST_KEY)]);
                text.push_str(": ");
                write_shape(text, field, depth + 1);
            }
            let more = fields.len().saturating_sub(MOST_FIELDS);
            if 0 < more {
                write!(text, ", … {more} more").ok();
            }
            text.push_str(" }");
        }
    }
}

fn write_list(text: &mut String, items: &[Value], depth: usize) {
    let Some(first) = items.first() else {
        text.push_str("[]");
        return;
    };
    write!(text, "[{} x ", items.len()).ok();
    write_shape(text, first, depth + 1);
    text.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shapes_name_fields_and_counts() {
        let value = json!({"items": [{"id": 1, "name": "a"}, {"id": 2}], "total": 2, "none": []});
        assert_eq!(
            shape(&value),
            "{ items: [2 x { id: number, name: string }], total: number, none: [] }"
        );
        assert_eq!(shape(&json!("x".repeat(500))), "string of 500 bytes");
        assert_eq!(
            shape(&json!([[[[[1]]]]])),
            "[1 x [1 x [1 x [1 x [1 items]]]]]"
        );
        assert!(shape(&json!({"k".repeat(100_000): 1})).len() < 5_000);
    }

    #[test]
    fn previews_are_short_and_whole_characters() {
        assert_eq!(preview(&json!([1, 2])), "[1,2]");
        let long = preview(&json!("é".repeat(5_000)));
        assert!(long.ends_with("é…") && long.len() < 1_010, "{long}");
    }
}
