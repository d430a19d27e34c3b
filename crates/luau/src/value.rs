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

use std::{collections::BTreeMap, time::Instant};

use mlua::{
    AnyUserData, Either, Lua, LuaString, MetaMethod, Table, UserData, UserDataFields,
    UserDataMethods, Value as Luau,
};
use serde_json::{Map, Number, Value};
use toolscript_catalog::binary;

mod fault;

use crate::{limits::Exceeded, run::State};

pub(crate) use fault::BadValue;
use fault::{Problem, Step};

/// The largest whole number that every smaller one can be told apart from.
const EXACT: i128 = 1 << 53;

/// How deep values usually are. Cycles are deeper than anything, so there is time to look out
/// for them below this.
const USUAL_DEPTH: usize = 8;

/// `json.null`: what stands for null where `nil` would leave a hole.
pub(crate) const NULL: Luau = Luau::NULL;

/// The marks that say whether a table is a list or an object. One set per VM.
#[derive(Debug, Clone)]
pub(crate) struct Kinds {
    array: Table,
    object: Table,
    /// Large integers by their digits, so that equal ones are one value and work as keys.
    integers: Table,
    array_address: usize,
    object_address: usize,
}

/// Which kind a table says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
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
            array,
            object,
            integers,
            array_address,
            object_address,
        })
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

    fn mark(&self, table: &Table) -> Mark {
        let Some(metatable) = table.metatable() else {
            return Mark::None;
        };
        let address = metatable.to_pointer().addr();
        if address == self.array_address {
            Mark::Array
        } else if address == self.object_address {
            Mark::Object
        } else {
            Mark::None
        }
    }

    fn integer(&self, lua: &Lua, integer: i128) -> mlua::Result<AnyUserData> {
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

/// A whole number beyond 2^53. It can be compared, shown, used as a key and handed on;
/// to calculate with it, a script must say that it can do without the last digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LargeInteger(i128);

impl LargeInteger {
    fn number(self) -> Option<Number> {
        let signed = i64::try_from(self.0).ok().map(Number::from);
        signed.or_else(|| u64::try_from(self.0).ok().map(Number::from))
    }
}

impl UserData for LargeInteger {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_meta_field("__type", "integer");
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        type Operand = mlua::UserDataRef<LargeInteger>;
        #[expect(clippy::cast_precision_loss, reason = "what the method is for")]
        methods.add_method("number", |_, this, ()| Ok(this.0 as f64));
        methods.add_meta_method(MetaMethod::ToString, |_, this, ()| Ok(this.0.to_string()));
        methods.add_meta_function(MetaMethod::Concat, |lua, (left, right): (Luau, Luau)| {
            let mut text = lua.coerce_text(&left)?;
            text.extend(lua.coerce_text(&right)?);
            lua.create_string(text)
        });
        methods.add_meta_function(MetaMethod::Lt, |_, (a, b): (Operand, Operand)| Ok(*a < *b));
        methods.add_meta_function(MetaMethod::Le, |_, (a, b): (Operand, Operand)| Ok(*a <= *b));
        for operation in [
            MetaMethod::Add,
            MetaMethod::Sub,
            MetaMethod::Mul,
            MetaMethod::Div,
            MetaMethod::IDiv,
            MetaMethod::Mod,
            MetaMethod::Pow,
            MetaMethod::Unm,
        ] {
            methods.add_meta_function(operation, |_, _: mlua::MultiValue| {
                mlua::Result::<()>::Err(mlua::Error::runtime(
                    "an integer beyond 2^53 keeps its digits only as it is; \
                     use `value:number()` to calculate with a rounded one",
                ))
            });
        }
    }
}

/// Text of what may stand beside a large integer in a concatenation.
trait CoerceText {
    fn coerce_text(&self, value: &Luau) -> mlua::Result<Vec<u8>>;
}

impl CoerceText for Lua {
    fn coerce_text(&self, value: &Luau) -> mlua::Result<Vec<u8>> {
        if let Luau::UserData(data) = value {
            return Ok(data.borrow::<LargeInteger>()?.0.to_string().into_bytes());
        }
        match self.coerce_string(value.clone())? {
            Some(text) => Ok(text.as_bytes().to_vec()),
            None => Err(mlua::Error::runtime(format!(
                "attempt to concatenate integer with {}",
                value.type_name()
            ))),
        }
    }
}

/// What a conversion may still use up.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    nodes: usize,
    bytes: usize,
    allowed_nodes: usize,
    allowed_bytes: usize,
    depth: usize,
    time: Time,
}

impl Budget {
    pub(crate) fn of(state: &State) -> Self {
        let limits = &state.limits;
        Self::new(state, limits.max_result_nodes, limits.max_result_bytes)
    }

    pub(crate) fn new(state: &State, nodes: usize, bytes: usize) -> Self {
        Self {
            nodes,
            bytes,
            allowed_nodes: nodes,
            allowed_bytes: bytes,
            depth: state.limits.max_depth,
            time: Time::of(state),
        }
    }

    fn node(&mut self) -> Result<(), BadValue> {
        self.nodes = self
            .nodes
            .checked_sub(1)
            .ok_or_else(|| BadValue::new(Problem::Nodes(self.allowed_nodes)))?;
        self.time.spend()?;
        self.bytes(2)
    }

    fn bytes(&mut self, bytes: usize) -> Result<(), BadValue> {
        self.bytes = self
            .bytes
            .checked_sub(bytes)
            .ok_or_else(|| BadValue::new(Problem::Bytes(self.allowed_bytes)))?;
        Ok(())
    }
}

/// The time of the run: a conversion asks no interrupt, so it looks at the clock now and then.
#[derive(Debug, Clone)]
struct Time {
    deadline: Instant,
    timeout_ms: u64,
    spent: u32,
}

impl Time {
    /// How many values are converted between two looks at the clock.
    const LOOK: u32 = 4096;

    fn of(state: &State) -> Self {
        Self {
            deadline: state.deadline,
            timeout_ms: state.limits.timeout_ms,
            spent: 0,
        }
    }

    fn spend(&mut self) -> Result<(), BadValue> {
        self.spent += 1;
        if self.spent.is_multiple_of(Self::LOOK) && self.deadline <= Instant::now() {
            return Err(BadValue::new(Problem::Limit(Exceeded::Timeout(
                self.timeout_ms,
            ))));
        }
        Ok(())
    }
}

/// The JSON of a Luau value. `root` is what an error calls the value.
pub(crate) fn to_json(
    kinds: &Kinds,
    value: &Luau,
    budget: Budget,
    root: &'static str,
) -> Result<Value, BadValue> {
    let mut reader = Reader {
        kinds,
        budget: budget.clone(),
        depth: 0,
        track_from: USUAL_DEPTH,
        above: Vec::new(),
    };
    let read = reader.value(value).or_else(|bad| match bad.problem {
        // Found late: the whole way again, to name the first place and not the tenth.
        Problem::Cycle => {
            let (depth, track_from, above) = (0, 0, Vec::new());
            Reader {
                kinds,
                budget,
                depth,
                track_from,
                above,
            }
            .value(value)
        }
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

impl Reader<'_> {
    fn value(&mut self, value: &Luau) -> Result<Value, BadValue> {
        self.budget.node()?;
        let no_form = |kind| Err(BadValue::new(Problem::NoForm(kind)));
        match value {
            Luau::Nil => Ok(Value::Null),
            value if *value == NULL => Ok(Value::Null),
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
        let value = match self.plain_object(table)? {
            Some(value) => value,
            None => self.any_table(table)?,
        };
        self.depth -= 1;
        if tracked {
            self.above.pop();
        }
        Ok(value)
    }

    /// Reads what most tables are, without a reference to each key: an object without marks
    /// whose keys are names. `None` where the table turns out to be something else.
    fn plain_object(&mut self, table: &Table) -> Result<Option<Value>, BadValue> {
        if table.has_metatable() || 0 < table.raw_len() {
            return Ok(None);
        }
        let before = self.budget.clone();
        let (mut content, mut bad) = (Content::default(), None);
        let read = table.for_each(|key: String, value: Luau| {
            // A number would arrive as text here, and only its first sign tells.
            let name = !key.starts_with(|first: char| first.is_ascii_digit() || first == '-');
            if !name || key == "inf" {
                return Err(mlua::Error::StackError);
            }
            content.named(self, key, &value).map_err(|found| {
                bad = Some(found);
                mlua::Error::StackError
            })
        });
        match (bad, read) {
            (Some(bad), _) => Err(bad),
            (None, Ok(())) => content.finish(Mark::None).map(Some),
            (None, Err(_)) => {
                self.budget = before;
                Ok(None)
            }
        }
    }

    fn any_table(&mut self, table: &Table) -> Result<Value, BadValue> {
        let mark = self.kinds.mark(table);
        let (mut content, mut bad) = (Content::default(), None);
        let read = table.for_each(|key: Luau, value: Luau| {
            content.add(self, mark, &key, &value).map_err(|found| {
                bad = Some(found);
                mlua::Error::StackError
            })
        });
        match (bad, read) {
            (Some(bad), _) => Err(bad),
            (None, Err(error)) => Err(error.into()),
            (None, Ok(())) => content.finish(mark),
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
        reader: &mut Reader<'_>,
        mark: Mark,
        key: &Luau,
        value: &Luau,
    ) -> Result<(), BadValue> {
        match key {
            Luau::String(text) => {
                let key = text.to_str().map_err(|_| BadValue::new(Problem::NotText))?;
                self.named(reader, key.to_owned(), value)
            }
            Luau::Integer(index) if mark == Mark::Object => {
                self.named(reader, index.to_string(), value)
            }
            Luau::Integer(index) => self.item(reader, *index, value),
            Luau::UserData(data) if mark == Mark::Object && data.is::<LargeInteger>() => {
                let key = data.borrow::<LargeInteger>()?.0.to_string();
                self.named(reader, key, value)
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
        reader: &mut Reader<'_>,
        key: String,
        value: &Luau,
    ) -> Result<(), BadValue> {
        if let Some(index) = self.some_index() {
            return Err(BadValue::new(Problem::Mixed { index, key }));
        }
        reader.budget.bytes(key.len() + 2)?;
        match reader.value(value) {
            Ok(value) => self.fields.push((key, value)),
            Err(bad) => return Err(bad.inside(Step::Key(key))),
        }
        Ok(())
    }

    fn item(&mut self, reader: &mut Reader<'_>, index: i64, value: &Luau) -> Result<(), BadValue> {
        if let Some((key, _)) = self.fields.first() {
            return Err(BadValue::new(Problem::Mixed {
                index,
                key: key.clone(),
            }));
        }
        let value = reader
            .value(value)
            .map_err(|bad| bad.inside(Step::Index(index)))?;
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

/// The index that follows `length` items.
fn position(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX).saturating_add(1)
}

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

/// The memory a script has left. While it is open the VM itself does not watch: every single
/// allocation would run under its own protected call, and conversion would take twice as long.
struct Room<'a> {
    lua: &'a Lua,
    limit: usize,
    left: usize,
    memory_mb: u64,
}

impl<'a> Room<'a> {
    fn open(lua: &'a Lua, state: &State) -> Result<Self, BadValue> {
        let limit = lua.set_memory_limit(0)?;
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
        if self.depth == self.state.limits.max_depth {
            return Err(BadValue::new(Problem::Depth(self.state.limits.max_depth)));
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
