//! How a source gives further modules to the scripts it trusts: its own tool scripts, never the
//! scripts of agents.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use mlua::{Lua, MultiValue, Table, Value as Luau};
use serde_json::Value;
use toolscript_catalog::Level;

use crate::{
    outcome::{Failure, Phase},
    prelude::{Prelude, Raised},
    run::{Request, State},
    sandbox,
    value::{self, Budget},
    vm::Parts,
};

/// A module of functions for trusted scripts, such as `http` or `log`.
///
/// Arguments and results are JSON; the sandbox converts them, and a result is subject to the
/// memory limit of the run like any other value.
pub trait HostModule: Send + Sync {
    /// The global a script finds it under.
    fn name(&self) -> &str;
    /// What is in it.
    fn members(&self) -> Vec<HostMember>;
}

/// Something in a module.
#[derive(Debug, Clone)]
pub struct HostMember {
    /// The name inside the module; an empty one makes the module itself callable.
    pub name: String,
    /// What it is.
    pub kind: HostKind,
}

/// What a member of a module is.
#[derive(Clone)]
pub enum HostKind {
    /// A value that does not change.
    Value(Value),
    /// A function that answers at once. It must not block.
    Function(Arc<HostFunction>),
    /// A function that makes the script wait, never a thread.
    Async(Arc<HostAsync>),
}

/// A function that answers at once; what it logs goes to the logs of the run.
pub type HostFunction = dyn Fn(HostCall<'_>) -> Result<Value, HostError> + Send + Sync;

/// A function that makes the script wait. Dropping the future gives the work up.
pub type HostAsync =
    dyn Fn(Vec<Value>) -> BoxFuture<'static, Result<Value, HostError>> + Send + Sync;

/// What a host function is called with.
pub struct HostCall<'a> {
    /// The arguments, in order.
    pub arguments: Vec<Value>,
    state: &'a State,
    line: Option<u32>,
}

impl HostCall<'_> {
    /// Adds a line to the logs of the run, as `print` does.
    pub fn log(&self, level: Level, text: impl Into<String>) -> Result<(), HostError> {
        self.state
            .log(level, self.line, text.into())
            .map_err(|exceeded| HostError(Failure::from(exceeded)))
    }
}

impl fmt::Debug for HostCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostCall")
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}

/// Why a host function failed; scripts can catch it and read `err.message` and `err.phase`.
#[derive(Debug, Clone)]
pub struct HostError(Failure);

impl HostError {
    /// The arguments do not fit.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self(Failure::new(Phase::Validation, message))
    }

    /// What it tried did not work.
    pub fn failed(message: impl Into<String>) -> Self {
        Self(Failure::new(Phase::Execution, message))
    }

    /// The same error with advice on what to do.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self(self.0.with_hint(hint))
    }
}

/// What a function of a script is called with.
#[derive(Clone)]
pub enum Argument {
    /// A value.
    Value(Value),
    /// A table of functions, such as `context`.
    Module(Arc<dyn HostModule>),
}

impl fmt::Debug for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => f.debug_tuple("Value").field(value).finish(),
            Self::Module(module) => f.debug_tuple("Module").field(&module.name()).finish(),
        }
    }
}

impl fmt::Debug for HostKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => f.debug_tuple("Value").field(value).finish(),
            Self::Function(_) => f.write_str("Function"),
            Self::Async(_) => f.write_str("Async"),
        }
    }
}

/// The table a script sees for a module.
pub(crate) fn bind(lua: &Lua, state: &State, module: &dyn HostModule) -> Result<Luau, Raised> {
    let prelude = lua
        .app_data_ref::<Arc<Prelude>>()
        .map(|prelude| Arc::clone(&prelude))
        .ok_or_else(|| mlua::Error::runtime("the VM is not complete"))?;
    let table = lua.create_table()?;
    let mut itself = None;
    for member in module.members() {
        let value = match member.kind {
            HostKind::Value(value) => luau(lua, state, &value)?,
            HostKind::Function(body) => Luau::Function(prelude.plain(
                lua,
                move |lua, state, arguments: MultiValue| {
                    let arguments = read(lua, state, arguments)?;
                    let line = crate::failure::script_line(lua);
                    let answer = body(HostCall {
                        arguments,
                        state,
                        line,
                    });
                    luau(lua, state, &answer.map_err(|error| error.0)?)
                },
            )?),
            HostKind::Async(body) => Luau::Function(prelude.waits(
                lua,
                move |lua, state, arguments: MultiValue| {
                    let future = body(read(lua, state, arguments)?);
                    Ok(state.ask(Request::Wait(Box::pin(async move {
                        future.await.map_err(|error| error.0)
                    }))))
                },
            )?),
        };
        if member.name.is_empty() {
            itself = Some(value);
        } else {
            table.raw_set(member.name, value)?;
        }
    }
    sandbox::freeze(&table)?;
    match itself {
        Some(function) if table.is_empty() => Ok(function),
        Some(_) => Err(Failure::execution("a module is a function or holds some, not both").into()),
        None => Ok(Luau::Table(table)),
    }
}

/// Puts the modules of a run into its environment.
pub(crate) fn bind_all(
    lua: &Lua,
    state: &State,
    modules: &[Arc<dyn HostModule>],
    environment: &Table,
) -> Result<(), Raised> {
    for module in modules {
        environment.raw_set(module.name(), bind(lua, state, &**module)?)?;
    }
    Ok(())
}

pub(crate) fn argument(lua: &Lua, state: &State, argument: &Argument) -> Result<Luau, Raised> {
    match argument {
        Argument::Value(value) => luau(lua, state, value),
        Argument::Module(module) => bind(lua, state, &**module),
    }
}

fn luau(lua: &Lua, state: &State, value: &Value) -> Result<Luau, Raised> {
    Ok(value::to_luau(lua, &Parts::of(lua)?.kinds, value, state)?)
}

fn read(lua: &Lua, state: &State, arguments: MultiValue) -> Result<Vec<Value>, Raised> {
    let parts = Parts::of(lua)?;
    let read = |value| value::to_json(&parts.kinds, &value, Budget::of(state), "argument");
    Ok(arguments.into_iter().map(read).collect::<Result<_, _>>()?)
}
