//! The token endpoint: a code, a refresh token or a machine's own word for an access token.

use http::HeaderValue;
use serde::Deserialize;
use serde_json::Value;
use toolscript_catalog::Secret;
use url::Url;

use super::{
    OAuthError,
    stored::{MOST_SCOPES, Session, Tokens, now, scopes_in},
    web::Web,
};
use crate::{
    mcp::text,
    outbound::{Answer, host_of},
};

/// Nobody's login lasts longer, whatever is said.
const LONGEST_LIFETIME: f64 = 10.0 * 365.0 * 86_400.0;

/// One request for a token.
pub(super) struct TokenRequest<'a> {
    pub(super) endpoint: &'a Url,
    pub(super) fields: Vec<(&'a str, &'a str)>,
    pub(super) authorization: Option<HeaderValue>,
    /// What was asked for: it holds where the answer says nothing.
    pub(super) scopes: Vec<String>,
}

#[derive(Deserialize)]
struct Issued {
    access_token: Secret,
    token_type: Option<String>,
    refresh_token: Option<Secret>,
    expires_in: Option<Value>,
    scope: Option<String>,
}

/// Asks for a token.
pub(super) async fn request(web: &Web, asked: TokenRequest<'_>) -> Result<Tokens, OAuthError> {
    let issued_at = now();
    let answer = web
        .post_form(asked.endpoint, &asked.fields, asked.authorization)
        .await?;
    if !answer.status.is_success() {
        return Err(refusal(&answer, &asked.fields));
    }
    let host = host_of(&answer.url);
    let issued: Issued = match serde_json::from_slice(&answer.body) {
        Ok(issued) => issued,
        // Some say no with a yes.
        Err(_) if error_in(&answer.body).is_some() => return Err(refusal(&answer, &asked.fields)),
        Err(_) => {
            return Err(OAuthError::Malformed {
                host,
                what: "a token",
                problem: "there is no `access_token` in it".to_owned(),
            });
        }
    };
    let kind = issued.token_type.as_deref().unwrap_or("Bearer");
    if !kind.eq_ignore_ascii_case("bearer") {
        let kind = text::line(kind, 40);
        return Err(OAuthError::TokenKind { host, kind });
    }
    let lifetime = issued.expires_in.as_ref().and_then(seconds);
    Ok(Tokens {
        access: issued.access_token,
        refresh: issued.refresh_token,
        issued_at,
        expires_at: lifetime.map(|lifetime| issued_at + lifetime),
        scopes: match issued.scope {
            Some(scope) => scopes_in(&scope, MOST_SCOPES),
            None => asked.scopes,
        },
    })
}

/// Renews a login. Not every authorization server gives a new refresh token each time.
pub(super) async fn refresh(
    web: &Web,
    session: &Session,
    refresh_token: &Secret,
) -> Result<Tokens, OAuthError> {
    let endpoint = web.address(&session.token_endpoint, "token endpoint")?;
    let mut fields = vec![
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh_token.reveal()),
        ("resource", &session.resource),
    ];
    fields.extend(session.client.fields());
    let asked = TokenRequest {
        endpoint: &endpoint,
        fields,
        authorization: session.client.authorization(),
        scopes: session.tokens.scopes.clone(),
    };
    let mut tokens = request(web, asked).await?;
    tokens.refresh.get_or_insert_with(|| refresh_token.clone());
    Ok(tokens)
}

/// Tells the authorization server that a login is not needed any more (RFC 7009).
pub(super) async fn revoke(web: &Web, session: &Session) -> Result<(), OAuthError> {
    let Some(endpoint) = &session.revocation_endpoint else {
        return Ok(());
    };
    let endpoint = web.address(endpoint, "revocation endpoint")?;
    let tokens = &session.tokens;
    let token = tokens.refresh.as_ref().unwrap_or(&tokens.access);
    let mut fields = vec![("token", token.reveal())];
    fields.extend(session.client.fields());
    let authorization = session.client.authorization();
    let answer = web.post_form(&endpoint, &fields, authorization).await?;
    if answer.status.is_success() {
        return Ok(());
    }
    Err(refusal(&answer, &fields))
}

/// Why an authorization server says no. What was sent is not repeated, should it come back.
pub(super) fn refusal(answer: &Answer, sent: &[(&str, &str)]) -> OAuthError {
    /// Shorter than this a field is no secret.
    const SHORTEST: usize = 8;
    let (code, description) = error_in(&answer.body).unwrap_or_default();
    let echoes = |words: &str| {
        sent.iter()
            .any(|(_, value)| SHORTEST <= value.len() && words.contains(value))
    };
    let shown = |words: String| if echoes(&words) { String::new() } else { words };
    let code = match shown(code) {
        empty if empty.is_empty() => format!("status {}", answer.status.as_u16()),
        code => code,
    };
    OAuthError::Refused {
        host: host_of(&answer.url),
        code,
        description: shown(description),
    }
}

/// The error and its description in a refusal.
fn error_in(body: &[u8]) -> Option<(String, String)> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let word = |key: &str| {
        let word = value.get(key).and_then(Value::as_str);
        text::line(word.unwrap_or_default(), 200)
    };
    value.get("error")?;
    Some((word("error"), word("error_description")))
}

/// A lifetime; some send it as text.
fn seconds(value: &Value) -> Option<u64> {
    let seconds = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    let seconds = seconds.filter(|seconds| 0.0 <= *seconds)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is neither negative nor large"
    )]
    Some(seconds.min(LONGEST_LIFETIME) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};
    use serde_json::json;

    fn refused(body: &Value) -> String {
        let answer = Answer {
            status: StatusCode::BAD_REQUEST,
            headers: HeaderMap::new(),
            body: Bytes::from(body.to_string()),
            url: Url::parse("https://as.test/token?x=1").unwrap(),
        };
        refusal(&answer, &[("refresh_token", "very-secret")]).to_string()
    }

    #[test]
    fn a_refusal_repeats_nothing_that_was_sent() {
        let plain = refused(&json!({"error": "invalid_grant", "error_description": "too old"}));
        assert_eq!(plain, "`as.test` refuses: invalid_grant (too old)");
        let echo = json!({"error": "invalid_grant", "error_description": "no: very-secret"});
        assert_eq!(refused(&echo), "`as.test` refuses: invalid_grant");
        assert_eq!(refused(&json!("?")), "`as.test` refuses: status 400");
    }

    #[test]
    fn lifetimes_come_in_many_forms() {
        assert_eq!(seconds(&json!(3600)), Some(3_600));
        assert_eq!(seconds(&json!("60")), Some(60));
        assert_eq!(seconds(&json!(-1)), None);
        assert_eq!(seconds(&json!([])), None);
        assert!(seconds(&json!(1e300)).unwrap() < 1 << 32);
    }
}
