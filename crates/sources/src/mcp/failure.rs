//! Why a request to a server gave no result, and what may be done about it.

use std::{error::Error, io, time::Duration};

use rmcp::{
    model::{ErrorCode, ErrorData},
    service::ServiceError,
    transport::{DynamicTransportError, streamable_http_client::StreamableHttpError},
};
use serde_json::Value;
use toolscript_catalog::{CallError, FunctionId};

use super::{elicitation::Unanswered, text, wire::WireError};

/// How much of a server's words an error repeats.
pub(super) const LONGEST_PROBLEM: usize = 2_000;

/// Why a request gave no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// There is no connection.
    #[error("{0}")]
    Unavailable(String),
    /// The server does not let us in.
    #[error("{0}")]
    Denied(String),
    /// No answer came in time.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The connection broke, or this request fell out of it.
    #[error("{problem}")]
    Lost { problem: String, loss: Loss },
    /// The server answered with an error of the protocol.
    #[error("{}", text::clean(&.0.message, LONGEST_PROBLEM))]
    Refused(ErrorData),
    /// The server wants something nobody can give.
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
    /// The answer makes no sense, or none for us.
    #[error("{0}")]
    Senseless(String),
}

/// What is known about a request that got lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// It never left, and the next one would not either.
    UnsentAndDown,
    /// It never left.
    Unsent,
    /// It may have arrived; its answer will not come.
    Unknown,
}

impl Failure {
    /// Whether a second try cannot do the work twice unnoticed.
    pub(super) fn may_be_repeated(&self, repeating_is_harmless: bool) -> bool {
        match self {
            Self::Lost { loss, .. } => *loss != Loss::Unknown || repeating_is_harmless,
            _ => false,
        }
    }

    /// Whether the connection is of no more use.
    pub(super) fn is_down(&self) -> bool {
        matches!(
            self,
            Self::Lost {
                loss: Loss::UnsentAndDown,
                ..
            }
        )
    }

    /// The failure as the caller of a function sees it.
    pub(super) fn of(self, function: &FunctionId) -> CallError {
        let function = function.clone();
        match self {
            Self::Unavailable(problem) | Self::Denied(problem) => CallError::Unavailable {
                source_name: function.source.to_string(),
                problem,
            },
            Self::Timeout(after) => CallError::Timeout {
                function,
                after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
            },
            Self::Refused(ref error) => CallError::Upstream {
                problem: format!("{self}{}", hint(error.code)),
                body: error.data.clone(),
                function,
            },
            Self::Lost { ref loss, .. } => CallError::Upstream {
                problem: format!("{self}{}", loss.consequence()),
                body: None,
                function,
            },
            Self::Unanswered(_) | Self::Senseless(_) => CallError::Upstream {
                problem: self.to_string(),
                body: None,
                function,
            },
        }
    }
}

impl Loss {
    fn consequence(self) -> &'static str {
        match self {
            Self::Unsent | Self::UnsentAndDown => "; the call was not made",
            Self::Unknown => "; whether the call was carried out is not known",
        }
    }
}

fn hint(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => {
            "; the server needs to ask a person or a model, and nobody can be asked here"
        }
        _ => "",
    }
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        let lost = |problem: &str| Self::Lost {
            problem: problem.to_owned(),
            loss: Loss::Unknown,
        };
        match error {
            ServiceError::McpError(error) => Self::Refused(error),
            ServiceError::TransportSend(error) => unsent(&error),
            ServiceError::TransportClosed => lost("the connection closed before the answer came"),
            ServiceError::Cancelled { .. } => lost("the call was cancelled"),
            other => Self::Senseless(other.to_string()),
        }
    }
}

/// Reads why a message could not be sent, by transport.
fn unsent(error: &DynamicTransportError) -> Failure {
    let error: &(dyn Error + 'static) = error.error.as_ref();
    if let Some(error) = error.downcast_ref::<StreamableHttpError<WireError>>() {
        return from_http(error);
    }
    if let Some(error) = error.downcast_ref::<WireError>() {
        return from_wire(error);
    }
    let problem = match error.downcast_ref::<io::Error>() {
        Some(_) => "the server does not take messages any more".to_owned(),
        None => error.to_string(),
    };
    // Half a line in a pipe is not read, so the server did nothing.
    Failure::Lost {
        problem,
        loss: Loss::Unsent,
    }
}

fn from_http(error: &StreamableHttpError<WireError>) -> Failure {
    let lost = |loss| Failure::Lost {
        problem: error.to_string(),
        loss,
    };
    match error {
        StreamableHttpError::Client(error) => from_wire(error),
        StreamableHttpError::SessionExpired => lost(Loss::Unsent),
        StreamableHttpError::TransportChannelClosed
        | StreamableHttpError::SessionRecoveryTimeout
        | StreamableHttpError::ReinitializationFailed(_) => lost(Loss::Unknown),
        other => Failure::Senseless(words(other)),
    }
}

fn from_wire(error: &WireError) -> Failure {
    let problem = error.to_string();
    match error {
        WireError::Access(_) | WireError::Credential => Failure::Denied(problem),
        WireError::Line(line) if line.is_unsent() => Failure::Lost {
            problem,
            loss: Loss::UnsentAndDown,
        },
        WireError::Line(line) if line.is_connection_failure() => Failure::Lost {
            problem,
            loss: Loss::Unknown,
        },
        _ => Failure::Senseless(problem),
    }
}

/// What went wrong over HTTP, in words that help.
pub(super) fn words(error: &StreamableHttpError<WireError>) -> String {
    match error {
        StreamableHttpError::Client(error) => error.to_string(),
        StreamableHttpError::UnexpectedContentType(Some(kind)) => {
            format!(
                "the server answered with `{}`, which is no MCP",
                text::line(kind, 80)
            )
        }
        other => text::clean(&other.to_string(), LONGEST_PROBLEM),
    }
}

/// What a tool said when it failed.
pub(super) fn tool_error(function: &FunctionId, problem: &str, body: Value) -> CallError {
    let problem = match text::clean(problem, LONGEST_PROBLEM) {
        empty if empty.is_empty() => "the tool reports an error and does not say which".to_owned(),
        problem => problem,
    };
    CallError::Upstream {
        function: function.clone(),
        problem,
        body: Some(body),
    }
}
