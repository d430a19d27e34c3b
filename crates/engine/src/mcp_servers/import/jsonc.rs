//! JSON with comments and trailing commas, as editors write it.

/// The text as plain JSON: comments and commas before a closing bracket become blanks, so that
/// every line and column stays where it was.
pub(super) fn plain(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    // Where in `plain` a comma stands after which nothing but blanks has come.
    let mut comma = None;
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '"' => string(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            _ => next.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        if piece.starts_with("//") || piece.starts_with("/*") {
            plain.extend(piece.chars().map(blank));
            continue;
        }
        if let (']' | '}', Some(at)) = (next, comma) {
            plain.replace_range(at..=at, " ");
        }
        if next == ',' {
            comma = Some(plain.len());
        } else if !next.is_whitespace() {
            comma = None;
        }
        plain.push_str(piece);
    }
    plain
}

/// The length of the string the text begins with, its quotes included.
fn string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn blank(letter: char) -> char {
    if letter == '\n' { '\n' } else { ' ' }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(text: &str, value: &Value) {
        assert_eq!(serde_json::from_str::<Value>(&plain(text)).unwrap(), *value);
    }

    #[test]
    fn comments_and_commas_go() {
        check("{} // end", &json!({}));
        check("// a\n{\"a\": 1, /* b\n c */ }", &json!({"a": 1}));
        check("{\"a\": [1, 2, // two\n ], }", &json!({"a": [1, 2]}));
        check("\u{feff}{}", &json!({}));
    }

    #[test]
    fn strings_stay() {
        check(
            r#"{"a": "// \" /* , ] ", }"#,
            &json!({"a": "// \" /* , ] "}),
        );
        check(r#"["\\", ]"#, &json!(["\\"]));
    }

    #[test]
    fn lines_stay() {
        let broken = "{ /* one\n two */\n // three\n \"a\": }";
        let error = serde_json::from_str::<Value>(&plain(broken)).unwrap_err();
        assert_eq!(error.line(), 4);
        assert!(
            serde_json::from_str::<Value>(&plain("[,]")).is_ok(),
            "an odd one editors take too"
        );
        assert!(serde_json::from_str::<Value>(&plain("/* \"")).is_err());
        assert!(serde_json::from_str::<Value>(&plain("\"a")).is_err());
    }
}
