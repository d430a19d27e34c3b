//! Arguments against types, before a request leaves. The error says which parameter,
//! what came and what would work.

use std::{cell::Cell, fmt};

use serde_json::{Map, Value};

use crate::{
    Function, FunctionId, Type, Types, binary, render, suggest,
    ty::{Array, Extra, Number, Object, Text, Union},
};

mod empty;
mod format;

pub use empty::settle_empty;

/// How many steps one check may take. Unions of unions could ask for more than the
/// age of the universe; the other side will judge what we did not get to.
const MOST_STEPS: u32 = 200_000;
/// How deep a value is followed.
const DEEPEST: u32 = 128;

/// An argument that does not fit.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{function}`: {subject} {problem}", subject = subject(path))]
pub struct Invalid {
    /// The function that was called.
    pub function: String,
    /// Where the trouble is: `params.status`, `body.tags[2].name`.
    pub path: String,
    /// What the trouble is.
    pub problem: Problem,
}

/// What is wrong with an argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Problem {
    /// It is not there and has to be.
    Missing {
        /// The type that is wanted.
        expected: String,
    },
    /// Nothing of that name is known.
    Unknown {
        /// The names that come near, or all where there are few.
        known: Vec<String>,
    },
    /// It is of another kind.
    Kind {
        /// The type that is wanted.
        expected: String,
        /// What came.
        found: String,
    },
    /// It is none of the allowed values.
    Choice {
        /// The allowed values.
        allowed: Vec<String>,
        /// What came.
        found: String,
    },
    /// It breaks a bound.
    Bound {
        /// The bound in words: `>= 1`.
        rule: String,
        /// What came.
        found: String,
    },
    /// The call itself has the wrong shape.
    Shape {
        /// How to call instead.
        usage: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { expected } => write!(f, "is missing; it must be given, as {expected}"),
            Self::Unknown { known } if known.is_empty() => {
                f.write_str("is not known; nothing is taken here")
            }
            Self::Unknown { known } => write!(f, "is not known; known: {}", listed(known)),
            Self::Kind { expected, found } => write!(f, "must be {expected}, not {found}"),
            Self::Choice { allowed, found } => {
                write!(f, "must be one of {}, not {found}", allowed.join(", "))
            }
            Self::Bound { rule, found } => write!(f, "must be {rule}, not {found}"),
            Self::Shape { usage } => write!(f, "do not fit; call it as `{usage}`"),
        }
    }
}

/// Judges the arguments of a call.
pub fn arguments(
    id: &FunctionId,
    function: &Function,
    types: &Types,
    params: &Map<String, Value>,
    body: Option<&Value>,
) -> Result<(), Invalid> {
    let checker = Checker {
        types,
        steps: Cell::new(0),
    };
    let outcome =
        checker
            .params(&function.params, params)
            .and_then(|()| match (&function.body, body) {
                (Some(wanted), None | Some(Value::Null)) if wanted.required => {
                    Err(Fault::new(Problem::Missing {
                        expected: expected(&wanted.ty),
                    })
                    .within("body"))
                }
                (Some(wanted), Some(value)) if !value.is_null() => checker
                    .value(&wanted.ty, value, 0)
                    .map_err(|fault| fault.within("body")),
                (None, Some(value)) if !value.is_null() => {
                    Err(Fault::new(Problem::Unknown { known: Vec::new() }).within("body"))
                }
                _ => Ok(()),
            });
    outcome.map_err(|fault| Invalid {
        function: id.to_string(),
        path: fault.path(),
        problem: fault.problem,
    })
}

/// Judges one value by itself, such as the result of a tool.
pub fn value(ty: &Type, types: &Types, value: &Value) -> Result<(), Invalid> {
    let checker = Checker {
        types,
        steps: Cell::new(0),
    };
    checker.value(ty, value, 0).map_err(|fault| Invalid {
        function: String::new(),
        path: fault.path(),
        problem: fault.problem,
    })
}

/// Puts the defaults of parameters that were left out into `params`.
pub fn fill_defaults(object: &Object, params: &mut Map<String, Value>) {
    for field in &object.fields {
        if let Some(default) = &field.default
            && params.get(&*field.name).is_none_or(Value::is_null)
        {
            params.insert(field.name.to_string(), default.clone());
        }
    }
}

/// Turns numbers into text where text is wanted. A cursor of digits looks like a number when
/// it comes out of a link, and only the function knows better.
pub fn fit_text(object: &Object, types: &Types, params: &mut Map<String, Value>) {
    for field in &object.fields {
        let wants_text = matches!(field.ty.resolve(types), Type::String(_));
        if let Some(value) = params
            .get_mut(&*field.name)
            .filter(|value| wants_text && value.is_number())
        {
            *value = Value::String(value.to_string());
        }
    }
}

/// A problem and the steps that lead to it, innermost first.
#[derive(Debug)]
struct Fault {
    steps: Vec<String>,
    problem: Problem,
}

impl Fault {
    fn new(problem: Problem) -> Self {
        Self {
            steps: Vec::new(),
            problem,
        }
    }

    fn within(mut self, step: impl Into<String>) -> Self {
        self.steps.push(step.into());
        self
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for step in self.steps.iter().rev() {
            if !path.is_empty() && !step.starts_with('[') {
                path.push('.');
            }
            path.push_str(step);
        }
        path
    }
}

struct Checker<'t> {
    types: &'t Types,
    steps: Cell<u32>,
}

impl Checker<'_> {
    fn params(&self, wanted: &Object, params: &Map<String, Value>) -> Result<(), Fault> {
        let outcome = self.object(wanted, params, Unknown::Refused, 0);
        outcome.map_err(|fault| fault.within("params"))
    }

    fn value(&self, ty: &Type, value: &Value, depth: u32) -> Result<(), Fault> {
        self.steps.set(self.steps.get() + 1);
        if DEEPEST < depth || MOST_STEPS < self.steps.get() {
            return Ok(());
        }
        let depth = depth + 1;
        match (ty.resolve(self.types), value) {
            (Type::Any, _)
            | (Type::Nullable { .. } | Type::Null, Value::Null)
            | (Type::Boolean, Value::Bool(_)) => Ok(()),
            (Type::Nullable { inner }, value) => self.value(inner, value, depth),
            (Type::Number(wanted), Value::Number(number)) => number_fits(wanted, number),
            (Type::String(wanted), Value::String(text)) => text_fits(wanted, text),
            (Type::Binary, value) if is_bytes(value) => Ok(()),
            (Type::Literal { values }, value) => choice_fits(values, value),
            (Type::Array(wanted), Value::Array(items)) => self.array(wanted, items, depth),
            (Type::Object(wanted), Value::Object(object)) => {
                self.object(wanted, object, Unknown::Passed, depth)
            }
            (Type::Union(union), value) => self.union(union, value, depth),
            (other, value) => Err(kind_fault(other, value)),
        }
    }

    fn array(&self, wanted: &Array, items: &[Value], depth: u32) -> Result<(), Fault> {
        let count = items.len() as u64;
        let found = || format!("{count}");
        if let Some(least) = wanted.min_items.filter(|least| count < *least) {
            return Err(bound(format!("at least {least} items"), found()));
        }
        if let Some(most) = wanted.max_items.filter(|most| *most < count) {
            return Err(bound(format!("at most {most} items"), found()));
        }
        for (at, item) in items.iter().enumerate() {
            let outcome = self.value(&wanted.items, item, depth);
            // Scripts count from one.
            outcome.map_err(|fault| fault.within(format!("[{}]", at + 1)))?;
        }
        Ok(())
    }

    fn object(
        &self,
        wanted: &Object,
        object: &Map<String, Value>,
        unknown: Unknown,
        depth: u32,
    ) -> Result<(), Fault> {
        for field in &wanted.fields {
            let name = &*field.name;
            match object.get(name) {
                None | Some(Value::Null) if field.required && !field.read_only => {
                    let nullable = matches!(
                        field.ty.resolve(self.types),
                        Type::Nullable { .. } | Type::Any
                    );
                    if object.contains_key(name) && nullable {
                        continue;
                    }
                    let problem = Problem::Missing {
                        expected: expected(&field.ty),
                    };
                    return Err(Fault::new(problem).within(name));
                }
                None | Some(Value::Null) => {}
                Some(value) => {
                    self.value(&field.ty, value, depth)
                        .map_err(|fault| fault.within(name))?;
                }
            }
        }
        self.others(wanted, object, unknown, depth)
    }

    /// The keys that are no declared fields.
    fn others(
        &self,
        wanted: &Object,
        object: &Map<String, Value>,
        unknown: Unknown,
        depth: u32,
    ) -> Result<(), Fault> {
        let declared = |name: &str| wanted.fields.iter().any(|field| &*field.name == name);
        for (name, value) in object.iter().filter(|(name, _)| !declared(name)) {
            match (&wanted.extra, unknown) {
                (Extra::Typed(ty), _) => {
                    self.value(ty, value, depth)
                        .map_err(|fault| fault.within(name.as_str()))?;
                }
                (Extra::Unspecified, Unknown::Passed) => {}
                (Extra::Closed, _) | (Extra::Unspecified, Unknown::Refused) => {
                    let known = known_names(wanted, name);
                    return Err(Fault::new(Problem::Unknown { known }).within(name.as_str()));
                }
            }
        }
        Ok(())
    }

    fn union(&self, union: &Union, value: &Value, depth: u32) -> Result<(), Fault> {
        if let Some(meant) = discriminated(union, value) {
            return self.value(&meant, value, depth);
        }
        let mut deepest: Option<Fault> = None;
        for variant in &union.variants {
            let Err(fault) = self.value(variant, value, depth) else {
                return Ok(());
            };
            // The variant that got furthest is most likely the one that was meant.
            if deepest
                .as_ref()
                .is_none_or(|known| known.steps.len() < fault.steps.len())
            {
                deepest = Some(fault);
            }
        }
        match deepest {
            Some(fault) if !fault.steps.is_empty() => Err(fault),
            _ => Err(kind_fault(&Type::Union(union.clone()), value)),
        }
    }
}

/// What happens to a key nobody declared and nobody forbade.
#[derive(Clone, Copy)]
enum Unknown {
    Passed,
    Refused,
}

/// The variant the value itself names.
fn discriminated(union: &Union, value: &Value) -> Option<Type> {
    let discriminator = union.discriminator.as_ref()?;
    let text = value.get(&*discriminator.field)?.as_str()?;
    discriminator.mapping.get(text).cloned().map(Type::named)
}

fn number_fits(wanted: &Number, number: &serde_json::Number) -> Result<(), Fault> {
    let Some(value) = number.as_f64() else {
        return Ok(());
    };
    let found = || number.to_string();
    let is_whole = number.is_i64() || number.is_u64() || value.fract() == 0.0;
    if wanted.integer && !is_whole {
        return Err(bound("a whole number".to_owned(), found()));
    }
    let too_low = wanted
        .minimum
        .is_some_and(|least| value < least || (wanted.above_minimum && value <= least));
    if let (true, Some(least)) = (too_low, wanted.minimum) {
        let sign = if wanted.above_minimum { ">" } else { ">=" };
        return Err(bound(format!("{sign} {least}"), found()));
    }
    let too_high = wanted
        .maximum
        .is_some_and(|most| most < value || (wanted.below_maximum && most <= value));
    if let (true, Some(most)) = (too_high, wanted.maximum) {
        let sign = if wanted.below_maximum { "<" } else { "<=" };
        return Err(bound(format!("{sign} {most}"), found()));
    }
    if wanted.format.as_deref() == Some("int32")
        && !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value)
    {
        return Err(bound("a 32-bit integer".to_owned(), found()));
    }
    if let Some(step) = wanted.multiple_of {
        let steps = value / step;
        // 0.3 is a multiple of 0.1, whatever binary fractions say.
        if 1e-9 * steps.abs().max(1.0) < (steps - steps.round()).abs() {
            return Err(bound(format!("a multiple of {step}"), found()));
        }
    }
    Ok(())
}

fn text_fits(wanted: &Text, text: &str) -> Result<(), Fault> {
    let found = || shown(&Value::from(text));
    let length = text.chars().count() as u64;
    if let Some(least) = wanted.min_length.filter(|least| length < *least) {
        return Err(bound(format!("at least {least} characters long"), found()));
    }
    if let Some(most) = wanted.max_length.filter(|most| *most < length) {
        return Err(bound(format!("at most {most} characters long"), found()));
    }
    if let Some(pattern) = wanted
        .pattern
        .as_ref()
        .filter(|pattern| !pattern.matches(text))
    {
        return Err(bound(
            format!("text that matches `{}`", pattern.as_str()),
            found(),
        ));
    }
    match wanted
        .format
        .as_deref()
        .and_then(|format| format::complaint(format, text))
    {
        Some(rule) => Err(bound(rule.to_owned(), found())),
        None => Ok(()),
    }
}

fn choice_fits(values: &[Value], value: &Value) -> Result<(), Fault> {
    // 2 and 2.0 are the same number, but large integers are compared digit by digit.
    let same = |allowed: &Value| match (allowed.as_i64(), value.as_i64()) {
        (Some(a), Some(b)) => a == b,
        _ => allowed == value || (value.is_number() && allowed.as_f64() == value.as_f64()),
    };
    if values.iter().any(same) {
        return Ok(());
    }
    Err(Fault::new(Problem::Choice {
        allowed: allowed_values(values, value),
        found: shown(value),
    }))
}

/// The allowed values: all where they are few, else the nearest.
fn allowed_values(values: &[Value], value: &Value) -> Vec<String> {
    const FEW: usize = 12;
    if values.len() <= FEW {
        return values.iter().map(shown).collect();
    }
    let texts = values.iter().filter_map(Value::as_str);
    let near = suggest::nearest(value.as_str().unwrap_or_default(), texts, FEW / 2);
    let mut allowed: Vec<String> = near.iter().map(|text| shown(&Value::from(*text))).collect();
    if allowed.is_empty() {
        allowed = values.iter().take(FEW).map(shown).collect();
    }
    allowed.push(format!("… ({} in all)", values.len()));
    allowed
}

fn known_names(object: &Object, wanted: &str) -> Vec<String> {
    const FEW: usize = 12;
    let names: Vec<&str> = object.fields.iter().map(|field| &*field.name).collect();
    if names.len() <= FEW {
        return names.into_iter().map(str::to_owned).collect();
    }
    let near = suggest::nearest(wanted, names.iter().copied(), 5);
    let shown = if near.is_empty() {
        names.into_iter().take(FEW).collect()
    } else {
        near
    };
    shown.into_iter().map(str::to_owned).collect()
}

/// Bytes come as a buffer, as text, or as a file with a name: `{ filename, content }`.
fn is_bytes(value: &Value) -> bool {
    let is_file = value
        .get("content")
        .is_some_and(|content| content.is_string() || binary::decode(content).is_some());
    value.is_string() || binary::decode(value).is_some() || is_file
}

fn kind_fault(ty: &Type, value: &Value) -> Fault {
    Fault::new(Problem::Kind {
        expected: expected(ty),
        found: shown(value),
    })
}

fn bound(rule: String, found: String) -> Fault {
    Fault::new(Problem::Bound { rule, found })
}

/// A type for an error message.
fn expected(ty: &Type) -> String {
    const LONGEST: usize = 200;
    let text = render::inline(ty);
    if text.chars().count() <= LONGEST {
        return format!("`{text}`");
    }
    format!("`{}…`", text.chars().take(LONGEST).collect::<String>())
}

/// A value for an error message: its kind and, where it is short, itself.
fn shown(value: &Value) -> String {
    const LONGEST: usize = 80;
    match value {
        Value::Null => "nil".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "a table".to_owned(),
        Value::String(text) if LONGEST < text.chars().count() => {
            format!("a text of {} characters", text.chars().count())
        }
        scalar => render::value(scalar),
    }
}

fn subject(path: &str) -> String {
    match path {
        "" => "the value".to_owned(),
        "params" => "the arguments".to_owned(),
        "body" => "the body".to_owned(),
        _ => match path.strip_prefix("params.") {
            Some(parameter) => format!("parameter `{parameter}`"),
            None => format!("`{path}`"),
        },
    }
}

fn listed(names: &[String]) -> String {
    names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "`check(json!(…))` reads best"
)]
mod tests;
