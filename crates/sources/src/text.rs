//! Words from outside: what a reader cannot see is taken out, and nothing is endless.

/// The most letters of a title or a one-line summary.
pub(crate) const LONGEST_LINE: usize = 240;
/// The most letters of a description.
pub(crate) const LONGEST_TEXT: usize = 16_000;
/// The most letters of the description of one field.
pub(crate) const LONGEST_FIELD: usize = 4_000;

/// The text without what a reader cannot see, trimmed, at most `longest` letters long.
pub(crate) fn clean(text: &str, longest: usize) -> String {
    let visible = without_colours(text).replace("\r\n", "\n");
    let visible = visible.chars().filter(|letter| !is_hidden(*letter));
    let visible: String = visible
        .map(|letter| if is_break(letter) { '\n' } else { letter })
        .collect();
    cut(visible.trim(), longest)
}

/// The same on one line.
pub(crate) fn line(text: &str, longest: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    clean(&words.join(" "), longest)
}

/// The first sentence of a text, and the rest.
pub(crate) fn first_sentence(text: &str) -> (&str, &str) {
    /// A first line up to here is taken whole.
    const COMFORTABLE: usize = 160;
    let end = text.find('\n').unwrap_or(text.len());
    let end = match text[..end].find(". ") {
        Some(dot) if COMFORTABLE < end => dot + 1,
        _ => end,
    };
    (text[..end].trim_end(), text[end..].trim_start())
}

fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
    }
}

/// Takes out terminal colours and the like: an escape and what belongs to it.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = match part.strip_prefix('[') {
            Some(sequence) => {
                let end = sequence.find(|letter: char| ('@'..='~').contains(&letter));
                end.map_or("", |end| &sequence[end + 1..])
            }
            None => part,
        };
        kept.push_str(rest);
    }
    kept
}

fn is_break(letter: char) -> bool {
    matches!(letter, '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Control characters, and letters that show nothing or turn the direction of reading: they could
/// carry words a person does not see and a model reads.
fn is_hidden(letter: char) -> bool {
    if is_break(letter) || matches!(letter, '\n' | '\t') {
        return false;
    }
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_taken_out() {
        assert_eq!(clean(" a\u{200b}b\u{202e}c\u{e0041}d\u{7} ", 99), "abcd");
        assert_eq!(
            clean("one\r\ntwo\u{2028}three\tfour", 99),
            "one\ntwo\nthree\tfour"
        );
        assert_eq!(clean("\u{1b}[1;31mred\u{1b}[0m", 99), "red");
        assert_eq!(clean("größer 猫 🐈", 99), "größer 猫 🐈");
    }

    #[test]
    fn nothing_is_endless() {
        assert_eq!(clean("äöüß", 3), "äöü…");
        assert_eq!(line("a\n  b", 99), "a b");
    }

    #[test]
    fn the_first_line_stands_for_the_text() {
        assert_eq!(
            first_sentence("Reads. All.\nThen more."),
            ("Reads. All.", "Then more.")
        );
        let long = format!("Reads a file. {}", "More words. ".repeat(20));
        assert_eq!(first_sentence(&long).0, "Reads a file.");
        assert_eq!(first_sentence(""), ("", ""));
    }
}
