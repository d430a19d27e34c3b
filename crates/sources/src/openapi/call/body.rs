//! Bodies: one encoder per kind of content.
//!
//! Fields of a form are written as the document's `encoding` says. Where it says nothing:
//! a scalar is `name=value`, a list of scalars repeats its name (`name=a&name=b`), and whatever
//! is nested gets bracketed names (`name[key]=a`, `name[0][key]=a`) as in [`super::style`]. A
//! field whose encoding names a JSON content type is written as JSON.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::{Map, Value};
use toolscript_catalog::binary;

use super::{encode, multipart, refusal::Refusal, style};
use crate::openapi::{
    media,
    operation::{Encoding, FieldEncoding, Parameter, RequestBody, Style},
};

/// A body ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Payload {
    pub(super) content_type: String,
    pub(super) bytes: Bytes,
}

/// Writes a body as the document wants it.
pub(super) fn encode(body: &RequestBody, value: &Value) -> Result<Payload, Refusal> {
    let is_vague = body.content_type.is_empty() || body.content_type.contains('*');
    let named = |fallback: &str| {
        if is_vague {
            fallback.to_owned()
        } else {
            body.content_type.clone()
        }
    };
    let (content_type, bytes) = match body.encoding {
        Encoding::Json => (named("application/json"), json(value).into_bytes()),
        Encoding::JsonLines => (named("application/x-ndjson"), lines(value).into_bytes()),
        Encoding::Form => (
            named("application/x-www-form-urlencoded"),
            form(body, value)?.into_bytes(),
        ),
        Encoding::Multipart => {
            multipart::encode(&named("multipart/form-data"), &body.fields, value)?
        }
        Encoding::Text => (with_charset(named("text/plain")), text(value)),
        Encoding::Binary => (named("application/octet-stream"), bytes(value)?),
    };
    Ok(Payload {
        content_type,
        bytes: bytes.into(),
    })
}

/// JSON text; bytes inside become base64 strings, which is what `format: byte` means.
pub(super) fn json(value: &Value) -> String {
    without_bytes(value).to_string()
}

fn without_bytes(value: &Value) -> Cow<'_, Value> {
    if !has_bytes(value) {
        return Cow::Borrowed(value);
    }
    Cow::Owned(match value {
        Value::Array(items) => Value::Array(
            items
                .iter()
                .map(|item| without_bytes(item).into_owned())
                .collect(),
        ),
        Value::Object(object) => match object.get(binary::KEY) {
            Some(encoded) if binary::decode(value).is_some() => encoded.clone(),
            _ => {
                let field = |(key, value): (&String, &Value)| {
                    (key.clone(), without_bytes(value).into_owned())
                };
                Value::Object(object.iter().map(field).collect())
            }
        },
        scalar => scalar.clone(),
    })
}

fn has_bytes(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_bytes),
        Value::Object(object) => object.values().any(has_bytes) || binary::decode(value).is_some(),
        _ => false,
    }
}

fn lines(value: &Value) -> String {
    let items = value
        .as_array()
        .map_or(std::slice::from_ref(value), Vec::as_slice);
    items.iter().map(|item| json(item) + "\n").collect()
}

fn form(body: &RequestBody, value: &Value) -> Result<String, Refusal> {
    match value {
        Value::Object(object) => Ok(form_pairs(object, |key| body.fields.get(key)).join("&")),
        Value::String(text) => Ok(encode::query(text)),
        other => Err(Refusal::body("", "a table of fields", &other.to_string())),
    }
}

/// The pairs of a form, in the order the fields came.
pub(super) fn form_pairs<'a>(
    object: &Map<String, Value>,
    encoding_of: impl Fn(&str) -> Option<&'a FieldEncoding>,
) -> Vec<String> {
    let default = FieldEncoding::default();
    let pairs = object
        .iter()
        .flat_map(|(key, value)| form_field(key, value, encoding_of(key).unwrap_or(&default)));
    pairs.collect()
}

fn form_field(key: &str, value: &Value, encoding: &FieldEncoding) -> Vec<String> {
    if let Some(parameter) = styled(key, encoding) {
        return style::query(&parameter, value);
    }
    let write = if encoding.allow_reserved {
        encode::reserved
    } else {
        encode::component
    };
    if encoding.content_type.as_deref().is_some_and(media::is_json) {
        return vec![style::pair(key, &write(&json(value)))];
    }
    let pairs = match value {
        Value::Array(items)
            if items
                .iter()
                .all(|item| !item.is_array() && !item.is_object()) =>
        {
            let texts = items.iter().filter_map(style::text);
            texts
                .map(|text| (key.to_owned(), text.into_owned()))
                .collect()
        }
        nested => style::nested(key, nested, &[]),
    };
    pairs
        .iter()
        .map(|(name, text)| style::pair(name, &write(text)))
        .collect()
}

/// The field as a query parameter, where the document gives it a style.
pub(super) fn styled(key: &str, encoding: &FieldEncoding) -> Option<Parameter> {
    if encoding.style.is_none() && encoding.explode.is_none() {
        return None;
    }
    let style = encoding.style.unwrap_or_default();
    Some(Parameter {
        name: key.to_owned(),
        style,
        explode: encoding.explode.unwrap_or(style == Style::Form),
        allow_reserved: encoding.allow_reserved,
        ..Parameter::default()
    })
}

fn with_charset(content_type: String) -> String {
    let is_bare_text = content_type.starts_with("text/") && !content_type.contains(';');
    if is_bare_text {
        content_type + "; charset=utf-8"
    } else {
        content_type
    }
}

fn text(value: &Value) -> Vec<u8> {
    match binary::decode(value) {
        Some(bytes) => bytes,
        None => style::text(value)
            .unwrap_or_default()
            .into_owned()
            .into_bytes(),
    }
}

fn bytes(value: &Value) -> Result<Vec<u8>, Refusal> {
    match value {
        Value::String(text) => Ok(text.clone().into_bytes()),
        other => binary::decode(other)
            .ok_or_else(|| Refusal::body("", "a buffer or a string", &other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body(encoding: Encoding, content_type: &str) -> RequestBody {
        RequestBody {
            content_type: content_type.into(),
            encoding,
            ..RequestBody::default()
        }
    }

    #[track_caller]
    fn writes(body: &RequestBody, value: &Value, content_type: &str, expected: &[u8]) {
        let payload = encode(body, value).unwrap();
        assert_eq!(payload.content_type, content_type);
        assert_eq!(
            String::from_utf8_lossy(&payload.bytes),
            String::from_utf8_lossy(expected)
        );
    }

    #[test]
    fn json_of_any_name() {
        let value = json!({"a": [1, null], "file": binary::encode(b"hi")});
        let text = br#"{"a":[1,null],"file":"aGk="}"#;
        writes(
            &body(Encoding::Json, "application/json"),
            &value,
            "application/json",
            text,
        );
        writes(
            &body(Encoding::Json, "application/vnd.a+json"),
            &value,
            "application/vnd.a+json",
            text,
        );
        writes(
            &body(Encoding::Json, "*/*"),
            &value,
            "application/json",
            text,
        );
    }

    #[test]
    fn one_json_value_per_line() {
        let lines = body(Encoding::JsonLines, "application/x-ndjson");
        writes(
            &lines,
            &json!([{"a": 1}, "b\n"]),
            "application/x-ndjson",
            b"{\"a\":1}\n\"b\\n\"\n",
        );
        writes(
            &lines,
            &json!({"a": 1}),
            "application/x-ndjson",
            b"{\"a\":1}\n",
        );
    }

    #[track_caller]
    fn forms(fields: &[(&str, FieldEncoding)], value: &Value, expected: &str) {
        let fields = fields
            .iter()
            .map(|(key, field)| ((*key).to_owned(), field.clone()))
            .collect();
        let body = RequestBody {
            fields,
            ..body(Encoding::Form, "application/x-www-form-urlencoded")
        };
        let bytes = encode(&body, value).unwrap().bytes;
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        assert_eq!(text.replace("%5B", "[").replace("%5D", "]"), expected);
    }

    #[test]
    fn forms_as_stripe_and_twilio_read_them() {
        let deep = FieldEncoding {
            style: Some(Style::DeepObject),
            explode: Some(true),
            ..FieldEncoding::default()
        };
        let charge = json!({
            "amount": 100,
            "metadata": {"order id": "6735"},
            "expand": ["customer"],
            "items": [{"price": "p1", "tax_rates": ["t1", "t2"]}],
        });
        let fields = [
            ("metadata", deep.clone()),
            ("expand", deep.clone()),
            ("items", deep),
        ];
        forms(
            &fields,
            &charge,
            "amount=100&metadata[order%20id]=6735&expand[]=customer&items[0][price]=p1\
             &items[0][tax_rates][]=t1&items[0][tax_rates][]=t2",
        );
        forms(
            &[],
            &json!({"To": "+15551234", "MediaUrl": ["https://a/1", "https://a/2"], "None": null}),
            "To=%2B15551234&MediaUrl=https%3A%2F%2Fa%2F1&MediaUrl=https%3A%2F%2Fa%2F2",
        );
        forms(
            &[],
            &json!({"address": {"city": "A&B"}, "tags": [{"id": 1}]}),
            "address[city]=A%26B&tags[0][id]=1",
        );
    }

    #[test]
    fn forms_follow_the_encoding_of_the_document() {
        let field = |style, explode| FieldEncoding {
            style,
            explode,
            ..FieldEncoding::default()
        };
        let list = json!({"a": ["x", "y"]});
        forms(
            &[("a", field(Some(Style::Form), Some(false)))],
            &list,
            "a=x,y",
        );
        forms(&[("a", field(None, Some(true)))], &list, "a=x&a=y");
        forms(
            &[("a", field(Some(Style::PipeDelimited), None))],
            &list,
            "a=x%7Cy",
        );
        let as_json = FieldEncoding {
            content_type: Some("application/json".into()),
            ..FieldEncoding::default()
        };
        forms(&[("a", as_json)], &list, "a=[%22x%22%2C%22y%22]");
        let reserved = FieldEncoding {
            allow_reserved: true,
            ..FieldEncoding::default()
        };
        forms(&[("a", reserved)], &json!({"a": "b/c&d"}), "a=b/c%26d");
    }

    #[test]
    fn forms_want_fields() {
        let form = body(Encoding::Form, "application/x-www-form-urlencoded");
        assert!(encode(&form, &json!([1])).is_err());
        writes(
            &form,
            &json!("a=1&b=x y"),
            "application/x-www-form-urlencoded",
            b"a=1&b=x%20y",
        );
    }

    #[test]
    fn text_and_bytes() {
        let plain = body(Encoding::Text, "text/plain");
        writes(
            &plain,
            &json!("é"),
            "text/plain; charset=utf-8",
            "é".as_bytes(),
        );
        writes(&plain, &json!(7), "text/plain; charset=utf-8", b"7");
        writes(
            &body(Encoding::Text, "application/xml"),
            &json!("<a/>"),
            "application/xml",
            b"<a/>",
        );
        let bytes = body(Encoding::Binary, "image/*");
        writes(
            &bytes,
            &binary::encode(&[0, 255]),
            "application/octet-stream",
            &[0, 255],
        );
        writes(&bytes, &json!("abc"), "application/octet-stream", b"abc");
        assert!(encode(&bytes, &json!({"a": 1})).is_err());
    }
}
