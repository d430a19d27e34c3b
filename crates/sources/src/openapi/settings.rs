//! `[apis.<name>]`: what a person may say about one OpenAPI document.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use toolscript_catalog::{Rate, Secret};

/// One OpenAPI document and how its operations are called.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The document: a path (relative to the configuration file) or a URL; JSON or YAML,
    /// OpenAPI 3.x or Swagger 2.0.
    #[serde(default)]
    pub spec: Option<String>,
    /// A directory written by `toolscript generate`, instead of `spec`.
    #[serde(default)]
    pub generated: Option<String>,
    /// Where the API is; wins over the servers the document names.
    #[serde(default)]
    pub base_url: Option<String>,
    /// Values for the variables in the document's server URL.
    #[serde(default)]
    pub server_variables: BTreeMap<String, String>,
    /// How calls prove who they are.
    #[serde(default)]
    pub auth: Option<Auth>,
    /// The environment variable that holds the credential; the document says what kind it is
    /// (a token, a key, or `user:password`). An alternative to `auth`.
    #[serde(default)]
    pub auth_env: Option<String>,
    /// Credentials by the name of the document's security scheme, for APIs that need several.
    #[serde(default)]
    pub credentials: BTreeMap<String, Auth>,
    /// Parameters filled in on every call and hidden from the agent.
    #[serde(default)]
    pub frozen_params: Map<String, Value>,
    /// Only these operations: patterns over tag, path, operation id or function name; `*` stands
    /// for anything. `pets/*` means everything tagged `pets`.
    #[serde(default)]
    pub include: Vec<String>,
    /// Not these operations; same patterns, applied after `include`.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// Headers sent with every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// How long one request may take, in seconds. The run's own time limit still holds.
    #[serde(default = "thirty_seconds")]
    pub timeout: f64,
    /// How often an idempotent request is tried again after a connection failure, 429 or 503.
    #[serde(default = "two")]
    pub retries: u32,
    /// How often each caller may use each operation, such as `10/minute`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub rate_limit: Option<Rate>,
}

/// How calls prove who they are.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Auth {
    /// `Authorization: Bearer <token>`.
    Bearer {
        /// The token.
        #[schemars(with = "String")]
        token: Secret,
    },
    /// `Authorization: Basic …`.
    Basic {
        /// The user name.
        username: String,
        /// The password.
        #[schemars(with = "String")]
        password: Secret,
    },
    /// A key that goes where the document says.
    ApiKey {
        /// The key.
        #[schemars(with = "String")]
        key: Secret,
        /// The header, query parameter or cookie that carries it, where the document does not say.
        #[serde(default)]
        name: Option<String>,
        /// Where it goes, where the document does not say: `header` (default), `query` or `cookie`.
        #[serde(default, rename = "in")]
        location: Option<KeyLocation>,
    },
    /// A token fetched with a client id and secret, kept until it expires.
    Oauth2ClientCredentials {
        /// The client id.
        client_id: String,
        /// The client secret.
        #[schemars(with = "String")]
        client_secret: Secret,
        /// Where tokens are issued; the document's own where left out.
        #[serde(default)]
        token_url: Option<String>,
        /// The scopes to ask for; the operation's own where left out.
        #[serde(default)]
        scopes: Option<Vec<String>>,
        /// A further field some issuers want.
        #[serde(default)]
        audience: Option<String>,
    },
}

/// Where an API key travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyLocation {
    /// In a header.
    Header,
    /// In the query.
    Query,
    /// In a cookie.
    Cookie,
}

fn thirty_seconds() -> f64 {
    30.0
}

fn two() -> u32 {
    2
}
