//! A call on its way to a source, what comes back, and the ways it can fail.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Caller, Catalog, Credential, FunctionId, Person, Unknown, validate::Invalid};

/// One request to run one function.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Which function.
    pub function: FunctionId,
    /// The parameters by name.
    pub params: Map<String, Value>,
    /// The body, where the function takes one and the caller gave one.
    pub body: Option<Value>,
}

/// What a source needs to know about a call besides the call.
#[derive(Clone, Default)]
pub struct CallContext {
    /// Who asks. Empty where everybody is the same.
    pub owner: String,
    /// A credential the caller brought for this source; it wins over the configured one.
    pub credential: Option<Credential>,
    /// When the caller stops waiting. Retries and back-off stay inside it.
    pub deadline: Option<Instant>,
    /// Somebody who can be asked while the call lasts.
    pub person: Option<Arc<dyn Person>>,
    /// Hears what happens while the call lasts.
    pub observer: Option<Arc<dyn Observer>>,
    /// The way to other functions, for a function that is itself a script.
    pub doorway: Option<Doorway>,
}

/// The way to other functions from inside a call: the catalog of the same moment, and the same
/// door with the same checks.
#[derive(Clone)]
pub struct Doorway {
    /// The functions that can be named.
    pub catalog: Arc<Catalog>,
    /// The door.
    pub caller: Arc<dyn Caller>,
}

/// Hears what happens while a call lasts. It must return at once.
pub trait Observer: Send + Sync {
    /// The other side shows that it is still at work.
    fn progress(&self, function: &FunctionId, sign: &Sign);
    /// The function wrote a line to its log.
    fn log(&self, function: &FunctionId, level: Level, text: &str);
}

/// A sign of progress.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sign {
    /// How much is done, in a measure of the other side's choice.
    pub done: f64,
    /// How much there is to do, where it is known.
    pub total: Option<f64>,
    /// What is being done, in words from outside.
    pub message: Option<String>,
}

/// How important a line of a log is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// For whoever looks for a fault.
    Debug,
    /// What happened; `print`.
    #[default]
    Info,
    /// What should be looked at.
    Warn,
    /// What went wrong.
    Error,
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("owner", &self.owner)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Doorway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doorway")
            .field("catalog", &self.catalog)
            .finish_non_exhaustive()
    }
}

/// What a call gave back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// The value a script sees; null is `nil`.
    pub value: Value,
    /// The parameters that ask for the next page, where the answer says there is one.
    pub next: Option<Map<String, Value>>,
}

impl Reply {
    /// A reply that is the last or only page.
    pub fn value(value: Value) -> Self {
        Self { value, next: None }
    }
}

/// Why a call did not give a result. Carries values; the words are made here and only here.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No source or function of that name.
    #[error("no function `{function}`; {hint}")]
    NotFound {
        /// What was asked for.
        function: String,
        /// What would have worked.
        hint: String,
    },
    /// The arguments do not fit.
    #[error("{0}")]
    Invalid(#[from] Invalid),
    /// A policy said no.
    #[error("`{function}` is not allowed: {rule}")]
    Denied {
        /// What was asked for.
        function: FunctionId,
        /// The rule that refused, in words a person can act on.
        rule: String,
    },
    /// A limit of the run is used up.
    #[error(
        "the run may make {allowed} calls and this would be one more; do more per call, or raise `limits.{limit}`"
    )]
    Limit {
        /// The key of the limit in the configuration.
        limit: &'static str,
        /// How much was allowed.
        allowed: u64,
    },
    /// The time was up before the answer came.
    #[error("`{function}` did not answer within {after_ms} ms")]
    Timeout {
        /// What was asked for.
        function: FunctionId,
        /// How long it was given.
        after_ms: u64,
    },
    /// The other side answered, with a failure.
    #[error("`{function}` answered {status}{}", excerpt(.body))]
    Status {
        /// What was asked for.
        function: FunctionId,
        /// The HTTP status.
        status: u16,
        /// The headers, lower case, without those that carry credentials.
        headers: BTreeMap<String, String>,
        /// The body: parsed where it was JSON, text otherwise.
        body: Value,
    },
    /// The other side could not be reached, or what it said made no sense.
    #[error("`{function}` failed: {problem}")]
    Upstream {
        /// What was asked for.
        function: FunctionId,
        /// What happened, in words that hold no credential.
        problem: String,
        /// What the other side said, if it said something.
        body: Option<Value>,
    },
    /// It is called too often.
    #[error("`{function}` is called too often ({rate}); try again in {retry_after_s} s")]
    RateLimited {
        /// What was asked for.
        function: FunctionId,
        /// The rate that is allowed, such as `10/minute`.
        rate: String,
        /// How long to wait, in whole seconds, at least one.
        retry_after_s: u64,
    },
    /// The function is a script, and it failed.
    #[error("`{function}` failed: {problem}")]
    Tool {
        /// What was asked for.
        function: FunctionId,
        /// What happened, with the place in the script where it is known.
        problem: String,
        /// The fields of the error the script raised, if it raised a table.
        body: Option<Value>,
    },
    /// The source itself is not there.
    #[error("source `{source_name}` is not available: {problem}")]
    Unavailable {
        /// Which source.
        source_name: String,
        /// Why, and what would help.
        problem: String,
    },
    /// The caller went away.
    #[error("`{function}` was cancelled")]
    Cancelled {
        /// What was asked for.
        function: FunctionId,
    },
}

/// The stable word for a failure, the same over MCP, HTTP and the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// Nothing of that name.
    NotFound,
    /// The arguments do not fit.
    BadRequest,
    /// A policy said no.
    Denied,
    /// A limit is used up.
    Limit,
    /// Too slow.
    Timeout,
    /// The other side failed.
    Upstream,
    /// The source is not there.
    Unavailable,
    /// The caller went away.
    Cancelled,
    /// Too often.
    RateLimited,
    /// The function is a script, and it failed.
    Tool,
}

impl CallError {
    /// The failure of a call to something the catalog does not know.
    pub fn unknown(function: &FunctionId, unknown: Unknown) -> Self {
        match unknown {
            Unknown::Absent {
                source_name,
                problem,
            } => Self::Unavailable {
                source_name,
                problem,
            },
            other => Self::NotFound {
                function: function.to_string(),
                hint: other.to_string(),
            },
        }
    }

    /// The stable word for this failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound { .. } => ErrorCode::NotFound,
            Self::Invalid(_) => ErrorCode::BadRequest,
            Self::Denied { .. } => ErrorCode::Denied,
            Self::Limit { .. } => ErrorCode::Limit,
            Self::Timeout { .. } => ErrorCode::Timeout,
            Self::Status { .. } | Self::Upstream { .. } => ErrorCode::Upstream,
            Self::Unavailable { .. } => ErrorCode::Unavailable,
            Self::Cancelled { .. } => ErrorCode::Cancelled,
            Self::RateLimited { .. } => ErrorCode::RateLimited,
            Self::Tool { .. } => ErrorCode::Tool,
        }
    }

    /// The HTTP status the other side answered with, where it answered.
    pub fn api_status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// The one table of failures: word, HTTP status, exit code.
impl ErrorCode {
    const TABLE: &[(Self, &str, u16, u8)] = &[
        (Self::NotFound, "not_found", 404, 4),
        (Self::BadRequest, "bad_request", 400, 5),
        (Self::Denied, "denied", 403, 6),
        (Self::Limit, "limit", 429, 7),
        (Self::Timeout, "timeout", 408, 8),
        (Self::Upstream, "upstream", 502, 9),
        (Self::Unavailable, "unavailable", 503, 10),
        (Self::Cancelled, "cancelled", 499, 11),
        (Self::RateLimited, "rate_limited", 429, 12),
        (Self::Tool, "tool_error", 500, 13),
    ];

    fn row(self) -> &'static (Self, &'static str, u16, u8) {
        // Every code has its row; `the_table_is_whole` keeps it so.
        Self::TABLE
            .iter()
            .find(|row| row.0 == self)
            .unwrap_or(&Self::TABLE[0])
    }

    /// The word.
    pub fn word(self) -> &'static str {
        self.row().1
    }

    /// The status over HTTP.
    pub fn http_status(self) -> u16 {
        self.row().2
    }

    /// The exit code of the command line.
    pub fn exit_code(self) -> u8 {
        self.row().3
    }
}

/// The start of a failure's body, so that the message alone is often enough.
fn excerpt(body: &Value) -> String {
    const LONGEST: usize = 300;
    let text = match body {
        Value::Null => return String::new(),
        Value::String(text) => text.trim().to_owned(),
        Value::Object(object) => match ["message", "detail", "error", "title"]
            .iter()
            .find_map(|key| object.get(*key).and_then(Value::as_str))
        {
            Some(message) => message.to_owned(),
            None => body.to_string(),
        },
        other => other.to_string(),
    };
    if text.is_empty() {
        return String::new();
    }
    let cut: String = text.chars().take(LONGEST).collect();
    let dots = if cut.len() < text.len() { "…" } else { "" };
    format!(": {cut}{dots}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_table_is_whole() {
        let codes = [
            ErrorCode::NotFound,
            ErrorCode::BadRequest,
            ErrorCode::Denied,
            ErrorCode::Limit,
            ErrorCode::Timeout,
            ErrorCode::Upstream,
            ErrorCode::Unavailable,
            ErrorCode::Cancelled,
            ErrorCode::RateLimited,
            ErrorCode::Tool,
        ];
        assert_eq!(codes.len(), ErrorCode::TABLE.len());
        for code in codes {
            assert_eq!(code.row().0, code);
        }
    }

    #[test]
    fn a_failure_says_what_the_other_side_said() {
        let error = |body| CallError::Status {
            function: "petstore.get_pet".parse().unwrap(),
            status: 404,
            headers: BTreeMap::new(),
            body,
        };
        let shown = |body| error(body).to_string();
        assert_eq!(
            shown(json!({"message": "no pet 7"})),
            "`petstore.get_pet` answered 404: no pet 7"
        );
        assert_eq!(shown(json!(null)), "`petstore.get_pet` answered 404");
        assert_eq!(
            shown(json!({"code": 1})),
            "`petstore.get_pet` answered 404: {\"code\":1}"
        );
        assert!(shown(json!("x".repeat(1000))).ends_with("x…"));
    }
}
