//! The fast way from Luau to JSON, for what nearly all values are made of: text, numbers,
//! booleans, nulls, lists and objects.
//!
//! It reads the stack of the VM itself. A handle to each value, as [`mlua`] gives it out, costs a
//! lock and a reference count, and together more than everything else. This is the only file with
//! `unsafe` in it; whatever is unusual or wrong it leaves to [`super::to_json`].

use std::{ffi::c_int, slice, str};

use mlua::{
    Table,
    ffi::{self, lua_State},
};
use serde_json::{Number, Value};

use super::{Budget, Kinds, kinds::Mark};

/// How deep the values are that are read here.
const DEPTH: c_int = 32;

/// What is on the stack while they are read: a key and a value for each level.
const SLOTS: c_int = 2 * DEPTH;

/// The JSON of a table. `None` where something in it is not plain or does not fit: then the
/// careful reader finds out what to do or say.
#[expect(unsafe_code, reason = "what this file is for")]
pub(super) fn read(kinds: &Kinds, table: &Table, budget: &Budget) -> Option<Value> {
    let lua = kinds.lua()?;
    let mut found = None;
    let read = |state: *mut lua_State| {
        // SAFETY: `exec_raw` holds the lock of the VM, and calls with a stack on which there is
        // the table and nothing else. It wants that back empty, as we have no results. There is
        // room for what the reader pushes, and nothing it does can raise an error or panic.
        unsafe {
            if ffi::lua_checkstack(state, SLOTS) != 0 {
                let mut reader = Reader {
                    state,
                    kinds,
                    budget: budget.clone(),
                    items: Vec::new(),
                    fields: Vec::new(),
                };
                found = reader.table(DEPTH);
            }
            ffi::lua_settop(state, 0);
        }
    };
    // SAFETY: the closure owns nothing that would be lost if the VM raised an error in it.
    unsafe { lua.exec_raw::<()>(table, read) }.ok()?;
    found
}

/// Reads what lies on top of the stack. All tables we are inside of share two lists, so that none
/// grows one of its own and each value is made in its final size.
struct Reader<'a> {
    state: *mut lua_State,
    kinds: &'a Kinds,
    budget: Budget,
    items: Vec<Value>,
    fields: Vec<(String, Value)>,
}

impl Reader<'_> {
    /// The table on top of the stack, which is left there. After `None` there may be more on it.
    ///
    /// # Safety
    ///
    /// The state is alive and ours alone, on its top is a table, and there is room for two values
    /// for each level that is left.
    #[expect(unsafe_code, reason = "what this file is for")]
    unsafe fn table(&mut self, levels: c_int) -> Option<Value> {
        if levels == 0 {
            return None;
        }
        let (items, fields) = (self.items.len(), self.fields.len());
        // SAFETY: on top is a table, so it may have a metatable and can be gone through. Each step
        // pushes a key and a value, which are popped before the next; `value` leaves both there.
        let mark = unsafe {
            let mark = self
                .kinds
                .marked(ffi::lua_getmetatablepointer(self.state, -1).addr());
            let mut step = ffi::lua_rawiter(self.state, -1, 0);
            while 0 <= step {
                let value = self.value(levels - 1)?;
                self.add(value, mark, items)?;
                ffi::lua_pop(self.state, 2);
                step = ffi::lua_rawiter(self.state, -1, step);
            }
            mark
        };
        match (items < self.items.len(), fields < self.fields.len()) {
            (true, true) => None,
            (true, false) => Some(Value::Array(self.items.drain(items..).collect())),
            (false, false) if mark == Mark::Array => Some(Value::Array(Vec::new())),
            (false, _) => {
                // The order of a table is an accident; the same table must always read the same.
                self.fields[fields..].sort_unstable_by(|a, b| a.0.cmp(&b.0));
                Some(Value::Object(self.fields.drain(fields..).collect()))
            }
        }
    }

    /// Puts a value where the key below the top of the stack wants it.
    ///
    /// # Safety
    ///
    /// The state is alive and ours alone, and at least two values are on it.
    #[expect(unsafe_code, reason = "what this file is for")]
    unsafe fn add(&mut self, value: Value, mark: Mark, items: usize) -> Option<()> {
        // SAFETY: the key is there, and is read as what it is.
        unsafe {
            match ffi::lua_type(self.state, -2) {
                ffi::LUA_TSTRING => {
                    self.budget.bytes(2).ok()?;
                    let key = self.text(-2)?;
                    self.fields.push((key, value));
                }
                ffi::LUA_TNUMBER if mark != Mark::Object => {
                    let index = ffi::lua_tonumber(self.state, -2);
                    let next = u32::try_from(self.items.len() - items + 1).ok()?;
                    (index.to_bits() == f64::from(next).to_bits()).then_some(())?;
                    self.items.push(value);
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// The value on top of the stack, which is left there. After `None` there may be more on it.
    ///
    /// # Safety
    ///
    /// The state is alive and ours alone, a value is on it, and there is room for two more for
    /// each level that is left.
    #[expect(unsafe_code, reason = "what this file is for")]
    unsafe fn value(&mut self, levels: c_int) -> Option<Value> {
        self.budget.node().ok()?;
        // SAFETY: each value is read as what it is, and what `text` and `table` ask for is what
        // was promised to us.
        unsafe {
            match ffi::lua_type(self.state, -1) {
                ffi::LUA_TSTRING => self.text(-1).map(Value::String),
                ffi::LUA_TNUMBER => number(ffi::lua_tonumber(self.state, -1)),
                ffi::LUA_TBOOLEAN => Some(Value::Bool(ffi::lua_toboolean(self.state, -1) != 0)),
                ffi::LUA_TTABLE => self.table(levels),
                ffi::LUA_TLIGHTUSERDATA => ffi::lua_tolightuserdata(self.state, -1)
                    .is_null()
                    .then_some(Value::Null),
                _ => None,
            }
        }
    }

    /// The text at a place on the stack.
    ///
    /// # Safety
    ///
    /// The state is alive and ours alone, and a string is there.
    #[expect(unsafe_code, reason = "what this file is for")]
    unsafe fn text(&mut self, at: c_int) -> Option<String> {
        let mut length = 0;
        // SAFETY: it is a string already, so nothing is converted, and it stays where it is as
        // long as it is on the stack, which is longer than we look at it.
        let bytes = unsafe {
            let first = ffi::lua_tolstring(self.state, at, &raw mut length);
            slice::from_raw_parts(first.cast::<u8>(), length)
        };
        self.budget.bytes(length).ok()?;
        str::from_utf8(bytes).ok().map(str::to_owned)
    }
}

/// A number is whole in JSON where it is whole in Luau, except for the zero with a sign.
fn number(number: f64) -> Option<Value> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    #[expect(clippy::cast_possible_truncation, reason = "that is the question")]
    #[expect(clippy::cast_precision_loss, reason = "that is the question")]
    let whole = {
        let whole = number as i64;
        (number < BEYOND && (whole as f64).to_bits() == number.to_bits()).then_some(whole)
    };
    match whole {
        Some(whole) => Some(Value::from(whole)),
        None => Number::from_f64(number).map(Value::Number),
    }
}
