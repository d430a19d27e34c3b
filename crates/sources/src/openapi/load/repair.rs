//! Indentation that is wrong to the letter and clear to every reader, set right.
//!
//! YAML wants the lines of a list in brackets and of a quoted text indented deeper than the key
//! they belong to. Many documents have them flush with it; most parsers do not mind, ours does.
//! White space at the start of such a line means nothing, so more of it changes nothing.

use yaml_rust2::scanner::ScanError;

/// Deeper than any document is indented.
const DEEP: &str = "                                                                ";

/// The text with the line or lines set right the parser stumbled over; `None` where it was something else.
pub(super) fn indentation(text: &str, error: &ScanError) -> Option<String> {
    // The scanner has no codes, only words; it says this of brackets and quotes alone.
    let problem = error.info().strip_prefix("invalid indentation")?;
    let start = line_start(text, error.marker().line())?;
    if problem.trim() != "in quoted scalar" {
        return Some(format!("{}{DEEP}{}", &text[..start], &text[start..]));
    }
    let column = error.marker().col();
    let quote = start + text[start..].char_indices().nth(column).map(|(at, _)| at)?;
    let end = closing_quote(text, quote)?;
    let deeper = text[quote..end].replace('\n', &format!("\n{DEEP}"));
    Some(format!("{}{deeper}{}", &text[..quote], &text[end..]))
}

/// Where a line begins; the first is 1.
fn line_start(text: &str, line: usize) -> Option<usize> {
    let mut starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    starts.nth(line.checked_sub(1)?)
}

/// Where the text that begins with a quote ends.
fn closing_quote(text: &str, open: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes
        .get(open)
        .filter(|byte| matches!(byte, b'\'' | b'"'))?;
    let mut at = open + 1;
    while let Some(byte) = bytes.get(at) {
        let next_is_quote = bytes.get(at + 1) == Some(&quote);
        match *byte {
            b'\\' if quote == b'"' => at += 2,
            b'\'' if quote == b'\'' && next_is_quote => at += 2,
            byte if byte == quote => return Some(at),
            _ => at += 1,
        }
    }
    None
}
