//! `Recorded`: exactly what arrived at a peer.

use std::convert::Infallible;

use axum::http::request::Parts;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Map, Value, json};

/// One request as it arrived, nothing decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path as it stood in the request line.
    pub path: String,
    /// The query as it stood in the request line; `None` without a question mark.
    pub query: Option<String>,
    /// The headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Recorded {
    pub(crate) fn new(parts: &Parts, body: Bytes) -> Self {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let header = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
            (name.as_str().to_owned(), text(value.as_bytes()))
        };
        Self {
            method: parts.method.to_string(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().map(str::to_owned),
            headers: parts.headers.iter().map(header).collect(),
            body,
        }
    }

    /// The first value of a header; the name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The cookies in order, nothing decoded.
    pub fn cookies(&self) -> Vec<(String, String)> {
        let all = self.headers.iter().filter(|(name, _)| name == "cookie");
        all.flat_map(|(_, value)| value.split("; "))
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// The parts of a multipart body, each `{name, filename, content_type, text | base64}`;
    /// `None` where the body is something else.
    pub async fn parts(&self) -> Option<Vec<Value>> {
        let boundary = multer::parse_boundary(self.header("content-type")?).ok()?;
        let body = stream::iter([Ok::<_, Infallible>(self.body.clone())]);
        let mut multipart = multer::Multipart::new(body, boundary);
        let mut parts = Vec::new();
        while let Some(field) = multipart.next_field().await.ok()? {
            let mut part = Map::new();
            part.insert("name".into(), json!(field.name()));
            part.insert("filename".into(), json!(field.file_name()));
            let content_type = field.content_type().map(ToString::to_string);
            part.insert("content_type".into(), json!(content_type));
            put_bytes(&mut part, &field.bytes().await.ok()?);
            parts.push(Value::Object(part));
        }
        Some(parts)
    }

    /// Everything as one JSON object: `{method, path, query, headers, cookies, text | base64,
    /// json, parts}`.
    pub async fn describe(&self) -> Value {
        let mut description = Map::new();
        description.insert("method".into(), json!(self.method));
        description.insert("path".into(), json!(self.path));
        description.insert("query".into(), json!(self.query));
        description.insert("headers".into(), grouped(self.headers.clone()));
        description.insert("cookies".into(), grouped(self.cookies()));
        put_bytes(&mut description, &self.body);
        if let Ok(value) = serde_json::from_slice::<Value>(&self.body) {
            description.insert("json".into(), value);
        }
        if let Some(parts) = self.parts().await {
            description.insert("parts".into(), Value::Array(parts));
        }
        Value::Object(description)
    }
}

/// Bytes under `text` where they are text, else under `base64`.
fn put_bytes(object: &mut Map<String, Value>, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => object.insert("text".into(), json!(text)),
        Err(_) => object.insert("base64".into(), json!(STANDARD.encode(bytes))),
    };
}

/// Pairs as an object; a name that came twice holds a list.
fn grouped(pairs: Vec<(String, String)>) -> Value {
    let mut object = Map::new();
    for (name, value) in pairs {
        match object.get_mut(&name) {
            None => {
                object.insert(name, json!(value));
            }
            Some(Value::Array(values)) => values.push(json!(value)),
            Some(first) => *first = json!([first.take(), value]),
        }
    }
    Value::Object(object)
}
