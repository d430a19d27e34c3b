//! Scoring the documents of a scope against concepts.

use std::cmp::Ordering;

use super::{
    Scope,
    concepts::{Concept, Variant},
    segment::Segment,
    words::Key,
};

/// How much a document that has all concepts is preferred to one that has few of them well.
const COVERAGE: f32 = 0.5;

/// A document below this part of the best score is a coincidence rather than a
/// match. A few are kept all the same: one very good match must not hide the others.
const FLOOR: f32 = 0.25;
const KEPT: usize = 20;

/// Verbs are in every second document and still tell `create` from `delete`.
const LEAST_RARITY: f32 = 1.0;

/// How many matches are ranked, and so the most that are counted.
pub(super) const MOST_MATCHES: usize = 1_000;

/// Each further match of one source counts this much less, down to a bound, so
/// that a large source does not fill the first page when others match about as
/// well. Matches of one source keep their order among themselves.
const CROWDING: f32 = 0.03;
const CROWDED: f32 = 0.7;

/// A document that matches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    pub(super) place: Place,
    pub(super) score: f32,
}

/// Where a document is. In order of these, sources and then names are in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Which entry of the scope.
    pub(super) entry: usize,
    /// Which document of its segment.
    pub(super) document: usize,
}

/// The documents that match, best first.
pub(super) fn rank(scope: &Scope<'_>, concepts: &[Concept]) -> Vec<Match> {
    let weighed = Weighed::new(scope, concepts);
    let mut sheet = Sheet::default();
    let mut best = Best::default();
    for (entry, segment) in scope.segments().enumerate() {
        sheet.score(segment, &weighed);
        for (document, cell) in sheet.0.iter().enumerate() {
            // The final score is never more than the sum, so most are turned down cheaply.
            if cell.marks != 0 && best.least <= cell.score {
                best.offer(
                    Place { entry, document },
                    cell.score * weighed.trust(cell.marks),
                );
            }
        }
    }
    let mut matches = best.finish();
    let floor = matches.first().map_or(0.0, |best| best.score * FLOOR);
    let good = matches.partition_point(|found| floor <= found.score);
    matches.truncate(good.max(KEPT));
    spread(scope, &mut matches);
    matches
}

/// The best matches seen so far.
#[derive(Default)]
struct Best {
    matches: Vec<Match>,
    /// The score a further match has to reach.
    least: f32,
}

impl Best {
    fn offer(&mut self, place: Place, score: f32) {
        if score < self.least {
            return;
        }
        self.matches.push(Match { place, score });
        // Cutting at twice the number costs a constant per match, on average.
        if self.matches.len() == 2 * MOST_MATCHES {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let (_, worst, _) = self
            .matches
            .select_nth_unstable_by(MOST_MATCHES - 1, compare);
        self.least = worst.score;
        self.matches.truncate(MOST_MATCHES);
    }

    fn finish(mut self) -> Vec<Match> {
        if MOST_MATCHES < self.matches.len() {
            self.cut();
        }
        self.matches.sort_unstable_by(compare);
        self.matches
    }
}

/// Better first; equals by source, then functions before types, then by name.
fn compare(a: &Match, b: &Match) -> Ordering {
    b.score
        .total_cmp(&a.score)
        .then_with(|| a.place.cmp(&b.place))
}

/// Makes room for several sources near the top.
#[expect(
    clippy::cast_precision_loss,
    reason = "at most as many as there are matches"
)]
fn spread(scope: &Scope<'_>, matches: &mut [Match]) {
    let mut before = vec![0_usize; scope.entries.len()];
    for found in matches.iter_mut() {
        let before = &mut before[found.place.entry];
        found.score *= (1.0 - CROWDING * *before as f32).max(CROWDED);
        *before += 1;
    }
    matches.sort_unstable_by(compare);
}

/// Concepts with what each is worth in this scope.
struct Weighed {
    concepts: Vec<Worth>,
    total: f32,
}

/// What a concept is worth, and each word that may stand for it.
struct Worth {
    concept: f32,
    variants: Vec<(Key, f32)>,
}

impl Weighed {
    fn new(scope: &Scope<'_>, concepts: &[Concept]) -> Self {
        let documents = scope.documents();
        let worth = |concept: &Concept| {
            let most = rarity(documents, concept.frequency());
            let worth = |variant: &Variant| {
                variant.weight * most.min(rarity(documents, variant.frequency()))
            };
            let variants = concept
                .variants
                .iter()
                .map(|variant| (variant.key, worth(variant)));
            Worth {
                concept: most,
                variants: variants.collect(),
            }
        };
        let concepts: Vec<Worth> = concepts.iter().map(worth).collect();
        let total = concepts.iter().map(|worth| worth.concept).sum();
        Self { concepts, total }
    }

    /// How far to believe the score of a document that has the marked concepts, from 0 to 1.
    fn trust(&self, mut marks: u32) -> f32 {
        let mut covered = 0.0;
        while marks != 0 {
            covered += self.concepts[marks.trailing_zeros() as usize].concept;
            marks &= marks - 1;
        }
        1.0 - COVERAGE + COVERAGE * covered / self.total
    }
}

/// What having a word tells about a document, if so many documents have it.
#[expect(clippy::cast_precision_loss, reason = "a count of documents")]
fn rarity(documents: usize, frequency: f32) -> f32 {
    let others = documents as f32 - frequency;
    (1.0 + (others + 0.5) / (frequency + 0.5))
        .ln()
        .max(LEAST_RARITY)
}

/// The documents of one segment while they are scored.
#[derive(Default)]
struct Sheet(Vec<Cell>);

#[derive(Clone, Copy, Default)]
struct Cell {
    score: f32,
    /// What the last marked concept gave: its best word counts, not all of them.
    given: f32,
    /// Which concepts the document has, one bit each.
    marks: u32,
}

impl Cell {
    // Without a branch on the scores: they are as good as random.
    fn give(&mut self, score: f32, mark: u32) {
        let before = if self.marks & mark == 0 {
            0.0
        } else {
            self.given
        };
        self.given = if before < score { score } else { before };
        self.score += self.given - before;
        self.marks |= mark;
    }
}

impl Sheet {
    fn score(&mut self, segment: &Segment, weighed: &Weighed) {
        self.0.clear();
        self.0.resize(segment.documents, Cell::default());
        for (bit, worth) in weighed.concepts.iter().enumerate() {
            for (key, worth) in &worth.variants {
                self.word(segment, *key, *worth, 1 << bit);
            }
        }
    }

    fn word(&mut self, segment: &Segment, key: Key, worth: f32, mark: u32) {
        if let Some(impact) = segment.about(key) {
            for cell in &mut self.0 {
                cell.give(worth * impact, mark);
            }
        }
        let postings = segment
            .term(key)
            .map(|term| segment.postings(term))
            .unwrap_or_default();
        for posting in postings {
            self.0[posting.document()].give(worth * posting.impact(), mark);
        }
    }
}
