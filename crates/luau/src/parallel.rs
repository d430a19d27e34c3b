//! `parallel`: several functions of a script at once, in one VM, without threads.
//!
//! Each function runs in a coroutine of its own. The driver resumes whichever has what it
//! waited for; a group collects what they return, in order.

use mlua::{Lua, MultiValue, Table, Value as Luau};

use crate::{
    outcome::Failure,
    prelude::Raised,
    run::{Request, State, Ticket},
    value::NULL,
    vm::Parts,
};

/// What a script asks `parallel` to do.
pub(crate) struct Plan {
    /// A list of our own: the script may change the one it gave.
    items: Table,
    /// What runs for each item; without it the items themselves run.
    body: Option<Luau>,
    limit: usize,
    errors: Errors,
}

/// What happens when one of them fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Errors {
    /// The others are given up and the error is raised.
    Raise,
    /// Every slot says how it went: `{ ok, value, error }`.
    Collect,
}

/// A group of tasks that run at once.
pub(crate) struct Group {
    plan: Plan,
    results: Table,
    started: usize,
    finished: usize,
    total: usize,
}

/// What a group wants next.
pub(crate) enum Progress {
    /// Nothing; others are still running.
    Wait,
    /// All are done: these are the results.
    Done(Table),
    /// One failed and the script wants to know at once.
    Failed(Luau),
}

impl Plan {
    /// Reads the arguments of `parallel(functions, options)`.
    pub(crate) fn of_functions(
        lua: &Lua,
        state: &State,
        functions: &Table,
        options: Option<&Table>,
    ) -> Result<Self, Raised> {
        let items = items(lua, functions)?;
        for (at, item) in items.sequence_values().enumerate() {
            require_callable(&item?, &format!("item {}", at + 1))?;
        }
        Self {
            items,
            body: None,
            limit: 1,
            errors: Errors::Raise,
        }
        .with_options(state, options)
    }

    /// Reads the arguments of `parallel.map(list, function, options)`.
    pub(crate) fn of_map(
        lua: &Lua,
        state: &State,
        list: &Table,
        body: Luau,
        options: Option<&Table>,
    ) -> Result<Self, Raised> {
        require_callable(&body, "the second argument")?;
        let items = items(lua, list)?;
        Self {
            items,
            body: Some(body),
            limit: 1,
            errors: Errors::Raise,
        }
        .with_options(state, options)
    }

    fn with_options(mut self, state: &State, options: Option<&Table>) -> Result<Self, Raised> {
        self.limit = state.limits.max_parallel.max(1);
        let Some(options) = options else {
            return Ok(self);
        };
        let mut bad = None;
        options.for_each(|key: Luau, value: Luau| {
            bad = bad.take().or(self.set_option(&key, &value).err());
            Ok(())
        })?;
        bad.map_or(Ok(self), |bad| Err(bad.into()))
    }

    fn set_option(&mut self, key: &Luau, value: &Luau) -> Result<(), Failure> {
        let key = key.to_string().unwrap_or_default();
        match (key.as_str(), value) {
            ("limit", Luau::Integer(limit)) if 1 <= *limit => {
                self.limit = self
                    .limit
                    .min(usize::try_from(*limit).unwrap_or(usize::MAX));
            }
            ("errors", Luau::String(word)) if *word == "raise" => self.errors = Errors::Raise,
            ("errors", Luau::String(word)) if *word == "collect" => self.errors = Errors::Collect,
            ("limit", _) => {
                return Err(Failure::validation("`limit` is a whole number from 1 on"));
            }
            ("errors", _) => {
                return Err(Failure::validation("`errors` is \"raise\" or \"collect\""));
            }
            _ => {
                let message = format!("there is no option `{key}`: use `limit` and `errors`");
                return Err(Failure::validation(message));
            }
        }
        Ok(())
    }

    /// Leaves the plan with the driver.
    pub(crate) fn ask(self, state: &State) -> Ticket {
        state.ask(Request::Parallel(self))
    }
}

/// A copy of a list that has no gaps.
fn items(lua: &Lua, list: &Table) -> Result<Table, Raised> {
    let mut entries = 0;
    list.for_each(|_: Luau, _: Luau| {
        entries += 1;
        Ok(())
    })?;
    let items = lua.create_table_with_capacity(entries, 0)?;
    for (at, item) in list.sequence_values::<Luau>().enumerate() {
        items.raw_seti(at + 1, item?)?;
    }
    if items.raw_len() != entries {
        let message = "`parallel` takes a list: items 1, 2, 3, … and nothing else";
        return Err(Failure::validation(message).into());
    }
    Ok(items)
}

fn require_callable(value: &Luau, place: &str) -> Result<(), Failure> {
    let callable = match value {
        Luau::Function(_) => true,
        Luau::Table(table) => table
            .metatable()
            .and_then(|meta| meta.raw_get::<Luau>("__call").ok())
            .is_some_and(|call| !call.is_nil()),
        _ => false,
    };
    if callable {
        return Ok(());
    }
    let kind = value.type_name();
    Err(
        Failure::validation(format!("{place} is a {kind}, not a function"))
            .with_hint("hand over functions, not their results: `function() return sdk.x.y() end`"),
    )
}

impl Group {
    pub(crate) fn new(lua: &Lua, plan: Plan) -> mlua::Result<Self> {
        let total = plan.items.raw_len();
        let results = lua.create_table_with_capacity(total, 0)?;
        Parts::of(lua)?.kinds.mark_array(&results)?;
        Ok(Self {
            plan,
            results,
            started: 0,
            finished: 0,
            total,
        })
    }

    /// The next task to start: its slot, and a function with its arguments. Nothing where all
    /// have started or enough are running.
    pub(crate) fn next(&mut self) -> mlua::Result<Option<(usize, MultiValue)>> {
        if self.started == self.total || self.plan.limit <= self.started - self.finished {
            return Ok(None);
        }
        self.started += 1;
        let slot = self.started;
        let item = self.plan.items.raw_get::<Luau>(slot)?;
        let call = match &self.plan.body {
            None => vec![item],
            #[expect(
                clippy::cast_precision_loss,
                reason = "a list has fewer items than 2^53"
            )]
            Some(body) => vec![body.clone(), item, Luau::Number(slot as f64)],
        };
        Ok(Some((slot, MultiValue::from_vec(call))))
    }

    /// Takes what a task returned, or raised.
    pub(crate) fn finish(
        &mut self,
        lua: &Lua,
        slot: usize,
        result: Result<Luau, Luau>,
    ) -> mlua::Result<Progress> {
        self.finished += 1;
        let slot_value = match (self.plan.errors, result) {
            // A hole would end the list early for whoever walks through it.
            (Errors::Raise, Ok(Luau::Nil)) => NULL,
            (Errors::Raise, Ok(value)) => value,
            (Errors::Raise, Err(error)) => return Ok(Progress::Failed(error)),
            (Errors::Collect, result) => {
                let report = lua.create_table()?;
                report.raw_set("ok", result.is_ok())?;
                match result {
                    Ok(value) => report.raw_set("value", value)?,
                    Err(error) => report.raw_set("error", error)?,
                }
                Luau::Table(report)
            }
        };
        self.results.raw_set(slot, slot_value)?;
        Ok(self.progress())
    }

    /// What the group wants when nothing has just happened.
    pub(crate) fn progress(&self) -> Progress {
        if self.finished == self.total {
            return Progress::Done(self.results.clone());
        }
        Progress::Wait
    }
}
