//! From JSON to Luau.

use mlua::{Either, Lua, Table, Value as Luau};
use serde_json::{Map, Number, Value};
use toolscript_catalog::binary;

use super::{
    Kinds, NULL,
    bad::{BadValue, Problem, Step},
    budget::Time,
    position,
};
use crate::{limits::Exceeded, run::State};

/// The largest whole number that every smaller one can be told apart from.
const EXACT: i128 = 1 << 53;

/// The Luau form of a JSON value, as long as it fits into the memory of the script.
pub(crate) fn to_luau(
    lua: &Lua,
    kinds: &Kinds,
    value: &Value,
    state: &State,
) -> Result<Luau, BadValue> {
    let room = Room::open(lua, state)?;
    let mut writer = Writer {
        lua,
        kinds,
        room,
        depth: 0,
        state,
        time: Time::of(state),
    };
    writer.value(value)
}

/// The memory a script has left. While it is open the VM itself neither watches nor collects:
/// every single allocation would run under its own protected call and pay for a step of the
/// collector, and conversion would take twice as long.
struct Room<'a> {
    lua: &'a Lua,
    limit: usize,
    left: usize,
    memory_mb: u64,
}

impl<'a> Room<'a> {
    fn open(lua: &'a Lua, state: &State) -> Result<Self, BadValue> {
        let limit = lua.set_memory_limit(0)?;
        lua.gc_stop();
        let left = limit.saturating_sub(lua.used_memory());
        Ok(Self {
            lua,
            limit,
            left,
            memory_mb: state.limits.memory_mb,
        })
    }

    fn take(&mut self, bytes: usize) -> Result<(), BadValue> {
        if self.left < bytes {
            // Part of what is used may be garbage.
            self.lua.gc_collect()?;
            self.left = self.limit.saturating_sub(self.lua.used_memory());
        }
        let full = || BadValue::new(Problem::Limit(Exceeded::Memory(self.memory_mb)));
        self.left = self.left.checked_sub(bytes).ok_or_else(full)?;
        Ok(())
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.lua.gc_restart();
        // Only states with a foreign allocator refuse, and opening has already worked.
        self.lua.set_memory_limit(self.limit).ok();
    }
}

/// A value as it is pushed: text and plain scalars need no reference of their own.
type Pushed<'a> = Either<&'a str, Either<f64, Luau>>;

struct Writer<'a> {
    lua: &'a Lua,
    kinds: &'a Kinds,
    room: Room<'a>,
    depth: usize,
    state: &'a State,
    time: Time,
}

impl<'a> Writer<'a> {
    /// What the VM needs for a table, one slot of a list, one field and a short text.
    const TABLE: usize = 64;
    const SLOT: usize = 16;
    const FIELD: usize = 40;
    const TEXT: usize = 32;

    fn value(&mut self, value: &'a Value) -> Result<Luau, BadValue> {
        match self.pushed(value)? {
            Either::Left(text) => Ok(Luau::String(self.lua.create_string(text)?)),
            Either::Right(Either::Left(number)) => Ok(Luau::Number(number)),
            Either::Right(Either::Right(value)) => Ok(value),
        }
    }

    fn pushed(&mut self, value: &'a Value) -> Result<Pushed<'a>, BadValue> {
        self.time.spend()?;
        let value = match value {
            Value::Null => Luau::Nil,
            Value::Bool(flag) => Luau::Boolean(*flag),
            Value::Number(number) => return self.number(number),
            Value::String(text) => {
                self.room.take(Self::TEXT + text.len())?;
                return Ok(Either::Left(text));
            }
            Value::Array(items) => Luau::Table(self.array(items)?),
            Value::Object(fields) => self.object(fields, value)?,
        };
        Ok(Either::Right(Either::Right(value)))
    }

    fn number(&mut self, number: &Number) -> Result<Pushed<'a>, BadValue> {
        let integer = number
            .as_i64()
            .map(i128::from)
            .or(number.as_u64().map(i128::from));
        if let Some(integer) = integer.filter(|integer| EXACT < integer.abs()) {
            self.room.take(2 * (Self::FIELD + Self::TEXT))?;
            let value = self.kinds.integer(self.lua, integer)?;
            return Ok(Either::Right(Either::Right(Luau::UserData(value))));
        }
        Ok(Either::Right(Either::Left(
            number.as_f64().unwrap_or_default(),
        )))
    }

    fn array(&mut self, items: &'a [Value]) -> Result<Table, BadValue> {
        self.enter(Self::TABLE + Self::SLOT * items.len())?;
        let lua = self.lua;
        let mut bad = None;
        let pushed = items.iter().enumerate().map_while(|(at, item)| {
            if item.is_null() {
                return Some(Either::Right(Either::Right(NULL)));
            }
            let pushed = self.pushed(item);
            keep(
                pushed.map_err(|found| found.inside(Step::Index(position(at)))),
                &mut bad,
            )
        });
        let table = lua.create_sequence_from(Expecting {
            inner: pushed,
            items: items.len(),
        });
        bad.map_or(Ok(()), Err)?;
        self.depth -= 1;
        let table = table?;
        self.kinds.mark_array(&table)?;
        Ok(table)
    }

    fn object(&mut self, fields: &'a Map<String, Value>, value: &Value) -> Result<Luau, BadValue> {
        if let Some(bytes) = binary::decode(value) {
            self.room.take(Self::TABLE + bytes.len())?;
            return Ok(Luau::Buffer(self.lua.create_buffer(bytes)?));
        }
        self.enter(Self::TABLE + Self::FIELD * fields.len().next_power_of_two())?;
        let lua = self.lua;
        let mut bad = None;
        let present = fields.iter().filter(|(_, field)| !field.is_null());
        let pushed = present.map_while(|(key, field)| {
            let room = self.room.take(Self::TEXT + key.len());
            let pushed = room.and_then(|()| self.pushed(field));
            let pushed = pushed.map_err(|found| found.inside(Step::Key(key.clone())));
            Some((key.as_str(), keep(pushed, &mut bad)?))
        });
        let table = lua.create_table_from(Expecting {
            inner: pushed,
            items: fields.len(),
        });
        bad.map_or(Ok(()), Err)?;
        self.depth -= 1;
        Ok(Luau::Table(table?))
    }

    fn enter(&mut self, bytes: usize) -> Result<(), BadValue> {
        if self.depth == self.state.limits.depth() {
            return Err(BadValue::new(Problem::Depth(self.state.limits.depth())));
        }
        self.depth += 1;
        self.room.take(bytes)
    }
}

/// The value, or nothing with the error put aside.
fn keep<T>(result: Result<T, BadValue>, aside: &mut Option<BadValue>) -> Option<T> {
    result.map_err(|bad| *aside = Some(bad)).ok()
}

/// An iterator that says how much will come, so that a table is made in its final size at once.
struct Expecting<I> {
    inner: I,
    items: usize,
}

impl<I: Iterator> Iterator for Expecting<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.inner.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.items, None)
    }
}
