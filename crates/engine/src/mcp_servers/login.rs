//! Logging in to MCP servers, and out again, for the person at the terminal.

use toolscript_catalog::{CallError, ErrorCode, Source as _, SourceName};
use toolscript_sources::{
    Context, SettingsError,
    mcp::{self, OAuthError, Settings},
};

use super::{UnknownServer, is_called, names, servers};
use crate::{config::Config, registry};

/// A login on its way: somebody has to open [`Login::url`], and [`Login::finish`] waits for them.
#[derive(Debug)]
pub struct Login {
    server: Server,
    inner: mcp::Login,
}

/// What a login led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedIn {
    /// The server.
    pub server: String,
    /// How many tools it shows now, or why it shows none.
    pub tools: Result<usize, String>,
}

/// Why there is no login. Each message says what would do.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// No server of that name.
    #[error(transparent)]
    Unknown(#[from] UnknownServer),
    /// The settings do not fit.
    #[error("{place}: {problem}")]
    Settings {
        /// Where.
        place: String,
        /// What is wrong and what would do.
        problem: String,
    },
    /// The login did not come about.
    #[error("`{server}`: {cause}")]
    Failed {
        /// The server.
        server: SourceName,
        /// Why.
        #[source]
        cause: OAuthError,
    },
}

impl LoginError {
    /// What kind of failure it is.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown(_) => ErrorCode::NotFound,
            Self::Settings { .. } => ErrorCode::BadRequest,
            Self::Failed { .. } => ErrorCode::Unavailable,
        }
    }
}

/// One configured server.
#[derive(Debug)]
struct Server {
    cx: Context,
    name: SourceName,
    settings: Settings,
}

/// Prepares a login to a configured server. The browser comes back to `port` of this machine, to
/// a free one where that is left out.
pub async fn login(config: &Config, name: &str, port: Option<u16>) -> Result<Login, LoginError> {
    let server = Server::find(config, name)?;
    let (name, settings) = (server.name.clone(), server.settings.clone());
    let inner = mcp::login(&server.cx, name, settings, port).await;
    let inner = inner.map_err(|cause| server.failed(cause))?;
    Ok(Login { server, inner })
}

/// Forgets the login to a configured server; says whether there was one.
pub async fn logout(config: &Config, name: &str) -> Result<bool, LoginError> {
    let server = Server::find(config, name)?;
    let (name, settings) = (server.name.clone(), server.settings.clone());
    let forgotten = mcp::logout(&server.cx, name, settings).await;
    forgotten.map_err(|cause| server.failed(cause))
}

impl Login {
    /// The address somebody has to open in a browser.
    pub fn url(&self) -> &str {
        self.inner.url()
    }

    /// The host somebody will log in at.
    pub fn host(&self) -> String {
        self.inner.host()
    }

    /// Waits until the browser comes back, keeps the login and looks at what the server offers.
    pub async fn finish(self) -> Result<LoggedIn, LoginError> {
        let finished = self.inner.finish().await;
        finished.map_err(|cause| self.server.failed(cause))?;
        Ok(LoggedIn {
            server: self.server.name.to_string(),
            tools: self.server.tools().await.map_err(|error| error.to_string()),
        })
    }
}

impl Server {
    fn find(config: &Config, name: &str) -> Result<Self, LoginError> {
        let found = servers(config).find(|configured| is_called(configured, name));
        let found = found.and_then(|configured| Some((configured.name.clone()?, configured)));
        let (name, found) = found.ok_or_else(|| UnknownServer {
            name: name.to_owned(),
            servers: names(config),
        })?;
        let unfit = |error: SettingsError| LoginError::Settings {
            place: found.origin.place(&error.key),
            problem: error.to_string(),
        };
        Ok(Self {
            cx: registry::context(config),
            name,
            settings: mcp::settings(found.settings.clone()).map_err(unfit)?,
        })
    }

    fn failed(&self, cause: OAuthError) -> LoginError {
        LoginError::Failed {
            server: self.name.clone(),
            cause,
        }
    }

    async fn tools(self) -> Result<usize, CallError> {
        let source_name = self.name.to_string();
        let unfit = |error: SettingsError| CallError::Unavailable {
            source_name,
            problem: error.to_string(),
        };
        let server = mcp::open(&self.cx, self.name, self.settings).map_err(unfit)?;
        let listing = server.list().await;
        server.close().await;
        Ok(listing?.functions.len())
    }
}
