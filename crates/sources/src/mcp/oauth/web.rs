//! `Web`: the exchanges of a login, each bounded in size and time and over https.

use std::time::Duration;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::{Url, form_urlencoded};

use super::OAuthError;
use crate::{
    mcp::{text, upstream::is_this_machine},
    outbound::{Answer, Limits, Outbound, OutboundError, Request, host_of},
};

/// What one exchange may cost.
const LIMITS: Limits = Limits {
    max_bytes: 256 << 10,
    timeout: Duration::from_secs(20),
};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

/// The way to authorization servers.
#[derive(Debug, Clone)]
pub(super) struct Web {
    outbound: Outbound,
    plain_http: PlainHttp,
}

/// Where plain http may lead. A server that is spoken to in the clear may name others like it.
#[derive(Debug, Clone, Copy)]
enum PlainHttp {
    Nowhere,
    ThisMachine,
    /// Somebody has allowed it, by `allow_http`.
    Anywhere,
}

impl Web {
    pub(super) fn new(outbound: Outbound, server: &Url) -> Self {
        let plain_http = match server.scheme() {
            "http" if is_this_machine(server) => PlainHttp::ThisMachine,
            "http" => PlainHttp::Anywhere,
            _ => PlainHttp::Nowhere,
        };
        Self {
            outbound,
            plain_http,
        }
    }

    /// Takes an address somebody named, if it is one to be used.
    pub(super) fn address(&self, text: &str, what: &'static str) -> Result<Url, OAuthError> {
        let refused = || OAuthError::BadAddress { what };
        let url = Url::parse(text).map_err(|_| refused())?;
        let is_good = match (url.scheme(), self.plain_http) {
            ("https", _) | ("http", PlainHttp::Anywhere) => true,
            ("http", PlainHttp::ThisMachine) => is_this_machine(&url),
            _ => false,
        };
        if is_good { Ok(url) } else { Err(refused()) }
    }

    /// Fetches a document; `None` where there is none.
    pub(super) async fn document<T: DeserializeOwned>(
        &self,
        url: &Url,
        what: &'static str,
    ) -> Result<Option<T>, OAuthError> {
        let request = Request {
            method: Method::GET,
            url: url.clone(),
            headers: HeaderMap::from_iter([(ACCEPT, JSON)]),
            body: None,
        };
        let answer = self.outbound.send(&request, LIMITS).await?;
        if answer.status.is_server_error() {
            let (host, status) = (host_of(&answer.url), answer.status.as_u16());
            return Err(OutboundError::Status { host, status }.into());
        }
        // Some servers have a page for every address.
        let value = serde_json::from_slice::<Value>(&answer.body);
        let Some(value) = value.ok().filter(|_| answer.status.is_success()) else {
            return Ok(None);
        };
        let read = serde_json::from_value(value);
        read.map(Some).map_err(|error| OAuthError::Malformed {
            host: host_of(&answer.url),
            what,
            problem: text::line(&error.to_string(), 200),
        })
    }

    /// Posts a JSON document.
    pub(super) async fn post_json(&self, url: &Url, body: &Value) -> Result<Answer, OAuthError> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON), (ACCEPT, JSON)]);
        self.post(url, headers, body.to_string()).await
    }

    /// Posts a form.
    pub(super) async fn post_form(
        &self,
        url: &Url,
        fields: &[(&str, &str)],
        authorization: Option<HeaderValue>,
    ) -> Result<Answer, OAuthError> {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, FORM), (ACCEPT, JSON)]);
        if let Some(authorization) = authorization {
            headers.insert(AUTHORIZATION, authorization);
        }
        self.post(url, headers, body).await
    }

    async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: String,
    ) -> Result<Answer, OAuthError> {
        let request = Request {
            method: Method::POST,
            url: url.clone(),
            headers,
            body: Some(Bytes::from(body)),
        };
        Ok(self.outbound.send(&request, LIMITS).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(server: &str, address: &str, is_good: bool) {
        let web = Web::new(Outbound::new(), &Url::parse(server).unwrap());
        assert_eq!(web.address(address, "address").is_ok(), is_good);
    }

    #[test]
    fn plain_http_leads_no_further_than_the_server_itself() {
        check("https://x.test", "https://as.test/token", true);
        check("https://x.test", "http://as.test/token", false);
        check("https://x.test", "http://127.0.0.1/token", false);
        check("http://127.0.0.1:1", "http://localhost:2/token", true);
        check("http://127.0.0.1:1", "http://as.test/token", false);
        check("http://x.test", "http://as.test/token", true);
        check("http://x.test", "file:///etc/passwd", false);
        check("https://x.test", "javascript:alert(1)", false);
        check("https://x.test", "https://", false);
    }
}
