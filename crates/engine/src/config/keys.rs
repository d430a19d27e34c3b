//! Unknown keys, found by walking the JSON Schema of the settings beside the file.
//!
//! The schema is made from the settings structs, so what it does not know the
//! program does not know; and unlike the parser it can say what comes near.

use serde_json::{Map, Value};
use toolscript_catalog::suggest;

/// A key nobody knows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnknownKey {
    /// Its dotted path.
    pub(super) key: String,
    /// The known keys that come near, or all where there are few.
    pub(super) known: Vec<String>,
}

/// The first key of `value` that `schema` does not know.
pub(super) fn find_unknown(schema: &Value, value: &Value) -> Option<UnknownKey> {
    Walk { root: schema }.unknown("", &[schema], value)
}

struct Walk<'a> {
    root: &'a Value,
}

impl<'a> Walk<'a> {
    fn unknown(&self, path: &str, schemas: &[&'a Value], value: &Value) -> Option<UnknownKey> {
        let mut open = Vec::new();
        for schema in schemas {
            self.unfold(schema, &mut open);
        }
        match value {
            Value::Object(object) => self.unknown_in(path, &open, object),
            Value::Array(items) => {
                let items_of = |schema: &&'a Value| schema.get("items");
                let schemas: Vec<&Value> = open.iter().filter_map(items_of).collect();
                items
                    .iter()
                    .find_map(|item| self.unknown(path, &schemas, item))
            }
            _ => None,
        }
    }

    fn unknown_in(
        &self,
        path: &str,
        schemas: &[&'a Value],
        object: &Map<String, Value>,
    ) -> Option<UnknownKey> {
        let properties: Vec<&Map<String, Value>> = schemas
            .iter()
            .filter_map(|schema| schema.get("properties")?.as_object())
            .collect();
        let extra: Vec<&Value> = schemas
            .iter()
            .filter_map(|schema| schema.get("additionalProperties"))
            .collect();
        let closed = extra.iter().any(|extra| **extra == Value::Bool(false));
        for (name, value) in object {
            let key = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            let mut next: Vec<&Value> = properties
                .iter()
                .filter_map(|known| known.get(name))
                .collect();
            if next.is_empty() {
                if closed {
                    let names = properties
                        .iter()
                        .flat_map(|known| known.keys().map(String::as_str));
                    return Some(UnknownKey {
                        key,
                        known: near(name, names.collect()),
                    });
                }
                next.extend(&extra);
            }
            if let Some(unknown) = self.unknown(&key, &next, value) {
                return Some(unknown);
            }
        }
        None
    }

    /// A schema with its references followed and its alternatives laid side by side.
    fn unfold(&self, schema: &'a Value, open: &mut Vec<&'a Value>) {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
            && let Some(target) = self.root.pointer(reference.trim_start_matches('#'))
        {
            self.unfold(target, open);
        }
        open.push(schema);
        for key in ["anyOf", "oneOf", "allOf"] {
            for variant in schema
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                self.unfold(variant, open);
            }
        }
    }
}

fn near(name: &str, known: Vec<&str>) -> Vec<String> {
    const FEW: usize = 10;
    let nearest = suggest::nearest(name, known.iter().copied(), 1);
    let shown = match (nearest.is_empty(), known.len() <= FEW) {
        (false, _) => nearest,
        (true, true) => known,
        (true, false) => known.into_iter().take(FEW).collect(),
    };
    let mut shown: Vec<String> = shown.into_iter().map(str::to_owned).collect();
    shown.dedup();
    shown
}
