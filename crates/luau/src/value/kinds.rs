//! The marks that keep lists lists and objects objects.

use mlua::{AnyUserData, Lua, Table, WeakLua};

use super::large::LargeInteger;

/// The marks that say whether a table is a list or an object. One set per VM.
#[derive(Clone)]
pub(crate) struct Kinds {
    lua: WeakLua,
    array: Table,
    object: Table,
    /// Large integers by their digits, so that equal ones are one value and work as keys.
    integers: Table,
    array_address: usize,
    object_address: usize,
}

/// Which kind a table says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    None,
    Array,
    Object,
}

impl Kinds {
    pub(crate) fn new(lua: &Lua) -> mlua::Result<Self> {
        let mark = || {
            let table = lua.create_table()?;
            table.set_readonly(true);
            mlua::Result::Ok(table)
        };
        let (array, object, integers) = (mark()?, mark()?, lua.create_table()?);
        let weak = lua.create_table_from([("__mode", "v")])?;
        weak.set_readonly(true);
        integers.set_metatable(Some(weak))?;
        let (array_address, object_address) =
            (array.to_pointer().addr(), object.to_pointer().addr());
        Ok(Self {
            lua: lua.weak(),
            array,
            object,
            integers,
            array_address,
            object_address,
        })
    }

    /// The VM they belong to, as long as it is there.
    pub(super) fn lua(&self) -> Option<Lua> {
        self.lua.try_upgrade()
    }

    /// Says that a table is a list.
    pub(crate) fn mark_array(&self, table: &Table) -> mlua::Result<()> {
        table.set_metatable(Some(self.array.clone()))
    }

    /// Says that a table is an object.
    pub(crate) fn mark_object(&self, table: &Table) -> mlua::Result<()> {
        table.set_metatable(Some(self.object.clone()))
    }

    /// Whether a table has a metatable that is no mark of ours.
    pub(crate) fn is_foreign(&self, table: &Table) -> bool {
        table.metatable().is_some() && self.mark(table) == Mark::None
    }

    pub(super) fn mark(&self, table: &Table) -> Mark {
        table.metatable().map_or(Mark::None, |metatable| {
            self.marked(metatable.to_pointer().addr())
        })
    }

    /// The mark that a metatable is.
    pub(super) fn marked(&self, address: usize) -> Mark {
        if address == self.array_address {
            Mark::Array
        } else if address == self.object_address {
            Mark::Object
        } else {
            Mark::None
        }
    }

    pub(super) fn integer(&self, lua: &Lua, integer: i128) -> mlua::Result<AnyUserData> {
        let digits = integer.to_string();
        if let Some(known) = self
            .integers
            .raw_get::<Option<AnyUserData>>(digits.as_str())?
        {
            return Ok(known);
        }
        let made = lua.create_userdata(LargeInteger(integer))?;
        self.integers.raw_set(digits, &made)?;
        Ok(made)
    }
}
