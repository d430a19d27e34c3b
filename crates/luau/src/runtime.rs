//! `Runtime`: runs scripts.

use std::{sync::Arc, time::Instant};

use mlua::{MultiValue, Table, Value as Luau};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::{
    compile,
    driver::{Driver, Ending},
    failure, host,
    limits::Exceeded,
    outcome::{Failure, Outcome, Phase, ScriptError, ScriptResult, Stats},
    pool::Pool,
    prelude::Raised,
    results::{ResultSettings, Results},
    run::{EntryPoint, Run, State},
    value::{self, Budget},
    vm::{Parts, Vm},
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
    /// Must be called inside a tokio runtime with its timer on. Dropping the future ends the run
    /// and drops the calls it waits for.
    pub async fn run(&self, run: Run) -> Outcome {
        let begun = Instant::now();
        let state = Arc::new(State::new(
            &run,
            self.inner.results.clone(),
            begun + run.limits.timeout(),
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

/// One run in its VM.
struct Session<'a> {
    run: &'a Run,
    state: &'a Arc<State>,
    vm: &'a Vm,
    environment: Table,
}

impl Session<'_> {
    async fn run(&self, code: &[u8], cost: &mut Stats) -> Result<Value, ScriptError> {
        let lua = self.vm.lua();
        host::bind_all(lua, self.state, &self.run.modules, &self.environment)
            .map_err(|raised| self.raised(raised))?;
        let script = compile::load(lua, code).map_err(|error| self.broken(&error))?;
        let returned = self.call(vec![Luau::Function(script)], cost).await?;
        match &self.run.entry {
            EntryPoint::Script => {
                self.json(&single(lua, returned).map_err(|error| self.broken(&error))?)
            }
            EntryPoint::Describe { global } => self.describe(&self.global(global)?),
            EntryPoint::Call {
                global,
                function,
                arguments,
            } => {
                let table = self.global(global)?;
                let body: Luau = table
                    .raw_get(function.as_str())
                    .map_err(|error| self.broken(&error))?;
                if !body.is_function() {
                    let message = format!("the script defines no function `{global}.{function}`");
                    return Err(ScriptError::new(Phase::Validation, message));
                }
                let mut call = vec![body];
                for argument in arguments {
                    let value = host::argument(lua, self.state, argument);
                    call.push(value.map_err(|raised| self.raised(raised))?);
                }
                let returned = self.call(call, cost).await?;
                self.json(&single(lua, returned).map_err(|error| self.broken(&error))?)
            }
        }
    }

    /// Calls the first value with the others.
    async fn call(&self, call: Vec<Luau>, cost: &mut Stats) -> Result<MultiValue, ScriptError> {
        let mut driver = Driver::new(self.vm, self.state, self.run.progress.clone());
        let ending = driver
            .run(
                MultiValue::from_vec(call),
                self.state.deadline,
                &self.run.cancel,
            )
            .await;
        cost.failed_calls += driver.failed_calls();
        match ending {
            Ending::Returned(values) => Ok(values),
            Ending::Raised(error) => Err(self.uncaught(&error)),
            Ending::Aborted(abort) => {
                self.vm.watch().abort(abort);
                Err(aborted(self.run, abort))
            }
            Ending::Broken(error) => {
                let error = self.broken(&error);
                // Nobody knows what state the VM is in: let it not be used again.
                self.vm.watch().abort(Abort::Stuck);
                Err(error)
            }
        }
    }

    /// A script that is told to end may see that as an error and let it through.
    fn uncaught(&self, error: &Luau) -> ScriptError {
        if let Some(abort) = self.vm.watch().aborted() {
            return aborted(self.run, abort);
        }
        failure::from_luau(self.vm.lua(), self.state, error)
    }

    fn global(&self, name: &str) -> Result<Table, ScriptError> {
        match self.environment.raw_get(name) {
            Ok(Luau::Table(table)) => Ok(table),
            Ok(_) => {
                let message = format!("the script defines no global table `{name}`");
                Err(ScriptError::new(Phase::Validation, message))
            }
            Err(error) => Err(self.broken(&error)),
        }
    }

    /// A table without its functions, whose names stand under `functions`.
    fn describe(&self, table: &Table) -> Result<Value, ScriptError> {
        let described = || -> mlua::Result<Luau> {
            let lua = self.vm.lua();
            let (copy, functions) = (lua.create_table()?, lua.create_table()?);
            table.for_each(|key: Luau, value: Luau| match value {
                Luau::Function(_) => functions.raw_push(key),
                value => copy.raw_set(key, value),
            })?;
            Parts::of(lua)?.kinds.mark_array(&functions)?;
            copy.raw_set("functions", functions)?;
            Ok(Luau::Table(copy))
        };
        self.json(&described().map_err(|error| self.broken(&error))?)
    }

    fn json(&self, value: &Luau) -> Result<Value, ScriptError> {
        let parts = Parts::of(self.vm.lua()).map_err(|error| self.broken(&error))?;
        let budget = Budget::of(self.state);
        value::to_json(&parts.kinds, value, budget, "result")
            .map_err(|bad| Failure::from(bad).into())
    }

    fn raised(&self, raised: Raised) -> ScriptError {
        match raised {
            Raised::Failure(failure) => failure.into(),
            Raised::Lua(error) => self.broken(&error),
        }
    }

    /// What the VM itself says. After an abort that is only its echo.
    fn broken(&self, error: &mlua::Error) -> ScriptError {
        match self.vm.watch().aborted() {
            Some(abort) => aborted(self.run, abort),
            None => failure::from_rust(self.state, error),
        }
    }
}

/// What a script returned as one value: several become a list.
fn single(lua: &mlua::Lua, mut values: MultiValue) -> mlua::Result<Luau> {
    if values.len() <= 1 {
        return Ok(values.pop_front().unwrap_or(Luau::Nil));
    }
    let values = values
        .into_iter()
        .map(|value| if value.is_nil() { value::NULL } else { value });
    Ok(Luau::Table(lua.create_sequence_from(values)?))
}

fn aborted(run: &Run, abort: Abort) -> ScriptError {
    match abort {
        Abort::Timeout => Failure::from(Exceeded::Timeout(run.limits.timeout_ms)).into(),
        Abort::Stuck => Failure::from(Exceeded::Stuck).into(),
        Abort::Cancelled => ScriptError {
            cancelled: true,
            ..ScriptError::new(Phase::Execution, "the run was cancelled")
        },
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
