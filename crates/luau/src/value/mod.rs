//! Luau values to JSON and back: the only place that converts between them.
//!
//! | JSON | Luau |
//! |---|---|
//! | object | table; a null field is left out |
//! | array | table marked as a list, so that an empty one stays a list; null is `json.null` |
//! | whole number beyond 2^53 | a value of type `integer` that keeps every digit |
//! | any other number | number |
//! | `{"$base64": "…"}` | buffer |
//!
//! An empty table that nobody marked is an object. What has no form in JSON is an error that
//! names the place; nothing is dropped or bent without a word.

mod bad;
mod budget;
mod kinds;
mod large;
mod plain;
mod to_json;
mod to_luau;

use mlua::Value as Luau;

pub(crate) use bad::BadValue;
pub(crate) use budget::Budget;
pub(crate) use kinds::Kinds;
pub(crate) use to_json::to_json;
pub(crate) use to_luau::to_luau;

/// `json.null`: what stands for null where `nil` would leave a hole.
pub(crate) const NULL: Luau = Luau::NULL;

/// The index that follows `length` items.
fn position(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX).saturating_add(1)
}
