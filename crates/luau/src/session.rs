//! One run in its VM, from the compiled script to the JSON of its result.

use std::sync::Arc;

use mlua::{Lua, MultiValue, Table, Value as Luau};
use serde_json::Value;

use crate::{
    compile,
    driver::{Driver, Ending},
    failure,
    host::{self, Argument},
    limits::Exceeded,
    outcome::{Failure, Phase, ScriptError, Stats},
    prelude::Raised,
    run::{EntryPoint, Run, State},
    value::{self, BadValue, Budget},
    vm::{Parts, Vm},
    watch::Abort,
};

/// One run in its VM.
pub(crate) struct Session<'a> {
    pub(crate) run: &'a Run,
    pub(crate) state: &'a Arc<State>,
    pub(crate) vm: &'a Vm,
    pub(crate) environment: Table,
}

/// Why a run has no result.
enum Stop {
    Error(ScriptError),
    /// From the VM itself; what it means depends on what happened before.
    Lua(mlua::Error),
}

impl From<ScriptError> for Stop {
    fn from(error: ScriptError) -> Self {
        Self::Error(error)
    }
}

impl From<mlua::Error> for Stop {
    fn from(error: mlua::Error) -> Self {
        Self::Lua(error)
    }
}

impl From<BadValue> for Stop {
    fn from(bad: BadValue) -> Self {
        Self::Error(Failure::from(bad).into())
    }
}

impl From<Raised> for Stop {
    fn from(raised: Raised) -> Self {
        match raised {
            Raised::Failure(failure) => Self::Error(failure.into()),
            Raised::Lua(error) => Self::Lua(error),
        }
    }
}

impl Session<'_> {
    /// Runs a script that `compile` has compiled.
    pub(crate) async fn run(&self, code: &[u8], cost: &mut Stats) -> Result<Value, ScriptError> {
        let error = match self.attempt(code, cost).await {
            Ok(value) => return Ok(value),
            Err(Stop::Error(error)) => error,
            Err(Stop::Lua(error)) => self.broken(&error),
        };
        // Nobody knows what is half done in a VM that ran out of memory.
        if error.limit.as_deref() == Some(Exceeded::Memory(0).key()) {
            self.vm.watch().spoil();
        }
        Err(error)
    }

    async fn attempt(&self, code: &[u8], cost: &mut Stats) -> Result<Value, Stop> {
        let lua = self.vm.lua();
        host::bind_all(lua, self.state, &self.run.modules, &self.environment)?;
        let script = Luau::Function(compile::load(lua, code)?);
        let returned = self.call(vec![script], cost).await?;
        match &self.run.entry {
            EntryPoint::Script => self.json(&single(lua, returned)?),
            EntryPoint::Describe { global } => self.json(&described(lua, &self.global(global)?)?),
            EntryPoint::Call {
                global,
                function,
                arguments,
            } => {
                let call = self.prepare(global, function, arguments)?;
                let returned = self.call(call, cost).await?;
                self.json(&single(lua, returned)?)
            }
        }
    }

    /// A function the script defined, with its arguments.
    fn prepare(
        &self,
        global: &str,
        function: &str,
        arguments: &[Argument],
    ) -> Result<Vec<Luau>, Stop> {
        let body: Luau = self.global(global)?.raw_get(function)?;
        if !body.is_function() {
            let message = format!("the script defines no function `{global}.{function}`");
            return Err(ScriptError::new(Phase::Check, message).into());
        }
        let mut call = vec![body];
        for argument in arguments {
            call.push(host::argument(self.vm.lua(), self.state, argument)?);
        }
        Ok(call)
    }

    /// Calls the first value with the others.
    async fn call(&self, call: Vec<Luau>, cost: &mut Stats) -> Result<MultiValue, Stop> {
        let mut driver = Driver::new(self.vm, self.state, self.run.progress.clone());
        let (call, deadline) = (MultiValue::from_vec(call), self.state.deadline);
        let ending = driver.run(call, deadline, &self.run.cancel).await;
        cost.failed_calls += driver.failed_calls();
        match ending {
            Ending::Returned(values) => Ok(values),
            Ending::Raised(error) => Err(self.uncaught(&error).into()),
            Ending::Aborted(abort) => {
                self.vm.watch().abort(abort);
                Err(aborted(self.run, abort).into())
            }
            Ending::Broken(error) => {
                self.vm.watch().spoil();
                Err(error.into())
            }
        }
    }

    /// A script that is told to end may see that as an error and let it through.
    fn uncaught(&self, error: &Luau) -> ScriptError {
        match self.vm.watch().aborted() {
            Some(abort) => aborted(self.run, abort),
            None => failure::from_luau(self.vm.lua(), self.state, error),
        }
    }

    /// What the VM itself says. After an abort that is only its echo.
    fn broken(&self, error: &mlua::Error) -> ScriptError {
        match self.vm.watch().aborted() {
            Some(abort) => aborted(self.run, abort),
            None => failure::from_rust(self.state, error),
        }
    }

    fn global(&self, name: &str) -> Result<Table, Stop> {
        let Luau::Table(table) = self.environment.raw_get(name)? else {
            let message = format!("the script defines no global table `{name}`");
            return Err(ScriptError::new(Phase::Check, message).into());
        };
        Ok(table)
    }

    fn json(&self, value: &Luau) -> Result<Value, Stop> {
        let parts = Parts::of(self.vm.lua())?;
        let budget = Budget::of(self.state);
        Ok(value::to_json(&parts.kinds, value, budget, "result")?)
    }
}

/// A table without its functions, whose names stand under `functions`.
fn described(lua: &Lua, table: &Table) -> mlua::Result<Luau> {
    let (copy, functions) = (lua.create_table()?, lua.create_table()?);
    table.for_each(|key: Luau, value: Luau| match value {
        Luau::Function(_) => functions.raw_push(key),
        value => copy.raw_set(key, value),
    })?;
    Parts::of(lua)?.kinds.mark_array(&functions)?;
    copy.raw_set("functions", functions)?;
    Ok(Luau::Table(copy))
}

/// What a script returned as one value: several become a list.
fn single(lua: &Lua, mut values: MultiValue) -> mlua::Result<Luau> {
    if values.len() <= 1 {
        return Ok(values.pop_front().unwrap_or(Luau::Nil));
    }
    let filled = |value: Luau| if value.is_nil() { value::NULL } else { value };
    let list = lua.create_sequence_from(values.into_iter().map(filled))?;
    Ok(Luau::Table(list))
}

/// The error of a run that had to end.
pub(crate) fn aborted(run: &Run, abort: Abort) -> ScriptError {
    match abort {
        Abort::Timeout => Failure::from(Exceeded::Timeout(run.limits.timeout_ms)).into(),
        Abort::Stuck => Failure::from(Exceeded::Stuck).into(),
        Abort::Cancelled => ScriptError {
            cancelled: true,
            ..ScriptError::new(Phase::Execution, "the run was cancelled")
        },
    }
}
