//! The page of a function: what it does, how to call it, and every type it reaches.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    fmt::Write as _,
};

use serde_json::{Map, Value};

use crate::{
    Entry, Field, Function, SourceName, Type, TypeName, Types,
    function::Convention,
    render::{self, Renderer, comment},
    ty::Object,
};

/// A page, perhaps without its last types.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Luau text.
    pub text: String,
    /// Types that are reached but did not fit, as `source.Type`.
    pub omitted: Vec<String>,
}

/// What a page can be about.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// A function.
    Function(&'a Entry, &'a Function),
    /// A named type.
    Type(&'a Entry, &'a TypeName),
}

impl<'a> Subject<'a> {
    fn entry(self) -> &'a Entry {
        match self {
            Self::Function(entry, _) | Self::Type(entry, _) => entry,
        }
    }
}

/// One function with every type it reaches.
pub fn page(entry: &Entry, function: &Function) -> String {
    pages(&[Subject::Function(entry, function)], usize::MAX).text
}

/// Several functions and types on one page, every type once, types beyond `most_bytes` left out
/// and named. The functions themselves are always whole.
pub fn pages(subjects: &[Subject<'_>], most_bytes: usize) -> Page {
    let mut page = Page::default();
    let reached = reached_types(subjects);
    let renamed = clashes(&reached);
    let renderer = |source: &SourceName| match renamed.get(source) {
        Some(names) => Renderer::with_names(names),
        None => Renderer::default(),
    };
    for subject in subjects {
        if let Subject::Function(entry, function) = subject {
            page.text
                .push_str(&function_text(entry, function, renderer(&entry.name)));
            page.text.push('\n');
        }
    }
    for (entry, name) in &reached {
        let Some(definition) = entry.listing.types.get(*name) else {
            continue;
        };
        let text = renderer(&entry.name).definition(name, definition);
        if most_bytes < page.text.len() + text.len() {
            page.omitted.push(format!("{}.{name}", entry.name));
            continue;
        }
        page.text.push_str(&text);
        page.text.push('\n');
    }
    if !page.omitted.is_empty() {
        page.text.push_str(&omission(&page.omitted));
    }
    page
}

fn omission(omitted: &[String]) -> String {
    const NAMED: usize = 30;
    let names: Vec<&str> = omitted.iter().take(NAMED).map(String::as_str).collect();
    let rest = omitted.len().saturating_sub(NAMED);
    let more = if rest == 0 {
        String::new()
    } else {
        format!(" and {rest} more")
    };
    let count = omitted.len();
    comment(
        &format!(
            "{count} more types are left out for length; ask for them by name: {}{more}",
            names.join(", ")
        ),
        "",
    )
}

/// The comment and the signature of one function.
fn function_text(entry: &Entry, function: &Function, renderer: Renderer<'_>) -> String {
    let mut out = comment(&function.summary, "");
    if !function.description.trim().is_empty()
        && function.description.trim() != function.summary.trim()
    {
        out.push_str("--\n");
        out.push_str(&comment(&function.description, ""));
    }
    if function.deprecated {
        out.push_str("-- Deprecated.\n");
    }
    if !function.endpoint.is_empty() {
        out.push_str(&comment(&format!("Endpoint: {}", function.endpoint), ""));
    }
    out.push_str(&parameter_notes(&function.params));
    out.push_str(&body_notes(function));
    if !function.returns.description.trim().is_empty() {
        out.push_str(&comment(
            &format!("Returns: {}", function.returns.description.trim()),
            "",
        ));
    }
    for error in &function.errors {
        out.push_str(&comment(
            &format!("Error {}: {}", error.status, error.description.trim()),
            "",
        ));
    }
    for link in &function.links {
        out.push_str(&comment(
            &format!("See {} {}", link.url, link.description),
            "",
        ));
    }
    if function.pages {
        let name = format!("sdk.{}.{}", entry.name, function.name);
        out.push_str(&comment(
            &format!("All pages: for page in {name}.pages(params) do … end"),
            "",
        ));
    }
    if function.signature.is_empty() {
        out.push_str(&comment(
            &format!("Example: {}", example(entry, function)),
            "",
        ));
    }
    let _infallible = writeln!(out, "{} end", renderer.signature(&entry.name, function));
    out
}

fn parameter_notes(params: &Object) -> String {
    let mut out = String::new();
    for field in &params.fields {
        let notes = render::notes(field);
        if notes.is_empty() {
            continue;
        }
        let mut lines = notes.lines();
        let first = lines.next().unwrap_or_default();
        out.push_str(&comment(&format!("@param {}: {first}", field.name), ""));
        for line in lines {
            out.push_str(&comment(line, ""));
        }
    }
    out
}

fn body_notes(function: &Function) -> String {
    let Some(body) = &function.body else {
        return String::new();
    };
    let mut notes = body.description.trim().to_owned();
    if !body.content_type.is_empty() && body.content_type != "application/json" {
        let gap = if notes.is_empty() { "" } else { " " };
        let _infallible = write!(notes, "{gap}({})", body.content_type);
    }
    if notes.is_empty() {
        return notes;
    }
    comment(&format!("@param body: {notes}"), "")
}

/// The types the subjects reach, transitively, each once, nearest first.
fn reached_types<'a>(subjects: &[Subject<'a>]) -> Vec<(&'a Entry, &'a TypeName)> {
    let mut seen: HashSet<(&SourceName, &TypeName)> = HashSet::new();
    let mut order = Vec::new();
    let mut open: VecDeque<(&Entry, &TypeName)> = VecDeque::new();
    for subject in subjects {
        let entry = subject.entry();
        match subject {
            Subject::Type(_, name) => open.push_back((entry, name)),
            Subject::Function(_, function) => {
                for_each_name(function, &mut |name| open.push_back((entry, name)));
            }
        }
    }
    while let Some((entry, name)) = open.pop_front() {
        let Some((name, definition)) = entry.listing.types.get_key_value(name) else {
            continue;
        };
        if !seen.insert((&entry.name, name)) {
            continue;
        }
        order.push((entry, name));
        definition
            .ty
            .for_each_name(&mut |name| open.push_back((entry, name)));
    }
    order
}

fn for_each_name<'a>(function: &'a Function, visit: &mut impl FnMut(&'a TypeName)) {
    for field in &function.params.fields {
        field.ty.for_each_name(visit);
    }
    if let crate::ty::Extra::Typed(extra) = &function.params.extra {
        extra.for_each_name(visit);
    }
    if let Some(body) = &function.body {
        body.ty.for_each_name(visit);
    }
    function.returns.ty.for_each_name(visit);
}

/// Names that two sources on one page share get the source in front: `petstore_Pet`.
fn clashes(reached: &[(&Entry, &TypeName)]) -> HashMap<SourceName, HashMap<TypeName, String>> {
    let mut owners: HashMap<&TypeName, BTreeSet<&SourceName>> = HashMap::new();
    for (entry, name) in reached {
        owners.entry(name).or_default().insert(&entry.name);
    }
    let mut renamed: HashMap<SourceName, HashMap<TypeName, String>> = HashMap::new();
    for (name, sources) in owners.into_iter().filter(|(_, sources)| 1 < sources.len()) {
        for source in sources {
            let names = renamed.entry(source.clone()).or_default();
            names.insert(name.clone(), format!("{source}_{name}"));
        }
    }
    renamed
}

/// A call that would pass validation: `sdk.petstore.get_pet({ pet_id = 1 })`.
pub fn example(entry: &Entry, function: &Function) -> String {
    let types = &entry.listing.types;
    let mut arguments = Vec::new();
    let convention = function.convention();
    if matches!(convention, Convention::Params | Convention::ParamsAndBody) {
        let wanted = !function.params_optional() || convention == Convention::ParamsAndBody;
        if wanted {
            arguments.push(render::value(&example_object(&function.params, types, 0)));
        }
    }
    if let Some(body) = &function.body {
        let value = body.example.clone().filter(is_small);
        arguments.push(render::value(
            &value.unwrap_or_else(|| example_value(&body.ty, types, 0)),
        ));
    }
    format!(
        "sdk.{}.{}({})",
        entry.name,
        function.name,
        arguments.join(", ")
    )
}

fn example_object(object: &Object, types: &Types, depth: usize) -> Value {
    let wanted = |field: &&Field| field.required && !field.read_only;
    let mut fields: Map<String, Value> = object
        .fields
        .iter()
        .filter(wanted)
        .map(|field| (field.name.to_string(), example_field(field, types, depth)))
        .collect();
    // A body without required fields would be an empty table, which shows nothing.
    if fields.is_empty() && 0 < depth {
        let shown = object
            .fields
            .iter()
            .filter(|field| !field.read_only && !field.deprecated)
            .take(2);
        fields.extend(
            shown.map(|field| (field.name.to_string(), example_field(field, types, depth))),
        );
    }
    Value::Object(fields)
}

fn example_field(field: &Field, types: &Types, depth: usize) -> Value {
    let given = field
        .example
        .as_ref()
        .or(field.default.as_ref())
        .filter(|value| is_small(value));
    match given {
        Some(value) => value.clone(),
        None => example_value(&field.ty, types, depth),
    }
}

fn is_small(value: &Value) -> bool {
    value.to_string().len() <= 200
}

fn example_value(ty: &Type, types: &Types, depth: usize) -> Value {
    const DEEPEST: usize = 3;
    match ty.resolve(types) {
        Type::Boolean => Value::Bool(true),
        Type::Number(number) => {
            let least = number.minimum.unwrap_or(1.0).max(1.0);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "an example, not a measurement"
            )]
            let whole = least.ceil() as i64;
            Value::from(whole)
        }
        Type::String(text) => Value::from(match text.format.as_deref() {
            Some("date-time") => "2026-01-31T12:00:00Z",
            Some("date") => "2026-01-31",
            Some("uuid") => "00000000-0000-4000-8000-000000000000",
            Some("email") => "ann@example.com",
            Some("uri" | "url") => "https://example.com",
            _ => "text",
        }),
        Type::Literal { values } => values.first().cloned().unwrap_or(Value::Null),
        Type::Array(_) if DEEPEST <= depth => Value::Array(Vec::new()),
        Type::Array(array) => Value::Array(vec![example_value(&array.items, types, depth + 1)]),
        Type::Object(_) if DEEPEST <= depth => Value::Object(Map::new()),
        Type::Object(object) => example_object(object, types, depth + 1),
        Type::Union(union) => match union.variants.first() {
            Some(variant) if depth < DEEPEST => example_value(variant, types, depth + 1),
            _ => Value::Null,
        },
        Type::Nullable { inner } => example_value(inner, types, depth),
        Type::Any | Type::Binary => Value::from("text"),
        Type::Null | Type::Named { .. } => Value::Null,
    }
}

#[cfg(test)]
mod tests;
