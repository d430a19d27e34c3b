//! `Runtime`: runs scripts.

use std::{sync::Arc, time::Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::{
    compile, failure,
    limits::Exceeded,
    outcome::{Failure, Outcome, Phase, ScriptError, ScriptResult, Stats},
    pool::Pool,
    results::{ResultSettings, Results},
    run::{Run, State},
    session::{Session, aborted},
    watch::Abort,
};

/// How much a runtime keeps ready and lets run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RuntimeSettings {
    /// How many VMs are kept ready; each takes about 200 KiB.
    pub max_idle_vms: usize,
    /// How many scripts may run or wait at once; more wait for their turn, within their timeout.
    pub max_runs: usize,
    /// How many scripts may compute for long where Luau cannot pause them, each on a thread of
    /// its own; one more is ended.
    pub max_stuck: usize,
    /// What happens to large results.
    pub results: ResultSettings,
}

impl Default for RuntimeSettings {
    fn default() -> Self {
        Self {
            max_idle_vms: 64,
            max_runs: 20_000,
            max_stuck: 32,
            results: ResultSettings::default(),
        }
    }
}

/// Runs scripts in sealed VMs. Cheap to clone; clones share VMs and kept results.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

struct Inner {
    pool: Pool,
    turns: Semaphore,
    results: Arc<Results>,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}

impl Default for Runtime {
    fn default() -> Self {
        Self::new(RuntimeSettings::default())
    }
}

impl Runtime {
    /// A runtime without any VM yet.
    pub fn new(settings: RuntimeSettings) -> Self {
        let inner = Inner {
            pool: Pool::new(settings.max_idle_vms, settings.max_stuck),
            turns: Semaphore::new(settings.max_runs.min(Semaphore::MAX_PERMITS)),
            results: Arc::new(Results::new(settings.results)),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The large results that are kept.
    pub fn results(&self) -> &Results {
        &self.inner.results
    }

    /// Runs a script to its end.
    ///
    /// Must be called inside a tokio runtime with its timer on, and not inside a `LocalSet`. In
    /// a runtime of several threads no script can hold up the others; in one of a single thread
    /// a script that computes where Luau cannot pause holds it until its timeout. Dropping the
    /// future ends the run and drops the calls it waits for.
    pub async fn run(&self, run: Run) -> Outcome {
        let begun = Instant::now();
        let state = Arc::new(State::new(
            &run,
            self.inner.results.clone(),
            run.limits.deadline(),
        ));
        let mut cost = Stats::default();
        let result = self.attempt(&run, &state, &mut cost).await;
        let (logs, log_bytes) = state.take_logs();
        cost.log_bytes = log_bytes;
        cost.calls = state.calls();
        cost.duration_ms = (begun.elapsed().as_secs_f64() * 1e6).round() / 1e3;
        Outcome {
            result,
            logs,
            stats: cost,
        }
    }

    async fn attempt(
        &self,
        run: &Run,
        state: &Arc<State>,
        cost: &mut Stats,
    ) -> Result<ScriptResult, ScriptError> {
        let deadline = state.deadline;
        let ready = async {
            let turn = self.inner.turns.acquire().await;
            let turn = turn.map_err(|_| ScriptError::from(Failure::from(Exceeded::Runs)))?;
            let code = compile::compile(&run.script, &run.limits).await?;
            Ok::<_, ScriptError>((turn, code))
        };
        let (_turn, code) = tokio::select! {
            biased;
            ready = ready => ready?,
            () = run.cancel.cancelled() => return Err(aborted(run, Abort::Cancelled)),
            () = tokio::time::sleep_until(deadline.into()) => return Err(aborted(run, Abort::Timeout)),
        };
        let broken = |error: mlua::Error| failure::from_rust(state, &error);
        let mut vm = self.inner.pool.take().map_err(broken)?;
        let environment = vm
            .begin(state.clone(), run.cancel.clone())
            .map_err(broken)?;
        let session = Session {
            run,
            state,
            vm: &vm,
            environment,
        };
        let value = session.run(&code, cost).await;
        drop(session);
        // A run that is dropped before this point takes its VM along.
        self.inner.pool.give_back(vm);
        self.finish(run, value?, cost)
    }

    /// Hands the value over, or keeps it where it is large.
    fn finish(
        &self,
        run: &Run,
        value: Value,
        cost: &mut Stats,
    ) -> Result<ScriptResult, ScriptError> {
        let bytes = json_bytes(&value);
        cost.result_bytes = bytes;
        if bytes <= run.limits.max_inline_bytes {
            return Ok(ScriptResult::Value(value));
        }
        let too_large = || {
            let message = format!("the result has {bytes} bytes and cannot be kept; return less");
            ScriptError::new(Phase::Limit, message)
        };
        let kept = self
            .inner
            .results
            .keep(&run.owner, value, bytes)
            .ok_or_else(too_large)?;
        Ok(ScriptResult::Kept(kept))
    }
}

/// The size of a value as JSON, without making the text.
fn json_bytes(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting cannot fail, and neither can writing a JSON value.
    serde_json::to_writer(&mut count, value).ok();
    count.0
}
