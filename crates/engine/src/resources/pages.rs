//! A large value as JSON text, in pages: all of them one after the other are the whole text.

use std::io;

use serde::Serialize as _;
use serde_json::{Serializer, Value, ser::PrettyFormatter};

/// One page of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PageOf {
    /// What stands on it; empty beyond the last page.
    pub(super) text: String,
    /// How many pages there are.
    pub(super) pages: usize,
}

/// Page `wanted`, counted from 1, of a value whose pages have at most `longest` bytes. A page
/// ends with a line unless a line alone is longer than a page.
pub(super) fn page(value: &Value, wanted: usize, longest: usize) -> PageOf {
    let mut pages = Pages {
        longest,
        wanted,
        number: 1,
        filled: 0,
        page: Vec::new(),
        line: Vec::new(),
    };
    // Every element on a line of its own, without the blanks that only a person would want.
    let format = PrettyFormatter::with_indent(b"");
    let mut serializer = Serializer::with_formatter(&mut pages, format);
    // Neither the value nor the pages can refuse.
    value.serialize(&mut serializer).ok();
    pages.end_line();
    PageOf {
        text: String::from_utf8(pages.page).unwrap_or_default(),
        pages: pages.number,
    }
}

/// Takes the text as it is made and keeps the wanted page alone.
struct Pages {
    longest: usize,
    wanted: usize,
    /// The page being filled, and how much is on it.
    number: usize,
    filled: usize,
    page: Vec<u8>,
    /// What has come since the last line break.
    line: Vec<u8>,
}

impl Pages {
    /// Puts a piece on a page: this one, or the next where it does not fit.
    fn put(&mut self, piece: &[u8]) {
        if self.longest < self.filled + piece.len() && 0 < self.filled {
            self.number += 1;
            self.filled = 0;
        }
        self.filled += piece.len();
        if self.number == self.wanted {
            self.page.extend_from_slice(piece);
        }
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        self.put(&line);
        line.clear();
        self.line = line;
    }

    /// Puts what fills pages of its own there; the rest of the line is still to come.
    fn split_line(&mut self) {
        if self.line.len() <= self.longest {
            return;
        }
        let line = std::mem::take(&mut self.line);
        let mut rest = line.as_slice();
        while self.longest < rest.len() {
            let is_inside = |at: &usize| rest[*at] & 0b1100_0000 == 0b1000_0000;
            let end = (1..=self.longest).rev().find(|at| !is_inside(at));
            let (piece, after) = rest.split_at(end.unwrap_or(self.longest));
            self.put(piece);
            rest = after;
        }
        self.line = rest.to_vec();
    }
}

impl io::Write for Pages {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            self.split_line();
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(value: &Value, longest: usize) -> Vec<String> {
        let count = page(value, 1, longest).pages;
        let pages: Vec<String> = (1..=count)
            .map(|number| page(value, number, longest).text)
            .collect();
        for text in &pages {
            assert!(!text.is_empty() && text.len() <= longest, "{pages:?}");
        }
        let whole: Value = serde_json::from_str(&pages.concat()).unwrap();
        assert_eq!(&whole, value);
        assert_eq!(page(value, count + 1, longest).text, "");
        assert_eq!(page(value, 0, longest).text, "");
        pages
    }

    #[test]
    fn a_small_value_is_one_page() {
        assert_eq!(
            check(&json!([1, {"a": null}]), 100),
            ["[\n1,\n{\n\"a\": null\n}\n]"]
        );
        assert_eq!(check(&json!("x"), 3), ["\"x\""]);
    }

    #[test]
    fn pages_end_with_lines() {
        let rows: Vec<Value> = (0..50)
            .map(|id| json!({"id": id, "name": "someone"}))
            .collect();
        let pages = check(&json!(rows), 200);
        assert!(5 < pages.len(), "{pages:?}");
        for page in &pages[..pages.len() - 1] {
            assert!(page.ends_with('\n'), "{page:?}");
        }
    }

    #[test]
    fn a_long_line_is_split_between_characters() {
        let pages = check(&json!(["é€𝄞".repeat(200), "short", "x".repeat(1_000)]), 64);
        assert!(40 < pages.len(), "{}", pages.len());
    }
}
