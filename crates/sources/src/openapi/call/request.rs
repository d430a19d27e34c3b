//! From a call to a request: parameters to their places, the body to its encoder.

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::{Map, Value};
use toolscript_catalog::{Call, CallError, FunctionId};
use url::Url;

use super::{
    address::Target,
    body::{self, Payload},
    encode,
    refusal::Refusal,
    security::Proof,
    style,
};
use crate::{
    openapi::{
        media,
        operation::{Location, Operation, Parameter},
    },
    outbound::Request,
};

/// What we take where the document does not say what may come.
const ANY_ANSWER: &str = "application/json, */*;q=0.8";

/// Headers that belong to the connection. A parameter of that name is left out: with its own
/// `Host` a call could reach another site behind the same address.
const CONNECTION_HEADERS: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A request but for the server and the credential.
#[derive(Debug)]
pub(super) struct Draft {
    method: Method,
    target: Target,
    query: Vec<String>,
    headers: HeaderMap,
    cookies: Vec<String>,
    body: Option<Payload>,
}

/// Why no request can be made of a call.
#[derive(Debug, PartialEq)]
pub(super) enum Unsendable {
    /// An argument is to blame.
    Argument(Refusal),
    /// The document is to blame.
    Document(String),
    /// The credential is to blame.
    Credential,
}

impl From<Refusal> for Unsendable {
    fn from(refusal: Refusal) -> Self {
        Self::Argument(refusal)
    }
}

impl Unsendable {
    /// The error a caller sees.
    pub(super) fn of(self, function: &FunctionId) -> CallError {
        let problem = match self {
            Self::Argument(refusal) => return refusal.of(function),
            Self::Document(problem) => {
                format!("the document gives no request that can be sent: {problem}")
            }
            Self::Credential => "the credential holds characters that cannot be sent where it \
                                 goes; look for line breaks, spaces and semicolons"
                .to_owned(),
        };
        CallError::Upstream {
            function: function.clone(),
            problem,
            body: None,
        }
    }
}

impl Draft {
    /// Puts parameters and body in place. `configured` headers win over parameters.
    pub(super) fn new(
        operation: &Operation,
        configured: &HeaderMap,
        call: &Call,
    ) -> Result<Self, Unsendable> {
        let method = Method::from_bytes(operation.method.as_bytes())
            .map_err(|_| Unsendable::Document(format!("`{}` is no method", operation.method)))?;
        let mut draft = Self {
            method,
            target: Target::new(operation, &call.params)?,
            query: Vec::new(),
            headers: HeaderMap::new(),
            cookies: Vec::new(),
            body: None,
        };
        let accept = if operation.accept.is_empty() {
            ANY_ANSWER
        } else {
            &operation.accept
        };
        if let Ok(accept) = HeaderValue::from_str(accept) {
            draft.headers.insert(header::ACCEPT, accept);
        }
        draft.place(operation, &call.params)?;
        draft.headers.extend(configured.clone());
        let value = call.body.as_ref().filter(|value| !value.is_null());
        if let (Some(body), Some(value)) = (&operation.body, value) {
            draft.set_body(body::encode(body, value)?)?;
        }
        Ok(draft)
    }

    /// The request, with the server and the credential filled in.
    pub(super) fn finish(&self, server: &Url, proof: &Proof) -> Result<Request, Unsendable> {
        let mut query = self.query.clone();
        query.extend(proof.query_pairs());
        let url = self.target.at(server, &query);
        let url = url.ok_or_else(|| Unsendable::Document("its path leads elsewhere".to_owned()))?;
        let mut headers = self.headers.clone();
        proof
            .put_headers(&mut headers)
            .ok_or(Unsendable::Credential)?;
        self.put_cookies(&mut headers, proof)
            .ok_or(Unsendable::Credential)?;
        let body = self.body.as_ref().map(|payload| payload.bytes.clone());
        Ok(Request {
            method: self.method.clone(),
            url,
            headers,
            body,
        })
    }

    /// All cookies in one header, the configured ones first; `None` where one cannot travel.
    fn put_cookies(&self, headers: &mut HeaderMap, proof: &Proof) -> Option<()> {
        let proved = proof.cookie_pairs()?;
        if self.cookies.is_empty() && proved.is_empty() {
            return Some(());
        }
        let configured = headers
            .get(header::COOKIE)
            .and_then(|value| value.to_str().ok());
        let configured = configured.map(str::to_owned).into_iter();
        let all: Vec<String> = configured
            .chain(self.cookies.clone())
            .chain(proved)
            .collect();
        let mut cookie = HeaderValue::from_bytes(all.join("; ").as_bytes()).ok()?;
        cookie.set_sensitive(true);
        headers.insert(header::COOKIE, cookie);
        Some(())
    }

    fn place(
        &mut self,
        operation: &Operation,
        params: &Map<String, Value>,
    ) -> Result<(), Unsendable> {
        for parameter in &operation.parameters {
            let Some(value) = params.get(&parameter.key).filter(|value| !value.is_null()) else {
                continue;
            };
            match parameter.location {
                Location::Path => {}
                Location::Query => self.query.extend(query_pairs(parameter, value)),
                Location::Querystring => self.query.extend(querystring(parameter, value)),
                Location::Header => self.place_header(parameter, value)?,
                Location::Cookie => self.cookies.extend(cookie_pairs(parameter, value)?),
            }
        }
        Ok(())
    }

    fn place_header(&mut self, parameter: &Parameter, value: &Value) -> Result<(), Unsendable> {
        let text = match &parameter.content_type {
            Some(content_type) => Some(content(content_type, value)),
            None => style::header(parameter, value),
        };
        let Some(text) = text else {
            return Ok(());
        };
        let rule = "a text without line breaks and control characters";
        let refused = || Refusal::parameter(&parameter.key, rule, &text);
        let value = HeaderValue::from_bytes(text.as_bytes()).map_err(|_| refused())?;
        let name = HeaderName::from_bytes(parameter.name.as_bytes());
        let name =
            name.map_err(|_| Unsendable::Document(format!("`{}` is no header", parameter.name)))?;
        if name == header::COOKIE {
            self.cookies.push(text);
        } else if !CONNECTION_HEADERS.contains(&name.as_str()) {
            self.headers.insert(name, value);
        }
        Ok(())
    }

    /// A content type set by a parameter or in the settings stands, except where it would take
    /// the boundary away from a multipart body.
    fn set_body(&mut self, payload: Payload) -> Result<(), Unsendable> {
        let content_type = HeaderValue::from_str(&payload.content_type);
        let content_type = content_type.map_err(|_| {
            Unsendable::Document(format!("`{}` is no content type", payload.content_type))
        })?;
        let is_multipart = payload.content_type.starts_with("multipart/");
        if is_multipart || !self.headers.contains_key(header::CONTENT_TYPE) {
            self.headers.insert(header::CONTENT_TYPE, content_type);
        }
        self.body = Some(payload);
        Ok(())
    }
}

/// The text of a parameter described by `content`: text as it is, everything else as JSON.
pub(super) fn content(content_type: &str, value: &Value) -> String {
    match value {
        Value::String(text) if !media::is_json(content_type) => text.clone(),
        other => body::json(other),
    }
}

fn query_pairs(parameter: &Parameter, value: &Value) -> Vec<String> {
    let Some(content_type) = &parameter.content_type else {
        return style::query(parameter, value);
    };
    vec![style::pair(
        &parameter.name,
        &encode::component(&content(content_type, value)),
    )]
}

/// The whole query: a form where the document says so, else one encoded text.
fn querystring(parameter: &Parameter, value: &Value) -> Vec<String> {
    let content_type = parameter.content_type.as_deref().unwrap_or_default();
    let is_form = content_type.is_empty() || content_type.contains("x-www-form-urlencoded");
    match value {
        Value::Object(object) if is_form => body::form_pairs(object, |_| None),
        Value::String(text) if is_form => vec![encode::query(text)],
        other => vec![encode::component(&content(content_type, other))],
    }
}

fn cookie_pairs(parameter: &Parameter, value: &Value) -> Result<Vec<String>, Refusal> {
    let pairs = match &parameter.content_type {
        Some(content_type) => {
            let text = encode::component(&content(content_type, value));
            vec![format!("{}={text}", parameter.name)]
        }
        None => style::cookie(parameter, value),
    };
    let ends_early = |pair: &&String| pair.contains(';') || pair.contains(char::is_control);
    match pairs.iter().find(ends_early) {
        None => Ok(pairs),
        Some(pair) => {
            let rule = "a text a cookie can hold: no semicolons, no control characters";
            Err(Refusal::parameter(&parameter.key, rule, pair))
        }
    }
}
