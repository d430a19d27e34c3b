//! Percent-encoding: which characters may stand where.

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but the unreserved characters of RFC 3986: such text is one value wherever it stands.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What `allowReserved` lets through. `&`, `#` and `+` are reserved as well, but left alone they
/// would end the value or turn into a space, and brackets may not stand in a query.
const RESERVED: &AsciiSet = &COMPONENT
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// What cannot stand in the path or query a document spells out itself.
const LITERAL: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A value that must stay one value.
pub(super) fn component(text: &str) -> String {
    utf8_percent_encode(text, COMPONENT).to_string()
}

/// A value of a parameter with `allowReserved`; what is encoded already stays as it is.
pub(super) fn reserved(text: &str) -> String {
    keeping_triples(text, RESERVED)
}

/// A whole query a script wrote itself: only what would end it is encoded.
pub(super) fn query(text: &str) -> String {
    const QUERY: &AsciiSet = &RESERVED.remove(b'&').remove(b'+');
    keeping_triples(text, QUERY)
}

/// A piece of the path as the document has it.
pub(super) fn literal(text: &str) -> String {
    utf8_percent_encode(text, LITERAL).to_string()
}

fn keeping_triples(text: &str, set: &'static AsciiSet) -> String {
    let mut pieces = text.split('%');
    let mut encoded: String = pieces
        .next()
        .map(|first| encode(first, set))
        .unwrap_or_default();
    for piece in pieces {
        let is_triple =
            piece.len() >= 2 && piece.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
        encoded.push_str(if is_triple { "%" } else { "%25" });
        encoded.push_str(&encode(piece, set));
    }
    encoded
}

fn encode(text: &str, set: &'static AsciiSet) -> String {
    utf8_percent_encode(text, set).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_has_no_special_characters_left() {
        assert_eq!(component("a/b?x=1#f"), "a%2Fb%3Fx%3D1%23f");
        assert_eq!(component("%2e\\\n\0é~-._"), "%252e%5C%0A%00%C3%A9~-._");
    }

    #[test]
    fn reserved_characters_stay_unless_they_would_end_the_value() {
        assert_eq!(reserved("a/b:c,d;e?f=g"), "a/b:c,d;e?f=g");
        assert_eq!(
            reserved("x&admin=1#f+[0] é"),
            "x%26admin=1%23f%2B%5B0%5D%20%C3%A9"
        );
        assert_eq!(reserved("50%25 50% %zz %e9"), "50%25%2050%25%20%25zz%20%e9");
    }

    #[test]
    fn a_document_may_spell_out_its_path() {
        assert_eq!(literal("/a b/{c}/%20:d"), "/a%20b/%7Bc%7D/%20:d");
    }
}
