//! Who we are to an authorization server: a document about us, a client somebody registered by
//! hand, or one we register ourselves.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderValue;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolscript_catalog::Secret;
use url::form_urlencoded::byte_serialize;

use super::{
    OAuthError,
    metadata::IssuerMetadata,
    settings::PersonSettings,
    stored::{now, reveal_if_any},
    token::refusal,
    web::Web,
};
use crate::{mcp::text, outbound::host_of};

/// A client as one authorization server knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    #[serde(serialize_with = "reveal_if_any")]
    pub(super) secret: Option<Secret>,
    pub(super) method: Method,
    /// Where its answers go; only for a client we registered ourselves.
    pub(super) redirect_uri: Option<String>,
    /// When its secret ends, in seconds since 1970.
    pub(super) secret_ends_at: Option<u64>,
}

/// How a client shows that it is who it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Method {
    /// Not at all: whoever runs on a person's machine has no secrets from them.
    None,
    /// In a header.
    ClientSecretBasic,
    /// In the form.
    ClientSecretPost,
}

impl Method {
    fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
        }
    }

    fn is_offered(self, by: &IssuerMetadata) -> bool {
        let methods = by.token_endpoint_auth_methods_supported.as_ref();
        methods.is_some_and(|methods| methods.iter().any(|method| method == self.word()))
    }

    /// The method for a client with a secret.
    pub(super) fn with_secret(issuer: &IssuerMetadata) -> Self {
        if !Self::ClientSecretBasic.is_offered(issuer) && Self::ClientSecretPost.is_offered(issuer)
        {
            return Self::ClientSecretPost;
        }
        Self::ClientSecretBasic
    }

    /// The method for a client that is about to be registered.
    fn to_register(issuer: &IssuerMetadata) -> Self {
        let is_open = issuer.token_endpoint_auth_methods_supported.is_none();
        if is_open || Self::None.is_offered(issuer) {
            return Self::None;
        }
        Self::with_secret(issuer)
    }
}

impl Client {
    /// A client somebody registered by hand.
    pub(super) fn configured(id: &str, secret: Option<&Secret>, issuer: &IssuerMetadata) -> Self {
        Self {
            id: id.to_owned(),
            method: match secret {
                Some(_) => Method::with_secret(issuer),
                None => Method::None,
            },
            secret: secret.cloned(),
            redirect_uri: None,
            secret_ends_at: None,
        }
    }

    /// A client with a secret, to an authorization server nothing is known about.
    pub(super) fn with_secret(id: &str, secret: &Secret) -> Self {
        Self {
            id: id.to_owned(),
            secret: Some(secret.clone()),
            method: Method::ClientSecretBasic,
            redirect_uri: None,
            secret_ends_at: None,
        }
    }

    /// Chooses who we are to an authorization server, and registers if need be.
    pub(super) async fn choose(
        web: &Web,
        settings: &PersonSettings,
        issuer: &IssuerMetadata,
        known: Option<&Self>,
        redirect_uri: &str,
    ) -> Result<Self, OAuthError> {
        if let Some(document) = &settings.client_metadata_url
            && issuer.client_id_metadata_document_supported
        {
            return Ok(Self::configured(document, None, issuer));
        }
        if let Some(id) = &settings.client_id {
            return Ok(Self::configured(
                id,
                settings.client_secret.as_ref(),
                issuer,
            ));
        }
        match known.filter(|known| known.still_serves(redirect_uri)) {
            Some(known) => Ok(known.clone()),
            None => register(web, issuer, redirect_uri).await,
        }
    }

    fn still_serves(&self, redirect_uri: &str) -> bool {
        self.redirect_uri.as_deref() == Some(redirect_uri)
            && self.secret_ends_at.is_none_or(|end| now() < end)
    }

    /// What goes into the header of a request, for a client that shows itself there.
    pub(super) fn authorization(&self) -> Option<HeaderValue> {
        let secret = self
            .secret
            .as_ref()
            .filter(|_| self.method == Method::ClientSecretBasic)?;
        let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let pair = format!("{}:{}", encode(&self.id), encode(secret.reveal()));
        let value = format!("Basic {}", STANDARD.encode(pair));
        let mut value = HeaderValue::try_from(value).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// What goes into the form of a request.
    pub(super) fn fields(&self) -> Vec<(&'static str, &str)> {
        match (self.method, &self.secret) {
            (Method::ClientSecretBasic, Some(_)) => Vec::new(),
            (Method::ClientSecretPost, Some(secret)) => {
                vec![("client_id", &self.id), ("client_secret", secret.reveal())]
            }
            _ => vec![("client_id", &self.id)],
        }
    }
}

/// What an authorization server says about a client it has just taken up.
#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<Secret>,
    token_endpoint_auth_method: Option<Method>,
    client_secret_expires_at: Option<u64>,
}

/// Registers a client of our own (RFC 7591).
async fn register(
    web: &Web,
    issuer: &IssuerMetadata,
    redirect_uri: &str,
) -> Result<Client, OAuthError> {
    let Some(endpoint) = &issuer.registration_endpoint else {
        return Err(OAuthError::NoClient {
            issuer: text::line(&issuer.issuer, 200),
        });
    };
    let endpoint = web.address(endpoint, "registration endpoint")?;
    let method = Method::to_register(issuer);
    let asked = json!({
        "client_name": "toolscript",
        "application_type": "native",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method.word(),
    });
    let answer = web.post_json(&endpoint, &asked).await?;
    if !answer.status.is_success() {
        return Err(refusal(&answer, &[]));
    }
    let registered = serde_json::from_slice(&answer.body);
    let registered: Registered = registered.map_err(|error| OAuthError::Malformed {
        host: host_of(&answer.url),
        what: "a registration",
        // The error could quote what it could not read, and that may be the secret.
        problem: format!("{:?} in column {}", error.classify(), error.column()),
    })?;
    Ok(Client {
        id: registered.client_id,
        method: registered.token_endpoint_auth_method.unwrap_or(method),
        secret: registered.client_secret,
        redirect_uri: Some(redirect_uri.to_owned()),
        // Zero means never.
        secret_ends_at: registered.client_secret_expires_at.filter(|end| 0 < *end),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn issuer(methods: Value) -> IssuerMetadata {
        let mut metadata = json!({"issuer": "i", "token_endpoint": "t"});
        metadata["token_endpoint_auth_methods_supported"] = methods;
        serde_json::from_value(metadata).unwrap()
    }

    #[track_caller]
    fn check(methods: Value, with_secret: Method, to_register: Method) {
        let issuer = issuer(methods);
        assert_eq!(Method::with_secret(&issuer), with_secret);
        assert_eq!(Method::to_register(&issuer), to_register);
    }

    #[test]
    fn the_authorization_server_says_how_it_wants_to_know_us() {
        use Method::{ClientSecretBasic as Basic, ClientSecretPost as Post, None};
        check(json!(null), Basic, None);
        check(json!(["none"]), Basic, None);
        check(json!(["client_secret_post", "none"]), Post, None);
        check(json!(["client_secret_post"]), Post, Post);
        check(
            json!(["client_secret_post", "client_secret_basic"]),
            Basic,
            Basic,
        );
        check(json!(["private_key_jwt"]), Basic, Basic);
    }

    #[test]
    fn a_secret_goes_to_one_place_only() {
        let secret = Secret::new("p w:");
        let basic = Client::configured("a", Some(&secret), &issuer(json!(null)));
        let header = basic.authorization().unwrap();
        assert_eq!(
            header.to_str().unwrap(),
            format!("Basic {}", STANDARD.encode("a:p+w%3A"))
        );
        assert!(basic.fields().is_empty());
        let post = Client::configured("a", Some(&secret), &issuer(json!(["client_secret_post"])));
        assert!(post.authorization().is_none());
        assert_eq!(
            post.fields(),
            [("client_id", "a"), ("client_secret", "p w:")]
        );
        let public = Client::configured("a", None, &issuer(json!(null)));
        assert!(public.authorization().is_none());
        assert_eq!(public.fields(), [("client_id", "a")]);
    }
}
