//! `sdk`: every function of every source behind a handful of Rust functions.
//!
//! Nothing is made before a script names it, so a run costs the same with ten functions in the
//! catalog and with a hundred thousand.

use std::sync::Arc;

use mlua::{Function as LuauFunction, Lua, LuaString, MultiValue, Table, Value as Luau};
use serde_json::{Map, Value};
use toolscript_catalog::{
    Call, CallError, Entry, FunctionId, Types, Unknown,
    function::{Convention, Function},
    validate::settle_empty,
};

use crate::{
    outcome::Failure,
    prelude::{Raised, answering, asking},
    run::{Bound, PendingCall, Request, State, Ticket},
    value::{self, Budget},
    vm::Parts,
};

/// Where the tables of sources and functions keep what they stand for.
const SELF: usize = 1;

/// What a call for a page comes with: the function, how to ask for this page, its arguments.
type PageCall = (Table, Option<Table>, MultiValue);

/// The functions `prelude.luau` makes the SDK of.
pub(crate) fn install(lua: &Lua, host: &Table) -> mlua::Result<()> {
    let source = answering(lua, |lua, state, (_, name): (Luau, Luau)| {
        let name = key(&name)?;
        let entry = state.catalog.entry(&name).map_err(no_source)?;
        Ok(source_table(lua, state, entry)?)
    })?;
    host.raw_set("sdk_source", source)?;

    let function = answering(lua, |lua, state, (source, name): (Table, Luau)| {
        function_table(lua, state, &source, &key(&name)?)
    })?;
    host.raw_set("sdk_function", function)?;

    let call = asking(lua, |lua, state, (this, arguments): (Table, MultiValue)| {
        let bound = bound(state, &this)?;
        let call = shape(lua, state, &bound, arguments.into_iter().collect())?;
        start(state, call, Paging::Single)
    })?;
    host.raw_set("call", call)?;

    let page = asking(lua, |lua, state, (this, following, arguments): PageCall| {
        let bound = bound(state, &this)?;
        let mut call = shape(lua, state, &bound, arguments.into_iter().collect())?;
        if let Some(following) = following {
            call.params.extend(params(lua, state, following)?);
        }
        start(state, call, Paging::Page)
    })?;
    host.raw_set("call_page", page)?;

    let check_pages = answering(lua, |_, state, this: Table| {
        let bound = bound(state, &this)?;
        if bound.function()?.pages {
            return Ok(());
        }
        let id = &bound.id;
        Err(
            Failure::validation(format!("`{id}` has no pages: call it as `sdk.{id}(...)`"))
                .with_function(id)
                .into(),
        )
    })?;
    host.raw_set("check_pages", check_pages)?;

    let no_member = answering(
        lua,
        |_, state, (this, member): (Table, Luau)| -> Result<(), Raised> {
            let bound = bound(state, &this)?;
            let member = member.to_string()?;
            let way = usage(bound.function()?, &bound.entry);
            Err(Failure::validation(format!(
                "`{}` is a function and has no `{member}`",
                bound.id
            ))
            .with_hint(format!("call it: `{way}`"))
            .into())
        },
    )?;
    host.raw_set("no_member", no_member)?;

    let function_name = lua.create_function(|lua, this: Table| {
        let state = State::of(lua)?;
        let bound = this
            .raw_get(SELF)
            .ok()
            .and_then(|number| state.bound(number));
        Ok(bound.map_or_else(
            || "sdk function".to_owned(),
            |bound| format!("sdk.{}", bound.id),
        ))
    })?;
    host.raw_set("function_name", function_name)?;

    let source_name =
        lua.create_function(|_, this: Table| Ok(format!("sdk.{}", this.raw_get::<String>(SELF)?)))?;
    host.raw_set("source_name", source_name)
}

/// What a global stands for that no library has: a source by its bare name, or nothing.
pub(crate) fn global(lua: &Lua) -> mlua::Result<LuauFunction> {
    lua.create_function(|lua, (_, name): (Luau, LuaString)| {
        let name = name.to_string_lossy();
        let Ok(state) = State::of(lua) else {
            return Ok(None);
        };
        let Ok(entry) = state.catalog.entry(&name) else {
            state.note_missing(&name);
            return Ok(None);
        };
        source_table(lua, &state, entry).map(Some)
    })
}

/// A source nobody knows is the script's mistake, one that is not there is not.
fn no_source(unknown: Unknown) -> Failure {
    match unknown {
        Unknown::Absent {
            source_name,
            problem,
        } => CallError::Unavailable {
            source_name,
            problem,
        }
        .into(),
        other => Failure::validation(other.to_string()),
    }
}

fn key(name: &Luau) -> Result<String, Failure> {
    match name {
        Luau::String(text) => Ok(text.to_string_lossy()),
        other => Err(Failure::validation(format!(
            "sources and functions have names: expected a string, got a {}",
            other.type_name()
        ))),
    }
}

fn source_table(lua: &Lua, state: &State, entry: &Arc<Entry>) -> mlua::Result<Table> {
    let name = entry.name.as_str();
    if let Some(known) = state.source(name) {
        return Ok(known);
    }
    let table = lua.create_table()?;
    table.raw_seti(SELF, name)?;
    table.set_metatable(Some(Parts::of(lua)?.source_meta.clone()))?;
    table.set_readonly(true);
    state.keep_source(name, table.clone());
    Ok(table)
}

fn function_table(lua: &Lua, state: &State, source: &Table, name: &str) -> Result<Table, Raised> {
    let source_name: String = source.raw_get(SELF)?;
    let found = state.catalog.function(&source_name, name);
    let (entry, function) = found.map_err(|unknown| Failure::validation(unknown.to_string()))?;
    if !function.signature.is_empty() {
        let signature = &function.signature;
        let message = format!("`{name}` describes a library: write `{signature}`");
        return Err(Failure::validation(message).into());
    }
    let id = FunctionId {
        source: entry.name.clone(),
        name: function.name.clone(),
    };
    let number = state.bind(Bound {
        entry: entry.clone(),
        id,
    });
    let table = lua.create_table()?;
    table.raw_seti(SELF, number)?;
    table.set_metatable(Some(Parts::of(lua)?.function_meta.clone()))?;
    table.set_readonly(true);
    // The next time the script names it, the VM finds it without asking us.
    source.set_readonly(false);
    let kept = source.raw_set(name, &table);
    source.set_readonly(true);
    kept?;
    Ok(table)
}

fn bound(state: &State, this: &Table) -> Result<Bound, Raised> {
    let number: Option<usize> = this.raw_get(SELF).ok();
    let bound = number.and_then(|number| state.bound(number));
    bound.ok_or_else(|| Failure::validation("this is not a function of the SDK").into())
}

/// Whether the script asked for one answer or walks through pages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paging {
    Single,
    Page,
}

fn start(state: &Arc<State>, call: Call, paging: Paging) -> Result<Ticket, Raised> {
    let number = state.count_call()?;
    let caller = state.caller.clone();
    let function = call.function.clone();
    let future = Box::pin(async move { caller.call(call).await });
    let paged = paging == Paging::Page;
    Ok(state.ask(Request::Call(PendingCall {
        function,
        number,
        future,
        paged,
    })))
}

/// Makes a call out of what a script wrote between the brackets.
fn shape(
    lua: &Lua,
    state: &State,
    bound: &Bound,
    mut arguments: Vec<Luau>,
) -> Result<Call, Raised> {
    let (function, id) = (bound.function()?, &bound.id);
    refuse_colon(state, bound, &arguments)?;
    while arguments.last().is_some_and(Luau::is_nil) {
        arguments.pop();
    }
    let wrong = || {
        let way = usage(function, &bound.entry);
        Failure::validation(format!("wrong arguments: call it as `{way}`")).with_function(id)
    };
    let given = arguments.len();
    let mut arguments = arguments.into_iter();
    let (first, second) = (arguments.next(), arguments.next());
    let (own, body) = match function.convention() {
        Convention::Nothing | Convention::Params if given <= 1 => (first, None),
        Convention::Body if given <= 1 => (None, first),
        Convention::ParamsAndBody if given <= 2 => (first, second),
        _ => return Err(wrong().into()),
    };
    let mut params = match own {
        None => Map::new(),
        Some(Luau::Table(table)) => params(lua, state, table).map_err(|raised| match raised {
            Raised::Failure(failure) => failure.with_function(id).into(),
            raised @ Raised::Lua(_) => raised,
        })?,
        Some(_) => return Err(wrong().into()),
    };
    if function.convention() == Convention::Nothing && !params.is_empty() {
        return Err(wrong().into());
    }
    let types = &bound.entry.listing.types;
    for field in &function.params.fields {
        if let Some(value) = params.get_mut(&*field.name) {
            settle_empty(&field.ty, types, value);
        }
    }
    let body = body
        .map(|body| read_body(lua, state, function, types, &body))
        .transpose()?;
    Ok(Call {
        function: id.clone(),
        params,
        body,
    })
}

/// `sdk.pets:list()` hands the source itself over as the first argument.
fn refuse_colon(state: &State, bound: &Bound, arguments: &[Luau]) -> Result<(), Failure> {
    let Some(Luau::Table(first)) = arguments.first() else {
        return Ok(());
    };
    if !first.has_metatable() {
        return Ok(());
    }
    let source = state.source(bound.entry.name.as_str());
    if source.is_some_and(|source| source == *first) {
        let way = usage(bound.function()?, &bound.entry);
        return Err(
            Failure::validation(format!("write a dot, not a colon: `{way}`"))
                .with_function(&bound.id),
        );
    }
    Ok(())
}

fn params(lua: &Lua, state: &State, table: Table) -> Result<Map<String, Value>, Raised> {
    let kinds = &Parts::of(lua)?.kinds;
    match value::to_json(kinds, &Luau::Table(table), Budget::of(state), "params")? {
        Value::Object(params) => Ok(params),
        Value::Array(items) if items.is_empty() => Ok(Map::new()),
        _ => Err(
            Failure::validation("parameters go by name: `{ name = value }`, not in a list").into(),
        ),
    }
}

fn read_body(
    lua: &Lua,
    state: &State,
    function: &Function,
    types: &Types,
    body: &Luau,
) -> Result<Value, Raised> {
    let kinds = &Parts::of(lua)?.kinds;
    let mut read = value::to_json(kinds, body, Budget::of(state), "body")?;
    if let Some(body) = &function.body {
        settle_empty(&body.ty, types, &mut read);
    }
    Ok(read)
}

/// How a function is called, with the parameters it cannot do without.
fn usage(function: &Function, entry: &Entry) -> String {
    const MOST: usize = 6;
    let required = function.params.fields.iter().filter(|field| field.required);
    let names: Vec<String> = required
        .take(MOST)
        .map(|field| format!("{} = ...", field.name))
        .collect();
    let params = if names.is_empty() {
        "{}".to_owned()
    } else {
        format!("{{ {} }}", names.join(", "))
    };
    let arguments = match function.convention() {
        Convention::Nothing => String::new(),
        Convention::Params => params,
        Convention::Body => "body".to_owned(),
        Convention::ParamsAndBody => format!("{params}, body"),
    };
    format!("sdk.{}.{}({arguments})", entry.name, function.name)
}
