//! `http`: requests to the outside, through the guarded way out.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::{Map, Value, json};
use toolscript_catalog::binary;
use toolscript_luau::{HostError, HostModule, library::Documented};
use url::Url;

use super::{
    Host, Module,
    arguments::{Arguments, value_of},
};
use crate::outbound::{Answer, Guarded, Limits, Request};

/// The largest answer a script may get.
const LARGEST_ANSWER: usize = 8 << 20;
/// How long a request may take where the script does not say; the tool's own time still holds.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest time a script may ask for.
const LONGEST_PATIENCE: f64 = 3_600.0;

const OPTIONS: &[&str] = &["headers", "params", "timeout"];
const REQUEST_OPTIONS: &[&str] = &["headers", "params", "timeout", "method"];

/// Headers that belong to the connection, or say where a request is meant to go.
const OURS: &[HeaderName] = &[
    header::HOST,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
    header::PROXY_AUTHORIZATION,
];

const ANSWER: &str = "Gives { status, ok, headers, body, json }: any status is an answer, `json` is the body as a \
     value where it is JSON. Public addresses only, besides what the tool's `allow_hosts` lists.";

pub(super) const HOST: Host = Host {
    name: "http",
    about: "Requests to the outside",
    definitions: include_str!("http.d.luau"),
    functions: &[
        Documented {
            path: "http.get",
            signature: "http.get(url: string, options: { headers: any, params: any, timeout: number? }?): any",
            summary: "Sends a GET request",
            description: ANSWER,
        },
        Documented {
            path: "http.delete",
            signature: "http.delete(url: string, options: { headers: any, params: any, timeout: number? }?): any",
            summary: "Sends a DELETE request",
            description: ANSWER,
        },
        Documented {
            path: "http.post",
            signature: "http.post(url: string, body: any, options: { headers: any, params: any, timeout: number? }?): any",
            summary: "Sends a POST request; a table travels as JSON",
            description: ANSWER,
        },
        Documented {
            path: "http.put",
            signature: "http.put(url: string, body: any, options: { headers: any, params: any, timeout: number? }?): any",
            summary: "Sends a PUT request; a table travels as JSON",
            description: ANSWER,
        },
        Documented {
            path: "http.patch",
            signature: "http.patch(url: string, body: any, options: { headers: any, params: any, timeout: number? }?): any",
            summary: "Sends a PATCH request; a table travels as JSON",
            description: ANSWER,
        },
        Documented {
            path: "http.request",
            signature: "http.request(url: string, body: any, options: { method: string?, headers: any, params: any, timeout: number? }?): any",
            summary: "Sends a request with any method",
            description: ANSWER,
        },
    ],
};

/// One function of the module.
#[derive(Clone, Copy)]
struct Verb {
    name: &'static str,
    usage: &'static str,
    /// `None` takes the method from the options.
    method: Option<&'static Method>,
    takes_body: bool,
}

const VERBS: &[Verb] = &[
    Verb {
        name: "get",
        usage: "http.get(url, options)",
        method: Some(&Method::GET),
        takes_body: false,
    },
    Verb {
        name: "delete",
        usage: "http.delete(url, options)",
        method: Some(&Method::DELETE),
        takes_body: false,
    },
    Verb {
        name: "post",
        usage: "http.post(url, body, options)",
        method: Some(&Method::POST),
        takes_body: true,
    },
    Verb {
        name: "put",
        usage: "http.put(url, body, options)",
        method: Some(&Method::PUT),
        takes_body: true,
    },
    Verb {
        name: "patch",
        usage: "http.patch(url, body, options)",
        method: Some(&Method::PATCH),
        takes_body: true,
    },
    Verb {
        name: "request",
        usage: "http.request(url, body, options)",
        method: None,
        takes_body: true,
    },
];

pub(super) fn module(outbound: &Guarded) -> Arc<dyn HostModule> {
    let mut module = Module::new("http");
    for verb in VERBS {
        let outbound = outbound.clone();
        module = module.waits(verb.name, move |values| {
            let outbound = outbound.clone();
            async move {
                let (request, timeout) = verb.request(&values)?;
                let limits = Limits {
                    max_bytes: LARGEST_ANSWER,
                    timeout,
                };
                let answer = outbound.send(&request, limits).await;
                Ok(shown(
                    answer.map_err(|error| HostError::failed(error.to_string()))?,
                ))
            }
            .boxed()
        });
    }
    module.done()
}

impl Verb {
    fn request(self, values: &[Value]) -> Result<(Request, Duration), HostError> {
        let arguments = Arguments {
            usage: self.usage,
            values,
        };
        let body = arguments.value(1).filter(|_| self.takes_body);
        let known = if self.method.is_some() {
            OPTIONS
        } else {
            REQUEST_OPTIONS
        };
        // `http.get(url, nil, options)` is a slip that harms nobody.
        let at = if self.takes_body || arguments.value(1).is_none() {
            2
        } else {
            1
        };
        let none = Map::new();
        let options = arguments.options(at, known)?.unwrap_or(&none);
        let mut url = address(arguments.text(0)?)?;
        add_query(&mut url, options.get("params"))?;
        let mut headers = headers(options.get("headers"))?;
        let body = body.map(|body| encoded(body, &mut headers)).transpose()?;
        let method = match (self.method, options.get("method")) {
            (Some(method), _) => method.clone(),
            (None, None) if body.is_some() => Method::POST,
            (None, None) => Method::GET,
            (None, Some(method)) => named(method)?,
        };
        let request = Request {
            method,
            url,
            headers,
            body,
        };
        Ok((request, patience(options.get("timeout"))?))
    }
}

fn address(text: &str) -> Result<Url, HostError> {
    // The address itself may hold a key, so it is not repeated.
    Url::parse(text).map_err(|error| {
        HostError::invalid(format!(
            "the url is not an address: {error}; write `https://host/path`"
        ))
    })
}

fn named(method: &Value) -> Result<Method, HostError> {
    let method = method.as_str().map(str::to_uppercase);
    let method = method.and_then(|text| Method::from_bytes(text.as_bytes()).ok());
    method
        .filter(|method| *method != Method::CONNECT && *method != Method::TRACE)
        .ok_or_else(|| HostError::invalid("`method` must be a method such as `GET` or `POST`"))
}

fn patience(timeout: Option<&Value>) -> Result<Duration, HostError> {
    let Some(timeout) = timeout else {
        return Ok(PATIENCE);
    };
    let seconds = timeout
        .as_f64()
        .filter(|seconds| (0.001..=LONGEST_PATIENCE).contains(seconds));
    let seconds = seconds
        .ok_or_else(|| HostError::invalid("`timeout` must be a number of seconds above zero"))?;
    Ok(Duration::from_secs_f64(seconds))
}

/// Scalars as they are, lists as the same key several times.
fn add_query(url: &mut Url, params: Option<&Value>) -> Result<(), HostError> {
    let wrong = || HostError::invalid("`params` must be a table of text, numbers and booleans");
    let params = match params {
        None => return Ok(()),
        Some(Value::Array(items)) if items.is_empty() => return Ok(()),
        Some(params) => params.as_object().ok_or_else(wrong)?,
    };
    let mut pairs = Vec::new();
    for (key, value) in params {
        match value {
            Value::Array(items) => {
                for item in items {
                    pairs.push((key, scalar(item).ok_or_else(wrong)?));
                }
            }
            Value::Null => {}
            value => pairs.push((key, scalar(value).ok_or_else(wrong)?)),
        }
    }
    if !pairs.is_empty() {
        url.query_pairs_mut().extend_pairs(pairs);
    }
    Ok(())
}

fn headers(given: Option<&Value>) -> Result<HeaderMap, HostError> {
    let wrong = || HostError::invalid("`headers` must be a table of texts by name");
    let mut headers = HeaderMap::new();
    let given = match given {
        None => return Ok(headers),
        Some(Value::Array(items)) if items.is_empty() => return Ok(headers),
        Some(given) => given.as_object().ok_or_else(wrong)?,
    };
    for (key, value) in given {
        let name: HeaderName = key
            .parse()
            .map_err(|_| HostError::invalid(format!("`{key}` cannot be the name of a header")))?;
        if OURS.contains(&name) {
            let problem =
                format!("the header `{name}` belongs to the connection and cannot be set");
            return Err(HostError::invalid(problem));
        }
        let text = scalar(value).ok_or_else(wrong)?;
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            HostError::invalid(format!(
                "the value of the header `{name}` holds line ends or the like"
            ))
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// The body on the wire; says what it is where the script does not.
fn encoded(body: &Value, headers: &mut HeaderMap) -> Result<Bytes, HostError> {
    let (bytes, kind) = match body {
        Value::String(text) => (text.clone().into_bytes(), "text/plain; charset=utf-8"),
        other => match binary::decode(other) {
            Some(bytes) => (bytes, "application/octet-stream"),
            None if other.is_object() || other.is_array() => {
                (other.to_string().into_bytes(), "application/json")
            }
            None => {
                let problem = "the body must be text, a buffer, or a table that travels as JSON";
                return Err(HostError::invalid(problem));
            }
        },
    };
    headers
        .entry(header::CONTENT_TYPE)
        .or_insert(HeaderValue::from_static(kind));
    Ok(bytes.into())
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// The answer as a script sees it.
fn shown(answer: Answer) -> Value {
    let mut headers = Map::new();
    for (name, value) in &answer.headers {
        let text = String::from_utf8_lossy(value.as_bytes());
        match headers.get_mut(name.as_str()) {
            Some(Value::String(known)) => {
                known.push_str(", ");
                known.push_str(&text);
            }
            _ => {
                headers.insert(name.to_string(), Value::from(text.into_owned()));
            }
        }
    }
    let kind = headers.get("content-type").and_then(Value::as_str);
    let is_json = kind.is_some_and(|kind| {
        let kind = kind
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        kind == "application/json" || kind.ends_with("+json")
    });
    let parsed = is_json
        .then(|| serde_json::from_slice::<Value>(&answer.body).ok())
        .flatten();
    json!({
        "status": answer.status.as_u16(),
        "ok": answer.status.is_success(),
        "headers": headers,
        "json": parsed,
        "body": value_of(answer.body.into()),
    })
}
