//! [`Type`] to JSON Schema: the only way out for programs, as `render` is for readers.
//!
//! What comes out is 2020-12, as OpenAPI 3.1 and function calling take it, and what `Reader`
//! makes of it is the type that went in.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value, json};

use crate::{
    Field, Function, Type, TypeName, Types, binary,
    ty::{Array, Extra, Number, Object, Text, Union},
};

/// Where definitions stand in a schema that is on its own.
const DEFINITIONS: &str = "#/$defs/";
/// Under which name a body stands among flat parameters.
pub const BODY: &str = "body";

/// Writes the types of one source.
#[derive(Debug)]
pub struct Writer<'t> {
    types: &'t Types,
    references: String,
    nulls: Nulls,
}

/// Whether it is said that a field that may be left out may be null as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nulls {
    Said,
    Unsaid,
}

impl<'t> Writer<'t> {
    /// A writer whose named types stand under `references`: `#/components/schemas/`.
    pub fn new(types: &'t Types, references: impl Into<String>) -> Self {
        Self {
            types,
            references: references.into(),
            nulls: Nulls::Unsaid,
        }
    }

    /// Says of every field that may be left out that it may be null as well, which is how
    /// arguments are judged.
    #[must_use]
    pub fn saying_nulls(self) -> Self {
        Self {
            nulls: Nulls::Said,
            ..self
        }
    }

    /// The schema of a type.
    pub fn schema(&self, ty: &Type) -> Value {
        match ty {
            Type::Any => json!({}),
            Type::Null => json!({"type": "null"}),
            Type::Boolean => json!({"type": "boolean"}),
            Type::Number(number) => number_schema(number),
            Type::String(text) => text_schema(text),
            Type::Binary => bytes_schema(),
            Type::Literal { values } => literal_schema(values),
            Type::Array(array) => self.array(array),
            Type::Object(object) => self.object(object),
            Type::Union(union) => self.union(union),
            Type::Nullable { inner } => with_null(self.schema(inner)),
            Type::Named { name } => json!({"$ref": self.reference(name)}),
        }
    }

    /// The parameters of a function as one object, in which nothing else may stand. A body is
    /// one field of it.
    pub fn parameters(&self, function: &Function) -> Value {
        let mut object = function.params.clone();
        if let Some(body) = &function.body {
            object.fields.push(Field {
                required: body.required,
                description: body.description.as_str().into(),
                example: body.example.clone(),
                ..Field::optional(BODY, body.ty.clone())
            });
        }
        if !object.extra.is_typed() {
            object.extra = Extra::Closed;
        }
        self.object(&object)
    }

    /// The schemas of every named type that these types reach, by name.
    pub fn definitions<'a>(&'a self, roots: &[&'a Type]) -> BTreeMap<&'a TypeName, Value> {
        let mut written = BTreeMap::new();
        let mut open: VecDeque<&TypeName> = VecDeque::new();
        for root in roots {
            root.for_each_name(&mut |name| open.push_back(name));
        }
        while let Some(name) = open.pop_front() {
            let Some((name, definition)) = self.types.get_key_value(name) else {
                continue;
            };
            if written.contains_key(name) {
                continue;
            }
            let mut schema = self.schema(&definition.ty);
            insert_text(&mut schema, "description", &definition.description);
            written.insert(name, schema);
            definition
                .ty
                .for_each_name(&mut |name| open.push_back(name));
        }
        written
    }

    fn reference(&self, name: &TypeName) -> String {
        format!("{}{name}", self.references)
    }

    fn array(&self, array: &Array) -> Value {
        let mut schema = json!({"type": "array", "items": self.schema(&array.items)});
        insert(&mut schema, "minItems", array.min_items);
        insert(&mut schema, "maxItems", array.max_items);
        schema
    }

    fn object(&self, object: &Object) -> Value {
        let fields = object.fields.iter();
        let properties: Map<String, Value> = fields
            .map(|field| (field.name.to_string(), self.field(field)))
            .collect();
        let required: Vec<&str> = object
            .fields
            .iter()
            .filter(|field| field.required)
            .map(|field| &*field.name)
            .collect();
        let mut schema = json!({"type": "object", "properties": properties});
        insert(
            &mut schema,
            "required",
            (!required.is_empty()).then_some(required),
        );
        let extra = match &object.extra {
            Extra::Unspecified => None,
            Extra::Closed => Some(json!(false)),
            Extra::Typed(ty) if **ty == Type::Any => Some(json!(true)),
            Extra::Typed(ty) => Some(self.schema(ty)),
        };
        insert(&mut schema, "additionalProperties", extra);
        schema
    }

    fn field(&self, field: &Field) -> Value {
        let mut schema = self.schema(&field.ty);
        if self.nulls == Nulls::Said && !field.required {
            schema = with_null(schema);
        }
        insert_text(&mut schema, "description", &field.description);
        insert(&mut schema, "default", field.default.clone());
        let examples = field.example.as_ref().map(|example| vec![example.clone()]);
        insert(&mut schema, "examples", examples);
        for (key, flag) in [
            ("deprecated", field.deprecated),
            ("readOnly", field.read_only),
            ("writeOnly", field.write_only),
        ] {
            insert(&mut schema, key, flag.then_some(true));
        }
        schema
    }

    fn union(&self, union: &Union) -> Value {
        let variants = union.variants.iter();
        let variants: Vec<Value> = variants.map(|variant| self.schema(variant)).collect();
        let mut schema = json!({"anyOf": variants});
        if let Some(discriminator) = &union.discriminator {
            let mapping: BTreeMap<&String, String> = discriminator
                .mapping
                .iter()
                .map(|(text, name)| (text, self.reference(name)))
                .collect();
            schema["discriminator"] =
                json!({"propertyName": discriminator.field, "mapping": mapping});
        }
        schema
    }
}

/// The parameters of a function as a schema on its own, with the definitions it needs: what
/// function calling takes.
pub fn parameters(function: &Function, types: &Types) -> Value {
    let writer = Writer::new(types, DEFINITIONS);
    let params = Type::Object(function.params.clone());
    let body = function.body.iter().map(|body| &body.ty);
    let roots: Vec<&Type> = std::iter::once(&params).chain(body).collect();
    with_definitions(writer.parameters(function), &writer.definitions(&roots))
}

/// A type as a schema on its own, with the definitions it needs.
pub fn lone(ty: &Type, types: &Types) -> Value {
    let writer = Writer::new(types, DEFINITIONS);
    with_definitions(writer.schema(ty), &writer.definitions(&[ty]))
}

fn with_definitions(mut schema: Value, definitions: &BTreeMap<&TypeName, Value>) -> Value {
    insert(
        &mut schema,
        "$defs",
        (!definitions.is_empty()).then_some(json!(definitions)),
    );
    schema
}

/// The schema, or null.
fn with_null(schema: Value) -> Value {
    let nothing = json!({"type": "null"});
    let mut schema = schema;
    let Value::Object(object) = &mut schema else {
        return schema;
    };
    if object.is_empty() || object.get("type").is_some_and(allows_null) {
        return schema;
    }
    if let Some(Value::Array(variants)) = object.get_mut("anyOf") {
        if !variants.contains(&nothing) {
            variants.push(nothing);
        }
        return schema;
    }
    let is_choice = object.contains_key("enum");
    if let Some(Value::Array(values)) = object.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match object.get_mut("type") {
        Some(name) => *name = json!([name.take(), "null"]),
        None if is_choice => {}
        None => return json!({"anyOf": [schema, nothing]}),
    }
    schema
}

fn allows_null(names: &Value) -> bool {
    match names {
        Value::Array(names) => names.iter().any(|name| name == "null"),
        name => name == "null",
    }
}

fn number_schema(number: &Number) -> Value {
    let name = if number.integer { "integer" } else { "number" };
    let mut schema = json!({"type": name});
    let (minimum, maximum) = (
        if number.above_minimum {
            "exclusiveMinimum"
        } else {
            "minimum"
        },
        if number.below_maximum {
            "exclusiveMaximum"
        } else {
            "maximum"
        },
    );
    insert(&mut schema, minimum, number.minimum.map(plain_number));
    insert(&mut schema, maximum, number.maximum.map(plain_number));
    insert(
        &mut schema,
        "multipleOf",
        number.multiple_of.map(plain_number),
    );
    insert(&mut schema, "format", number.format.as_deref());
    schema
}

/// `5` rather than `5.0`.
fn plain_number(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and small enough")]
        return Value::from(number as i64);
    }
    Value::from(number)
}

fn text_schema(text: &Text) -> Value {
    let mut schema = json!({"type": "string"});
    insert(&mut schema, "format", text.format.as_deref());
    insert(&mut schema, "minLength", text.min_length);
    insert(&mut schema, "maxLength", text.max_length);
    let pattern = text.pattern.as_ref().map(crate::ty::Pattern::as_str);
    insert(&mut schema, "pattern", pattern);
    schema
}

fn literal_schema(values: &[Value]) -> Value {
    let name = |value: &Value| match value {
        Value::String(_) => Some("string"),
        Value::Bool(_) => Some("boolean"),
        Value::Number(_) => Some("number"),
        _ => None,
    };
    let first = values.first().and_then(name);
    let mut schema = json!({});
    if values.iter().all(|value| name(value) == first) {
        insert(&mut schema, "type", first);
    }
    schema["enum"] = json!(values);
    schema
}

/// The form bytes have in JSON.
pub(super) fn bytes_schema() -> Value {
    json!({
        "type": "object",
        "properties": {(binary::KEY): {"type": "string", "contentEncoding": "base64"}},
        "required": [binary::KEY],
        "additionalProperties": false,
    })
}

fn insert(schema: &mut Value, key: &str, value: Option<impl Into<Value>>) {
    if let (Value::Object(object), Some(value)) = (schema, value) {
        object.insert(key.to_owned(), value.into());
    }
}

fn insert_text(schema: &mut Value, key: &str, text: &str) {
    insert(schema, key, (!text.is_empty()).then_some(text));
}

#[cfg(test)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "`check(json!(…))` reads best"
)]
mod tests {
    use super::*;
    use crate::{
        Node,
        schema::{Lone, Reader},
    };

    /// Reads a schema, writes the type, and reads what was written: the same type, and the
    /// schema is as expected.
    #[track_caller]
    fn check(schema: Value, written: Value) {
        let (ty, types) = read(&schema);
        let again = lone(&ty, &types);
        assert_eq!(again, written, "{schema}");
        assert_eq!(read(&again), (ty, types), "{again}");
    }

    #[track_caller]
    fn same(schema: Value) {
        check(schema.clone(), schema);
    }

    fn read(schema: &Value) -> (Type, Types) {
        let root = Node::from(schema);
        let lone = Lone {
            root: &root,
            name: "Root",
        };
        let mut reader = Reader::new(&lone);
        let ty = reader.read(0, &root, "here");
        (ty, reader.finish().0)
    }

    #[test]
    fn scalars() {
        same(json!({}));
        same(json!({"type": "null"}));
        same(json!({"type": "boolean"}));
        same(json!({"type": "integer", "minimum": 1, "exclusiveMaximum": 10.5, "format": "int32"}));
        same(json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1, "multipleOf": 0.1}));
        same(
            json!({"type": "string", "format": "uuid", "minLength": 1, "maxLength": 9, "pattern": "^a"}),
        );
        same(json!({"type": "string", "enum": ["a", "b"]}));
        same(json!({"enum": ["a", 1]}));
        check(
            json!({"const": true}),
            json!({"type": "boolean", "enum": [true]}),
        );
    }

    #[test]
    fn bytes_have_their_form() {
        check(
            json!({"type": "string", "format": "binary"}),
            bytes_schema(),
        );
        same(bytes_schema());
    }

    #[test]
    fn null_beside_every_kind() {
        same(json!({"type": ["string", "null"]}));
        same(json!({"type": ["string", "null"], "enum": ["a", null]}));
        same(json!({"enum": ["a", 1, null]}));
        same(json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}));
        same(json!({
            "anyOf": [{"$ref": "#/$defs/Pet"}, {"type": "null"}],
            "$defs": {"Pet": {"type": "string"}},
        }));
    }

    #[test]
    fn lists_and_objects() {
        same(
            json!({"type": "array", "items": {"type": "array", "items": {}}, "minItems": 1, "maxItems": 3}),
        );
        same(json!({
            "type": "object",
            "properties": {
                "id": {"type": "integer", "description": "Who", "readOnly": true},
                "tag": {"type": "string", "default": "x", "examples": ["y"], "deprecated": true},
                "key": {"type": "string", "writeOnly": true},
            },
            "required": ["id"],
            "additionalProperties": false,
        }));
        same(
            json!({"type": "object", "properties": {}, "additionalProperties": {"type": "number"}}),
        );
        same(json!({"type": "object", "properties": {}, "additionalProperties": true}));
    }

    #[test]
    fn names_lead_to_definitions_even_in_circles() {
        same(json!({
            "$ref": "#/$defs/Pet",
            "$defs": {
                "Pet": {
                    "type": "object",
                    "properties": {
                        "owner": {"$ref": "#/$defs/Person", "description": "Whose"},
                        "friends": {"type": "array", "items": {"$ref": "#/$defs/Pet"}},
                    },
                    "description": "An animal",
                },
                "Person": {"type": "string"},
            },
        }));
        same(json!({
            "anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
            "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"}},
            "$defs": {
                "Cat": {"type": "object", "properties": {"kind": {"type": "string"}}},
                "Dog": {"type": "object", "properties": {"kind": {"type": "string"}, "age": {"type": "integer"}}},
            },
        }));
    }

    #[test]
    fn what_may_be_left_out_may_be_null() {
        let (ty, types) = read(&json!({
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "b": {"type": "string", "enum": ["x"]},
                "c": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "d": {},
                "e": {"type": "object", "properties": {"f": {"type": "boolean"}}},
            },
            "required": ["a"],
        }));
        let schema = Writer::new(&types, DEFINITIONS).saying_nulls().schema(&ty);
        assert_eq!(
            schema["properties"],
            json!({
                "a": {"type": "string"},
                "b": {"type": ["string", "null"], "enum": ["x", null]},
                "c": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
                "d": {},
                "e": {"type": ["object", "null"], "properties": {"f": {"type": ["boolean", "null"]}}},
            })
        );
    }

    #[test]
    fn parameters_stand_on_their_own() {
        let (ty, types) = read(&json!({
            "type": "object",
            "properties": {"pet": {"$ref": "#/$defs/Pet"}},
            "required": ["pet"],
            "$defs": {"Pet": {"type": "string"}},
        }));
        let Type::Object(params) = ty else {
            panic!("{ty:?}")
        };
        let function = Function {
            params,
            ..Function::default()
        };
        assert_eq!(
            parameters(&function, &types),
            json!({
                "type": "object",
                "properties": {"pet": {"$ref": "#/$defs/Pet"}},
                "required": ["pet"],
                "additionalProperties": false,
                "$defs": {"Pet": {"type": "string"}},
            })
        );
    }
}
