//! `Login`: what a person goes through once: to the authorization server in a browser, back to
//! this machine with a code, and the code for tokens.

use std::{collections::BTreeSet, fmt, time::Duration};

use tokio::time::timeout;
use toolscript_catalog::Secret;
use url::Url;

use super::{
    OAuthError,
    challenge::Challenge,
    client::Client,
    discovery::{Found, discover, is_same},
    loopback::{Loopback, Redirected},
    pkce::{Pkce, random_word},
    settings::PersonSettings,
    stored::{MOST_SCOPES, Session, Stored, scopes_in},
    token::{self, TokenRequest},
    vault::Vault,
    web::Web,
};
use crate::{
    mcp::text,
    outbound::{Outbound, host_of},
};

/// How long a person may take.
const PATIENCE: Duration = Duration::from_mins(10);

/// Where somebody wants to log in.
#[derive(Debug)]
pub(in crate::mcp) struct Wish<'a> {
    pub(in crate::mcp) server: &'a Url,
    pub(in crate::mcp) settings: &'a PersonSettings,
    /// What the server said when it was asked without a login.
    pub(in crate::mcp) challenge: Challenge,
    /// The port to come back to.
    pub(in crate::mcp) port: Option<u16>,
}

/// A login on its way: somebody has to open [`Login::url`], and [`Login::finish`] waits for them.
pub struct Login {
    url: Url,
    web: Web,
    vault: Vault,
    loopback: Loopback,
    found: Found,
    client: Client,
    state: Secret,
    pkce: Pkce,
    scopes: Vec<String>,
}

/// Finds out where to log in and prepares everything.
pub(in crate::mcp) async fn begin(
    outbound: Outbound,
    vault: Vault,
    wish: Wish<'_>,
) -> Result<Login, OAuthError> {
    let Wish {
        server,
        settings,
        challenge,
        port,
    } = wish;
    let web = Web::new(outbound, server);
    // What cannot be read will be written anew.
    let stored = vault.read().await.unwrap_or_default();
    let found = discover(&web, server, &challenge, settings.issuer.as_deref()).await?;
    let issuer = &found.issuer;
    check_home(settings, &stored, &issuer.issuer)?;
    if !issuer.knows_pkce() {
        let issuer = text::line(&issuer.issuer, 200);
        return Err(OAuthError::NoPkce { issuer });
    }
    let known = stored.clients.get(&issuer.issuer);
    let loopback = Loopback::bind(port.or(settings.redirect_port), known).await?;
    let redirect_uri = loopback.redirect_uri();
    let client = Client::choose(&web, settings, issuer, known, &redirect_uri).await?;
    let scopes = scopes(settings, &challenge, &stored, &found);
    let (state, pkce) = (random_word()?, Pkce::new()?);
    let address = issuer.authorization_endpoint.as_deref().unwrap_or_default();
    let mut url = web.address(address, "authorization endpoint")?;
    url.query_pairs_mut().extend_pairs([
        ("response_type", "code"),
        ("client_id", &client.id),
        ("redirect_uri", &redirect_uri),
        ("state", state.reveal()),
        ("code_challenge", &pkce.challenge),
        ("code_challenge_method", "S256"),
        ("resource", &found.resource),
    ]);
    if !scopes.is_empty() {
        url.query_pairs_mut()
            .append_pair("scope", &scopes.join(" "));
    }
    if scopes.iter().any(|scope| scope == OFFLINE) {
        // Without it OpenID Connect ignores the wish.
        url.query_pairs_mut().append_pair("prompt", "consent");
    }
    Ok(Login {
        url,
        web,
        vault,
        loopback,
        found,
        client,
        state,
        pkce,
        scopes,
    })
}

/// The scope that asks for a refresh token.
const OFFLINE: &str = "offline_access";

/// A client id is for the authorization server it was registered with, and no other.
fn check_home(settings: &PersonSettings, stored: &Stored, found: &str) -> Result<(), OAuthError> {
    let Some(id) = &settings.client_id else {
        return Ok(());
    };
    let remembered = || {
        let mut homes = stored.clients.iter();
        homes.find_map(|(issuer, client)| (client.id == *id).then_some(issuer.as_str()))
    };
    match settings.issuer.as_deref().or_else(remembered) {
        Some(expected) if !is_same(expected, found) => Err(OAuthError::MovedAway {
            expected: expected.to_owned(),
            found: text::line(found, 200),
        }),
        _ => Ok(()),
    }
}

/// What to ask for: what is configured, else what the server wants, else all it knows; and
/// whatever it found missing since the last login, together with what that one had.
fn scopes(
    settings: &PersonSettings,
    challenge: &Challenge,
    stored: &Stored,
    found: &Found,
) -> Vec<String> {
    let asked = Some(challenge.scopes.clone()).filter(|scopes| !scopes.is_empty());
    let basis = settings.scopes.clone().or(asked);
    let mut scopes = basis.or_else(|| found.scopes.clone()).unwrap_or_default();
    if !stored.wanted.is_empty() {
        let had = stored
            .session
            .as_ref()
            .map(|session| &session.tokens.scopes);
        scopes.extend(had.into_iter().flatten().cloned());
        scopes.extend(stored.wanted.iter().cloned());
    }
    if !scopes.is_empty() && found.issuer.offers_offline_access() {
        scopes.push(OFFLINE.to_owned());
    }
    scopes_in(&scopes.join(" "), MOST_SCOPES)
}

impl Login {
    /// The address somebody has to open in a browser.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The host somebody will log in at.
    pub fn host(&self) -> String {
        host_of(&self.url)
    }

    /// Waits until the browser comes back, takes the tokens and keeps them. Dropping the future
    /// ends the login.
    pub async fn finish(self) -> Result<(), OAuthError> {
        let waiting = self.loopback.wait(&self.state);
        let abandoned = |_| OAuthError::Abandoned { after: PATIENCE };
        let visit = timeout(PATIENCE, waiting).await.map_err(abandoned)??;
        let outcome = self.redeem(&visit.redirected).await;
        visit.reply(outcome.is_ok()).await;
        outcome
    }

    async fn redeem(&self, answer: &Redirected) -> Result<(), OAuthError> {
        let issuer = &self.found.issuer;
        // Compared letter by letter: whatever looks alike may be somebody else.
        match answer.issuer.as_deref() {
            Some(named) if named != issuer.issuer => return Err(OAuthError::MixedUp),
            None if issuer.authorization_response_iss_parameter_supported => {
                return Err(OAuthError::Unsigned);
            }
            _ => {}
        }
        let code = match &answer.outcome {
            Ok(code) => code,
            Err(refusal) => {
                return Err(OAuthError::Refused {
                    host: self.host(),
                    code: text::line(&refusal.code, 200),
                    description: text::line(&refusal.description, 200),
                });
            }
        };
        let redirect_uri = self.loopback.redirect_uri();
        let endpoint = self.web.address(&issuer.token_endpoint, "token endpoint")?;
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("redirect_uri", &redirect_uri),
            ("code_verifier", self.pkce.verifier.reveal()),
            ("resource", &self.found.resource),
        ];
        fields.extend(self.client.fields());
        let asked = TokenRequest {
            endpoint: &endpoint,
            fields,
            authorization: self.client.authorization(),
            scopes: self.scopes.clone(),
        };
        let tokens = match token::request(&self.web, asked).await {
            Ok(tokens) => tokens,
            Err(error) => {
                if error.is_about_client() {
                    self.forget_client().await?;
                }
                return Err(error);
            }
        };
        self.keep(Session {
            issuer: issuer.issuer.clone(),
            token_endpoint: issuer.token_endpoint.clone(),
            revocation_endpoint: issuer.revocation_endpoint.clone(),
            resource: self.found.resource.clone(),
            client: self.client.clone(),
            tokens,
        })
        .await
    }

    /// The next login registers anew.
    async fn forget_client(&self) -> Result<(), OAuthError> {
        let _turn = self.vault.turn().await?;
        let mut stored = self.vault.read().await.unwrap_or_default();
        match stored.clients.remove(&self.found.issuer.issuer) {
            Some(_) => Ok(self.vault.write(stored).await?),
            None => Ok(()),
        }
    }

    async fn keep(&self, session: Session) -> Result<(), OAuthError> {
        let _turn = self.vault.turn().await?;
        let mut stored = self.vault.read().await.unwrap_or_default();
        stored
            .clients
            .insert(session.issuer.clone(), session.client.clone());
        stored.session = Some(session);
        stored.wanted = BTreeSet::new();
        Ok(self.vault.write(stored).await?)
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address holds the word that brings the answer home.
        f.debug_struct("Login")
            .field("host", &self.host())
            .finish_non_exhaustive()
    }
}

/// Forgets the login to a server, here and at its authorization server; says whether there was
/// one.
pub(in crate::mcp) async fn forget(
    outbound: Outbound,
    vault: &Vault,
    server: &Url,
) -> Result<bool, OAuthError> {
    let _turn = vault.turn().await?;
    // What cannot be read can still be thrown away.
    let stored = vault.read().await.unwrap_or_default();
    let was_there = vault.clear().await?;
    if let Some(session) = &stored.session
        && let Err(error) = token::revoke(&Web::new(outbound, server), session).await
    {
        tracing::warn!(%error, "login forgotten here, but not revoked at its authorization server");
    }
    Ok(was_there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::oauth::{client::Method, stored::Tokens};
    use serde_json::json;

    fn found(resource_scopes: &[&str], issuer_scopes: &[&str]) -> Found {
        let issuer = json!({
            "issuer": "https://as.test",
            "token_endpoint": "https://as.test/token",
            "scopes_supported": issuer_scopes,
        });
        Found {
            resource: "https://x.test".into(),
            scopes: Some(resource_scopes.iter().map(ToString::to_string).collect()),
            issuer: serde_json::from_value(issuer).unwrap(),
        }
    }

    fn challenge(scopes: &[&str]) -> Challenge {
        Challenge {
            scopes: scopes.iter().map(ToString::to_string).collect(),
            ..Challenge::default()
        }
    }

    fn client(id: &str) -> Client {
        Client {
            id: id.into(),
            secret: None,
            method: Method::None,
            redirect_uri: None,
            secret_ends_at: None,
        }
    }

    #[test]
    fn the_most_specific_wish_for_scopes_counts() {
        let (plain, none) = (PersonSettings::default(), Stored::default());
        let configured = PersonSettings {
            scopes: Some(vec!["mine".into()]),
            ..PersonSettings::default()
        };
        let known = found(&["all", "of", "them"], &[]);
        let asked = challenge(&["asked"]);
        assert_eq!(scopes(&configured, &asked, &none, &known), ["mine"]);
        assert_eq!(scopes(&plain, &asked, &none, &known), ["asked"]);
        let everything = scopes(&plain, &challenge(&[]), &none, &known);
        assert_eq!(everything, ["all", "of", "them"]);
        let nothing = scopes(
            &plain,
            &challenge(&[]),
            &none,
            &found(&[], &["offline_access"]),
        );
        assert!(nothing.is_empty());
        let offline = scopes(&plain, &asked, &none, &found(&[], &["a", "offline_access"]));
        assert_eq!(offline, ["asked", "offline_access"]);
    }

    #[test]
    fn what_was_missing_is_asked_for_besides_what_was_had() {
        let tokens = Tokens {
            access: Secret::new("t"),
            refresh: None,
            issued_at: 0,
            expires_at: None,
            scopes: vec!["had".into()],
        };
        let stored = Stored {
            wanted: ["more".to_owned()].into(),
            session: Some(Session {
                issuer: String::new(),
                token_endpoint: String::new(),
                revocation_endpoint: None,
                resource: String::new(),
                client: client("a"),
                tokens,
            }),
            ..Stored::default()
        };
        let plain = PersonSettings::default();
        let asked = scopes(&plain, &challenge(&["basic"]), &stored, &found(&[], &[]));
        assert_eq!(asked, ["basic", "had", "more"]);
    }

    #[test]
    fn a_client_id_stays_at_home() {
        let stored = Stored {
            clients: [("https://as.test".to_owned(), client("me"))].into(),
            ..Stored::default()
        };
        let settings = |issuer: Option<&str>| PersonSettings {
            client_id: Some("me".into()),
            issuer: issuer.map(str::to_owned),
            ..PersonSettings::default()
        };
        let other = "https://other.test";
        assert!(check_home(&settings(None), &stored, "https://as.test").is_ok());
        assert!(check_home(&settings(None), &stored, other).is_err());
        assert!(check_home(&settings(Some(other)), &stored, other).is_ok());
        assert!(check_home(&settings(Some(other)), &stored, "https://as.test").is_err());
        assert!(check_home(&PersonSettings::default(), &stored, other).is_ok());
    }
}
