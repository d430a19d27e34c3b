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

/// Every word of the vocabularies that looks like it, compared once however many sources have it.
fn readings<'a>(scope: &Scope<'a>, word: &str) -> HashMap<&'a str, Reading> {
    let written = Written::new(word);
    let mut readings: HashMap<&str, Reading> = HashMap::new();
    let mut add = |known: &'a str, frequency: usize| {
        let reading = readings.entry(known).or_insert_with(|| Reading {
            difference: written.difference(known),
            frequency: 0,
        });
        reading.frequency += frequency;
    };
    for segment in scope.segments() {
        for (known, letters, term) in segment.spellings.iter() {
            if written.may_be(known, letters) {
                add(known, segment.postings(term).len());
            }
        }
        for about in &segment.about {
            add(&about.word, segment.documents);
        }
    }
    readings
}

/// A word as it was written.
struct Written<'a> {
    word: &'a str,
    letters: Letters,
    /// How many edits it can bear and still be recognised.
    edits: u32,
}

impl<'a> Written<'a> {
    fn new(word: &'a str) -> Self {
        let edits = match word.chars().count() {
            0..=3 => 0,
            4..=7 => 1,
            _ => 2,
        };
        let letters = Letters::of(word);
        Self {
            word,
            letters,
            edits,
        }
    }

    /// Whether a known word is worth a closer look. Quick: the whole vocabulary is asked.
    fn may_be(&self, known: &str, letters: Letters) -> bool {
        let misspelt = self.edits != 0 && self.letters.least_edits(letters) <= self.edits;
        misspelt || (self.letters.all_in(letters) && self.is_start_of(known))
    }

    fn is_start_of(&self, known: &str) -> bool {
        SHORTEST_START <= self.word.len() && known.starts_with(self.word)
    }

    fn difference(&self, known: &str) -> Option<Difference> {
        if self.is_start_of(known) {
            return Some(Difference::Unfinished);
        }
        let same_start = self.word.chars().next() == known.chars().next();
        match strsim::osa_distance(self.word, known) {
            1 if 1 <= self.edits && same_start => Some(Difference::OneEdit),
            1 if 1 <= self.edits => Some(Difference::FirstLetter),
            2 if 2 <= self.edits && same_start => Some(Difference::TwoEdits),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, known: &str, expected: Option<Difference>) {
        assert_eq!(Written::new(word).difference(known), expected);
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
