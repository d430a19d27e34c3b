//! `Vocabulary`: the words of a source, numbered as they come while its index is built.

use std::collections::HashMap;

use super::{
    segment::{Spelling, Spellings},
    words::{self, Key, Letters},
};

/// The words seen so far. Each is judged and stemmed once.
#[derive(Default)]
pub(super) struct Vocabulary {
    /// The term of each word as written; none where it is noise.
    terms: HashMap<Box<str>, Option<u32>>,
    by_key: HashMap<Key, u32>,
}

impl Vocabulary {
    /// How many terms there are.
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// The term of a word; none where it is noise.
    pub(super) fn term(&mut self, word: &str) -> Option<u32> {
        if let Some(term) = self.terms.get(word) {
            return *term;
        }
        let term = if words::is_noise(word) {
            None
        } else {
            self.new_term(Key::of(word))
        };
        self.terms.insert(word.into(), term);
        term
    }

    fn new_term(&mut self, key: Key) -> Option<u32> {
        let next = u32::try_from(self.by_key.len()).ok()?;
        Some(*self.by_key.entry(key).or_insert(next))
    }

    /// The keys in order, the place of each term among them, and the spellings.
    pub(super) fn finish(self) -> (Box<[Key]>, Vec<u32>, Spellings) {
        let mut order: Vec<(Key, u32)> = self.by_key.into_iter().collect();
        order.sort_unstable();
        let mut place = vec![0; order.len()];
        for (at, (_, term)) in (0..).zip(&order) {
            place[*term as usize] = at;
        }
        let keys = order.into_iter().map(|(key, _)| key).collect();
        let spellings = spellings(self.terms, &place);
        (keys, place, spellings)
    }
}

fn spellings(terms: HashMap<Box<str>, Option<u32>>, place: &[u32]) -> Spellings {
    let known = terms
        .into_iter()
        .filter_map(|(word, term)| Some((word, term?)));
    let mut known: Vec<(Box<str>, u32)> = known.collect();
    known.sort_unstable();
    let mut text = String::with_capacity(known.iter().map(|(word, _)| word.len()).sum());
    let mut entries = Vec::with_capacity(known.len());
    for (word, term) in known {
        text.push_str(&word);
        // A listing with four gigabytes of different words has other worries.
        let Ok(end) = u32::try_from(text.len()) else {
            break;
        };
        let letters = Letters::of(&word);
        let term = place[term as usize];
        entries.push(Spelling { end, letters, term });
    }
    let (text, entries) = (text.into(), entries.into());
    Spellings { text, entries }
}
