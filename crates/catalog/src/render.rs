//! Types and functions as Luau text: the only way out.

use std::{borrow::Cow, collections::HashMap, fmt::Write as _};

use serde_json::Value;

use crate::{
    Field, Function, SourceName, Type, TypeName,
    function::Convention,
    name::is_identifier,
    ty::{Definition, Extra, Number, Object, Text},
};

/// How wide a line may get before an object is spread over several.
const WIDTH: usize = 96;

/// Writes types, with some of them under another name where two sources share one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Renderer<'a> {
    renamed: Option<&'a HashMap<TypeName, String>>,
}

/// A type on one line.
pub fn inline(ty: &Type) -> String {
    Renderer::default().inline(ty)
}

/// `function sdk.petstore.create_pet(body: NewPet): Pet`
pub fn signature(source: &SourceName, function: &Function) -> String {
    Renderer::default().signature(source, function)
}

impl<'a> Renderer<'a> {
    /// A renderer that writes some types under another name.
    pub fn with_names(renamed: &'a HashMap<TypeName, String>) -> Self {
        Self {
            renamed: Some(renamed),
        }
    }

    /// A type on one line.
    pub fn inline(self, ty: &Type) -> String {
        let mut out = String::new();
        self.write(&mut out, ty);
        out
    }

    /// `function sdk.petstore.create_pet(body: NewPet): Pet`
    pub fn signature(self, source: &SourceName, function: &Function) -> String {
        if !function.signature.is_empty() {
            return format!("function {}", function.signature);
        }
        let parameters = self.parameters(function);
        let returns = self.inline(&function.returns.ty);
        format!(
            "function sdk.{source}.{}({parameters}): {}",
            function.name,
            as_return(&returns)
        )
    }

    /// `export type Pet = …`, over several lines, with what the document says of each field.
    pub fn definition(self, name: &TypeName, definition: &Definition) -> String {
        let mut out = comment(&definition.description, "");
        let facts = facts(&definition.ty);
        if !facts.is_empty() {
            out.push_str(&comment(&facts, ""));
        }
        let _infallible = write!(out, "export type {} = ", self.name(name));
        self.write_block(&mut out, &definition.ty, 0);
        out.push('\n');
        out
    }

    /// What stands between the parentheses of a signature.
    fn parameters(self, function: &Function) -> String {
        let mut parts = Vec::new();
        let convention = function.convention();
        if matches!(convention, Convention::Params | Convention::ParamsAndBody) {
            let mut params = String::new();
            self.write_object(&mut params, &function.params);
            let mark = if function.params_optional() { "?" } else { "" };
            parts.push(format!("params: {params}{mark}"));
        }
        if let Some(body) = &function.body {
            let ty = if body.required {
                body.ty.clone()
            } else {
                body.ty.clone().nullable()
            };
            parts.push(format!("body: {}", self.inline(&ty)));
        }
        parts.join(", ")
    }

    fn name(self, name: &TypeName) -> Cow<'_, str> {
        match self.renamed.and_then(|renamed| renamed.get(name)) {
            Some(other) => Cow::Owned(other.clone()),
            None => Cow::Owned(name.to_string()),
        }
    }

    fn write(self, out: &mut String, ty: &Type) {
        match ty {
            Type::Any => out.push_str("any"),
            Type::Null => out.push_str("nil"),
            Type::Boolean => out.push_str("boolean"),
            Type::Number(_) => out.push_str("number"),
            Type::String(_) => out.push_str("string"),
            Type::Binary => out.push_str("buffer"),
            Type::Literal { values } => write_literal(out, values),
            Type::Named { name } => out.push_str(&self.name(name)),
            Type::Object(object) => self.write_object(out, object),
            Type::Array(array) => {
                out.push('{');
                self.write(out, &array.items);
                out.push('}');
            }
            Type::Union(union) => {
                for (at, variant) in union.variants.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { " | " });
                    self.write(out, variant);
                }
            }
            Type::Nullable { inner } => self.write_optional(out, inner),
        }
    }

    /// The type with a question mark, once, and parentheses where they are needed.
    fn write_optional(self, out: &mut String, ty: &Type) {
        match ty {
            Type::Any | Type::Null | Type::Nullable { .. } => self.write(out, ty),
            Type::Union(_) => {
                out.push('(');
                self.write(out, ty);
                out.push_str(")?");
            }
            _ => {
                self.write(out, ty);
                out.push('?');
            }
        }
    }

    fn write_field_type(self, out: &mut String, field: &Field) {
        if field.required {
            self.write(out, &field.ty);
        } else {
            self.write_optional(out, &field.ty);
        }
    }

    fn write_object(self, out: &mut String, object: &Object) {
        let mut parts: Vec<String> = Vec::new();
        for field in &object.fields {
            let mut part = key(&field.name);
            part.push_str(": ");
            self.write_field_type(&mut part, field);
            parts.push(part);
        }
        if let Some(indexer) = self.indexer(object) {
            parts.push(indexer);
        }
        if parts.is_empty() {
            out.push_str("{}");
            return;
        }
        let _infallible = write!(out, "{{ {} }}", parts.join(", "));
    }

    /// `[string]: T`, where other keys may come.
    fn indexer(self, object: &Object) -> Option<String> {
        match &object.extra {
            Extra::Typed(ty) if **ty == Type::Null => None,
            Extra::Typed(ty) => Some(format!("[string]: {}", self.inline(ty))),
            Extra::Unspecified if object.fields.is_empty() => Some("[string]: any".to_owned()),
            Extra::Unspecified | Extra::Closed => None,
        }
    }

    /// Like [`Self::write`], but objects with long or commented fields take several lines.
    fn write_block(self, out: &mut String, ty: &Type, depth: usize) {
        match ty {
            Type::Object(object) if !object.fields.is_empty() => {
                self.write_object_block(out, object, depth);
            }
            Type::Array(array) if has_fields(&array.items) => {
                out.push('{');
                self.write_block(out, &array.items, depth);
                out.push('}');
            }
            Type::Nullable { inner } if has_fields(inner) => {
                self.write_block(out, inner, depth);
                out.push('?');
            }
            _ => self.write(out, ty),
        }
    }

    fn write_object_block(self, out: &mut String, object: &Object, depth: usize) {
        let plain = object.fields.iter().all(|field| notes(field).is_empty());
        if plain {
            let mut line = String::new();
            self.write_object(&mut line, object);
            if line.len() <= WIDTH {
                out.push_str(&line);
                return;
            }
        }
        let indent = "  ".repeat(depth + 1);
        out.push_str("{\n");
        for field in &object.fields {
            out.push_str(&comment(&notes(field), &indent));
            let _infallible = write!(out, "{indent}{}: ", key(&field.name));
            if !has_fields(&field.ty) {
                self.write_field_type(out, field);
            } else if field.required {
                self.write_block(out, &field.ty, depth + 1);
            } else {
                self.write_block(out, &field.ty.clone().nullable(), depth + 1);
            }
            out.push_str(",\n");
        }
        if let Some(indexer) = self.indexer(object) {
            let _infallible = writeln!(out, "{indent}{indexer},");
        }
        let _infallible = write!(out, "{}}}", "  ".repeat(depth));
    }
}

/// Whether a type is an object with fields, or holds one directly.
fn has_fields(ty: &Type) -> bool {
    match ty {
        Type::Object(object) => !object.fields.is_empty(),
        Type::Array(array) => has_fields(&array.items),
        Type::Nullable { inner } => has_fields(inner),
        _ => false,
    }
}

/// A return type stands alone; a union or a pack needs parentheses, nothing is `()`.
fn as_return(text: &str) -> String {
    match text {
        "nil" => "()".to_owned(),
        _ if text.contains(" | ") && !text.starts_with(['(', '{']) => format!("({text})"),
        _ => text.to_owned(),
    }
}

/// Text literals and booleans are types in Luau; numbers are not.
fn write_literal(out: &mut String, values: &[Value]) {
    let mut parts: Vec<String> = Vec::new();
    for value in values {
        let part = match value {
            Value::String(text) => quoted(text),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(_) => "number".to_owned(),
            _ => continue,
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    match parts.as_slice() {
        [] => out.push_str("any"),
        [only] if only == "number" => out.push_str(only),
        _ => {
            let _infallible = write!(out, "({})", parts.join(" | "));
        }
    }
}

/// A table key: a name, or `["any text"]`.
fn key(name: &str) -> String {
    if is_identifier(name) {
        name.to_owned()
    } else {
        format!("[{}]", quoted(name))
    }
}

/// A Luau string literal.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            letter if letter.is_control() => {
                let _infallible = write!(out, "\\u{{{:x}}}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// A JSON value as a Luau expression.
pub fn value(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) if items.is_empty() => "{}".to_owned(),
        Value::Array(items) => {
            format!(
                "{{ {} }}",
                items.iter().map(self::value).collect::<Vec<_>>().join(", ")
            )
        }
        Value::Object(object) if object.is_empty() => "{}".to_owned(),
        Value::Object(object) => {
            let pair =
                |(name, item): (&String, &Value)| format!("{} = {}", key(name), self::value(item));
            format!(
                "{{ {} }}",
                object.iter().map(pair).collect::<Vec<_>>().join(", ")
            )
        }
    }
}

/// Comment lines, each ending in a line break; nothing for no text.
pub fn comment(text: &str, indent: &str) -> String {
    let mut out = String::new();
    for line in text.trim().lines() {
        let line: String = line
            .trim_end()
            .chars()
            .filter(|letter| !letter.is_control())
            .collect();
        let space = if line.is_empty() { "" } else { " " };
        let _infallible = writeln!(out, "{indent}--{space}{line}");
    }
    out
}

/// What is worth saying about a field besides its type.
pub fn notes(field: &Field) -> String {
    let mut facts: Vec<String> = Vec::new();
    let bounds = facts_of(&field.ty);
    facts.extend(bounds);
    if let Some(default) = &field.default {
        facts.push(format!("default {}", short(default)));
    }
    if let Some(example) = &field.example {
        facts.push(format!("example {}", short(example)));
    }
    for (flag, word) in [
        (field.deprecated, "deprecated"),
        (field.read_only, "read only"),
        (field.write_only, "write only"),
    ] {
        if flag {
            facts.push(word.to_owned());
        }
    }
    let facts = facts.join("; ");
    match (field.description.trim(), facts.as_str()) {
        ("", facts) => facts.to_owned(),
        (description, "") => description.to_owned(),
        (description, facts) => format!("{description} ({facts})"),
    }
}

/// The bounds of a type in a few words.
fn facts(ty: &Type) -> String {
    facts_of(ty).join("; ")
}

fn facts_of(ty: &Type) -> Vec<String> {
    match ty {
        Type::Nullable { inner } => facts_of(inner),
        Type::Number(number) => number_facts(number),
        Type::String(text) => text_facts(text),
        Type::Literal { values } if values.iter().all(Value::is_number) => {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            vec![format!("one of {}", values.join(", "))]
        }
        Type::Array(array) => match (array.min_items, array.max_items) {
            (None | Some(0), None) => Vec::new(),
            (Some(least), None) => vec![format!("at least {least} items")],
            (None, Some(most)) => vec![format!("at most {most} items")],
            (Some(least), Some(most)) => vec![format!("{least} to {most} items")],
        },
        _ => Vec::new(),
    }
}

fn number_facts(number: &Number) -> Vec<String> {
    let mut facts = Vec::new();
    if number.integer {
        facts.push(number.format.as_deref().unwrap_or("integer").to_owned());
    } else if let Some(format) = &number.format {
        facts.push(format.to_string());
    }
    let above = if number.above_minimum { ">" } else { ">=" };
    let below = if number.below_maximum { "<" } else { "<=" };
    facts.extend(number.minimum.map(|bound| format!("{above} {bound}")));
    facts.extend(number.maximum.map(|bound| format!("{below} {bound}")));
    facts.extend(
        number
            .multiple_of
            .map(|step| format!("a multiple of {step}")),
    );
    facts
}

fn text_facts(text: &Text) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(text.format.as_deref().map(str::to_owned));
    match (text.min_length, text.max_length) {
        (None, None) => {}
        (Some(least), None) => facts.push(format!("at least {least} characters")),
        (None, Some(most)) => facts.push(format!("at most {most} characters")),
        (Some(least), Some(most)) => facts.push(format!("{least} to {most} characters")),
    }
    facts.extend(
        text.pattern
            .as_ref()
            .map(|pattern| format!("matches {}", pattern.as_str())),
    );
    facts
}

/// A value for a note: one line, bounded.
fn short(value: &Value) -> String {
    const LONGEST: usize = 120;
    let text = self::value(value);
    if text.chars().count() <= LONGEST {
        return text;
    }
    let cut: String = text.chars().take(LONGEST).collect();
    format!("{cut}…")
}

/// The signature for a list of hits: required parameters by name, a few optional ones, the rest counted.
pub fn brief(source: &SourceName, function: &Function) -> String {
    if !function.signature.is_empty() {
        return function.signature.clone();
    }
    let mut parts = Vec::new();
    if matches!(
        function.convention(),
        Convention::Params | Convention::ParamsAndBody
    ) {
        parts.push(brief_object(&function.params));
    }
    if let Some(body) = &function.body {
        let mark = if body.required { "" } else { "?" };
        parts.push(format!("body{mark}: {}", brief_type(&body.ty)));
    }
    let returns = as_return(&brief_type(&function.returns.ty));
    format!(
        "{source}.{}({}): {returns}",
        function.name,
        parts.join(", ")
    )
}

/// Inline objects by the names of their fields; everything else cut to a readable length.
fn brief_type(ty: &Type) -> String {
    match ty {
        Type::Object(object) if !object.fields.is_empty() => brief_object(object),
        Type::Array(array) => format!("{{{}}}", brief_type(&array.items)),
        Type::Nullable { inner } if has_fields(inner) => format!("{}?", brief_type(inner)),
        other => cut(&inline(other), 60),
    }
}

fn brief_object(object: &Object) -> String {
    const SHOWN: usize = 6;
    let (required, optional): (Vec<&Field>, Vec<&Field>) =
        object.fields.iter().partition(|field| field.required);
    let room = SHOWN.saturating_sub(required.len());
    let mut names: Vec<String> = required
        .iter()
        .take(2 * SHOWN)
        .map(|field| key(&field.name))
        .collect();
    names.extend(
        optional
            .iter()
            .take(room)
            .map(|field| format!("{}?", key(&field.name))),
    );
    let hidden = object.fields.len() - names.len();
    if 0 < hidden {
        names.push(format!("+{hidden} more"));
    }
    format!("{{{}}}", names.join(", "))
}

fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let kept: String = text.chars().take(longest - 1).collect();
    format!("{kept}…")
}
