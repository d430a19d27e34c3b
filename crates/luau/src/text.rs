//! Searching text in linear time, for the prelude: Luau's own search takes the product of both
//! lengths in the worst case and asks no clock meanwhile.

use memchr::memmem;
use mlua::{Lua, LuaString, Table};

use crate::{prelude::answering, vm::Parts};

/// What makes a text a pattern.
const SPECIAL: &[u8] = b"^$*+?.([%-";

pub(crate) fn install(lua: &Lua, host: &Table) -> mlua::Result<()> {
    type Find = (LuaString, LuaString, Option<f64>);
    let find = answering(lua, |_, _, (text, wanted, from): Find| {
        let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
        let found = find(&text, &wanted, from);
        let (first, last) = found.unzip();
        Ok((first, last))
    })?;
    host.raw_set("find", find)?;

    let is_plain = lua.create_function(|_, pattern: LuaString| {
        Ok(!pattern.as_bytes().iter().any(|byte| SPECIAL.contains(byte)))
    })?;
    host.raw_set("is_plain", is_plain)?;

    let split = answering(lua, |lua, _, (text, separator): (LuaString, LuaString)| {
        let (text, separator) = (text.as_bytes(), separator.as_bytes());
        let table = lua.create_table()?;
        let mut from = 0;
        for at in memmem::find_iter(&text, &*separator) {
            table.raw_push(lua.create_string(&text[from..at])?)?;
            from = at + separator.len();
        }
        table.raw_push(lua.create_string(&text[from..])?)?;
        Parts::of(lua)?.kinds.mark_array(&table)?;
        Ok(table)
    })?;
    host.raw_set("split", split)
}

/// The first and last index of `wanted` in `text`, counted from 1, as `string.find` does it.
fn find(text: &[u8], wanted: &[u8], from: Option<f64>) -> Option<(usize, usize)> {
    let skipped = skipped(text.len(), from.unwrap_or(1.0));
    let at = skipped + memmem::find(text.get(skipped..)?, wanted)?;
    Some((at + 1, at + wanted.len()))
}

/// How many bytes lie before a Luau index; a negative one counts from the end.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "texts are far shorter than 2^53 bytes, and the cast keeps numbers in range"
)]
fn skipped(length: usize, index: f64) -> usize {
    let index = index.trunc();
    let from_start = if index < 0.0 {
        length as f64 + index
    } else {
        index - 1.0
    };
    from_start.max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_as_luau_does() {
        let check = |from, found| assert_eq!(find(b"abcabc", b"bc", from), found, "{from:?}");
        check(None, Some((2, 3)));
        check(Some(3.0), Some((5, 6)));
        check(Some(-2.0), Some((5, 6)));
        check(Some(-100.0), Some((2, 3)));
        check(Some(6.0), None);
        check(Some(100.0), None);
        check(Some(f64::NAN), Some((2, 3)));
    }
}
