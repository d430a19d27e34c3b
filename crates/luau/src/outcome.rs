//! What a run gives back: a result or an error, what was printed, and what it cost.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;
use toolscript_catalog::{CallError, FunctionId, Level};

/// What a run gave back.
///
/// As JSON it is `{ result, logs, stats }`, `{ kept, logs, stats }` where the result was too
/// large to hand over, or `{ error, logs, stats }`.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The value the script returned, or why there is none.
    pub result: Result<ScriptResult, ScriptError>,
    /// What the script printed.
    pub logs: Vec<LogLine>,
    /// What the run cost.
    pub stats: Stats,
}

/// The value a script returned.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptResult {
    /// The value itself.
    Value(Value),
    /// The value is large and was kept; a later script reads it with `result(handle)`.
    Kept(Kept),
}

/// Where a large result is and what it looks like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// What `result(handle)` takes.
    pub handle: String,
    /// Its size as JSON.
    pub bytes: usize,
    /// What it is made of, in a few lines.
    pub shape: String,
    /// How it starts.
    pub preview: String,
    /// How long it is kept.
    pub expires_in_seconds: u64,
}

/// Where in the life of a run something went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The script is not Luau.
    Parse,
    /// The script does not fit the catalog, or what it is for.
    Check,
    /// The arguments of a call, or the result, do not fit.
    Validation,
    /// The script raised an error.
    Execution,
    /// The other side of a call failed.
    ApiCall,
    /// Time was up.
    Timeout,
    /// A limit was reached.
    Limit,
    /// A policy or a person said no.
    Approval,
}

impl Phase {
    const ALL: [Self; 8] = [
        Self::Parse,
        Self::Check,
        Self::Validation,
        Self::Execution,
        Self::ApiCall,
        Self::Timeout,
        Self::Limit,
        Self::Approval,
    ];

    /// The word for it, the same in answers and in the error values of scripts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Check => "check",
            Self::Validation => "validation",
            Self::Execution => "execution",
            Self::ApiCall => "api_call",
            Self::Timeout => "timeout",
            Self::Limit => "limit",
            Self::Approval => "approval",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.word() == word)
    }

    /// The one table from the failure of a call to the phase of a run.
    fn of(error: &CallError) -> Self {
        match error {
            CallError::NotFound { .. } | CallError::Invalid(_) => Self::Validation,
            CallError::Denied { .. } => Self::Approval,
            CallError::Limit { .. } | CallError::RateLimited { .. } => Self::Limit,
            CallError::Timeout { .. } => Self::Timeout,
            CallError::Status { .. }
            | CallError::Upstream { .. }
            | CallError::Unavailable { .. } => Self::ApiCall,
            CallError::Cancelled { .. } | CallError::Tool { .. } => Self::Execution,
        }
    }
}

/// Why a script gave no result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScriptError {
    /// Where in the life of the run.
    pub phase: Phase,
    /// What happened.
    pub message: String,
    /// The line in the script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The function whose call failed, as `source.function`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The HTTP status the other side answered with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_status: Option<u16>,
    /// The key of the limit that was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The fields of the table the script threw, or what the other side said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The lines of the script that led here, innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traceback: Vec<TraceLine>,
    /// Whether the run was cancelled from outside.
    #[serde(skip)]
    pub cancelled: bool,
}

/// One step of the way to an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TraceLine {
    /// The line in the script.
    pub line: u32,
    /// The function of the script it is in; none for the script itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// One thing a script printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// How important.
    pub level: Level,
    /// The line of the script that printed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What it says.
    pub text: String,
}

/// What a run cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Wall clock from start to answer.
    pub duration_ms: f64,
    /// Calls made, failed ones included.
    pub calls: u64,
    /// Calls that failed.
    pub failed_calls: u64,
    /// Bytes printed.
    pub log_bytes: usize,
    /// Bytes of the result as JSON.
    pub result_bytes: usize,
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        match &self.result {
            Ok(ScriptResult::Value(value)) => map.serialize_entry("result", value)?,
            Ok(ScriptResult::Kept(kept)) => map.serialize_entry("kept", kept)?,
            Err(error) => map.serialize_entry("error", error)?,
        }
        map.serialize_entry("logs", &self.logs)?;
        map.serialize_entry("stats", &self.stats)?;
        map.end()
    }
}

impl ScriptError {
    /// An error with nothing but its phase and message.
    pub fn new(phase: Phase, message: impl Into<String>) -> Self {
        Failure::new(phase, message).into()
    }
}

/// Something that went wrong on our side of a script: what an error value in Luau is made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    pub(crate) phase: Phase,
    pub(crate) message: String,
    pub(crate) function: Option<String>,
    pub(crate) status: Option<u16>,
    pub(crate) body: Option<Value>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) limit: Option<&'static str>,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(phase: Phase, message: impl Into<String>) -> Self {
        Self {
            phase,
            message: message.into(),
            function: None,
            status: None,
            body: None,
            headers: BTreeMap::new(),
            limit: None,
            hint: None,
        }
    }

    pub(crate) fn validation(message: impl Into<String>) -> Self {
        Self::new(Phase::Validation, message)
    }

    pub(crate) fn execution(message: impl Into<String>) -> Self {
        Self::new(Phase::Execution, message)
    }

    #[must_use]
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    #[must_use]
    pub(crate) fn with_function(self, function: &FunctionId) -> Self {
        Self {
            function: Some(function.to_string()),
            ..self
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let mut failure = Self::new(Phase::of(&error), error.to_string());
        failure.hint = hint(&error);
        failure.status = error.api_status();
        match error {
            CallError::Status {
                function,
                headers,
                body,
                ..
            } => {
                failure.function = Some(function.to_string());
                failure.headers = headers;
                failure.body = Some(body);
            }
            CallError::Upstream { function, body, .. } | CallError::Tool { function, body, .. } => {
                failure.function = Some(function.to_string());
                failure.body = body;
            }
            CallError::Denied { function, .. }
            | CallError::Timeout { function, .. }
            | CallError::RateLimited { function, .. }
            | CallError::Cancelled { function } => failure.function = Some(function.to_string()),
            CallError::NotFound { function, .. } => failure.function = Some(function),
            CallError::Limit { limit, .. } => failure.limit = Some(limit),
            CallError::Invalid(_) | CallError::Unavailable { .. } => {}
        }
        failure
    }
}

/// What to do next, where it is not already in the message.
fn hint(error: &CallError) -> Option<String> {
    let text = match error {
        CallError::Status {
            status: 401 | 403, ..
        } => "the credential for this source is missing or not enough: ask the operator",
        CallError::Status { status: 404, .. } => {
            "nothing is there: check the identifiers, or list what exists first"
        }
        CallError::Status {
            status: 400 | 422, ..
        } => "the other side refused the arguments: compare them with the function's docs",
        CallError::Status { status: 429, .. } => {
            "too many requests: call less often, or `sleep` between calls"
        }
        CallError::Status {
            status: 500..=599, ..
        } => "the other side has a problem: try again later",
        CallError::Invalid(_) => "read the function's docs for its parameters and types",
        CallError::Timeout { .. } => "ask for less at once, or try again",
        _ => return None,
    };
    Some(text.to_owned())
}

impl From<Failure> for ScriptError {
    fn from(failure: Failure) -> Self {
        let mut details = serde_json::Map::new();
        if let Some(body) = failure.body.filter(|body| !body.is_null()) {
            details.insert("body".to_owned(), body);
        }
        if !failure.headers.is_empty() {
            let headers = failure
                .headers
                .into_iter()
                .map(|(key, text)| (key, text.into()));
            details.insert("headers".to_owned(), Value::Object(headers.collect()));
        }
        Self {
            phase: failure.phase,
            message: failure.message,
            line: None,
            function: failure.function,
            api_status: failure.status,
            limit: failure.limit.map(str::to_owned),
            hint: failure.hint,
            details: (!details.is_empty()).then_some(Value::Object(details)),
            traceback: Vec::new(),
            cancelled: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(outcome: &Outcome, expected: &Value) {
        assert_eq!(&serde_json::to_value(outcome).unwrap(), expected);
    }

    fn outcome(result: Result<ScriptResult, ScriptError>) -> Outcome {
        let line = LogLine {
            level: Level::Info,
            line: Some(2),
            text: "hi".to_owned(),
        };
        Outcome {
            result,
            logs: vec![line],
            stats: Stats::default(),
        }
    }

    #[test]
    fn answers_have_the_documented_shape() {
        let logs = json!([{"level": "info", "line": 2, "text": "hi"}]);
        let stats = json!({"duration_ms": 0.0, "calls": 0, "failed_calls": 0, "log_bytes": 0, "result_bytes": 0});
        check(
            &outcome(Ok(ScriptResult::Value(json!([1])))),
            &json!({"result": [1], "logs": logs, "stats": stats}),
        );
        let error = ScriptError {
            line: Some(3),
            ..ScriptError::new(Phase::ApiCall, "no")
        };
        check(
            &outcome(Err(error)),
            &json!({"error": {"phase": "api_call", "message": "no", "line": 3}, "logs": logs, "stats": stats}),
        );
    }

    #[test]
    fn phases_read_back() {
        for phase in Phase::ALL {
            assert_eq!(Phase::from_word(phase.word()), Some(phase));
            assert_eq!(serde_json::to_value(phase).unwrap(), json!(phase.word()));
        }
    }

    #[test]
    fn a_failed_call_keeps_what_the_other_side_said() {
        let failure = Failure::from(CallError::Status {
            function: "pets.get".parse().unwrap(),
            status: 404,
            headers: BTreeMap::from([("x-id".to_owned(), "7".to_owned())]),
            body: json!({"message": "gone"}),
        });
        let error = ScriptError::from(failure);
        assert_eq!(error.phase, Phase::ApiCall);
        assert_eq!(error.api_status, Some(404));
        assert_eq!(error.function.as_deref(), Some("pets.get"));
        assert_eq!(
            error.details,
            Some(json!({"body": {"message": "gone"}, "headers": {"x-id": "7"}}))
        );
        assert!(error.hint.is_some());
    }
}
