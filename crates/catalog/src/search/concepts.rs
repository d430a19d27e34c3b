//! From the text of a query to concepts: each word with everything that may stand for it.

use super::{
    Scope, spelling, synonyms,
    words::{self, Key},
};
use crate::name;

/// How much of a query is read.
const MOST_LETTERS: usize = 2_000;
const MOST_WORDS: usize = 32;

/// Looking for what a misspelt word may mean goes through the whole vocabulary.
const MOST_MISSPELT: usize = 8;

/// One thing the searcher asks for.
#[derive(Debug, Default)]
pub(super) struct Concept {
    /// The words that stand for it.
    pub(super) variants: Vec<Variant>,
}

/// A word that may stand for a concept.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) key: Key,
    /// How well it stands for the concept; the word itself has 1.
    pub(super) weight: f32,
    /// How many documents have it.
    pub(super) documents: usize,
}

/// Reads a query. A word that nothing comes near to gives no concept.
pub(super) fn read(scope: &Scope<'_>, text: &str) -> Vec<Concept> {
    let tokens = tokens(text);
    let mut seen: Vec<Key> = Vec::new();
    let mut misspelt = 0;
    let mut concepts = Vec::new();
    for (at, word) in tokens.iter().enumerate() {
        let key = Key::of(word);
        if words::is_noise(word) || seen.contains(&key) {
            continue;
        }
        if seen.len() == MOST_WORDS {
            break;
        }
        seen.push(key);
        let mut concept = Concept::of_word(scope, key, 1.0);
        for joined in joined(&tokens, at) {
            concept.merge(Concept::of_word(scope, Key::of(&joined), 1.0));
        }
        if !concept.variants.is_empty() {
            concepts.push(concept);
        } else if misspelt < MOST_MISSPELT {
            misspelt += 1;
            concepts.extend(guess(scope, word));
        }
    }
    concepts.truncate(MOST_WORDS);
    concepts
}

/// The lower-case words of a query, in order.
fn tokens(text: &str) -> Vec<String> {
    let end = text.char_indices().nth(MOST_LETTERS);
    name::words(&text[..end.map_or(text.len(), |(end, _)| end)])
}

/// The word together with each of its neighbours: `web hook` may be what an API calls
/// `webhook`, and `sign out` is a synonym of `logout`.
fn joined(tokens: &[String], at: usize) -> impl Iterator<Item = String> {
    let neighbours = &tokens[at.saturating_sub(1)..tokens.len().min(at + 2)];
    neighbours.windows(2).map(<[String]>::concat)
}

/// What a word may mean that nobody uses: a misspelt one, an unfinished one, or two in one.
fn guess(scope: &Scope<'_>, word: &str) -> Vec<Concept> {
    let mut concept = Concept::default();
    for correction in spelling::corrections(scope, word) {
        concept.merge(Concept::of_word(scope, correction.key, correction.weight));
    }
    if concept.variants.is_empty() {
        let halves = halves(scope, word);
        return halves
            .map(|key| Concept::of_word(scope, key, 1.0))
            .collect();
    }
    vec![concept]
}

/// The two known words a word is made of: `pullrequest` is `pull` and `request`.
fn halves(scope: &Scope<'_>, word: &str) -> impl Iterator<Item = Key> + use<> {
    const SHORTEST: usize = 3;
    let ends = word.char_indices().map(|(end, _)| end);
    let ends = ends.filter(|end| SHORTEST <= *end && *end + SHORTEST <= word.len());
    let pairs = ends.map(|end| [Key::of(&word[..end]), Key::of(&word[end..])]);
    let commonness = |pair: &[Key; 2]| pair.iter().map(|key| scope.frequency(*key)).min();
    let best = pairs
        .max_by_key(commonness)
        .filter(|pair| commonness(pair) != Some(0));
    best.into_iter().flatten()
}

impl Concept {
    /// A word and its synonyms, as far as the scope has them.
    fn of_word(scope: &Scope<'_>, word: Key, weight: f32) -> Self {
        let mut concept = Self::default();
        concept.add(scope, word, weight);
        for (synonym, likeness) in synonyms::of(word) {
            concept.add(scope, *synonym, weight * likeness);
        }
        concept
    }

    fn add(&mut self, scope: &Scope<'_>, key: Key, weight: f32) {
        let documents = scope.frequency(key);
        if 0 < documents {
            self.variants.push(Variant {
                key,
                weight,
                documents,
            });
        }
    }

    /// Takes over what may stand for the other concept too.
    fn merge(&mut self, other: Self) {
        for variant in other.variants {
            let mut known = self.variants.iter_mut();
            match known.find(|known| known.key == variant.key) {
                Some(known) => known.weight = known.weight.max(variant.weight),
                None => self.variants.push(variant),
            }
        }
    }

    /// In how many documents the concept occurs, roughly.
    ///
    /// A good synonym that is everywhere makes the concept common: who asks to
    /// `fetch` something asks for nothing special, even where few say `fetch`.
    pub(super) fn frequency(&self) -> f32 {
        let weights = self.variants.iter().map(|variant| variant.weight);
        let half = weights.fold(0.0, f32::max) / 2.0;
        let good = self.variants.iter().filter(|variant| half < variant.weight);
        good.map(Variant::frequency).fold(0.0, f32::max)
    }
}

impl Variant {
    /// In how many documents the word occurs and stands for the concept, roughly.
    #[expect(clippy::cast_precision_loss, reason = "a count of documents")]
    pub(super) fn frequency(&self) -> f32 {
        self.weight * self.documents as f32
    }
}
