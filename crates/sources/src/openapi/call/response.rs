//! From an answer to a value, by what it is rather than what it was announced to be.

use std::{borrow::Cow, collections::BTreeMap};

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value};
use toolscript_catalog::binary;

use crate::openapi::media::{self, Media};
use crate::outbound::Answer;

/// Headers that carry credentials; an error does not repeat them.
const WITHHELD: &[&str] = &[
    "authentication-info",
    "authorization",
    "proxy-authorization",
    "set-cookie",
    "set-cookie2",
];

/// A body that is not what its content type says.
#[derive(Debug, thiserror::Error)]
#[error("the answer calls itself `{content_type}` and is not: {cause}")]
pub(super) struct Unreadable {
    content_type: String,
    #[source]
    cause: serde_json::Error,
}

/// The value a script sees: JSON as a table, text as a string, nothing as nil, the rest as bytes.
pub(super) fn value(answer: &Answer) -> Result<Value, Unreadable> {
    let is_empty = matches!(
        answer.status,
        StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT
    );
    if is_empty || answer.body.is_empty() {
        return Ok(Value::Null);
    }
    let content_type = content_type(&answer.headers);
    let content_type = content_type.as_deref().unwrap_or_default();
    let unreadable = |cause| Unreadable {
        content_type: content_type.to_owned(),
        cause,
    };
    match Media::of(content_type) {
        Media::Json => json(&answer.body, content_type).map_err(unreadable),
        Media::JsonLines => lines(&decode(&answer.body, content_type)).map_err(unreadable),
        Media::Events => Ok(events(&decode(&answer.body, content_type))),
        Media::Text | Media::Form => Ok(Value::String(
            decode(&answer.body, content_type).into_owned(),
        )),
        Media::Binary => Ok(binary::encode(&answer.body)),
        Media::Multipart | Media::Wildcard | Media::Other => Ok(guess(&answer.body)),
    }
}

/// The body of a failure: parsed where that works, text otherwise.
pub(super) fn failure_body(answer: &Answer) -> Value {
    value(answer).unwrap_or_else(|_| text_of(&answer.body))
}

/// The body as text, for errors about it.
pub(super) fn text_of(body: &[u8]) -> Value {
    Value::String(String::from_utf8_lossy(body).into_owned())
}

/// The headers of a failure: lower case, repeated ones joined, credentials left out.
pub(super) fn failure_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        if WITHHELD.contains(&name.as_str()) {
            continue;
        }
        let value = String::from_utf8_lossy(value.as_bytes());
        shown
            .entry(name.as_str().to_owned())
            .and_modify(|before| {
                before.push_str(", ");
                before.push_str(&value);
            })
            .or_insert_with(|| value.into_owned());
    }
    shown
}

fn content_type(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let value = headers.get(header::CONTENT_TYPE)?;
    Some(String::from_utf8_lossy(value.as_bytes()))
}

/// Without a content type that tells: JSON if it looks like it and is, text if it is text, else bytes.
fn guess(body: &[u8]) -> Value {
    let starts_like_json = matches!(body.trim_ascii_start().first(), Some(b'{' | b'['));
    if starts_like_json && let Ok(value) = serde_json::from_slice(body) {
        return value;
    }
    match std::str::from_utf8(body) {
        Ok(text) => Value::String(text.to_owned()),
        Err(_) => binary::encode(body),
    }
}

fn json(body: &[u8], content_type: &str) -> Result<Value, serde_json::Error> {
    let is_utf8 = encoding_of(content_type).is_none_or(|encoding| encoding == UTF_8);
    if is_utf8 && !body.starts_with(&[0xFF, 0xFE]) && !body.starts_with(&[0xFE, 0xFF]) {
        let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
        return if body.trim_ascii().is_empty() {
            Ok(Value::Null)
        } else {
            serde_json::from_slice(body)
        };
    }
    serde_json::from_str(&decode(body, content_type))
}

/// One value per line, or per record of `application/json-seq`.
fn lines(text: &str) -> Result<Value, serde_json::Error> {
    let records = text
        .split(['\n', '\u{1e}'])
        .map(str::trim)
        .filter(|line| !line.is_empty());
    records
        .map(serde_json::from_str)
        .collect::<Result<Vec<_>, _>>()
        .map(Value::Array)
}

/// Server-sent events, each `{ event?, id?, data }` with `data` as the text it is.
fn events(text: &str) -> Value {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let events = text.split("\n\n").filter_map(event);
    Value::Array(events.map(Value::Object).collect())
}

fn event(block: &str) -> Option<Map<String, Value>> {
    let mut event = Map::new();
    let mut data: Vec<&str> = Vec::new();
    for line in block.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => data.push(value),
            "event" | "id" => {
                event.insert(field.to_owned(), Value::String(value.to_owned()));
            }
            _ => {}
        }
    }
    if data.is_empty() {
        return None;
    }
    event.insert("data".to_owned(), Value::String(data.join("\n")));
    Some(event)
}

/// The text of a body. A byte order mark wins, then the charset that is named. What is not UTF-8
/// though nothing else is said is Latin-1, the default of old, in which every byte is a letter.
fn decode<'a>(body: &'a [u8], content_type: &str) -> Cow<'a, str> {
    let named = encoding_of(content_type);
    let fallback = if std::str::from_utf8(body).is_ok() {
        UTF_8
    } else {
        WINDOWS_1252
    };
    named.unwrap_or(fallback).decode(body).0
}

fn encoding_of(content_type: &str) -> Option<&'static Encoding> {
    Encoding::for_label(media::charset(content_type)?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use serde_json::json;
    use url::Url;

    fn answer(status: u16, content_type: &str, body: &[u8]) -> Answer {
        let mut headers = HeaderMap::new();
        if !content_type.is_empty() {
            headers.insert(
                header::CONTENT_TYPE,
                HeaderValue::from_str(content_type).unwrap(),
            );
        }
        Answer {
            status: StatusCode::from_u16(status).unwrap(),
            headers,
            body: body.to_vec().into(),
            url: Url::parse("https://a.io").unwrap(),
        }
    }

    #[track_caller]
    fn reads(content_type: &str, body: &[u8], expected: &Value) {
        assert_eq!(value(&answer(200, content_type, body)).unwrap(), *expected);
    }

    #[test]
    fn nothing_is_nil() {
        reads("application/json", b"", &json!(null));
        reads("application/json", b" \n", &json!(null));
        reads("", b"", &json!(null));
        for status in [204, 205] {
            assert_eq!(
                value(&answer(status, "application/json", b"x")).unwrap(),
                json!(null)
            );
        }
    }

    #[test]
    fn json_by_its_content_type() {
        reads("application/json", br#"{"a":1}"#, &json!({"a": 1}));
        reads(
            "application/problem+json; charset=utf-8",
            b"[1]",
            &json!([1]),
        );
        reads("application/json", b"\xEF\xBB\xBF{}", &json!({}));
        reads("application/json", b"\xFF\xFE{\0}\0", &json!({}));
        reads(
            "application/json; charset=iso-8859-1",
            b"\"caf\xe9\"",
            &json!("café"),
        );
        reads(
            "application/json",
            b"9007199254740993",
            &json!(9_007_199_254_740_993_u64),
        );
        reads("text/plain", br#"{"a":1}"#, &json!("{\"a\":1}"));
        assert!(value(&answer(200, "application/json", b"<html>")).is_err());
    }

    #[test]
    fn text_in_its_charset() {
        reads("text/plain", "é".as_bytes(), &json!("é"));
        reads("text/plain; charset=latin1", b"caf\xe9", &json!("café"));
        reads("text/plain", b"caf\xe9", &json!("café"));
        reads("text/html; charset=Shift_JIS", b"\x83\x65", &json!("テ"));
        reads("application/xml", b"<a/>", &json!("<a/>"));
    }

    #[test]
    fn bytes_stay_as_they_are() {
        reads("image/png", &[0, 255, 10], &binary::encode(&[0, 255, 10]));
        reads("application/pdf", b"abc", &binary::encode(b"abc"));
    }

    #[test]
    fn without_a_content_type_we_look() {
        reads("", br#" {"a":1}"#, &json!({"a": 1}));
        reads("", b"{not json", &json!("{not json"));
        reads("", b"12", &json!("12"));
        reads("", &[0, 255], &binary::encode(&[0, 255]));
        reads(
            "application/vnd.acme.thing",
            br#"{"a":1}"#,
            &json!({"a": 1}),
        );
        reads(
            "application/vnd.acme.thing",
            &[0, 255],
            &binary::encode(&[0, 255]),
        );
    }

    #[test]
    fn streams_become_lists() {
        reads(
            "application/x-ndjson",
            b"{\"a\":1}\r\n\n2",
            &json!([{"a": 1}, 2]),
        );
        reads(
            "application/json-seq",
            b"\x1e{\"a\":1}\n\x1e2\n",
            &json!([{"a": 1}, 2]),
        );
        assert!(value(&answer(200, "application/jsonl", b"{\n")).is_err());
        reads(
            "text/event-stream",
            b": hi\n\nevent: tick\r\nid: 7\r\ndata: {\"n\":1}\r\n\r\ndata: a\ndata:b\n\nevent: none\n\ndata: end",
            &json!([
                {"event": "tick", "id": "7", "data": "{\"n\":1}"},
                {"data": "a\nb"},
                {"data": "end"},
            ]),
        );
    }

    #[test]
    fn failures_keep_headers_but_not_cookies() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("X-Id", "7"),
            ("Set-Cookie", "secret"),
            ("Link", "a"),
            ("Link", "b"),
        ] {
            headers.append(
                http::HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_static(value),
            );
        }
        let shown = failure_headers(&headers);
        assert_eq!(json!(shown), json!({"link": "a, b", "x-id": "7"}));
        assert_eq!(
            failure_body(&answer(500, "application/json", b"<html>")),
            json!("<html>")
        );
    }
}
