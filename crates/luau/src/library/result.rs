//! `result`: large results of earlier scripts, piece by piece.

use std::sync::Arc;

use mlua::{Lua, LuaString, Table, Value as Luau};
use serde_json::Value;

use super::{Documented, Library};
use crate::{
    outcome::Failure,
    prelude::{Prelude, Raised},
    results::KeptResult,
    run::State,
    shape, value,
    vm::Parts,
};

/// How many places `grep` gives unless it is told otherwise, and how many it ever gives.
const FEW: usize = 50;
const MOST: usize = 1_000;
/// How much of a text `grep` shows.
const EXCERPT: usize = 200;
/// Where the table of a result keeps its handle.
const HANDLE: &str = "handle";

pub(super) const LIBRARY: Library = Library {
    name: "result",
    about: "Large results of earlier scripts, piece by piece",
    definitions: include_str!("result.d.luau"),
    functions: &[
        Documented {
            path: "result",
            signature: "result(handle: string): Result",
            summary: "Opens a large result that an earlier script left",
            description: "Gives an object with `handle`, `bytes` and `shape`, and the methods \
                          `:value()`, `:path(path)`, `:slice(first, last, path?)` and \
                          `:grep(text, options?)`. Only whoever ran that script can open it.",
        },
        Documented {
            path: "result:value",
            signature: "result:value(): any",
            summary: "The whole value, if the script has the memory for it",
            description: "",
        },
        Documented {
            path: "result:path",
            signature: "result:path(path: string): any",
            summary: "The part under a path such as `items[3].owner`; nil where there is none",
            description: "Lists count from 1. Keys with other signs are written `[\"a key\"]`.",
        },
        Documented {
            path: "result:slice",
            signature: "result:slice(first: number, last: number?, path: string?): any",
            summary: "Items `first` to `last` of the list at a path, or that part of a text",
            description: "Negative numbers count from the end.",
        },
        Documented {
            path: "result:grep",
            signature: "result:grep(text: string, options: {path: string?, limit: number?}?): {{path: string, value: any}}",
            summary: "The places whose text contains some words, upper and lower case alike",
            description: "Looks at keys and values below `path`; gives at most `limit` (50).",
        },
    ],
    install,
};

/// What `slice` and `grep` are called with.
type Slice = (Table, f64, Option<f64>, Option<LuaString>);
type Grep = (Table, LuaString, Option<Table>);

fn install(lua: &Lua, prelude: &Prelude, base: &Table) -> mlua::Result<()> {
    let methods = lua.create_table()?;
    let whole = prelude.plain(lua, |lua, state, this: Table| {
        luau(lua, state, &kept(state, &this)?.value)
    })?;
    methods.raw_set("value", whole)?;
    let path = prelude.plain(lua, |lua, state, (this, path): (Table, LuaString)| {
        let kept = kept(state, &this)?;
        match at(&kept.value, &path.to_string_lossy())? {
            Some(part) => luau(lua, state, part),
            None => Ok(Luau::Nil),
        }
    })?;
    methods.raw_set("path", path)?;
    let slice = prelude.plain(lua, |lua, state, (this, first, last, path): Slice| {
        let kept = kept(state, &this)?;
        let path = path.map(|path| path.to_string_lossy()).unwrap_or_default();
        let part = at(&kept.value, &path)?;
        let part = part.map(|part| slice(part, first, last)).transpose()?;
        luau(lua, state, &part.unwrap_or(Value::Null))
    })?;
    methods.raw_set("slice", slice)?;
    let grep = prelude.plain(lua, |lua, state, (this, text, options): Grep| {
        let kept = kept(state, &this)?;
        let option = |key| {
            options
                .as_ref()
                .map(|options| options.raw_get::<Luau>(key))
                .transpose()
        };
        let path =
            option("path")?.and_then(|path| path.as_string().map(LuaString::to_string_lossy));
        let limit = option("limit")?
            .and_then(|limit| limit.as_usize())
            .unwrap_or(FEW)
            .min(MOST);
        let path = path.unwrap_or_default();
        let found = match at(&kept.value, &path)? {
            Some(part) => grep(part, &path, &text.to_string_lossy(), limit),
            None => Value::Array(Vec::new()),
        };
        luau(lua, state, &found)
    })?;
    methods.raw_set("grep", grep)?;

    let meta = lua.create_table_from([("__index", &methods)])?;
    meta.raw_set("__metatable", "result")?;
    let open = prelude.plain(lua, move |lua, state, handle: LuaString| {
        let handle = handle.to_string_lossy();
        let kept = find(state, &handle)?;
        let table = lua.create_table()?;
        table.raw_set(HANDLE, handle)?;
        table.raw_set("bytes", kept.bytes)?;
        table.raw_set("shape", kept.shape.as_str())?;
        table.set_metatable(Some(meta.clone()))?;
        table.set_readonly(true);
        Ok(table)
    })?;
    base.raw_set("result", open)
}

fn find(state: &State, handle: &str) -> Result<Arc<KeptResult>, Raised> {
    state.results.get(&state.owner, handle).ok_or_else(|| {
        Failure::validation(format!(
            "there is no result `{handle}`: it is not yours or too old"
        ))
        .with_hint("run the script that made it again")
        .into()
    })
}

fn kept(state: &State, this: &Table) -> Result<Arc<KeptResult>, Raised> {
    let handle = this
        .raw_get::<Option<String>>(HANDLE)
        .ok()
        .flatten()
        .ok_or_else(|| {
            Failure::validation(
                "call it with a colon on what `result(handle)` gave: `r:path(\"a.b\")`",
            )
        })?;
    find(state, &handle)
}

fn luau(lua: &Lua, state: &State, value: &Value) -> Result<Luau, Raised> {
    Ok(value::to_luau(lua, &Parts::of(lua)?.kinds, value, state)?)
}

/// The part of a value under a path such as `items[3].owner["a key"]`.
fn at<'a>(value: &'a Value, path: &str) -> Result<Option<&'a Value>, Failure> {
    let mut part = Some(value);
    for step in steps(path)? {
        part = part.and_then(|part| match &step {
            Step::Key(key) => part.get(key),
            Step::Index(index) => part.get(index.checked_sub(1)?),
        });
    }
    Ok(part)
}

#[derive(Debug, PartialEq)]
enum Step {
    Key(String),
    Index(usize),
}

fn steps(path: &str) -> Result<Vec<Step>, Failure> {
    let bad = || {
        Failure::validation(format!(
            "`{path}` is not a path: write `items[3].owner[\"a key\"]`"
        ))
    };
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix("[\"") {
            let (key, after) = inside.split_once("\"]").ok_or_else(bad)?;
            steps.push(Step::Key(key.to_owned()));
            rest = after;
        } else if let Some(inside) = rest.strip_prefix('[') {
            let (index, after) = inside.split_once(']').ok_or_else(bad)?;
            steps.push(Step::Index(index.trim().parse().map_err(|_| bad())?));
            rest = after;
        } else {
            let name = rest.strip_prefix('.').unwrap_or(rest);
            let end = name.find(['.', '[']).unwrap_or(name.len());
            if end == 0 {
                return Err(bad());
            }
            steps.push(Step::Key(name[..end].to_owned()));
            rest = &name[end..];
        }
    }
    Ok(steps)
}

/// Items, or characters, from `first` to `last`, both counted from 1 or backwards from -1.
fn slice(value: &Value, first: f64, last: Option<f64>) -> Result<Value, Failure> {
    match value {
        Value::Array(items) => {
            let (start, end) = range(items.len(), first, last);
            Ok(Value::Array(
                items.get(start..end).unwrap_or_default().to_vec(),
            ))
        }
        Value::String(text) => {
            let (start, end) = range(text.chars().count(), first, last);
            let count = end.saturating_sub(start);
            Ok(Value::String(
                text.chars().skip(start).take(count).collect(),
            ))
        }
        _ => Err(
            Failure::validation("only lists and texts have slices: give a path to one")
                .with_hint("look at `shape` of the result"),
        ),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "lengths are far below 2^53, and the cast keeps numbers in range"
)]
fn range(length: usize, first: f64, last: Option<f64>) -> (usize, usize) {
    let position = |index: f64| {
        if index < 0.0 {
            length as f64 + index + 1.0
        } else {
            index
        }
    };
    let start = (position(first).trunc().max(1.0) as usize) - 1;
    let end = (position(last.unwrap_or(-1.0)).trunc().max(0.0) as usize).min(length);
    (start, end)
}

/// The places below a value whose key or text contains `wanted`.
fn grep(value: &Value, path: &str, wanted: &str, limit: usize) -> Value {
    let mut search = Search {
        wanted: wanted.to_lowercase(),
        found: Vec::new(),
        limit,
    };
    search.visit(value, path);
    Value::Array(search.found)
}

struct Search {
    wanted: String,
    found: Vec<Value>,
    limit: usize,
}

impl Search {
    fn visit(&mut self, value: &Value, path: &str) {
        if self.limit <= self.found.len() {
            return;
        }
        match value {
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.visit(item, &format!("{path}[{}]", at + 1));
                }
            }
            Value::Object(fields) => {
                for (key, field) in fields {
                    let inner = below(path, key);
                    if self.contains(key) && self.found.len() < self.limit {
                        self.add(&inner, field);
                    } else {
                        self.visit(field, &inner);
                    }
                }
            }
            Value::String(text) if self.contains(text) => self.add(path, value),
            Value::Number(number) if self.contains(&number.to_string()) => self.add(path, value),
            _ => {}
        }
    }

    fn contains(&self, text: &str) -> bool {
        text.to_lowercase().contains(&self.wanted)
    }

    fn add(&mut self, path: &str, value: &Value) {
        let shown = match value {
            Value::String(text) => self.excerpt(text),
            Value::Array(_) | Value::Object(_) => Value::String(shape::shape(value)),
            other => other.clone(),
        };
        self.found
            .push(serde_json::json!({ "path": path, "value": shown }));
    }

    /// A long text by what stands around the first match.
    fn excerpt(&self, text: &str) -> Value {
        if text.len() <= EXCERPT {
            return Value::String(text.to_owned());
        }
        let at = text.to_lowercase().find(&self.wanted).unwrap_or_default();
        let start = text.floor_char_boundary(at.saturating_sub(EXCERPT / 2).min(text.len()));
        let end = text.floor_char_boundary((start + EXCERPT).min(text.len()));
        let dots = |cut| if cut { "…" } else { "" };
        let (before, after) = (dots(0 < start), dots(end < text.len()));
        Value::String(format!("{before}{}{after}", &text[start..end]))
    }
}

fn below(path: &str, key: &str) -> String {
    if !toolscript_catalog::name::is_identifier(key) {
        return format!("{path}[{key:?}]");
    }
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_lead_into_values() {
        let value = json!({"items": [{"a key": 1}, {"b": [5, 6]}]});
        let check = |path: &str, found: Option<Value>| {
            assert_eq!(at(&value, path).unwrap().cloned(), found, "{path}");
        };
        check("items[2].b[1]", Some(json!(5)));
        check("items[1][\"a key\"]", Some(json!(1)));
        check("", Some(value.clone()));
        check("items[0]", None);
        check("items.x.y", None);
        for bad in ["items[", "items[x]", "..", "a..b"] {
            assert!(at(&value, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn slices_count_from_both_ends() {
        let list = json!([1, 2, 3, 4]);
        let check = |first, last, part: Value| {
            assert_eq!(slice(&list, first, last).unwrap(), part, "{first} {last:?}");
        };
        check(2.0, Some(3.0), json!([2, 3]));
        check(-2.0, None, json!([3, 4]));
        check(3.0, Some(99.0), json!([3, 4]));
        check(5.0, None, json!([]));
        check(3.0, Some(1.0), json!([]));
        assert_eq!(slice(&json!("héllo"), 2.0, Some(3.0)).unwrap(), json!("él"));
        assert!(slice(&json!(1), 1.0, None).is_err());
    }

    #[test]
    fn grep_names_places() {
        let value = json!({"pets": [{"name": "Rex"}, {"name": "Bo", "rex id": {"x": 1}}], "n": 12});
        let found = grep(&value, "", "rex", 10);
        assert_eq!(
            found,
            json!([
                {"path": "pets[1].name", "value": "Rex"},
                {"path": "pets[2][\"rex id\"]", "value": "{ x: number }"},
            ])
        );
        assert_eq!(
            grep(&value, "", "12", 10),
            json!([{"path": "n", "value": 12}])
        );
        assert_eq!(grep(&value, "", "e", 1).as_array().unwrap().len(), 1);
    }
}
