//! From Luau to JSON. What is [`plain`] goes a faster way; here is everything else, and every
//! error with its place.

use std::collections::BTreeMap;

use mlua::{LuaString, Table, Value as Luau};
use serde_json::{Number, Value};
use toolscript_catalog::binary;

use super::{
    Budget, Kinds,
    bad::{BadValue, Problem, Step},
    kinds::Mark,
    large::LargeInteger,
    plain, position,
};

/// How deep values usually are. Cycles are deeper than anything, so there is time to look out
/// for them below this.
const USUAL_DEPTH: usize = 8;

/// The JSON of a Luau value. `root` is what an error calls the value.
pub(crate) fn to_json(
    kinds: &Kinds,
    value: &Luau,
    budget: Budget,
    root: &'static str,
) -> Result<Value, BadValue> {
    if let Luau::Table(table) = value
        && let Some(value) = plain::read(kinds, table, &budget)
    {
        return Ok(value);
    }
    let read = Reader::new(kinds, budget.clone(), USUAL_DEPTH).value(value);
    let read = read.or_else(|bad| match bad.problem {
        // Found late: the whole way again, to name the first place and not the tenth.
        Problem::Cycle => Reader::new(kinds, budget, 0).value(value),
        _ => Err(bad),
    });
    read.map_err(|bad| bad.under(root))
}

/// Reads Luau values under a budget.
struct Reader<'a> {
    kinds: &'a Kinds,
    budget: Budget,
    depth: usize,
    /// From which depth on we look out for cycles.
    track_from: usize,
    /// The addresses of the tables we are inside of, from that depth on.
    above: Vec<usize>,
}

impl<'a> Reader<'a> {
    fn new(kinds: &'a Kinds, budget: Budget, track_from: usize) -> Self {
        Self {
            kinds,
            budget,
            depth: 0,
            track_from,
            above: Vec::new(),
        }
    }

    fn value(&mut self, value: &Luau) -> Result<Value, BadValue> {
        self.budget.node()?;
        let no_form = |kind| Err(BadValue::new(Problem::NoForm(kind)));
        match value {
            Luau::Nil => Ok(Value::Null),
            Luau::LightUserData(pointer) if pointer.0.is_null() => Ok(Value::Null),
            Luau::Boolean(flag) => Ok(Value::Bool(*flag)),
            Luau::Integer(integer) => Ok(Value::from(*integer)),
            Luau::Number(number) => match Number::from_f64(*number) {
                Some(number) => Ok(Value::Number(number)),
                None => Err(BadValue::new(Problem::NotFinite(*number))),
            },
            Luau::String(text) => Ok(Value::String(self.text(text)?)),
            Luau::Table(table) => self.table(table),
            Luau::Buffer(buffer) => {
                self.budget.bytes(buffer.len() / 3 * 4)?;
                Ok(binary::encode(&buffer.to_vec()))
            }
            Luau::UserData(data) => {
                let integer = data.borrow::<LargeInteger>().ok();
                match integer.and_then(|integer| integer.number()) {
                    Some(number) => Ok(Value::Number(number)),
                    None => no_form("userdata"),
                }
            }
            Luau::Function(_) => no_form("function"),
            Luau::Thread(_) => no_form("coroutine"),
            Luau::Vector(_) => no_form("vector"),
            Luau::Error(_) => no_form("error"),
            _ => no_form("userdata"),
        }
    }

    fn text(&mut self, text: &LuaString) -> Result<String, BadValue> {
        let text = text.to_str().map_err(|_| BadValue::new(Problem::NotText))?;
        self.budget.bytes(text.len())?;
        Ok(text.to_owned())
    }

    fn table(&mut self, table: &Table) -> Result<Value, BadValue> {
        if self.depth == self.budget.depth {
            return Err(BadValue::new(Problem::Depth(self.budget.depth)));
        }
        let tracked = self.track_from <= self.depth;
        if tracked {
            let address = table.to_pointer().addr();
            if self.above.contains(&address) {
                return Err(BadValue::new(Problem::Cycle));
            }
            self.above.push(address);
        }
        self.depth += 1;
        let value = self.content(table)?;
        self.depth -= 1;
        if tracked {
            self.above.pop();
        }
        Ok(value)
    }

    fn content(&mut self, table: &Table) -> Result<Value, BadValue> {
        let mark = self.kinds.mark(table);
        let (mut content, mut bad) = (Content::default(), None);
        let read = table.for_each(|key: Luau, value: Luau| {
            let value = self.value(&value);
            content
                .add(&mut self.budget, mark, &key, value)
                .map_err(|found| {
                    bad = Some(found);
                    mlua::Error::StackError
                })
        });
        match (read, bad) {
            (_, Some(bad)) => Err(bad),
            (Err(error), None) => Err(error.into()),
            (Ok(()), None) => content.finish(mark),
        }
    }
}

/// What was read of a table so far.
#[derive(Default)]
struct Content {
    items: Vec<Value>,
    /// Items that came before their turn, from the unordered part of a table.
    early: BTreeMap<i64, Value>,
    fields: Vec<(String, Value)>,
}

impl Content {
    fn add(
        &mut self,
        budget: &mut Budget,
        mark: Mark,
        key: &Luau,
        value: Result<Value, BadValue>,
    ) -> Result<(), BadValue> {
        match key {
            Luau::String(text) => {
                let key = text.to_str().map_err(|_| BadValue::new(Problem::NotText))?;
                self.named(budget, key.to_owned(), value)
            }
            Luau::Integer(index) if mark == Mark::Object => {
                self.named(budget, index.to_string(), value)
            }
            Luau::Integer(index) => self.item(*index, value),
            Luau::UserData(data) if mark == Mark::Object && data.is::<LargeInteger>() => {
                let key = data.borrow::<LargeInteger>()?.0.to_string();
                self.named(budget, key, value)
            }
            other => {
                let shown = other.to_string().unwrap_or_default();
                let key = format!("the {} `{shown}`", other.type_name());
                Err(BadValue::new(Problem::Key(key)))
            }
        }
    }

    fn named(
        &mut self,
        budget: &mut Budget,
        key: String,
        value: Result<Value, BadValue>,
    ) -> Result<(), BadValue> {
        if let Some(index) = self.some_index() {
            return Err(BadValue::new(Problem::Mixed { index, key }));
        }
        budget.bytes(key.len() + 2)?;
        match value {
            Ok(value) => self.fields.push((key, value)),
            Err(bad) => return Err(bad.inside(Step::Key(key))),
        }
        Ok(())
    }

    fn item(&mut self, index: i64, value: Result<Value, BadValue>) -> Result<(), BadValue> {
        if let Some((key, _)) = self.fields.first() {
            let key = key.clone();
            return Err(BadValue::new(Problem::Mixed { index, key }));
        }
        let value = value.map_err(|bad| bad.inside(Step::Index(index)))?;
        if index == position(self.items.len()) {
            self.items.push(value);
        } else {
            self.early.insert(index, value);
        }
        Ok(())
    }

    fn some_index(&self) -> Option<i64> {
        if self.items.is_empty() {
            self.early.keys().next().copied()
        } else {
            Some(1)
        }
    }

    fn finish(mut self, mark: Mark) -> Result<Value, BadValue> {
        for (index, value) in std::mem::take(&mut self.early) {
            let missing = position(self.items.len());
            if index != missing {
                return Err(BadValue::new(Problem::Sparse {
                    missing,
                    found: index,
                }));
            }
            self.items.push(value);
        }
        if !self.items.is_empty() || (mark == Mark::Array && self.fields.is_empty()) {
            return Ok(Value::Array(self.items));
        }
        // The order of a table is an accident; the same table must always read the same.
        self.fields.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(Value::Object(self.fields.into_iter().collect()))
    }
}
