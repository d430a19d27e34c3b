//! OAuth2 client credentials: tokens fetched once, kept until they expire, shared by all callers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::Value;
use toolscript_catalog::Secret;
use url::Url;

use super::encode;
use crate::outbound::{Limits, Outbound, OutboundError, Request, host_of};

/// A token answer is a few hundred bytes.
const LARGEST_ANSWER: usize = 256 * 1024;
/// How long a token is kept if the issuer does not say; a 401 ends it earlier.
const UNSAID_LIFETIME: Duration = Duration::from_hours(1);
/// The longest time before its end at which a token is no longer used.
const LONGEST_MARGIN: Duration = Duration::from_secs(30);

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub(super) enum TokenError {
    /// Nobody said where tokens are issued.
    #[error("nothing says where tokens are issued; set `token_url` beside `client_id`")]
    NoUrl,
    /// Not an address.
    #[error("the token address `{url}` is not an http or https address; set `token_url`")]
    BadUrl {
        /// What was given.
        url: String,
    },
    /// The issuer cannot be reached.
    #[error("no token: {0}")]
    Outbound(#[from] OutboundError),
    /// The issuer says no.
    #[error("no token: `{host}` answered {status}{}; check `client_id`, `client_secret` and `scopes`", said(.code.as_deref()))]
    Refused {
        /// Who.
        host: String,
        /// The HTTP status.
        status: u16,
        /// The error code of the answer, where it had one.
        code: Option<String>,
    },
    /// The issuer's answer makes no sense.
    #[error("no token: the answer of `{host}` holds no `access_token`")]
    Malformed {
        /// Who.
        host: String,
    },
}

fn said(code: Option<&str>) -> String {
    code.map(|code| format!(" `{code}`")).unwrap_or_default()
}

/// A client that may ask for tokens, and the tokens it has.
#[derive(Debug)]
pub(super) struct Issuer {
    client_id: String,
    client_secret: Secret,
    token_url: Option<String>,
    scopes: Option<Vec<String>>,
    audience: Option<String>,
    /// One slot for each different order. Its lock is held while a token is fetched, so that
    /// callers who want the same token wait for one fetch.
    slots: Mutex<HashMap<Order, Slot>>,
}

type Slot = Arc<tokio::sync::Mutex<Option<Token>>>;

/// What a token is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Order {
    url: String,
    scope: String,
}

#[derive(Debug)]
struct Token {
    secret: Secret,
    until: Instant,
}

/// A token and what it takes to give it back.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) token: Secret,
    order: Order,
}

impl Issuer {
    pub(super) fn new(
        client_id: String,
        client_secret: Secret,
        token_url: Option<String>,
        scopes: Option<Vec<String>>,
        audience: Option<String>,
    ) -> Self {
        let slots = Mutex::default();
        Self {
            client_id,
            client_secret,
            token_url,
            scopes,
            audience,
            slots,
        }
    }

    /// A token for these scopes: the one at hand, else a new one. What the settings say about
    /// address and scopes wins over the document.
    pub(super) async fn grant(
        &self,
        outbound: &Outbound,
        token_url: Option<&str>,
        scopes: &[String],
        timeout: Duration,
    ) -> Result<Grant, TokenError> {
        let url = self
            .token_url
            .as_deref()
            .or(token_url)
            .ok_or(TokenError::NoUrl)?
            .to_owned();
        let scope = self.scopes.as_deref().unwrap_or(scopes).join(" ");
        let order = Order { url, scope };
        let slot = self.slot(&order);
        let mut held = slot.lock().await;
        if let Some(token) = held.as_ref().filter(|token| Instant::now() < token.until) {
            return Ok(Grant {
                token: token.secret.clone(),
                order,
            });
        }
        let token = self.fetch(outbound, &order, timeout).await?;
        let grant = Grant {
            token: token.secret.clone(),
            order,
        };
        *held = Some(token);
        Ok(grant)
    }

    /// Drops a token the API did not like, unless it has been replaced already.
    pub(super) async fn forget(&self, grant: &Grant) {
        let slot = self.slot(&grant.order);
        let mut held = slot.lock().await;
        if held
            .as_ref()
            .is_some_and(|token| token.secret == grant.token)
        {
            *held = None;
        }
    }

    /// The orders come from the document and the settings, so there are never many.
    fn slot(&self, order: &Order) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(order.clone()).or_default())
    }

    async fn fetch(
        &self,
        outbound: &Outbound,
        order: &Order,
        timeout: Duration,
    ) -> Result<Token, TokenError> {
        let asked = Instant::now();
        let request = self.request(order)?;
        let host = host_of(&request.url);
        let answer = outbound
            .send(
                &request,
                Limits {
                    max_bytes: LARGEST_ANSWER,
                    timeout,
                },
            )
            .await?;
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if !answer.status.is_success() {
            let (status, code) = (answer.status.as_u16(), error_code(&body));
            return Err(TokenError::Refused { host, status, code });
        }
        let token = body
            .get("access_token")
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty());
        let token = token.ok_or(TokenError::Malformed { host })?;
        Ok(Token {
            secret: Secret::new(token),
            until: asked + usable_for(lifetime(&body)),
        })
    }

    fn request(&self, order: &Order) -> Result<Request, TokenError> {
        let bad = || TokenError::BadUrl {
            url: order.url.clone(),
        };
        let url = Url::parse(&order.url).map_err(|_| bad())?;
        let mut headers = HeaderMap::new();
        let mut authorization = HeaderValue::from_str(&self.basic()).map_err(|_| bad())?;
        authorization.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, authorization);
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(header::CONTENT_TYPE, form);
        let body = Some(Bytes::from(self.form(order)));
        Ok(Request {
            method: Method::POST,
            url,
            headers,
            body,
        })
    }

    /// RFC 6749 wants both halves form-encoded before they are joined.
    fn basic(&self) -> String {
        let id = encode::component(&self.client_id);
        let secret = encode::component(self.client_secret.reveal());
        format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")))
    }

    fn form(&self, order: &Order) -> String {
        let mut pairs = vec!["grant_type=client_credentials".to_owned()];
        if !order.scope.is_empty() {
            pairs.push(format!("scope={}", encode::component(&order.scope)));
        }
        if let Some(audience) = &self.audience {
            pairs.push(format!("audience={}", encode::component(audience)));
        }
        pairs.join("&")
    }
}

/// The `error` word of an OAuth2 answer; anything that does not look like one is not repeated.
fn error_code(body: &Value) -> Option<String> {
    let code = body.get("error")?.as_str()?;
    let is_code = code.len() <= 40 && code.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    is_code.then(|| code.to_owned())
}

/// Some issuers write the number as text.
fn lifetime(body: &Value) -> Duration {
    let seconds = match body.get("expires_in") {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.parse().ok(),
        _ => None,
    };
    let lifetime = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    lifetime
        .unwrap_or(UNSAID_LIFETIME)
        .min(Duration::from_hours(365 * 24))
}

fn usable_for(lifetime: Duration) -> Duration {
    lifetime.saturating_sub(LONGEST_MARGIN.min(lifetime / 10))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toolscript_testkit::{Canned, Sample, canned};

    const SECOND: Duration = Duration::from_secs(1);

    fn issuer(token_url: Option<&str>) -> Issuer {
        let secret = Secret::new(Sample::CLIENT_SECRET);
        let url = token_url.map(str::to_owned);
        Issuer::new(
            Sample::CLIENT_ID.into(),
            secret,
            url,
            None,
            Some("pets & co".into()),
        )
    }

    async fn token(
        issuer: &Issuer,
        url: Option<&str>,
        scopes: &[&str],
    ) -> Result<Grant, TokenError> {
        let scopes: Vec<String> = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        issuer
            .grant(&Outbound::new(), url, &scopes, 5 * SECOND)
            .await
    }

    fn answer(token: &str, expires_in: &Value) -> Canned {
        Canned::json(
            200,
            &json!({"access_token": token, "expires_in": expires_in}),
        )
    }

    #[tokio::test]
    async fn a_token_is_fetched_once_for_everyone() {
        let server = canned::start([answer("t1", &json!(3600)), answer("t2", &json!(3600))]).await;
        let (issuer, url) = (issuer(None), Some(server.url()));
        let grants =
            futures_util::future::join_all((0..20).map(|_| token(&issuer, url, &["a", "b"]))).await;
        assert!(
            grants
                .into_iter()
                .all(|grant| grant.unwrap().token.reveal() == "t1")
        );
        let request = server.only_request();
        assert_eq!(
            request.text(),
            "grant_type=client_credentials&scope=a%20b&audience=pets%20%26%20co"
        );
        assert_eq!(request.header("authorization").unwrap(), issuer.basic());
        assert_eq!(
            token(&issuer, url, &["other"])
                .await
                .unwrap()
                .token
                .reveal(),
            "t2"
        );
    }

    #[tokio::test]
    async fn expired_and_forgotten_tokens_are_replaced() {
        let server = canned::start([
            answer("t1", &json!("0")),
            answer("t2", &json!(60)),
            answer("t3", &json!(60)),
        ])
        .await;
        let (issuer, url) = (
            issuer(Some(server.url())),
            Some("https://elsewhere.invalid"),
        );
        assert_eq!(token(&issuer, url, &[]).await.unwrap().token.reveal(), "t1");
        let second = token(&issuer, url, &[]).await.unwrap();
        assert_eq!(second.token.reveal(), "t2");
        issuer.forget(&second).await;
        assert_eq!(token(&issuer, url, &[]).await.unwrap().token.reveal(), "t3");
        issuer.forget(&second).await;
        assert_eq!(token(&issuer, url, &[]).await.unwrap().token.reveal(), "t3");
        assert_eq!(server.requests().len(), 3);
    }

    #[tokio::test]
    async fn refusals_say_what_to_check_and_nothing_secret() {
        let server = canned::start([
            Canned::json(
                401,
                &json!({"error": "invalid_client", "error_description": Sample::CLIENT_SECRET}),
            ),
            Canned::json(400, &json!({"error": Sample::CLIENT_SECRET})),
            Canned::body(200, "text/html", "<html>"),
        ])
        .await;
        let issuer = issuer(Some(server.url()));
        for expected in [
            "answered 401 `invalid_client`",
            "answered 400;",
            "no `access_token`",
        ] {
            let error = token(&issuer, None, &[]).await.unwrap_err();
            let shown = format!("{error} {error:?} {issuer:?}");
            assert!(
                shown.contains(expected) && !shown.contains(Sample::CLIENT_SECRET),
                "{shown}"
            );
        }
    }

    #[tokio::test]
    async fn an_address_is_needed() {
        assert!(matches!(
            token(&issuer(None), None, &[]).await,
            Err(TokenError::NoUrl)
        ));
        assert!(matches!(
            token(&issuer(None), Some("/token"), &[]).await,
            Err(TokenError::BadUrl { .. })
        ));
    }

    #[test]
    fn tokens_are_dropped_a_little_early() {
        assert_eq!(usable_for(3600 * SECOND), 3570 * SECOND);
        assert_eq!(usable_for(10 * SECOND), 9 * SECOND);
        assert_eq!(lifetime(&json!({"expires_in": "60"})), 60 * SECOND);
        assert_eq!(lifetime(&json!({"expires_in": -1})), UNSAID_LIFETIME);
    }
}
