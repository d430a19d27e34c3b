//! Why an exchange with the outside failed, in words that name the host and nothing secret.

use std::{error::Error, net::IpAddr, time::Duration};

/// Why an exchange gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutboundError {
    /// The client itself could not be made.
    #[error("the HTTP client could not be set up: {reason}")]
    Setup {
        /// What the library said.
        reason: String,
    },
    /// Not an address for this client.
    #[error("`{scheme}:` is not something to connect to; use `https:` or `http:`")]
    Scheme {
        /// What was given.
        scheme: String,
    },
    /// No connection came about, so nothing was sent.
    #[error("cannot connect to `{host}`: {reason}")]
    Connect {
        /// Where to.
        host: String,
        /// What the system said.
        reason: String,
    },
    /// The connection was there and then failed; the request may have arrived.
    #[error("the connection to `{host}` failed: {reason}")]
    Broken {
        /// Where to.
        host: String,
        /// What the system said.
        reason: String,
    },
    /// The time was up.
    #[error("`{host}` did not answer within {} ms", .after.as_millis())]
    Timeout {
        /// Where to.
        host: String,
        /// How long it had.
        after: Duration,
    },
    /// The answer does not end where it should.
    #[error("the answer of `{host}` is larger than the {limit} bytes allowed")]
    TooLarge {
        /// Who answered.
        host: String,
        /// The limit.
        limit: usize,
    },
    /// A redirect that is not followed.
    #[error("`{host}` sends us elsewhere: {problem}")]
    Redirect {
        /// Who sent us.
        host: String,
        /// Why we do not go.
        problem: RedirectProblem,
    },
    /// A script may not go there.
    #[error("`{host}` is out of reach for scripts: {refusal}")]
    Refused {
        /// Where to.
        host: String,
        /// Why not.
        refusal: Refusal,
    },
    /// A document was asked for and something else came.
    #[error("`{host}` answered {status}")]
    Status {
        /// Who answered.
        host: String,
        /// The HTTP status.
        status: u16,
    },
}

/// Why a redirect is not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedirectProblem {
    /// Round and round.
    #[error("more than {most} redirects in a row")]
    TooMany {
        /// How many are followed.
        most: usize,
    },
    /// From https to http.
    #[error("from https to http, where anyone could listen")]
    Downgrade,
    /// Not an address.
    #[error("the `location` header holds no http or https address")]
    Nowhere,
}

/// Why a script may not go somewhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not the public internet.
    #[error("`{address}` is {what}; to allow it, add the host to `allow_hosts`")]
    Address {
        /// Where the host is.
        address: IpAddr,
        /// What is there.
        what: &'static str,
    },
    /// A user or password in the address.
    #[error("it has a user or password in front of the host; send those in a header")]
    Userinfo,
    /// The name has no address.
    #[error("it has no address")]
    Nowhere,
}

impl OutboundError {
    /// Whether it is certain that the request never left.
    pub fn is_unsent(&self) -> bool {
        matches!(self, Self::Connect { .. })
    }

    /// Whether the line failed, rather than what came over it.
    pub fn is_connection_failure(&self) -> bool {
        matches!(self, Self::Connect { .. } | Self::Broken { .. })
    }

    pub(super) fn from_sending(host: String, cause: &reqwest::Error) -> Self {
        if let Some(refusal) = refusal_in(cause) {
            return Self::Refused { host, refusal };
        }
        let reason = root_of(cause);
        if cause.is_connect() {
            return Self::Connect { host, reason };
        }
        Self::Broken { host, reason }
    }

    pub(super) fn from_reading(host: String, cause: &reqwest::Error) -> Self {
        Self::Broken {
            host,
            reason: root_of(cause),
        }
    }
}

/// What the judge of addresses said, below the layers of the library.
fn refusal_in(error: &reqwest::Error) -> Option<Refusal> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(refusal) = error.downcast_ref::<Refusal>() {
            return Some(refusal.clone());
        }
        cause = error.source();
    }
    None
}

/// The innermost cause: the layers above it repeat the URL, and the URL may hold a key.
fn root_of(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = match error.source() {
        Some(source) => source,
        None => return "no request could be made of it".to_owned(),
    };
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
