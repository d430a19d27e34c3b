//! Words from outside: what a reader cannot see is taken out, and nothing is endless.

use std::borrow::Cow;

use toolscript_catalog::{
    Function, Listing, Type,
    ty::{Extra, Object},
};

/// The most bytes one description may have.
const LONGEST: usize = 64 << 10;
/// The most letters a one-line summary may have.
const LONGEST_SUMMARY: usize = 240;

/// The text without what a reader cannot see, trimmed and bounded.
pub(super) fn clean(text: &str) -> String {
    let text = text.trim();
    let visible: Cow<'_, str> = if text.bytes().all(is_plain) {
        text.into()
    } else {
        text.replace("\r\n", "\n")
            .chars()
            .filter(|letter| !is_hidden(*letter))
            .collect()
    };
    if visible.len() <= LONGEST {
        return visible.into_owned();
    }
    format!("{}…", &visible[..visible.floor_char_boundary(LONGEST)])
}

/// The line that stands for a function in lists: the summary, else the first sentence of the description.
pub(super) fn summary(summary: &str, description: &str) -> String {
    let line = first_line(summary);
    if !line.is_empty() {
        return bounded(line);
    }
    let line = first_line(description).trim_start_matches('#').trim_start();
    let end = line.find(". ").map_or(line.len(), |dot| dot + 1);
    bounded(&line[..end])
}

/// Cleans every description inside the types and parameters of a listing.
///
/// An example of null shows nothing either, and would not survive being written down.
pub(super) fn clean_listing(listing: &mut Listing) {
    for function in &mut listing.functions {
        clean_function(function);
    }
    for definition in listing.types.values_mut() {
        clean_string(&mut definition.description);
        clean_type(&mut definition.ty);
    }
}

fn clean_function(function: &mut Function) {
    clean_object(&mut function.params);
    if let Some(body) = &mut function.body {
        clean_type(&mut body.ty);
    }
    clean_type(&mut function.returns.ty);
}

fn clean_type(ty: &mut Type) {
    match ty {
        Type::Object(object) => clean_object(object),
        Type::Array(array) => clean_type(&mut array.items),
        Type::Nullable { inner } => clean_type(inner),
        Type::Union(union) => union.variants.iter_mut().for_each(clean_type),
        _ => {}
    }
}

fn clean_object(object: &mut Object) {
    for field in &mut object.fields {
        if !is_clean(&field.description) {
            field.description = clean(&field.description).into();
        }
        field.example = field.example.take().filter(|example| !example.is_null());
        clean_type(&mut field.ty);
    }
    if let Extra::Typed(ty) = &mut object.extra {
        clean_type(ty);
    }
}

fn clean_string(text: &mut String) {
    if !is_clean(text) {
        *text = clean(text);
    }
}

fn is_clean(text: &str) -> bool {
    text.len() <= LONGEST && text.bytes().all(is_plain)
}

/// Bytes that need no second look.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t')
}

/// Letters that show nothing but may carry something: controls, zero widths, direction
/// overrides, tags and variation selectors.
fn is_hidden(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}

fn first_line(text: &str) -> &str {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}

fn bounded(line: &str) -> String {
    match line.char_indices().nth(LONGEST_SUMMARY) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_letters_are_taken_out() {
        assert_eq!(
            clean(" a\u{200b}b\u{202e}c\u{e0041}\u{7}d\r\ne\tf "),
            "abcd\ne\tf"
        );
        assert_eq!(clean("Grüße 日本"), "Grüße 日本");
    }

    #[test]
    fn descriptions_are_bounded() {
        let long = clean(&"ü".repeat(50_000));
        assert!(long.len() < LONGEST + 10 && long.ends_with("ü…"));
    }

    #[test]
    fn summaries_are_one_line() {
        assert_eq!(summary("List pets\nmore", "x"), "List pets");
        assert_eq!(
            summary("", "## Lists pets. And more.\n\nEven more."),
            "Lists pets."
        );
        assert_eq!(
            summary("", "Version 1.2 lists pets"),
            "Version 1.2 lists pets"
        );
        assert_eq!(summary(" ", ""), "");
        assert_eq!(summary(&"x".repeat(300), "").chars().count(), 241);
    }
}
