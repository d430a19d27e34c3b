//! The parameters of a tool in both forms a script may write them in, as one: JSON Schema.

use serde_json::{Map, Value, json};
use toolscript_catalog::suggest;

use super::mistake::Problem;
use crate::tool::check_parameters;

/// The types a parameter may have.
const TYPES: &[&str] = &["string", "integer", "number", "boolean", "array", "object"];
/// What may be said of a parameter.
const KEYS: &[&str] = &["name", "type", "required", "description", "default", "enum"];
/// The most parameters of a tool.
const MOST: usize = 200;

/// What is wrong with parameters, and words that stand near it in the script.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) problem: Problem,
    pub(super) near: Vec<String>,
}

/// The JSON Schema of the parameters; a script without any has none.
pub(super) fn schema(parameters: Option<&Value>) -> Result<Map<String, Value>, Wrong> {
    match parameters {
        None => listed(&[]),
        Some(Value::Array(parameters)) => listed(parameters),
        Some(Value::Object(schema)) if schema.is_empty() => listed(&[]),
        Some(schema) => written(schema),
    }
}

/// A whole JSON Schema.
fn written(schema: &Value) -> Result<Map<String, Value>, Wrong> {
    let keywords = check_parameters(schema).map_err(|bad| {
        let place = match bad.pointer.as_str() {
            "" => String::new(),
            pointer => format!("at `{pointer}` "),
        };
        let problem = format!(
            "{place}{}; give a list of {{ name, type, … }}, or a JSON Schema of type `object`",
            bad.problem
        );
        let last = bad.pointer.rsplit('/').next().unwrap_or_default();
        Wrong {
            near: [last, "parameters"].map(str::to_owned).into(),
            problem: Problem::Field {
                key: "parameters".to_owned(),
                problem,
            },
        }
    })?;
    Ok(keywords.clone())
}

/// A list of `{ name, type, required, description, default, enum }`.
fn listed(parameters: &[Value]) -> Result<Map<String, Value>, Wrong> {
    if MOST < parameters.len() {
        return Err(Wrong {
            near: vec!["parameters".to_owned()],
            problem: Problem::Field {
                key: "parameters".to_owned(),
                problem: format!("has more than {MOST} entries"),
            },
        });
    }
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (at, parameter) in parameters.iter().enumerate() {
        let entry = Entry::new(at, parameter)?;
        if properties.contains_key(entry.name) {
            return Err(entry.wrong("name", "is there twice"));
        }
        if entry.flag("required")? {
            required.push(Value::from(entry.name));
        }
        properties.insert(entry.name.to_owned(), entry.schema()?);
    }
    let schema = json!({"type": "object", "properties": properties, "required": required});
    match schema {
        Value::Object(schema) => Ok(schema),
        _ => Ok(Map::new()),
    }
}

/// One parameter of the list.
struct Entry<'a> {
    name: &'a str,
    fields: &'a Map<String, Value>,
}

impl<'a> Entry<'a> {
    fn new(at: usize, parameter: &'a Value) -> Result<Self, Wrong> {
        let unnamed = |problem: &str| Wrong {
            near: vec!["parameters".to_owned()],
            problem: Problem::Parameter {
                name: format!("{}", at + 1),
                problem: problem.to_owned(),
            },
        };
        let fields = parameter
            .as_object()
            .ok_or_else(|| unnamed("must be a table: { name = …, type = … }"))?;
        let name = fields.get("name").and_then(Value::as_str);
        let name = name
            .filter(|name| !name.trim().is_empty())
            .ok_or_else(|| unnamed("has no `name`"))?;
        let entry = Self { name, fields };
        match fields.keys().find(|key| !KEYS.contains(&key.as_str())) {
            None => Ok(entry),
            Some(key) => {
                let near = suggest::nearest(key, KEYS.iter().copied(), 1);
                let advice = near.first().map_or_else(
                    || format!("known: {}", KEYS.join(", ")),
                    |near| format!("did you mean `{near}`?"),
                );
                Err(entry.wrong(key, &format!("has an unknown key `{key}`; {advice}")))
            }
        }
    }

    /// The parameter as a property of a JSON Schema.
    fn schema(&self) -> Result<Value, Wrong> {
        let kind = self.kind()?;
        let mut schema = Map::new();
        schema.insert("type".to_owned(), kind.into());
        for key in ["description", "default", "enum"] {
            if let Some(value) = self.fields.get(key) {
                schema.insert(key.to_owned(), value.clone());
            }
        }
        self.check_words()?;
        self.check_choices(kind)?;
        self.check_default(kind)?;
        Ok(Value::Object(schema))
    }

    fn kind(&self) -> Result<&'a str, Wrong> {
        let types = TYPES.join(", ");
        let Some(kind) = self.fields.get("type") else {
            return Err(self.wrong("name", &format!("has no `type`; one of {types}")));
        };
        let known = kind.as_str().filter(|kind| TYPES.contains(kind));
        known.ok_or_else(|| {
            let problem = format!("has the type {kind}, which is none of {types}");
            self.wrong("type", &problem)
        })
    }

    fn check_words(&self) -> Result<(), Wrong> {
        match self.fields.get("description") {
            None | Some(Value::String(_)) => Ok(()),
            Some(_) => Err(self.wrong("description", "must have text as its `description`")),
        }
    }

    fn check_choices(&self, kind: &str) -> Result<(), Wrong> {
        match self.fields.get("enum") {
            None => Ok(()),
            Some(Value::Array(choices)) if !choices.is_empty() => {
                match choices.iter().find(|choice| !is_a(kind, choice)) {
                    None => Ok(()),
                    Some(odd) => {
                        let problem = format!("has {odd} in its `enum`, which is no {kind}");
                        Err(self.wrong("enum", &problem))
                    }
                }
            }
            Some(_) => Err(self.wrong("enum", "must have a list of values as its `enum`")),
        }
    }

    fn check_default(&self, kind: &str) -> Result<(), Wrong> {
        let Some(default) = self.fields.get("default").filter(|value| !value.is_null()) else {
            return Ok(());
        };
        if !is_a(kind, default) {
            let problem = format!("has the default {default}, which is no {kind}");
            return Err(self.wrong("default", &problem));
        }
        match self.fields.get("enum").and_then(Value::as_array) {
            Some(choices) if !choices.contains(default) => {
                let problem = format!("has the default {default}, which is not in its `enum`");
                Err(self.wrong("default", &problem))
            }
            _ => Ok(()),
        }
    }

    fn flag(&self, key: &str) -> Result<bool, Wrong> {
        match self.fields.get(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(key, &format!("must have `true` or `false` as `{key}`"))),
        }
    }

    /// A mistake in this parameter; `key` is where to look for it.
    fn wrong(&self, key: &str, problem: &str) -> Wrong {
        let value = match self.fields.get(key) {
            Some(Value::String(text)) => format!("\"{text}\""),
            _ => key.to_owned(),
        };
        Wrong {
            near: vec![value, format!("\"{}\"", self.name), "parameters".to_owned()],
            problem: Problem::Parameter {
                name: format!("`{}`", self.name),
                problem: problem.to_owned(),
            },
        }
    }
}

/// Whether a value is of a type. An empty table is a list as well as an object.
fn is_a(kind: &str, value: &Value) -> bool {
    match (kind, value) {
        ("string", Value::String(_))
        | ("boolean", Value::Bool(_))
        | ("number", Value::Number(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => true,
        ("integer", Value::Number(number)) => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        ("array", Value::Object(fields)) => fields.is_empty(),
        ("object", Value::Array(items)) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "`wrong(json!(…))` reads best"
)]
mod tests {
    use super::*;

    #[track_caller]
    fn wrong(parameters: Value, message: &str) {
        let wrong = schema(Some(&parameters)).unwrap_err();
        assert_eq!(wrong.problem.to_string(), message);
    }

    #[test]
    fn a_list_becomes_a_schema() {
        let schema = schema(Some(&json!([
            {"name": "title", "type": "string", "required": true, "description": "What"},
            {"name": "level", "type": "integer", "default": 1, "enum": [1, 2]},
        ])))
        .unwrap();
        assert_eq!(
            Value::Object(schema),
            json!({"type": "object", "required": ["title"], "properties": {
                "title": {"type": "string", "description": "What"},
                "level": {"type": "integer", "default": 1, "enum": [1, 2]},
            }})
        );
    }

    #[test]
    fn a_schema_stays_one() {
        let written = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        assert_eq!(Value::Object(schema(Some(&written)).unwrap()), written);
        assert!(
            schema(None).unwrap()["properties"]
                .as_object()
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn mistakes_name_the_parameter() {
        wrong(
            json!(["x"]),
            "parameter 1 must be a table: { name = …, type = … }",
        );
        wrong(json!([{"type": "string"}]), "parameter 1 has no `name`");
        wrong(
            json!([{"name": "a"}]),
            "parameter `a` has no `type`; one of string, integer, number, boolean, array, object",
        );
        wrong(
            json!([{"name": "a", "type": "text"}]),
            "parameter `a` has the type \"text\", which is none of string, integer, number, boolean, array, object",
        );
        wrong(
            json!([{"name": "a", "type": "string", "requird": true}]),
            "parameter `a` has an unknown key `requird`; did you mean `required`?",
        );
        wrong(
            json!([{"name": "a", "type": "string", "required": "yes"}]),
            "parameter `a` must have `true` or `false` as `required`",
        );
        wrong(
            json!([{"name": "a", "type": "integer", "default": 1.5}]),
            "parameter `a` has the default 1.5, which is no integer",
        );
        wrong(
            json!([{"name": "a", "type": "string", "enum": ["x"], "default": "y"}]),
            "parameter `a` has the default \"y\", which is not in its `enum`",
        );
        wrong(
            json!([{"name": "a", "type": "string", "enum": [1]}]),
            "parameter `a` has 1 in its `enum`, which is no string",
        );
        wrong(
            json!([{"name": "a", "type": "string"}, {"name": "a", "type": "string"}]),
            "parameter `a` is there twice",
        );
    }

    #[test]
    fn a_schema_must_be_one_of_an_object() {
        for bad in [
            json!("x"),
            json!({"a": {"type": "string"}}),
            json!({"type": "array"}),
            json!({"type": "object", "$schema": "https://x.test/of-our-own"}),
            json!({"type": "object", "properties": {"a": {"pattern": "("}}}),
            json!({"type": "object", "properties": {"a": {"type": "text"}}}),
            json!({"type": "object", "properties": {"a": {"$ref": "https://x.test/s.json"}}}),
        ] {
            let wrong = schema(Some(&bad)).unwrap_err();
            assert!(matches!(wrong.problem, Problem::Field { .. }), "{bad}");
        }
    }
}
