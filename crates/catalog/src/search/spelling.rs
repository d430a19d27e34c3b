//! What a word may mean that no document has: unfinished and misspelt words.

use std::{cmp::Reverse, collections::HashMap};

use super::{
    Scope,
    words::{Key, Letters},
};

/// How many readings of one word are followed.
const MOST: usize = 4;

/// Shorter words are the start of too many others.
const SHORTEST_START: usize = 3;

/// A word that may have been meant.
#[derive(Debug)]
pub(super) struct Correction {
    pub(super) key: Key,
    /// How sure we are, below 1.
    pub(super) weight: f32,
}

/// How a known word differs from what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Difference {
    /// It goes on.
    Unfinished,
    /// One letter is wrong, missing, too many or swapped, but not the first.
    OneEdit,
    /// The first letter is the wrong one.
    FirstLetter,
    /// Two edits after a right first letter.
    TwoEdits,
}

impl Difference {
    fn weight(self) -> f32 {
        match self {
            Self::OneEdit | Self::Unfinished => 0.8,
            Self::FirstLetter => 0.65,
            Self::TwoEdits => 0.55,
        }
    }
}

/// A known word that looks like what was written.
struct Reading {
    difference: Option<Difference>,
    frequency: usize,
}

/// The likeliest readings of a word that no document has: those that differ
/// least, and among them the commonest.
pub(super) fn corrections(scope: &Scope<'_>, word: &str) -> Vec<Correction> {
    let mut readings: Vec<(f32, usize, &str)> = readings(scope, word)
        .into_iter()
        .filter_map(|(known, reading)| {
            Some((reading.difference?.weight(), reading.frequency, known))
        })
        .collect();
    readings.sort_by(|a, b| {
        b.0.total_cmp(&a.0)
            .then((Reverse(a.1), a.2).cmp(&(Reverse(b.1), b.2)))
    });
    let best = readings.first().map_or(0.0, |reading| reading.0);
    let mut corrections: Vec<Correction> = Vec::new();
    for (weight, _, known) in readings.into_iter().filter(|reading| best <= reading.0) {
        let key = Key::of(known);
        if !corrections.iter().any(|known| known.key == key) {
            corrections.push(Correction { key, weight });
        }
        if corrections.len() == MOST {
            break;
        }
    }
    corrections
}

/// Every word of the vocabularies whose letters fit, compared once however many sources have it.
fn readings<'a>(scope: &Scope<'a>, word: &str) -> HashMap<&'a str, Reading> {
    let letters = Letters::of(word);
    let allowed = edits_allowed(word);
    let mut readings: HashMap<&str, Reading> = HashMap::new();
    let mut look = |known: &'a str, known_letters: Letters, frequency: &dyn Fn() -> usize| {
        let may_go_on = letters.all_in(known_letters);
        if !may_go_on && allowed < letters.least_edits(known_letters) {
            return;
        }
        let compare = || Reading {
            difference: difference(word, known, allowed),
            frequency: 0,
        };
        readings.entry(known).or_insert_with(compare).frequency += frequency();
    };
    for segment in scope.segments() {
        for (known, known_letters, term) in segment.spellings.iter() {
            look(known, known_letters, &|| segment.postings(term).len());
        }
        for about in &segment.about {
            look(&about.word, Letters::of(&about.word), &|| segment.documents);
        }
    }
    readings
}

/// How many edits a word of this length can bear and still be recognised.
fn edits_allowed(word: &str) -> u32 {
    match word.chars().count() {
        0..=3 => 0,
        4..=7 => 1,
        _ => 2,
    }
}

fn difference(word: &str, known: &str, allowed: u32) -> Option<Difference> {
    if SHORTEST_START <= word.len() && known.starts_with(word) {
        return Some(Difference::Unfinished);
    }
    let same_start = word.chars().next() == known.chars().next();
    match strsim::osa_distance(word, known) {
        1 if 1 <= allowed && same_start => Some(Difference::OneEdit),
        1 if 1 <= allowed => Some(Difference::FirstLetter),
        2 if 2 <= allowed && same_start => Some(Difference::TwoEdits),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, known: &str, expected: Option<Difference>) {
        assert_eq!(difference(word, known, edits_allowed(word)), expected);
    }

    #[test]
    fn slips_are_forgiven_by_the_length_of_the_word() {
        check("isues", "issues", Some(Difference::OneEdit));
        check("repositry", "repository", Some(Difference::OneEdit));
        check("reciept", "receipt", Some(Difference::OneEdit));
        check("tissues", "issues", Some(Difference::FirstLetter));
        check("organistion", "organization", Some(Difference::TwoEdits));
        check("pat", "pet", None);
        check("isus", "issues", None);
    }

    #[test]
    fn unfinished_words_go_on() {
        check("calend", "calendar", Some(Difference::Unfinished));
        check("ca", "calendar", None);
    }
}
