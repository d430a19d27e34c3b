//! A machine's own login: client credentials with a secret or a signed word.

use url::Url;

use super::{
    OAuthError,
    challenge::Challenge,
    client::Client,
    discovery::{self, canonical, is_same},
    metadata::IssuerMetadata,
    settings::{MachineProof, MachineSettings},
    stored::{MOST_SCOPES, Tokens, scopes_in},
    token::{self, TokenRequest},
    web::Web,
};

const ASSERTION_KIND: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// What has been learned so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hints<'a> {
    /// What the server said it wants.
    pub(super) challenge: &'a Challenge,
    /// The authorization server that was asked before.
    pub(super) issuer: Option<&'a str>,
    /// Scopes that turned out to be needed besides the configured ones.
    pub(super) more_scopes: &'a [String],
}

/// Where a machine asks, and what for.
struct Target {
    endpoint: Url,
    resource: String,
    /// `None` where only the address of the token endpoint is known.
    issuer: Option<IssuerMetadata>,
    scopes: Vec<String>,
}

/// Asks for a token for a server; also gives the authorization server that was asked.
pub(super) async fn ask(
    web: &Web,
    settings: &MachineSettings,
    server: &Url,
    hints: Hints<'_>,
) -> Result<(Tokens, Option<String>), OAuthError> {
    let target = target(web, settings, server, hints).await?;
    let issuer = target.issuer.as_ref().map(|issuer| issuer.issuer.clone());
    let scope = target.scopes.join(" ");
    let mut fields = vec![
        ("grant_type", "client_credentials"),
        ("resource", target.resource.as_str()),
    ];
    if !scope.is_empty() {
        fields.push(("scope", &scope));
    }
    let (client, assertion);
    let mut authorization = None;
    match &settings.proof {
        MachineProof::Secret(secret) => {
            client = match &target.issuer {
                Some(issuer) => Client::configured(&settings.client_id, Some(secret), issuer),
                None => Client::with_secret(&settings.client_id, secret),
            };
            fields.extend(client.fields());
            authorization = client.authorization();
        }
        MachineProof::Key(key) => {
            let audience = issuer.as_deref().unwrap_or(target.endpoint.as_str());
            assertion = key.assertion(&settings.client_id, audience)?;
            fields.extend([
                ("client_id", settings.client_id.as_str()),
                ("client_assertion_type", ASSERTION_KIND),
                ("client_assertion", assertion.reveal()),
            ]);
        }
    }
    let asked = TokenRequest {
        endpoint: &target.endpoint,
        fields,
        authorization,
        scopes: target.scopes.clone(),
    };
    Ok((token::request(web, asked).await?, issuer))
}

async fn target(
    web: &Web,
    settings: &MachineSettings,
    server: &Url,
    hints: Hints<'_>,
) -> Result<Target, OAuthError> {
    let with_more = |scopes: Vec<String>| {
        let all = [scopes.as_slice(), hints.more_scopes].concat();
        scopes_in(&all.join(" "), MOST_SCOPES)
    };
    if let Some(url) = &settings.token_url {
        return Ok(Target {
            endpoint: web.address(url, "token endpoint")?,
            resource: canonical(server),
            issuer: None,
            scopes: with_more(settings.scopes.clone().unwrap_or_default()),
        });
    }
    let expected = settings.issuer.as_deref().or(hints.issuer);
    let found = discovery::discover(web, server, hints.challenge, expected).await?;
    if let Some(expected) = expected.filter(|expected| !is_same(expected, &found.issuer.issuer)) {
        return Err(OAuthError::MovedAway {
            expected: expected.to_owned(),
            found: crate::mcp::text::line(&found.issuer.issuer, 200),
        });
    }
    let asked = Some(hints.challenge.scopes.clone()).filter(|scopes| !scopes.is_empty());
    let scopes = settings.scopes.clone().or(asked).or(found.scopes);
    Ok(Target {
        endpoint: web.address(&found.issuer.token_endpoint, "token endpoint")?,
        resource: found.resource,
        issuer: Some(found.issuer),
        scopes: with_more(scopes.unwrap_or_default()),
    })
}
