//! The Rust half of `prelude.luau`: how functions of ours answer a script.

use std::sync::{Arc, OnceLock};

use mlua::{
    FromLuaMulti, Function, IntoLuaMulti, Lua, MultiValue, Table, Value as Luau,
    chunk::{ChunkMode, Compiler},
};

use crate::{
    failure,
    limits::Exceeded,
    outcome::Failure,
    run::{State, Ticket},
    value::BadValue,
};

/// What `prelude.luau` makes.
#[derive(Debug)]
pub(crate) struct Prelude {
    /// Wraps a function that answers at once.
    plain: Function,
    /// Wraps a function that makes the script wait.
    waits: Function,
    /// Makes a printing function for a level.
    pub(crate) printer: Function,
    /// What a task starts with.
    pub(crate) enter: Function,
    /// `sdk`.
    pub(crate) sdk: Table,
    /// What makes a table a function of the SDK.
    pub(crate) function_meta: Table,
    /// What makes a table a source of the SDK.
    pub(crate) source_meta: Table,
    /// Globals of Luau that scripts get from us instead.
    pub(crate) globals: Table,
}

/// Why a function of ours gives no answer.
pub(crate) enum Raised {
    /// For the script to look into.
    Failure(Failure),
    /// From the VM itself: memory, mostly.
    Lua(mlua::Error),
}

macro_rules! raised_from {
    ($($kind:ty),*) => {
        $(impl From<$kind> for Raised {
            fn from(kind: $kind) -> Self {
                Self::Failure(kind.into())
            }
        })*
    };
}
raised_from!(Failure, Exceeded, BadValue);

impl From<mlua::Error> for Raised {
    fn from(error: mlua::Error) -> Self {
        Self::Lua(error)
    }
}

impl Prelude {
    pub(crate) fn load(lua: &Lua, host: &Table) -> mlua::Result<Self> {
        install(lua, host)?;
        host.set_readonly(true);
        let made: Table = lua
            .load(compiled())
            .set_name("=prelude")
            .set_mode(ChunkMode::Binary)
            .call(host)?;
        Ok(Self {
            plain: made.raw_get("plain")?,
            waits: made.raw_get("waits")?,
            printer: made.raw_get("printer")?,
            enter: made.raw_get("enter")?,
            sdk: made.raw_get("sdk")?,
            function_meta: made.raw_get("function_meta")?,
            source_meta: made.raw_get("source_meta")?,
            globals: made.raw_get("globals")?,
        })
    }

    /// A function that answers at once.
    pub(crate) fn plain<A: FromLuaMulti, R: IntoLuaMulti>(
        &self,
        lua: &Lua,
        body: impl Fn(&Lua, &Arc<State>, A) -> Result<R, Raised> + Send + 'static,
    ) -> mlua::Result<Function> {
        self.plain.call(answering(lua, body)?)
    }

    /// A function that makes the script wait: `body` leaves a request with the run.
    pub(crate) fn waits<A: FromLuaMulti>(
        &self,
        lua: &Lua,
        body: impl Fn(&Lua, &Arc<State>, A) -> Result<Ticket, Raised> + Send + 'static,
    ) -> mlua::Result<Function> {
        self.waits.call(asking(lua, body)?)
    }
}

/// A function that answers the prelude with `true, ...` or `false, error`.
pub(crate) fn answering<A: FromLuaMulti, R: IntoLuaMulti>(
    lua: &Lua,
    body: impl Fn(&Lua, &Arc<State>, A) -> Result<R, Raised> + Send + 'static,
) -> mlua::Result<Function> {
    lua.create_function(move |lua, arguments: MultiValue| {
        let state = State::of(lua)?;
        let result = read(lua, arguments).and_then(|read| body(lua, &state, read));
        answer(lua, result)
    })
}

/// A function that answers the prelude with `nil, ticket` or `false, error`.
pub(crate) fn asking<A: FromLuaMulti>(
    lua: &Lua,
    body: impl Fn(&Lua, &Arc<State>, A) -> Result<Ticket, Raised> + Send + 'static,
) -> mlua::Result<Function> {
    lua.create_function(move |lua, arguments: MultiValue| {
        let state = State::of(lua)?;
        match read(lua, arguments).and_then(|read| body(lua, &state, read)) {
            Ok(ticket) => (Luau::Nil, ticket).into_lua_multi(lua),
            Err(raised) => answer::<()>(lua, Err(raised)),
        }
    })
}

/// `true, ...` or `false, error`.
pub(crate) fn answer<R: IntoLuaMulti>(
    lua: &Lua,
    result: Result<R, Raised>,
) -> mlua::Result<MultiValue> {
    match result {
        Ok(values) => {
            let mut values = values.into_lua_multi(lua)?;
            values.push_front(Luau::Boolean(true));
            Ok(values)
        }
        Err(Raised::Failure(failure)) => {
            (false, failure::to_luau(lua, &failure)?).into_lua_multi(lua)
        }
        Err(Raised::Lua(error)) => Err(error),
    }
}

fn read<A: FromLuaMulti>(lua: &Lua, arguments: MultiValue) -> Result<A, Raised> {
    A::from_lua_multi(arguments, lua).map_err(|error| match error {
        mlua::Error::FromLuaConversionError { from, to, .. } => {
            let wanted = if to == "LuaString" || to == "String" {
                "string"
            } else {
                &to
            };
            Failure::validation(format!("wrong argument: expected {wanted}, got {from}")).into()
        }
        other => Raised::Lua(other),
    })
}

/// The functions `prelude.luau` itself needs.
fn install(lua: &Lua, host: &Table) -> mlua::Result<()> {
    let located = lua.create_function(|lua, error: Luau| {
        failure::locate(lua, &error)?;
        Ok(error)
    })?;
    host.raw_set("located", located)?;

    let tidied = lua.create_function(|lua, error: Luau| match error {
        Luau::Error(error) => {
            let failure = failure::of_rust(&*State::of(lua)?, &error);
            let table = Luau::Table(failure::to_luau(lua, &failure)?);
            failure::locate(lua, &table)?;
            Ok(table)
        }
        other => Ok(other),
    })?;
    host.raw_set("tidied", tidied)?;

    let on_error = lua.create_function(|lua, error: Luau| {
        State::of(lua)?.keep_trace(failure::trace(lua));
        Ok(error)
    })?;
    host.raw_set("on_error", on_error)?;

    let cannot_wait = lua.create_function(|lua, ()| failure::to_luau(lua, &cannot_wait()))?;
    host.raw_set("cannot_wait", cannot_wait)?;

    let forget = lua.create_function(|lua, ticket: Ticket| {
        State::of(lua)?.take_request(ticket);
        Ok(())
    })?;
    host.raw_set("forget_request", forget)?;

    crate::text::install(lua, host)?;
    crate::library::print::install_host(lua, host)
}

fn cannot_wait() -> Failure {
    Failure::execution(
        "a call cannot wait inside a sort comparator, a gsub callback or a metamethod",
    )
    .with_hint("make the calls before it, keep their results in a table, and use that inside")
}

/// The prelude, compiled once for all VMs.
fn compiled() -> &'static [u8] {
    static PRELUDE: OnceLock<Vec<u8>> = OnceLock::new();
    PRELUDE.get_or_init(|| {
        let compiler = Compiler::new().set_optimization_level(1).set_debug_level(0);
        // The text is part of the program; a fault in it fails every test.
        compiler
            .compile(include_str!("prelude.luau"))
            .unwrap_or_default()
    })
}
