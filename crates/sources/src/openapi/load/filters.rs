//! What the settings take away or add after a document is read: `include`, `exclude`,
//! `frozen_params`, `base_url`.

use std::collections::HashSet;

use toolscript_catalog::{Function, TypeName, Types, Warning};

use super::Compiled;
use crate::openapi::{Settings, operation::Operation};

/// Applies the settings to what was read. The cache holds what was before.
pub(super) fn apply(compiled: &mut Compiled, settings: &Settings, location: &str) {
    if !settings.include.is_empty() || !settings.exclude.is_empty() {
        select(compiled, settings);
    }
    for key in settings.frozen_params.keys() {
        if !freeze(compiled, key) {
            let reason = "no operation has a parameter of this name".to_owned();
            compiled.listing.warnings.push(Warning {
                place: format!("frozen_params.{key}"),
                reason,
            });
        }
    }
    match &settings.base_url {
        Some(url) => compiled.listing.info.address.clone_from(url),
        None if !has_address(compiled) => {
            let reason =
                "the document names no absolute server URL; set `base_url` to call it".to_owned();
            compiled.listing.warnings.push(Warning {
                place: format!("{location}#/servers"),
                reason,
            });
        }
        None => {}
    }
}

fn has_address(compiled: &Compiled) -> bool {
    compiled
        .api
        .servers
        .first()
        .is_some_and(|server| server.url.contains("://") || server.url.starts_with('{'))
}

fn select(compiled: &mut Compiled, settings: &Settings) {
    let included = Patterns::new(&settings.include);
    let excluded = Patterns::new(&settings.exclude);
    let functions = compiled
        .listing
        .functions
        .iter()
        .zip(&compiled.api.operations);
    let (mut used_includes, mut used_excludes) = (HashSet::new(), HashSet::new());
    let keep: Vec<bool> = functions
        .map(|(function, operation)| {
            let subjects = subjects(function, operation);
            let wanted =
                included.matches(&subjects, &mut used_includes) || settings.include.is_empty();
            wanted && !excluded.matches(&subjects, &mut used_excludes)
        })
        .collect();
    let mut decisions = keep.iter().copied();
    compiled
        .listing
        .functions
        .retain(|_| decisions.next().unwrap_or_default());
    let mut decisions = keep.iter().copied();
    compiled
        .api
        .operations
        .retain(|_| decisions.next().unwrap_or_default());
    drop_unreached(&compiled.listing.functions, &mut compiled.listing.types);
    let unused = included
        .unused("include", &used_includes)
        .into_iter()
        .chain(excluded.unused("exclude", &used_excludes));
    compiled.listing.warnings.extend(unused);
}

/// Everything a pattern may name an operation by, in lower case.
fn subjects(function: &Function, operation: &Operation) -> Vec<String> {
    let mut subjects = vec![
        operation.path.clone(),
        function.endpoint.clone(),
        function.original.clone(),
        function.name.to_string(),
    ];
    for tag in operation.tags.iter().chain([&function.group]) {
        subjects.push(tag.clone());
        subjects.push(format!("{tag}/{}", function.name));
    }
    subjects
        .iter()
        .map(|subject| subject.to_lowercase())
        .collect()
}

struct Patterns<'a> {
    written: &'a [String],
    lower: Vec<String>,
}

impl<'a> Patterns<'a> {
    fn new(written: &'a [String]) -> Self {
        Self {
            written,
            lower: written
                .iter()
                .map(|pattern| pattern.to_lowercase())
                .collect(),
        }
    }

    /// Whether any pattern matches any subject; those that do are noted as used.
    fn matches(&self, subjects: &[String], used: &mut HashSet<usize>) -> bool {
        let mut any = false;
        for (at, pattern) in self.lower.iter().enumerate() {
            if subjects.iter().any(|subject| glob(pattern, subject)) {
                used.insert(at);
                any = true;
            }
        }
        any
    }

    fn unused(&self, key: &str, used: &HashSet<usize>) -> Vec<Warning> {
        let unused = self
            .written
            .iter()
            .enumerate()
            .filter(|(at, _)| !used.contains(at));
        let warning = |(_, pattern): (usize, &String)| Warning {
            place: key.to_owned(),
            reason: format!("`{pattern}` matches no tag, path, operation or function"),
        };
        unused.map(warning).collect()
    }
}

/// Whether the text fits the pattern, in which `*` stands for anything.
fn glob(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else {
        return false;
    };
    let mut last: Option<&str> = None;
    for piece in pieces {
        if let Some(middle) = last
            && !middle.is_empty()
        {
            let Some(at) = rest.find(middle) else {
                return false;
            };
            rest = &rest[at + middle.len()..];
        }
        last = Some(piece);
    }
    match last {
        None => rest.is_empty(),
        Some(end) => rest.ends_with(end),
    }
}

/// Hides a parameter from the listing; false where nobody has it.
fn freeze(compiled: &mut Compiled, key: &str) -> bool {
    let mut any = false;
    for function in &mut compiled.listing.functions {
        let before = function.params.fields.len();
        function.params.fields.retain(|field| &*field.name != key);
        any |= function.params.fields.len() < before;
    }
    any
}

/// Forgets the types no function mentions any more.
fn drop_unreached(functions: &[Function], types: &mut Types) {
    let mut reached: HashSet<TypeName> = HashSet::new();
    let mut open: Vec<TypeName> = Vec::new();
    for function in functions {
        let mut visit = |name: &TypeName| open.push(name.clone());
        function
            .params
            .fields
            .iter()
            .for_each(|field| field.ty.for_each_name(&mut visit));
        function.returns.ty.for_each_name(&mut visit);
        if let Some(body) = &function.body {
            body.ty.for_each_name(&mut visit);
        }
    }
    while let Some(name) = open.pop() {
        if !reached.insert(name.clone()) {
            continue;
        }
        if let Some(definition) = types.get(&name) {
            definition
                .ty
                .for_each_name(&mut |name| open.push(name.clone()));
        }
    }
    types.retain(|name, _| reached.contains(name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text) in [
            ("pets", "pets"),
            ("pets/*", "pets/get"),
            ("*pets*", "my-pets-v2"),
            ("a*b*c", "a-b-b-c"),
            ("*", ""),
        ] {
            assert!(glob(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("pets", "pets2"),
            ("pets/*", "pets"),
            ("a*b*c", "a-c-b"),
            ("ab*ba", "aba"),
        ] {
            assert!(!glob(pattern, text), "{pattern} {text}");
        }
    }
}
