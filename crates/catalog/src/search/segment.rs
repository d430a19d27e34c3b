//! `Segment`: the finished search index of one source, compact and never changed.

use super::{
    Subject,
    words::{Key, Letters},
};
use crate::{Function, FunctionName, Listing};

/// The documents of one source, found by word.
///
/// A document is a function or a named type: first the functions, then the
/// types, each in the order of their names, so that equals are ranked by name.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    /// How many documents there are.
    pub(super) documents: usize,
    /// The functions, by name.
    pub(super) functions: Box<[Listed]>,
    /// The stems, sorted.
    pub(super) terms: Box<[Key]>,
    /// Where the postings of each term start; one more at the end.
    pub(super) starts: Box<[u32]>,
    /// The postings, by term and document.
    pub(super) postings: Box<[Posting]>,
    /// The words as they were written, for prefixes and typos.
    pub(super) spellings: Spellings,
    /// Words of the source's own name and title. They hold for every document,
    /// so they are kept once.
    pub(super) about: Box<[About]>,
}

/// A function of the listing. The listing itself is large and cold: what every
/// name of a catalog is asked for is kept here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    /// Where the listing has it.
    pub(super) at: u32,
    /// The letters of its name.
    pub(super) letters: Letters,
}

/// One document that has a word, and how much the word says about it.
///
/// Both share 32 bits: a catalog of 100,000 functions has some ten million of these.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting(u32);

/// A word of a source's name or title.
#[derive(Debug)]
pub(super) struct About {
    pub(super) word: Box<str>,
    pub(super) key: Key,
    pub(super) impact: f32,
}

/// Words as they were written, in one text.
#[derive(Debug, Default)]
pub(super) struct Spellings {
    pub(super) text: Box<str>,
    pub(super) entries: Box<[Spelling]>,
}

/// One word of a vocabulary.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spelling {
    /// Where it ends in the text; it starts where the one before ends.
    pub(super) end: u32,
    /// Its letters.
    pub(super) letters: Letters,
    /// The term it belongs to.
    pub(super) term: u32,
}

impl Posting {
    /// The most documents a segment can hold; further ones are not indexed.
    pub(super) const MOST_DOCUMENTS: usize = 1 << 24;

    const SCALE: f32 = 255.0;

    /// A posting; `impact` lies between 0 and 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the document fits 24 bits and the impact is clamped to 8"
    )]
    pub(super) fn new(document: usize, impact: f32) -> Self {
        let impact = (impact * Self::SCALE).round().clamp(1.0, Self::SCALE) as u32;
        Self((document as u32) << 8 | impact)
    }

    pub(super) fn document(self) -> usize {
        (self.0 >> 8) as usize
    }

    #[expect(clippy::cast_precision_loss, reason = "eight bits fit")]
    pub(super) fn impact(self) -> f32 {
        (self.0 & 0xff) as f32 * (1.0 / Self::SCALE)
    }
}

impl Segment {
    /// The document of a function.
    pub(super) fn function(&self, listing: &Listing, name: &FunctionName) -> Option<usize> {
        let by_name = |known: &Listed| known.function(listing).map(|it| &it.name).cmp(&Some(name));
        self.functions.binary_search_by(by_name).ok()
    }

    /// The document of a named type.
    pub(super) fn named_type(&self, listing: &Listing, name: &str) -> Option<usize> {
        let (name, _) = listing.types.get_key_value(name)?;
        let at = listing.types.keys().position(|known| known == name)?;
        Some(self.functions.len() + at)
    }

    /// What a document is.
    pub(super) fn subject<'a>(&self, listing: &'a Listing, document: usize) -> Option<Subject<'a>> {
        if let Some(listed) = self.functions.get(document) {
            return listed.function(listing).map(Subject::Function);
        }
        let (name, definition) = listing.types.iter().nth(document - self.functions.len())?;
        Some(Subject::Type(name, definition))
    }

    /// The term with this key.
    pub(super) fn term(&self, key: Key) -> Option<usize> {
        self.terms.binary_search(&key).ok()
    }

    /// The documents that have a term.
    pub(super) fn postings(&self, term: usize) -> &[Posting] {
        match (self.starts.get(term), self.starts.get(term + 1)) {
            (Some(start), Some(end)) => &self.postings[*start as usize..*end as usize],
            _ => &[],
        }
    }

    /// How many documents have a word.
    pub(super) fn frequency(&self, key: Key) -> usize {
        if self.about(key).is_some() {
            return self.documents;
        }
        self.term(key).map_or(0, |term| self.postings(term).len())
    }

    /// What a word of the source's own name adds to each document.
    pub(super) fn about(&self, key: Key) -> Option<f32> {
        self.about
            .iter()
            .find(|about| about.key == key)
            .map(|about| about.impact)
    }

    /// How many bytes the index takes.
    pub(super) fn bytes(&self) -> usize {
        let about: usize = self.about.iter().map(|about| about.word.len()).sum();
        size_of::<Self>()
            + size_of_val(&*self.functions)
            + size_of_val(&*self.terms)
            + size_of_val(&*self.starts)
            + size_of_val(&*self.postings)
            + self.spellings.text.len()
            + size_of_val(&*self.spellings.entries)
            + size_of_val(&*self.about)
            + about
    }
}

impl Listed {
    /// The function, in the listing the segment was built of.
    pub(super) fn function(self, listing: &Listing) -> Option<&Function> {
        listing.functions.get(self.at as usize)
    }
}

impl Spellings {
    /// Each word with its letters and its term.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Letters, usize)> {
        let mut start = 0;
        self.entries.iter().map(move |entry| {
            let end = entry.end as usize;
            let word = &self.text[start..end];
            start = end;
            (word, entry.letters, entry.term as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_posting_keeps_its_document_and_nearly_its_impact() {
        let posting = Posting::new(Posting::MOST_DOCUMENTS - 1, 0.5);
        assert_eq!(posting.document(), Posting::MOST_DOCUMENTS - 1);
        assert!((posting.impact() - 0.5).abs() < 0.01);
        assert!(
            0.0 < Posting::new(0, 0.0).impact(),
            "a posting is never worth nothing"
        );
    }
}
