//! Logging in to remote servers: OAuth 2.1 as MCP wants it.
//!
//! `access` gives every request to a server its token and renews it in time; `login` is what a
//! person goes through once, with `loopback` waiting for their browser to come back. Both find
//! out where to go by `discovery` (which reads `metadata`, starting from a `challenge`), show who
//! we are by `client` or `assertion`, and get what they want by `token`. `vault` keeps it all
//! encrypted, under a `key`. Everything that leaves goes through `web`.

mod access;
mod assertion;
mod challenge;
mod client;
mod discovery;
mod error;
mod key;
mod login;
mod loopback;
mod machine;
mod metadata;
mod pkce;
mod settings;
mod stored;
mod token;
mod vault;
mod web;

pub use error::OAuthError;
pub use key::KeyError;
pub use login::Login;
pub use settings::ServerAuth;
pub use vault::VaultError;

pub(super) use access::{Access, AccessError, Grant};
pub(super) use challenge::Challenge;
pub(super) use login::{Wish, begin, forget};
pub(super) use settings::{CheckedAuth, PersonSettings, check};
pub(super) use vault::Vault;
