//! JSON Schema to [`Type`]: the only way in, for every dialect a document may speak. The way back
//! is [`write`].
//!
//! Draft 4 as OpenAPI 2.0 and 3.0 bend it, and 2020-12 as OpenAPI 3.1 and MCP use
//! it, are read by the same rules: whatever a schema says that we understand is
//! kept, the rest widens the type instead of refusing the document.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use crate::{
    Field, Node, Type, TypeName, Types, Warning, binary,
    ty::{Array, Definition, Discriminator, Extra, Number, Object, Pattern, Text, Union},
};

mod merge;
pub mod write;

/// How deep inline schemas may nest before the rest is taken as `any`.
const DEEPEST: usize = 48;
/// How many alternatives of a union are kept; more are taken as `any`.
const MOST_VARIANTS: usize = 256;
/// How many definitions may be read inside one another, as chains of `allOf` demand.
const MOST_NESTED: usize = 64;

/// Where `$ref`s lead.
pub trait Resolver {
    /// Finds the target of a reference written in the document `scope`.
    fn resolve<'a>(&'a self, scope: usize, reference: &str) -> Option<Target<'a>>;
}

/// What a reference leads to.
#[derive(Debug)]
pub struct Target<'a> {
    /// The document it stands in.
    pub scope: usize,
    /// The schema.
    pub node: &'a Node,
    /// Tells this target from every other: the document and the pointer.
    pub key: String,
    /// What the type might be called.
    pub name: String,
}

/// A schema on its own, whose references lead into itself: what an MCP tool brings.
#[derive(Debug)]
pub struct Lone<'s> {
    /// The schema.
    pub root: &'s Node,
    /// What the schema as a whole would be called.
    pub name: &'s str,
}

impl Resolver for Lone<'_> {
    fn resolve<'a>(&'a self, scope: usize, reference: &str) -> Option<Target<'a>> {
        let fragment = reference.strip_prefix('#')?;
        let node = if fragment.is_empty() || fragment.starts_with('/') {
            self.root.pointer(fragment)?
        } else {
            let definitions = self
                .root
                .get("$defs")
                .map(Node::entries)
                .unwrap_or_default();
            let anchored = |node: &&Node| node.text("$anchor") == Some(fragment);
            definitions.iter().map(|(_, node)| node).find(anchored)?
        };
        let name = match fragment.rsplit('/').next() {
            None | Some("") => self.name.to_owned(),
            Some(last) => last.to_owned(),
        };
        Some(Target {
            scope,
            node,
            key: reference.to_owned(),
            name,
        })
    }
}

/// Reads the schemas of one source, giving each referenced schema one name.
#[derive(Debug)]
pub struct Reader<'a, R> {
    resolver: &'a R,
    names: HashMap<String, TypeName>,
    taken: HashSet<TypeName>,
    open: VecDeque<Open<'a>>,
    reading: HashSet<TypeName>,
    types: Types,
    warnings: Vec<Warning>,
}

/// A named schema that is waiting to be read.
#[derive(Debug)]
struct Open<'a> {
    name: TypeName,
    scope: usize,
    node: &'a Node,
    place: String,
}

/// A schema under the reader's eyes, and where it stands.
#[derive(Clone, Copy)]
struct At<'a, 'p> {
    scope: usize,
    node: &'a Node,
    place: &'p str,
    depth: usize,
}

impl<'a, 'p> At<'a, 'p> {
    fn down(self, node: &'a Node) -> At<'a, 'p> {
        At {
            node,
            depth: self.depth + 1,
            ..self
        }
    }
}

impl<'a, R: Resolver> Reader<'a, R> {
    /// A reader that follows references by `resolver`.
    pub fn new(resolver: &'a R) -> Self {
        Self {
            resolver,
            names: HashMap::new(),
            taken: HashSet::new(),
            open: VecDeque::new(),
            reading: HashSet::new(),
            types: Types::new(),
            warnings: Vec::new(),
        }
    }

    /// Reads the schema that stands at `place` in the document `scope`.
    ///
    /// A `$ref` becomes a named type; what it leads to is read by [`Self::finish`] at the latest.
    pub fn read(&mut self, scope: usize, schema: &'a Node, place: &str) -> Type {
        self.schema(At {
            scope,
            node: schema,
            place,
            depth: 0,
        })
    }

    /// Reads one property or parameter: its type and everything said about it.
    pub fn field(&mut self, scope: usize, name: &str, schema: &'a Node, place: &str) -> Field {
        self.named_field(
            name,
            At {
                scope,
                node: schema,
                place,
                depth: 0,
            },
        )
    }

    /// The object behind a type read before, with its named steps followed.
    pub fn object_of(&mut self, ty: &Type) -> Option<Object> {
        match self.followed(ty.clone()) {
            Type::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Reads what is still open and hands everything over.
    pub fn finish(mut self) -> (Types, Vec<Warning>) {
        while let Some(open) = self.open.pop_front() {
            self.define(open);
        }
        (self.types, self.warnings)
    }

    fn schema(&mut self, at: At<'a, '_>) -> Type {
        if DEEPEST < at.depth {
            self.warn(
                at.place,
                "schemas nest too deep here; the rest is taken as any value",
            );
            return Type::Any;
        }
        if !at.node.is_object() {
            if at.node.as_bool().is_none() {
                self.warn(at.place, "this is no schema; any value is accepted");
            }
            return Type::Any;
        }
        let ty = match at.node.text("$ref") {
            Some(reference) => self.reference(at, reference),
            None => self.structure(at),
        };
        if at.node.flag("nullable") || at.node.flag("x-nullable") {
            ty.nullable()
        } else {
            ty
        }
    }

    /// A `$ref`, and whatever else stands beside it.
    fn reference(&mut self, at: At<'a, '_>, reference: &str) -> Type {
        const STRUCTURE: &[&str] = &["properties", "allOf", "oneOf", "anyOf", "required", "enum"];
        let Some(target) = self.resolver.resolve(at.scope, reference) else {
            self.warn(
                at.place,
                &format!("`{reference}` leads nowhere; any value is accepted"),
            );
            return Type::Any;
        };
        let named = Type::named(self.name(target, at.place));
        if STRUCTURE.iter().any(|key| at.node.get(key).is_some()) {
            let beside = self.structure(at);
            return self.merge(named, beside);
        }
        named
    }

    /// The name of a referenced schema; a new one is put in line to be read.
    fn name(&mut self, target: Target<'a>, place: &str) -> TypeName {
        if let Some(name) = self.names.get(&target.key) {
            return name.clone();
        }
        let name = TypeName::clean(&target.name).unique(|name| self.taken.contains(name));
        self.taken.insert(name.clone());
        let place = if target.key.contains('#') {
            target.key.clone()
        } else {
            place.to_owned()
        };
        self.names.insert(target.key, name.clone());
        let (scope, node) = (target.scope, target.node);
        self.open.push_back(Open {
            name: name.clone(),
            scope,
            node,
            place,
        });
        name
    }

    fn define(&mut self, open: Open<'a>) {
        self.reading.insert(open.name.clone());
        let at = At {
            scope: open.scope,
            node: open.node,
            place: &open.place,
            depth: 0,
        };
        let ty = self.schema(at);
        self.reading.remove(&open.name);
        // A name that stands for itself says nothing.
        let ty = if ty == Type::named(open.name.clone()) {
            Type::Any
        } else {
            ty
        };
        let description = describe(open.node).to_owned();
        self.types.insert(open.name, Definition { ty, description });
    }

    /// The type behind a name, read now if it has to be; an empty object inside its own definition.
    fn followed(&mut self, ty: Type) -> Type {
        let mut ty = ty;
        for _ in 0..DEEPEST {
            let Type::Named { name } = &ty else { return ty };
            if self.reading.len() < MOST_NESTED
                && let Some(at) = self.open.iter().position(|open| open.name == *name)
                && let Some(open) = self.open.remove(at)
            {
                self.define(open);
            }
            ty = match self.types.get(name) {
                Some(definition) => definition.ty.clone(),
                None => return Type::object(Vec::new()),
            };
        }
        ty
    }

    /// A schema that is not a reference.
    fn structure(&mut self, at: At<'a, '_>) -> Type {
        if let Some(ty) = scalars(at.node) {
            return ty;
        }
        let own = self.own(at);
        let together = self.all_of(at, own);
        self.alternatives(at, together)
    }

    /// What the schema says by itself, without `allOf` and alternatives.
    fn own(&mut self, at: At<'a, '_>) -> Type {
        let types: Vec<&str> = match at.node.get("type") {
            Some(Node::String(name)) => vec![name],
            Some(Node::Array(names)) => names.iter().filter_map(Node::as_str).collect(),
            _ => inferred(at.node).into_iter().collect(),
        };
        let nullable = types.contains(&"null");
        let mut variants = Vec::new();
        for name in types.iter().filter(|name| **name != "null") {
            // Some documents write `String`.
            let ty = self.typed(at, &name.to_ascii_lowercase());
            if !variants.contains(&ty) {
                variants.push(ty);
            }
        }
        let ty = match variants.len() {
            0 if nullable => return Type::Null,
            0 => return Type::Any,
            1 => variants.remove(0),
            _ => Type::Union(Union {
                variants,
                discriminator: None,
            }),
        };
        if nullable { ty.nullable() } else { ty }
    }

    fn typed(&mut self, at: At<'a, '_>, name: &str) -> Type {
        match name {
            "string" => text(at.node),
            "file" => Type::Binary,
            "integer" | "int" | "long" => number(at.node, true),
            "number" | "float" | "double" => number(at.node, false),
            "boolean" | "bool" => Type::Boolean,
            "array" => self.array(at),
            "object" => self.object(at),
            "any" => Type::Any,
            other => {
                self.warn(
                    at.place,
                    &format!("`{other}` is no type; any value is accepted"),
                );
                Type::Any
            }
        }
    }

    fn array(&mut self, at: At<'a, '_>) -> Type {
        let tuple = at.node.get("prefixItems").or_else(|| at.node.get("items"));
        let items = match tuple {
            Some(Node::Array(schemas)) => {
                let variants = schemas
                    .iter()
                    .map(|schema| self.schema(at.down(schema)))
                    .collect();
                union(variants, None)
            }
            _ => match at.node.get("items") {
                Some(items) => self.schema(at.down(items)),
                None => Type::Any,
            },
        };
        // A list of choices on the array itself is meant for its items.
        let items = match at.node.get("enum").and_then(Node::as_array) {
            Some(values) if values.iter().all(|value| value.as_array().is_none()) => {
                literal(values).unwrap_or(items)
            }
            _ => items,
        };
        Type::Array(Array {
            items: Box::new(items),
            min_items: at.node.get("minItems").and_then(Node::as_u64),
            max_items: at.node.get("maxItems").and_then(Node::as_u64),
        })
    }

    fn object(&mut self, at: At<'a, '_>) -> Type {
        let required = at.node.items("required");
        let is_required = |name: &str| required.iter().any(|item| item.as_str() == Some(name));
        let mut fields = Vec::new();
        for (name, schema) in self.properties(at) {
            let mut field = self.named_field(name, at.down(schema));
            // Draft 3 put the flag on the property itself.
            field.required = is_required(name) || schema.flag("required");
            fields.push(field);
        }
        let extra = self.extra(at);
        for name in required.iter().filter_map(Node::as_str) {
            if !fields.iter().any(|field: &Field| &*field.name == name) {
                fields.push(Field::required(name, Type::Any));
            }
        }
        let is_bytes = |field: &Field| &*field.name == binary::KEY && field.required;
        match fields.as_slice() {
            [only] if is_bytes(only) && extra == Extra::Closed => Type::Binary,
            _ => Type::Object(Object { fields, extra }),
        }
    }

    /// The properties of an object; a few documents keep the whole table behind a reference.
    fn properties(&self, at: At<'a, '_>) -> &'a [(Box<str>, Node)] {
        let Some(table) = at.node.get("properties") else {
            return &[];
        };
        let target = match table.entries() {
            [(key, Node::String(reference))] if &**key == "$ref" => {
                self.resolver.resolve(at.scope, reference)
            }
            _ => None,
        };
        target.map_or(table, |target| target.node).entries()
    }

    fn extra(&mut self, at: At<'a, '_>) -> Extra {
        if let Some(patterns) = at.node.get("patternProperties") {
            let schemas = patterns.entries().iter();
            let variants = schemas
                .map(|(_, schema)| self.schema(at.down(schema)))
                .collect();
            return Extra::Typed(Box::new(union(variants, None)));
        }
        match at.node.get("additionalProperties") {
            None | Some(Node::Null) => Extra::Unspecified,
            Some(Node::Bool(false)) => Extra::Closed,
            Some(Node::Bool(true)) => Extra::Typed(Box::new(Type::Any)),
            Some(schema) => Extra::Typed(Box::new(self.schema(at.down(schema)))),
        }
    }

    fn named_field(&mut self, name: &str, at: At<'a, '_>) -> Field {
        let node = at.node;
        let example = node.get("example").or_else(|| match node.get("examples") {
            Some(Node::Array(examples)) => examples.first(),
            _ => None,
        });
        Field {
            name: name.into(),
            ty: self.schema(at),
            required: false,
            description: describe(node).into(),
            default: node
                .get("default")
                .filter(|node| **node != Node::Null)
                .map(Node::to_value),
            example: example.map(Node::to_value),
            deprecated: node.flag("deprecated"),
            read_only: node.flag("readOnly"),
            write_only: node.flag("writeOnly"),
        }
    }

    fn all_of(&mut self, at: At<'a, '_>, own: Type) -> Type {
        let mut together = own;
        for part in at.node.items("allOf") {
            let part = self.schema(at.down(part));
            together = self.merge(together, part);
        }
        together
    }

    fn alternatives(&mut self, at: At<'a, '_>, together: Type) -> Type {
        let mut ty = together;
        for key in ["oneOf", "anyOf"] {
            let schemas = at.node.items(key);
            if schemas.is_empty() {
                continue;
            }
            let variants = schemas
                .iter()
                .map(|schema| self.schema(at.down(schema)))
                .collect();
            let discriminator = self.discriminator(at, schemas);
            let choice = union(variants, discriminator);
            ty = self.merge(ty, choice);
        }
        ty
    }

    fn discriminator(&mut self, at: At<'a, '_>, schemas: &'a [Node]) -> Option<Discriminator> {
        let node = at.node.get("discriminator")?;
        // Swagger 2.0 wrote the name of the field alone.
        let field = node.text("propertyName").or_else(|| node.as_str())?.into();
        let mut mapping = std::collections::BTreeMap::new();
        for (text, reference) in node.get("mapping").map(Node::entries).unwrap_or_default() {
            let Some(reference) = reference.as_str() else {
                continue;
            };
            let written = [
                reference.to_owned(),
                format!("#/components/schemas/{reference}"),
            ];
            let mut targets = written
                .iter()
                .filter_map(|r| self.resolver.resolve(at.scope, r));
            if let Some(target) = targets.next() {
                drop(targets);
                mapping.insert(text.to_string(), self.name(target, at.place));
            }
        }
        if mapping.is_empty() {
            for reference in schemas.iter().filter_map(|schema| schema.text("$ref")) {
                if let Some(target) = self.resolver.resolve(at.scope, reference) {
                    mapping.insert(target.name.clone(), self.name(target, at.place));
                }
            }
        }
        Some(Discriminator { field, mapping })
    }

    fn warn(&mut self, place: &str, reason: &str) {
        let warning = Warning {
            place: place.to_owned(),
            reason: reason.to_owned(),
        };
        // The same place is often reached from many sides.
        if self.warnings.last() != Some(&warning) && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// What a schema says in words: its description, else its title.
fn describe(node: &Node) -> &str {
    node.text("description")
        .or_else(|| node.text("title"))
        .unwrap_or_default()
        .trim()
}

/// `const` and `enum` over scalars; `None` where there is neither.
fn scalars(node: &Node) -> Option<Type> {
    if let Some(value) = node.get("const") {
        return literal(std::slice::from_ref(value));
    }
    if node.text("type") == Some("array") {
        return None;
    }
    literal(node.get("enum").and_then(Node::as_array)?)
}

/// One of these scalars; null among them makes the type nullable.
fn literal(nodes: &[Node]) -> Option<Type> {
    let mut values: Vec<Value> = Vec::new();
    let mut nullable = false;
    for node in nodes {
        match node {
            Node::Null => nullable = true,
            Node::Array(_) | Node::Object(_) => return None,
            scalar => {
                let value = scalar.to_value();
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
    }
    if values.is_empty() {
        return nullable.then_some(Type::Null);
    }
    let ty = Type::Literal { values };
    Some(if nullable { ty.nullable() } else { ty })
}

/// One of several types: equal ones once, null apart, anything at all wins.
fn union(variants: Vec<Type>, discriminator: Option<Discriminator>) -> Type {
    let mut kept: Vec<Type> = Vec::new();
    let mut nullable = false;
    let mut pending: VecDeque<Type> = variants.into();
    while let Some(variant) = pending.pop_front() {
        match variant {
            Type::Any => return Type::Any,
            Type::Null => nullable = true,
            Type::Nullable { inner } => {
                nullable = true;
                pending.push_front(*inner);
            }
            Type::Union(inner) if inner.discriminator.is_none() => {
                for variant in inner.variants.into_iter().rev() {
                    pending.push_front(variant);
                }
            }
            other if !kept.contains(&other) => kept.push(other),
            _ => {}
        }
        if MOST_VARIANTS < kept.len() {
            return Type::Any;
        }
    }
    let ty = match kept.len() {
        0 if nullable => return Type::Null,
        0 => return Type::Any,
        1 => kept.remove(0),
        _ => Type::Union(Union {
            variants: kept,
            discriminator,
        }),
    };
    if nullable { ty.nullable() } else { ty }
}

/// The type a schema without `type` is about.
fn inferred(node: &Node) -> Option<&'static str> {
    const SIGNS: &[(&str, &str)] = &[
        ("properties", "object"),
        ("additionalProperties", "object"),
        ("patternProperties", "object"),
        ("required", "object"),
        ("items", "array"),
        ("prefixItems", "array"),
        ("minItems", "array"),
        ("pattern", "string"),
        ("minLength", "string"),
        ("maxLength", "string"),
        ("contentMediaType", "string"),
        ("minimum", "number"),
        ("maximum", "number"),
        ("multipleOf", "number"),
    ];
    let sign = SIGNS.iter().find(|(key, _)| node.get(key).is_some());
    if let Some((_, name)) = sign {
        return Some(name);
    }
    match node.text("format")? {
        "int32" | "int64" => Some("integer"),
        "float" | "double" => Some("number"),
        "date" | "date-time" | "uuid" | "uri" | "email" | "binary" | "byte" | "password" => {
            Some("string")
        }
        _ => None,
    }
}

fn text(node: &Node) -> Type {
    let format = node.text("format");
    let encoded = node.text("contentEncoding").is_some();
    let raw_media = node.text("contentMediaType").is_some_and(|media| {
        media == "application/octet-stream"
            || media.starts_with("image/")
            || media.starts_with("audio/")
    });
    if format == Some("binary") || (raw_media && !encoded) {
        return Type::Binary;
    }
    Type::String(Text {
        format: format
            .or_else(|| node.text("contentEncoding"))
            .map(Into::into),
        min_length: node
            .get("minLength")
            .and_then(Node::as_u64)
            .filter(|length| 0 < *length),
        max_length: node.get("maxLength").and_then(Node::as_u64),
        pattern: node.text("pattern").map(Pattern::new),
    })
}

fn number(node: &Node, integer: bool) -> Type {
    let bound = |key: &str| node.get(key).and_then(Node::as_f64);
    // 3.0 has a flag beside the bound, 3.1 a bound of its own.
    let (minimum, above_minimum) = match bound("exclusiveMinimum") {
        Some(bound) => (Some(bound), true),
        None => (bound("minimum"), node.flag("exclusiveMinimum")),
    };
    let (maximum, below_maximum) = match bound("exclusiveMaximum") {
        Some(bound) => (Some(bound), true),
        None => (bound("maximum"), node.flag("exclusiveMaximum")),
    };
    let format = node.text("format").map(Into::into);
    let multiple_of = bound("multipleOf").filter(|step| 0.0 < *step);
    Type::Number(Number {
        integer,
        minimum,
        maximum,
        above_minimum,
        below_maximum,
        multiple_of,
        format,
    })
}

#[cfg(test)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "`check(json!(…))` reads best"
)]
mod tests;
