//! Looks at a server once: connects, lists its tools, lets go; and tells apart what may go wrong.

use std::{collections::BTreeMap, sync::Arc};

use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde_json::Value;
use toolscript_catalog::{Listing, SourceName};

use super::{
    connect::{ConnectError, Connector},
    connection::{Connection, Limit},
    era::Memory,
    listing::{self, Fetched},
    login,
    settings::Settings,
    tool::{Compiled, compile},
    upstream::Upstream,
    wire::WireError,
};
use crate::{Context, SettingsError};

/// What a server turned out to be.
#[derive(Debug)]
pub struct Introspection {
    /// How it is spoken to: `stdio`, `http` or `sse`.
    pub transport: &'static str,
    /// The revision of the protocol that was agreed on.
    pub revision: String,
    /// Its tools as functions.
    pub listing: Listing,
    /// What each tool takes, as the server says it, by the name the server knows the tool by.
    pub input_schemas: BTreeMap<String, Value>,
}

/// What a server that could not be looked at suffers from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Its settings make no sense.
    Settings,
    /// The program is not there, or ended before it answered.
    CouldNotStart,
    /// Nobody answers at the address.
    Unreachable,
    /// It wants to know who is calling.
    Login,
    /// It answered, but there is no understanding.
    Protocol,
    /// It did not answer in time.
    TimedOut,
    /// What it answered is no MCP.
    Malformed,
}

/// Why a server could not be looked at.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub struct IntrospectError {
    /// What it comes down to.
    pub trouble: Trouble,
    /// What happened, in words; the last lines of its stderr among them.
    pub problem: String,
}

impl Trouble {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Settings => "bad settings",
            Self::CouldNotStart => "could not start",
            Self::Unreachable => "not reachable",
            Self::Login => "login needed",
            Self::Protocol => "protocol error",
            Self::TimedOut => "timed out",
            Self::Malformed => "malformed answer",
        }
    }

    pub(super) fn over_http(error: &StreamableHttpError<WireError>) -> Self {
        match error {
            StreamableHttpError::Client(WireError::Line(_)) => Self::Unreachable,
            StreamableHttpError::Client(WireError::Status { status, .. })
                if matches!(status.as_u16(), 401 | 403) =>
            {
                Self::Login
            }
            StreamableHttpError::Client(WireError::Access(_) | WireError::Credential) => {
                Self::Login
            }
            StreamableHttpError::Client(WireError::Malformed { .. })
            | StreamableHttpError::UnexpectedContentType(_) => Self::Malformed,
            _ => Self::Protocol,
        }
    }
}

impl From<SettingsError> for IntrospectError {
    fn from(error: SettingsError) -> Self {
        Self {
            trouble: Trouble::Settings,
            problem: format!("`{}` {}", error.key, error.problem),
        }
    }
}

impl From<ConnectError> for IntrospectError {
    fn from(error: ConnectError) -> Self {
        Self {
            trouble: error.trouble(),
            problem: error.to_string(),
        }
    }
}

/// Connects to a server, lists all its tools and lets go of it again.
pub async fn introspect(
    cx: &Context,
    name: SourceName,
    settings: Settings,
) -> Result<Introspection, IntrospectError> {
    let upstream = Upstream::check(name, settings, &cx.folder)?;
    let memory = Memory::new(cx.state.as_deref(), &upstream);
    let access = login::access(cx, &upstream);
    let connector = Connector::new(upstream, memory, access);
    let line = connector.connect().await?;
    let connection = Arc::clone(&line.connection);
    let (info, transport) = (connection.info.clone(), connection.transport);
    let fetched = fetched(&connection, connector.upstream()).await;
    line.close().await;
    connector.childless().await;
    let fetched = fetched?;
    let schema = |tool: &rmcp::model::Tool| {
        let schema = Value::Object(tool.input_schema.as_ref().clone());
        (tool.name.to_string(), schema)
    };
    let input_schemas = fetched.tools.iter().map(schema).collect();
    let Compiled { listing, .. } = compile(connector.upstream(), &info, fetched);
    Ok(Introspection {
        transport,
        revision: info.protocol_version.to_string(),
        listing,
        input_schemas,
    })
}

/// The tools that were found while connecting, or those the server has changed them to since.
async fn fetched(connection: &Connection, upstream: &Upstream) -> Result<Fetched, ConnectError> {
    if let Some(fetched) = connection.take_fetched() {
        return Ok(fetched);
    }
    let limit = Limit::for_series(upstream.start_timeout);
    let fetched = listing::fetch(connection, limit).await;
    fetched.map_err(ConnectError::Listing)
}
