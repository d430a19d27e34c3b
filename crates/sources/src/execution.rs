//! A script that is a function: its time, its limits, the way to other functions, what it logs.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use toolscript_catalog::{
    Call, CallContext, CallError, Caller, Doorway, FunctionId, Level, Listing, Observer, Reply,
    validate,
};
use toolscript_luau::{
    EntryPoint, HostModule, Limits, LogLine, Phase, Progress, Run, ScriptError, ScriptResult,
};

use crate::{Context, hidden::Hidden};

/// Makes the empty tables in a result what the function says it gives.
pub(crate) fn settle_result(listing: &Listing, reply: &mut Reply) {
    if let Some(function) = listing.functions.first() {
        validate::settle_empty(&function.returns.ty, &listing.types, &mut reply.value);
    }
}

/// One call of a function that is a script.
pub(crate) struct Execution<'a> {
    pub(crate) cx: &'a Context,
    pub(crate) call: &'a CallContext,
    pub(crate) function: &'a FunctionId,
    /// The file, as errors show it.
    pub(crate) file: &'a str,
    pub(crate) timeout: Duration,
    /// What neither errors nor logs may show.
    pub(crate) hidden: &'a Hidden,
}

impl Execution<'_> {
    /// Runs the script to its end. Dropping the future ends it.
    pub(crate) async fn run(
        &self,
        script: &str,
        entry: EntryPoint,
        modules: Vec<Arc<dyn HostModule>>,
    ) -> Result<Reply, CallError> {
        let timeout = self.time_left();
        if timeout.is_zero() {
            return Err(self.late(timeout));
        }
        let doorway = self.call.doorway.clone().unwrap_or_else(closed_doorway);
        let outcome = self.cx.runtime.run(Run {
            entry,
            limits: limits(&self.cx.limits, timeout),
            owner: self.call.owner.clone(),
            progress: Some(Arc::new(Listener {
                function: self.function.clone(),
                observer: self.call.observer.clone(),
                hidden: self.hidden.clone(),
            })),
            modules,
            ..Run::new(script, doorway.catalog, doorway.caller)
        });
        match outcome.await.result {
            Ok(ScriptResult::Value(value)) => Ok(Reply::value(value)),
            // Nothing is kept: the limits let every allowed result through.
            Ok(ScriptResult::Kept(kept)) => Ok(Reply::value(kept.preview.into())),
            Err(error) => Err(self.failure(error, timeout)),
        }
    }

    /// The function's own time, and never more than the caller waits.
    fn time_left(&self) -> Duration {
        let waits = self.call.deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        self.timeout.min(waits)
    }

    fn late(&self, after: Duration) -> CallError {
        CallError::Timeout {
            function: self.function.clone(),
            after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn failure(&self, error: ScriptError, timeout: Duration) -> CallError {
        let function = self.function.clone();
        if error.cancelled {
            return CallError::Cancelled { function };
        }
        // A call inside the script that was too slow is the script's own failure.
        if error.phase == Phase::Timeout && error.limit.is_some() {
            return self.late(timeout);
        }
        let mut body = error.details;
        if let Some(body) = &mut body {
            self.hidden.value(body);
        }
        let place = match error.line {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.to_owned(),
        };
        CallError::Tool {
            function,
            problem: format!("{place}: {}", self.hidden.text(&error.message)),
            body,
        }
    }
}

/// The limits of a script that is a function: its result goes to whoever called, never to a shelf.
pub(crate) fn limits(limits: &Limits, timeout: Duration) -> Limits {
    Limits {
        timeout_ms: u64::try_from(timeout.as_millis())
            .unwrap_or(u64::MAX)
            .max(1),
        max_inline_bytes: usize::MAX,
        ..limits.clone()
    }
}

/// A door that leads nowhere, for a script nobody calls.
pub(crate) fn closed_doorway() -> Doorway {
    Doorway {
        catalog: Arc::default(),
        caller: Arc::new(Closed),
    }
}

struct Closed;

#[async_trait]
impl Caller for Closed {
    async fn call(&self, call: Call) -> Result<Reply, CallError> {
        Err(CallError::Denied {
            function: call.function,
            rule: "functions can be called while a tool runs, not while it is read".to_owned(),
        })
    }
}

/// Passes on what a script logs while it runs.
struct Listener {
    function: FunctionId,
    observer: Option<Arc<dyn Observer>>,
    hidden: Hidden,
}

impl Progress for Listener {
    fn started(&self, _function: &FunctionId, _number: u64) {}

    fn finished(&self, _function: &FunctionId, _number: u64, _took: Duration, _succeeded: bool) {}

    fn logged(&self, line: &LogLine) {
        let text = self.hidden.text(&line.text);
        let (function, line_number) = (&self.function, line.line);
        match line.level {
            Level::Debug => tracing::debug!(%function, line_number, %text, "tool log"),
            Level::Info => tracing::info!(%function, line_number, %text, "tool log"),
            Level::Warn => tracing::warn!(%function, line_number, %text, "tool log"),
            Level::Error => tracing::error!(%function, line_number, %text, "tool log"),
        }
        if let Some(observer) = &self.observer {
            observer.log(&self.function, line.level, &text);
        }
    }
}
