//! What is kept about the login to one server.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize, Serializer};
use toolscript_catalog::Secret;

use super::client::Client;

/// How many scopes are asked for at once; more are left out.
pub(super) const MOST_SCOPES: usize = 100;

/// A scope longer than this is none.
const LONGEST_SCOPE: usize = 200;

/// How long before its end a token is renewed, in seconds.
const MARGIN: u64 = 60;

/// Everything kept about the login to one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Stored {
    /// Who we are to each authorization server: what one knows us by is never shown to another.
    pub(super) clients: BTreeMap<String, Client>,
    /// The login, where there is one.
    pub(super) session: Option<Session>,
    /// Scopes the server has asked for since.
    pub(super) wanted: BTreeSet<String>,
}

/// A login, and what it takes to renew it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) issuer: String,
    pub(super) token_endpoint: String,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) resource: String,
    pub(super) client: Client,
    pub(super) tokens: Tokens,
}

/// What an authorization server issued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Tokens {
    #[serde(serialize_with = "reveal")]
    pub(super) access: Secret,
    #[serde(serialize_with = "reveal_if_any")]
    pub(super) refresh: Option<Secret>,
    /// When the token was issued, in seconds since 1970.
    pub(super) issued_at: u64,
    /// When it ends; `None` where nobody said.
    pub(super) expires_at: Option<u64>,
    /// What it allows, as far as is known.
    pub(super) scopes: Vec<String>,
}

impl Tokens {
    /// Whether the token has ended.
    pub(super) fn is_over(&self) -> bool {
        self.expires_at.is_some_and(|end| end <= now())
    }

    /// Whether it is time for a new one: shortly before the end, or halfway for one that does not
    /// last long.
    pub(super) fn is_due(&self) -> bool {
        let Some(end) = self.expires_at else {
            return false;
        };
        let lifetime = end.saturating_sub(self.issued_at);
        end <= now() + MARGIN.min(lifetime / 2)
    }
}

/// The seconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map(|since| since.as_secs()).unwrap_or_default()
}

/// The scopes in a text, each once, at most so many.
pub(super) fn scopes_in(text: &str, most: usize) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    for scope in text.split_whitespace() {
        if most <= scopes.len() {
            break;
        }
        if scope.len() <= LONGEST_SCOPE && !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

/// Writes a secret; whatever comes out goes nowhere but into the vault.
pub(super) fn reveal<S: Serializer>(secret: &Secret, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(secret.reveal())
}

#[expect(clippy::ref_option, reason = "serde calls it so")]
pub(super) fn reveal_if_any<S: Serializer>(
    secret: &Option<Secret>,
    to: S,
) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(Secret::reveal).serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lifetime: u64, age: u64, is_due: bool, is_over: bool) {
        let issued_at = now() - age;
        let tokens = Tokens {
            access: Secret::new("a"),
            refresh: None,
            issued_at,
            expires_at: Some(issued_at + lifetime),
            scopes: Vec::new(),
        };
        assert_eq!((tokens.is_due(), tokens.is_over()), (is_due, is_over));
    }

    #[test]
    fn a_token_is_renewed_before_it_ends() {
        check(3_600, 0, false, false);
        check(3_600, 3_000, false, false);
        check(3_600, 3_550, true, false);
        check(3_600, 3_601, true, true);
        check(40, 5, false, false);
        check(40, 25, true, false);
        check(0, 0, true, true);
    }

    #[test]
    fn scopes_are_few_and_short() {
        assert_eq!(scopes_in(" a  b a ", 9), ["a", "b"]);
        assert_eq!(scopes_in("a b c", 2), ["a", "b"]);
        assert_eq!(scopes_in(&"x".repeat(201), 2), [""; 0]);
    }
}
