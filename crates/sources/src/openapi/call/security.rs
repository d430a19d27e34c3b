//! Which credential goes where.
//!
//! The document lists alternatives; each is a set of schemes that must all be met. The first
//! alternative we hold everything for is taken, a real one before the anonymous one. With no
//! credential at all the request goes out bare and the API says what it thinks of that. A
//! credential of the wrong kind is an error: an API key sent as a bearer token fails silently.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use toolscript_catalog::{Credential, Secret};

use super::{
    encode,
    oauth::{Grant, Issuer, TokenError},
};
use crate::{
    openapi::{
        Auth, KeyLocation,
        operation::{Api, Location, Operation, Scheme},
    },
    outbound::Outbound,
};

/// Where an API key goes when neither document nor settings say.
const KEY_HEADER: &str = "X-API-Key";

/// The credentials the settings give.
#[derive(Debug)]
pub(super) struct Keyring {
    /// For any scheme it fits.
    pub(super) general: Option<Means>,
    /// For the schemes of these names.
    pub(super) named: BTreeMap<String, Means>,
}

/// One credential, wherever it came from.
#[derive(Debug, Clone)]
pub(super) enum Means {
    /// A bearer token.
    Bearer(Secret),
    /// A user and a password.
    Basic { username: String, password: Secret },
    /// A key, and where it goes if the document does not say.
    Key {
        key: Secret,
        place: Option<(Location, String)>,
    },
    /// A value whose use the document decides.
    Plain(Secret),
    /// A client that fetches tokens.
    Client(Arc<Issuer>),
}

impl Means {
    /// Takes what the settings give.
    pub(super) fn from_settings(auth: &Auth) -> Result<Self, &'static str> {
        Ok(match auth.clone() {
            Auth::Bearer { token } if token.reveal().is_empty() => {
                return Err("has an empty `token`");
            }
            Auth::ApiKey { key, .. } if key.reveal().is_empty() => {
                return Err("has an empty `key`");
            }
            Auth::Bearer { token } => Self::Bearer(token),
            Auth::Basic { username, password } => Self::Basic { username, password },
            Auth::ApiKey {
                key,
                name,
                location,
            } => {
                let is_placed = name.is_some() || location.is_some();
                let name = name.unwrap_or_else(|| KEY_HEADER.to_owned());
                let location = match location {
                    Some(KeyLocation::Query) => Location::Query,
                    Some(KeyLocation::Cookie) => Location::Cookie,
                    Some(KeyLocation::Header) | None => Location::Header,
                };
                Self::Key {
                    key,
                    place: is_placed.then_some((location, name)),
                }
            }
            Auth::Oauth2ClientCredentials {
                client_id,
                client_secret,
                token_url,
                scopes,
                audience,
            } => {
                let issuer = Issuer::new(client_id, client_secret, token_url, scopes, audience);
                Self::Client(Arc::new(issuer))
            }
        })
    }

    /// Takes what a caller brought.
    pub(super) fn from_call(credential: &Credential) -> Self {
        match credential.clone() {
            Credential::Bearer { token } => Self::Bearer(token),
            Credential::Basic { username, password } => Self::Basic { username, password },
            Credential::ApiKey { key } => Self::Key { key, place: None },
            Credential::Plain(value) => Self::Plain(value),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Bearer(_) => "a bearer token",
            Self::Basic { .. } => "a user and a password",
            Self::Key { .. } => "an API key",
            Self::Plain(_) => "a plain value",
            Self::Client(_) => "an OAuth2 client",
        }
    }
}

/// How one credential is used in one request.
#[derive(Debug, Clone)]
enum Use<'a> {
    Bearer(&'a Secret),
    Basic {
        username: &'a str,
        password: &'a str,
    },
    Key {
        location: Location,
        name: &'a str,
        key: &'a Secret,
    },
    Token {
        issuer: &'a Arc<Issuer>,
        token_url: Option<&'a str>,
        scopes: &'a [String],
    },
}

/// No credential at hand is of a kind the operation takes.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("it wants {}, and the credential given is {held}", .wanted.iter().cloned().collect::<Vec<_>>().join(" or "))]
pub(super) struct NoFit {
    wanted: BTreeSet<String>,
    held: &'static str,
}

/// Why a request cannot be given its credential.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProofError {
    /// Of the wrong kind.
    #[error(transparent)]
    NoFit(#[from] NoFit),
    /// No token could be had.
    #[error(transparent)]
    Token(#[from] TokenError),
}

/// What the document asks for, seen as a whole.
#[derive(Debug)]
pub(super) struct Security {
    api: Arc<Api>,
    /// Whether any operation asks for something. If none does, the document is silent rather
    /// than public, and a configured credential is sent.
    is_declared: bool,
}

impl Security {
    pub(super) fn new(api: Arc<Api>) -> Self {
        let is_declared = api
            .operations
            .iter()
            .any(|operation| !operation.security.is_empty());
        Self { api, is_declared }
    }

    /// Finds the credentials for a request, fetching a token where one is needed.
    pub(super) async fn prove(
        &self,
        operation: &Operation,
        keyring: &Keyring,
        brought: Option<&Means>,
        fetching: (&Outbound, Duration),
    ) -> Result<Proof, ProofError> {
        let mut proof = Proof::default();
        for chosen in self.choose(operation, keyring, brought)? {
            match chosen {
                Use::Bearer(token) => proof.bearer(token.reveal()),
                Use::Basic { username, password } => proof.basic(username, password),
                Use::Key {
                    location,
                    name,
                    key,
                } => proof.key(location, name, key),
                Use::Token {
                    issuer,
                    token_url,
                    scopes,
                } => {
                    let (outbound, timeout) = fetching;
                    let grant = issuer.grant(outbound, token_url, scopes, timeout).await?;
                    proof.bearer(grant.token.reveal());
                    proof.grants.push((Arc::clone(issuer), grant));
                }
            }
        }
        Ok(proof)
    }

    fn choose<'a>(
        &'a self,
        operation: &'a Operation,
        keyring: &'a Keyring,
        brought: Option<&'a Means>,
    ) -> Result<Vec<Use<'a>>, NoFit> {
        let unnamed = brought.or(keyring.general.as_ref());
        if operation.security.is_empty() {
            let implied = if self.is_declared { None } else { unnamed };
            return Ok(implied
                .map(|means| self.imply(means, keyring))
                .into_iter()
                .collect());
        }
        let alternatives = || operation.security.iter().filter(|set| !set.is_empty());
        for set in alternatives() {
            if let Some(uses) = self.meet(set, keyring, brought) {
                return Ok(uses);
            }
        }
        match unnamed {
            Some(held) if operation.security.iter().all(|set| !set.is_empty()) => {
                let wanted = alternatives().map(|set| self.describe(set)).collect();
                Err(NoFit {
                    wanted,
                    held: held.kind(),
                })
            }
            _ => Ok(Vec::new()),
        }
    }

    /// What meets every scheme of a set; `None` where something is missing. A credential the
    /// caller brought must be part of it, or the call would run under another name.
    fn meet<'a>(
        &'a self,
        set: &'a BTreeMap<String, Vec<String>>,
        keyring: &'a Keyring,
        brought: Option<&'a Means>,
    ) -> Option<Vec<Use<'a>>> {
        let mut uses = Vec::new();
        let mut uses_brought = brought.is_none();
        for (name, scopes) in set {
            let fit = |means| self.fit(name, scopes, means, keyring);
            if let Some(chosen) = brought.and_then(fit) {
                uses_brought = true;
                uses.push(chosen);
                continue;
            }
            let general = keyring.general.as_ref().filter(|_| brought.is_none());
            uses.push(
                keyring
                    .named
                    .get(name)
                    .and_then(fit)
                    .or_else(|| general.and_then(fit))?,
            );
        }
        uses_brought.then_some(uses)
    }

    /// How a credential meets a scheme, if it is of the right kind.
    fn fit<'a>(
        &'a self,
        name: &str,
        scopes: &'a [String],
        means: &'a Means,
        keyring: &'a Keyring,
    ) -> Option<Use<'a>> {
        let token = |token_url| match means {
            Means::Bearer(token) | Means::Plain(token) => Some(Use::Bearer(token)),
            Means::Client(issuer) => Some(Use::Token {
                issuer,
                token_url,
                scopes,
            }),
            _ => None,
        };
        match self.api.schemes.get(name) {
            Some(Scheme::Bearer) => token(None),
            Some(Scheme::ClientCredentials { token_url }) => token(Some(token_url.as_str())),
            Some(Scheme::Basic) => basic(means),
            Some(Scheme::ApiKey { location, name }) => match means {
                Means::Key { key, .. } | Means::Plain(key) => Some(Use::Key {
                    location: *location,
                    name,
                    key,
                }),
                // Many documents describe `Authorization` as an API key.
                _ if name.eq_ignore_ascii_case("authorization") => {
                    token(None).or_else(|| basic(means))
                }
                _ => None,
            },
            // A scheme we do not speak: what the settings call by its kind goes where it always goes.
            Some(Scheme::Unsupported { .. }) if matches!(means, Means::Plain(_)) => None,
            Some(Scheme::Unsupported { .. }) | None => Some(unguided(means, keyring)),
        }
    }

    /// Where a credential goes in a document that asks for none: to a scheme that is declared and
    /// never used, else where such credentials usually go.
    fn imply<'a>(&'a self, means: &'a Means, keyring: &'a Keyring) -> Use<'a> {
        let declared = self.api.schemes.iter();
        let spoken = declared.filter(|(_, scheme)| !matches!(scheme, Scheme::Unsupported { .. }));
        let has_place = matches!(means, Means::Key { place: Some(_), .. });
        let fits = |(name, _): (&'a String, &'a Scheme)| self.fit(name, &[], means, keyring);
        let found = if has_place {
            None
        } else {
            spoken.into_iter().find_map(fits)
        };
        found.unwrap_or_else(|| unguided(means, keyring))
    }

    fn describe(&self, set: &BTreeMap<String, Vec<String>>) -> String {
        let scheme = |name: &String| {
            let kind = match self.api.schemes.get(name) {
                Some(Scheme::Bearer) => "a bearer token",
                Some(Scheme::Basic) => "a user and a password",
                Some(Scheme::ApiKey { .. }) => "an API key",
                Some(Scheme::ClientCredentials { .. }) => "an OAuth2 client or a bearer token",
                Some(Scheme::Unsupported { scheme }) => scheme,
                None => "something the document does not describe",
            };
            format!("{kind} (`{name}`)")
        };
        set.keys().map(scheme).collect::<Vec<_>>().join(" with ")
    }
}

fn basic(means: &Means) -> Option<Use<'_>> {
    match means {
        Means::Basic { username, password } => Some(Use::Basic {
            username,
            password: password.reveal(),
        }),
        // A key alone is the user name with no password: so do Stripe and its followers.
        Means::Plain(value) => {
            let (username, password) = value
                .reveal()
                .split_once(':')
                .unwrap_or((value.reveal(), ""));
            Some(Use::Basic { username, password })
        }
        _ => None,
    }
}

/// Where credentials go when no document helps.
fn unguided<'a>(means: &'a Means, keyring: &'a Keyring) -> Use<'a> {
    match means {
        Means::Bearer(token) | Means::Plain(token) => Use::Bearer(token),
        Means::Basic { username, password } => Use::Basic {
            username,
            password: password.reveal(),
        },
        Means::Client(issuer) => Use::Token {
            issuer,
            token_url: None,
            scopes: &[],
        },
        Means::Key { key, place } => {
            let configured = match &keyring.general {
                Some(Means::Key { place, .. }) => place.as_ref(),
                _ => None,
            };
            match place.as_ref().or(configured) {
                Some((location, name)) => Use::Key {
                    location: *location,
                    name,
                    key,
                },
                None => Use::Key {
                    location: Location::Header,
                    name: KEY_HEADER,
                    key,
                },
            }
        }
    }
}

/// The credentials of one request, each in its place.
#[derive(Debug, Default)]
pub(super) struct Proof {
    headers: Vec<(String, Secret)>,
    query: Vec<(String, Secret)>,
    cookies: Vec<(String, Secret)>,
    grants: Vec<(Arc<Issuer>, Grant)>,
}

impl Proof {
    fn bearer(&mut self, token: &str) {
        self.authorization(format!("Bearer {token}"));
    }

    fn basic(&mut self, username: &str, password: &str) {
        self.authorization(format!(
            "Basic {}",
            STANDARD.encode(format!("{username}:{password}"))
        ));
    }

    fn authorization(&mut self, value: String) {
        self.headers
            .push((header::AUTHORIZATION.to_string(), Secret::new(value)));
    }

    fn key(&mut self, location: Location, name: &str, key: &Secret) {
        let places = match location {
            Location::Query | Location::Querystring => &mut self.query,
            Location::Cookie => &mut self.cookies,
            Location::Header | Location::Path => &mut self.headers,
        };
        places.push((name.to_owned(), key.clone()));
    }

    /// Adds the headers, marked as sensitive; `None` where a value cannot be a header.
    pub(super) fn put_headers(&self, headers: &mut HeaderMap) -> Option<()> {
        for (name, value) in &self.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            let mut value = HeaderValue::from_bytes(value.reveal().as_bytes()).ok()?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Some(())
    }

    /// The pairs for the query, encoded.
    pub(super) fn query_pairs(&self) -> impl Iterator<Item = String> {
        let encode = |text: &str| encode::component(text);
        self.query
            .iter()
            .map(move |(name, key)| format!("{}={}", encode(name), encode(key.reveal())))
    }

    /// The pairs for the `Cookie` header; `None` where a value would end its cookie.
    pub(super) fn cookie_pairs(&self) -> Option<Vec<String>> {
        let pair = |(name, key): &(String, Secret)| {
            let ends_early = key.reveal().contains(|c: char| c == ';' || c.is_control());
            (!ends_early).then(|| format!("{name}={}", key.reveal()))
        };
        self.cookies.iter().map(pair).collect()
    }

    /// Whether nothing is proved.
    pub(super) fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.query.is_empty() && self.cookies.is_empty()
    }

    /// Throws away the fetched tokens in it; false where there are none, so that trying again
    /// would change nothing.
    pub(super) async fn forget_tokens(&self) -> bool {
        for (issuer, grant) in &self.grants {
            issuer.forget(grant).await;
        }
        !self.grants.is_empty()
    }
}
