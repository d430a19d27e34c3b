//! Why a login did not come about, in words that hold no secret.

use std::{io, time::Duration};

use super::{key::KeyError, vault::VaultError};
use crate::{SettingsError, outbound::OutboundError};

/// Why a login did not come about.
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    /// The settings do not fit.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The server is one a person cannot log in to.
    #[error("there is nothing to log in to: {reason}")]
    NotNeeded {
        /// Why not.
        reason: &'static str,
    },
    /// The MCP server itself does not answer.
    #[error("{problem}")]
    Unreachable {
        /// What it said, or did not.
        problem: String,
    },
    /// An exchange on the way failed.
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    /// Something that is no address, or one not to be used.
    #[error(
        "the {what} of the authorization server is refused: it has to be an https URL, and plain http is for this machine"
    )]
    BadAddress {
        /// What the address is for.
        what: &'static str,
    },
    /// A document that cannot be read.
    #[error("`{host}` answered with {what} that cannot be read: {problem}")]
    Malformed {
        /// Who sent it.
        host: String,
        /// What it should be.
        what: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// Nobody says where to log in.
    #[error(
        "`{host}` does not say where to log in to it; ask its makers for a token and set `headers.Authorization`"
    )]
    NowhereToLogIn {
        /// The host of the server.
        host: String,
    },
    /// The authorization server does not describe itself.
    #[error("the authorization server `{issuer}` does not describe itself")]
    NoMetadata {
        /// Which one.
        issuer: String,
    },
    /// The metadata is for something else.
    #[error(
        "the server says it is `{found}`, which does not fit its address; its login is refused"
    )]
    OtherResource {
        /// What it says it is.
        found: String,
    },
    /// The metadata is of somebody else.
    #[error(
        "the authorization server should be `{expected}` and says it is `{found}`; its login is refused"
    )]
    OtherIssuer {
        /// Whom we asked.
        expected: String,
        /// Who answered.
        found: String,
    },
    /// The client id belongs to another authorization server.
    #[error(
        "the server sends us to the authorization server `{found}`, and the client id belongs to `{expected}`; if that is right, set `auth.issuer`"
    )]
    MovedAway {
        /// Where it belongs.
        expected: String,
        /// Where it would go.
        found: String,
    },
    /// The authorization server cannot protect the code on its way.
    #[error(
        "the authorization server `{issuer}` does not say that it knows PKCE with S256, without which a login is not safe"
    )]
    NoPkce {
        /// Which one.
        issuer: String,
    },
    /// There is no way to be known to the authorization server.
    #[error(
        "the authorization server `{issuer}` takes no unknown clients; register one there and set `auth.client_id`"
    )]
    NoClient {
        /// Which one.
        issuer: String,
    },
    /// The authorization server said no.
    #[error("`{host}` refuses: {code}{}", in_brackets(.description))]
    Refused {
        /// Who refuses.
        host: String,
        /// The word for it.
        code: String,
        /// The words for it, if any.
        description: String,
    },
    /// The answer came from somebody else.
    #[error(
        "the answer came from another authorization server than the one asked; the login is refused"
    )]
    MixedUp,
    /// The answer does not say whom it is from.
    #[error(
        "the answer does not say which authorization server it is from, although that one says it always would; the login is refused"
    )]
    Unsigned,
    /// The token cannot be used by us.
    #[error("`{host}` issued a token of the kind `{kind}`; only bearer tokens are understood")]
    TokenKind {
        /// Who issued it.
        host: String,
        /// The kind.
        kind: String,
    },
    /// The browser did not come back.
    #[error("the browser did not come back within {} minutes", .after.as_secs() / 60)]
    Abandoned {
        /// How long we waited.
        after: Duration,
    },
    /// The port for the browser cannot be had.
    #[error("cannot listen on port {port} of this machine: {cause}; choose another with `--port`")]
    Port {
        /// Which port.
        port: u16,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// Nothing can be kept.
    #[error("there is no folder to keep a login in; set `HOME` or `XDG_STATE_HOME`")]
    NoFolder,
    /// What is kept cannot be read or written.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The machine gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandomness,
}

impl OAuthError {
    /// Whether asking again with the same credentials cannot help.
    pub(super) fn is_final(&self) -> bool {
        self.is_about_client()
            || matches!(self, Self::Refused { code, .. } if code == "invalid_grant")
    }

    /// Whether the authorization server does not know the client any more.
    pub(super) fn is_about_client(&self) -> bool {
        let Self::Refused { code, .. } = self else {
            return false;
        };
        matches!(code.as_str(), "invalid_client" | "unauthorized_client")
    }
}

impl From<KeyError> for OAuthError {
    fn from(error: KeyError) -> Self {
        Self::Vault(error.into())
    }
}

fn in_brackets(words: &str) -> String {
    match words {
        "" => String::new(),
        words => format!(" ({words})"),
    }
}
