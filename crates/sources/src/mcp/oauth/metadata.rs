//! What servers say about themselves: protected resources (RFC 9728), authorization servers
//! (RFC 8414 and `OpenID` Connect).

use serde::Deserialize;

/// How a protected server describes itself.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ResourceMetadata {
    /// Who it says it is.
    pub(super) resource: Option<String>,
    /// Who issues tokens for it.
    #[serde(default)]
    pub(super) authorization_servers: Vec<String>,
    /// The scopes it knows.
    pub(super) scopes_supported: Option<Vec<String>>,
}

/// How an authorization server describes itself.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct IssuerMetadata {
    /// Who it says it is.
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: String,
    pub(super) registration_endpoint: Option<String>,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) scopes_supported: Option<Vec<String>>,
    pub(super) code_challenge_methods_supported: Option<Vec<String>>,
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// Whether an address of a document about a client is taken for a client id.
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
    /// Whether its answers always say whom they are from.
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl IssuerMetadata {
    /// Whether a code is safe on its way back to us.
    pub(super) fn knows_pkce(&self) -> bool {
        let methods = self.code_challenge_methods_supported.as_ref();
        methods.is_some_and(|methods| methods.iter().any(|method| method == "S256"))
    }

    /// Whether a token may outlive the time a person sits there.
    pub(super) fn offers_offline_access(&self) -> bool {
        let scopes = self.scopes_supported.as_ref();
        scopes.is_some_and(|scopes| scopes.iter().any(|scope| scope == "offline_access"))
    }
}
