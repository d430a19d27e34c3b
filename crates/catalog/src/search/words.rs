//! How text becomes words for search: splitting, stop words, stems and their keys.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::LazyLock,
};

use rust_stemmers::{Algorithm, Stemmer};

use crate::name;

/// Longer words are keys, hashes and encoded data: nobody searches for them.
const LONGEST: usize = 40;

/// Words that say nothing about a function.
static STOP_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let words = "\
        about also an and any are as at be been but by can could did do does each either etc for \
        from had has have how href http https if in into is it its like may might must need of on \
        only or other our out please sdk shall should so some something such than that the their \
        them then there these they this those to us via want was we were what when where whether \
        which while will with within without would www you your";
    words.split(' ').collect()
});

/// Whether a lower-case word is left out of indexes and queries.
pub(super) fn is_noise(word: &str) -> bool {
    let single_letter = word.len() == 1 && !word.starts_with(|c: char| c.is_ascii_digit());
    single_letter || LONGEST < word.len() || STOP_WORDS.contains(word)
}

/// Words the English rules would throw together with others (`customer` with
/// `custom`, `organization` with `organ`) or tell apart: each line is one word.
static IRREGULAR: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let lines = [
        "authorize authorized authorization authorise authorised authorisation",
        "child children",
        "customer customers",
        "important",
        "index indices",
        "organization organizations organisation organisations",
        "person people",
    ];
    let forms = lines.iter().flat_map(|line| {
        let stem = line.split(' ').next().unwrap_or_default();
        line.split(' ').map(move |form| (form, stem))
    });
    forms.collect()
});

/// The part of a word that its forms share: `repositories` and `repository` give `repositori`.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    if let Some(stem) = IRREGULAR.get(word) {
        return Cow::Borrowed(stem);
    }
    // The rules are English; letters outside ASCII are another language's.
    if word.is_ascii() {
        Stemmer::create(Algorithm::English).stem(word)
    } else {
        word.into()
    }
}

/// What stands for a stem in an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key(u64);

impl Key {
    /// The key of a lower-case word in any of its forms.
    pub(super) fn of(word: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        stem(word).hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// Which letters a word has, as bits: words that are an edit or two apart share nearly all of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Letters(u32);

impl Letters {
    pub(super) fn of(word: &str) -> Self {
        let bit = |byte: u8| match byte {
            b'a'..=b'z' => byte - b'a',
            b'0'..=b'9' => 26,
            _ => 27,
        };
        Self(
            word.bytes()
                .fold(0, |letters, byte| letters | 1 << bit(byte)),
        )
    }

    /// No word at fewer edits than this has these letters: an edit turns at most two bits.
    pub(super) fn least_edits(self, other: Self) -> u32 {
        (self.0 ^ other.0).count_ones().div_ceil(2)
    }

    /// Whether the other word has all letters of this one.
    pub(super) fn all_in(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
}

/// Calls `visit` with each lower-case word of an identifier.
pub(super) fn of_identifier(text: &str, visit: &mut impl FnMut(&str)) {
    for chunk in chunks(text) {
        if is_plain(chunk) {
            visit(chunk);
            continue;
        }
        for word in name::words(chunk) {
            visit(&word);
        }
    }
}

/// Calls `visit` with each lower-case word of a sentence, until it answers `false`.
///
/// Addresses are left out. `GitHub` gives `git`, `hub` and `github`: in prose
/// nobody knows how the reader will spell it.
pub(super) fn of_prose(text: &str, visit: &mut impl FnMut(&str) -> bool) {
    let separates = |c: char| c.is_whitespace() || "()[]<>\"".contains(c);
    let pieces = text.split(separates).filter(|piece| !piece.contains("://"));
    for chunk in pieces.flat_map(chunks) {
        if is_plain(chunk) {
            if !visit(chunk) {
                return;
            }
            continue;
        }
        let parts = name::words(chunk);
        let whole = if 1 < parts.len() {
            Some(parts.concat())
        } else {
            None
        };
        if !parts.iter().chain(whole.iter()).all(|word| visit(word)) {
            return;
        }
    }
}

/// The runs of letters and digits.
pub(super) fn chunks(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|chunk| !chunk.is_empty())
}

/// Most chunks are a lower-case word already, which saves taking them apart.
fn is_plain(chunk: &str) -> bool {
    chunk
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        of_prose(text, &mut |word| {
            words.push(word.to_owned());
            true
        });
        words
    }

    #[test]
    fn prose_loses_its_addresses_and_keeps_both_spellings() {
        let text = "Lists GitHub [issues](https://docs.github.com/rest/issues).";
        assert_eq!(prose(text), ["lists", "git", "hub", "github", "issues"]);
    }

    #[test]
    fn forms_of_a_word_have_one_key() {
        for (one, other) in [
            ("issues", "issue"),
            ("repositories", "repository"),
            ("created", "create"),
        ] {
            assert_eq!(Key::of(one), Key::of(other));
        }
        assert_ne!(Key::of("pet"), Key::of("pod"));
        assert_ne!(Key::of("customers"), Key::of("custom"));
    }

    #[test]
    fn letters_never_overstate_the_distance() {
        let least = |one, other| Letters::of(one).least_edits(Letters::of(other));
        assert!(least("isues", "issues") <= 1);
        assert!(least("repositry", "repository") <= 1);
        assert!(least("kitten", "sitting") <= 3);
        assert_eq!(least("pet", "dog"), 3);
    }
}
