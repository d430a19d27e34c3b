//! Building a `Segment`: which words of a function count, and how much.

use std::collections::HashMap;

use super::{
    segment::{About, Posting, Segment, Spelling, Spellings},
    words::{self, Key, Letters},
};
use crate::{
    Field, Function, Listing, SourceName, Type, Types,
    ty::{Definition, Extra, Object},
};

/// A part of a document and what its words are worth.
///
/// A word's worth over all parts is summed first and dampened after (BM25F),
/// so that a word in name, summary and path is not counted as three words.
/// Lengths are measured against a usual length that is fixed rather than the
/// average of the catalog: what a document is worth then depends on nothing
/// but itself, and segments can be shared between catalogs.
struct Part {
    weight: f32,
    usual_length: f32,
    /// How much a long part dilutes its words: 0 not at all, 1 in full.
    dilution: f32,
    once: bool,
}

const NAME: Part = Part { weight: 7.0, usual_length: 4.0, dilution: 1.0, once: true };
const ORIGINAL: Part = Part { weight: 1.0, usual_length: 4.0, dilution: 0.5, once: true };
const GROUP: Part = Part { weight: 1.5, usual_length: 1.0, dilution: 0.3, once: true };
const SUMMARY: Part = Part { weight: 6.0, usual_length: 5.0, dilution: 0.5, once: true };
const DESCRIPTION: Part = Part { weight: 1.5, usual_length: 25.0, dilution: 0.7, once: false };
const ENDPOINT: Part = Part { weight: 2.0, usual_length: 5.0, dilution: 0.5, once: true };
const PARAMETERS: Part = Part { weight: 1.0, usual_length: 6.0, dilution: 0.3, once: false };
const PARAMETER_TEXT: Part = Part { weight: 0.3, usual_length: 12.0, dilution: 0.5, once: false };
const BODY: Part = Part { weight: 0.7, usual_length: 12.0, dilution: 0.3, once: false };
const ANSWER: Part = Part { weight: 0.6, usual_length: 20.0, dilution: 0.3, once: false };
const TYPE_FIELDS: Part = Part { weight: 1.5, usual_length: 12.0, dilution: 0.5, once: false };

/// Worth at which a word has half of its greatest impact.
const HALF: f32 = 6.0;

/// How many words of a description count; what matters stands at the start.
const DESCRIPTION_WORDS: usize = 60;
const SUMMARY_WORDS: usize = 20;
const PARAMETER_TEXT_WORDS: usize = 24;
/// How many fields of a body or an answer are looked at, those at the top first.
const FIELDS: usize = 48;

/// What is not meant to be called any more comes a little later.
const DEPRECATED: f32 = 0.85;
/// Who searches mostly wants a function; its page shows the types anyway.
const TYPE: f32 = 0.6;

/// What the words of the source's name and of its title are worth to its functions.
const SOURCE_NAME: f32 = 0.9;
const SOURCE_TITLE: f32 = 0.5;
/// Words every other title has.
const TITLE_NOISE: &[&str] =
    &["api", "definition", "open", "openapi", "rest", "server", "service", "spec", "v1", "v2", "v3"];

impl Segment {
    /// Indexes what a source listed.
    pub(crate) fn build(name: &SourceName, listing: &Listing) -> Self {
        let mut builder = Builder::default();
        for function in &listing.functions {
            builder.function(function, &listing.types);
        }
        for (name, definition) in &listing.types {
            builder.named_type(name.as_str(), definition, &listing.types);
        }
        builder.finish(about(name, &listing.info.title))
    }
}

fn about(name: &SourceName, title: &str) -> Box<[About]> {
    const MOST: usize = 12;
    let mut about: Vec<About> = Vec::new();
    let mut add = |word: &str, impact| {
        let key = Key::of(word);
        let known = about.iter().any(|known| known.key == key);
        if !known && about.len() < MOST && !words::is_noise(word) && !TITLE_NOISE.contains(&word) {
            about.push(About { word: word.into(), key, impact });
        }
    };
    words::of_identifier(name.as_str(), &mut |word| add(word, SOURCE_NAME));
    words::of_prose(title, &mut |word| {
        add(word, SOURCE_TITLE);
        true
    });
    about.into()
}

/// The index while it grows.
#[derive(Default)]
struct Builder {
    vocabulary: Vocabulary,
    documents: usize,
    /// What the words of the document at hand are worth, by term; zero where it lacks them.
    worth: Vec<f32>,
    /// The terms of the document at hand.
    touched: Vec<u32>,
    /// The terms of the part at hand, in order, again where they repeat.
    part: Vec<u32>,
    postings: Vec<(u32, Posting)>,
}

impl Builder {
    fn function(&mut self, function: &Function, types: &Types) {
        if self.documents == Posting::MOST_DOCUMENTS {
            return;
        }
        self.identifier(function.name.as_str());
        self.close(&NAME);
        self.identifier(&function.original);
        self.close(&ORIGINAL);
        self.identifier(&function.group);
        self.close(&GROUP);
        let (summary, description) = match function.summary.as_str() {
            "" => first_sentence(&function.description),
            summary => (summary, function.description.as_str()),
        };
        self.prose(summary, SUMMARY_WORDS);
        self.close(&SUMMARY);
        self.prose(description, DESCRIPTION_WORDS);
        self.close(&DESCRIPTION);
        self.identifier(&function.endpoint);
        self.close(&ENDPOINT);
        for field in &function.params.fields {
            self.identifier(&field.name);
        }
        self.close(&PARAMETERS);
        for field in &function.params.fields {
            self.prose(&field.description, PARAMETER_TEXT_WORDS);
        }
        self.close(&PARAMETER_TEXT);
        if let Some(body) = &function.body {
            self.fields(&body.ty, types);
            self.close(&BODY);
        }
        self.fields(&function.returns.ty, types);
        self.close(&ANSWER);
        self.end_document(if function.deprecated { DEPRECATED } else { 1.0 });
    }

    fn named_type(&mut self, name: &str, definition: &Definition, types: &Types) {
        if self.documents == Posting::MOST_DOCUMENTS {
            return;
        }
        self.identifier(name);
        self.close(&NAME);
        self.prose(&definition.description, DESCRIPTION_WORDS);
        self.close(&DESCRIPTION);
        self.fields(&definition.ty, types);
        self.close(&TYPE_FIELDS);
        self.end_document(TYPE);
    }

    fn identifier(&mut self, text: &str) {
        words::of_identifier(text, &mut |word| self.part.extend(self.vocabulary.term(word)));
    }

    /// Takes words until the part has `most`.
    fn prose(&mut self, text: &str, most: usize) {
        words::of_prose(text, &mut |word| {
            self.part.extend(self.vocabulary.term(word));
            self.part.len() < most
        });
    }

    /// Takes the names of the fields a value has, and of the fields one step down.
    fn fields(&mut self, ty: &Type, types: &Types) {
        let mut top: Vec<&Field> = Vec::new();
        for_each_object(ty, types, DEEPEST, &mut |object| {
            top.extend(object.fields.iter().take(FIELDS - top.len()));
            top.len() < FIELDS
        });
        ty.for_each_name(&mut |name| self.identifier(name.as_str()));
        for field in &top {
            self.identifier(&field.name);
        }
        let mut left = FIELDS - top.len();
        for field in &top {
            for_each_object(&field.ty, types, DEEPEST, &mut |object| {
                for field in object.fields.iter().take(left) {
                    self.identifier(&field.name);
                }
                left -= object.fields.len().min(left);
                0 < left
            });
        }
    }

    /// Ends a part: its words add to what they are worth in the document.
    #[expect(clippy::cast_precision_loss, reason = "a part has some dozens of words")]
    fn close(&mut self, part: &Part) {
        let length = self.part.len() as f32 / part.usual_length;
        let worth = part.weight / (1.0 - part.dilution + part.dilution * length);
        self.worth.resize(self.vocabulary.len(), 0.0);
        if part.once {
            let mut seen = 0;
            for at in 0..self.part.len() {
                let term = self.part[at];
                if !self.part[..seen].contains(&term) { self.part[seen] = term; seen += 1; }
            }
            self.part.truncate(seen);
        }
        for term in self.part.drain(..) {
            let sum = &mut self.worth[term as usize];
            if *sum == 0.0 {
                self.touched.push(term);
            }
            *sum += worth;
        }
    }

    /// Ends a document: what its words are worth becomes postings.
    fn end_document(&mut self, factor: f32) {
        for term in self.touched.drain(..) {
            let worth = std::mem::take(&mut self.worth[term as usize]);
            let impact = worth / (worth + HALF) * factor;
            self.postings.push((term, Posting::new(self.documents, impact)));
        }
        self.documents += 1;
    }

    fn finish(self, about: Box<[About]>) -> Segment {
        let (terms, position, spellings) = self.vocabulary.finish();
        let mut starts = vec![0; terms.len() + 1];
        for (term, _) in &self.postings {
            starts[position[*term as usize] as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        // Documents came in order, so each term's postings end up in order too.
        let mut next = starts.clone();
        let mut postings = vec![Posting::new(0, 0.0); self.postings.len()];
        for (term, posting) in &self.postings {
            let at = &mut next[position[*term as usize] as usize];
            postings[*at as usize] = *posting;
            *at += 1;
        }
        Segment {
            documents: self.documents,
            terms,
            starts: starts.into(),
            postings: postings.into(),
            spellings,
            about,
        }
    }
}

/// What stands in where there is no summary, and the rest.
fn first_sentence(text: &str) -> (&str, &str) {
    let end = text.find(". ").or_else(|| text.trim_end().find('\n')).unwrap_or(text.len());
    text.split_at(end)
}

/// How many names, lists and unions may stand between a value and its fields.
const DEEPEST: usize = 6;

/// Calls `visit` with the objects a value may be or is a list of, until it answers `false`.
fn for_each_object<'a>(
    ty: &'a Type,
    types: &'a Types,
    depth: usize,
    visit: &mut impl FnMut(&'a Object) -> bool,
) -> bool {
    const VARIANTS: usize = 8;
    let Some(depth) = depth.checked_sub(1) else { return true };
    match ty.resolve(types) {
        Type::Nullable { inner } => for_each_object(inner, types, depth, visit),
        Type::Array(array) => for_each_object(&array.items, types, depth, visit),
        Type::Union(union) => {
            let mut variants = union.variants.iter().take(VARIANTS);
            variants.all(|variant| for_each_object(variant, types, depth, visit))
        }
        Type::Object(Object { fields, extra: Extra::Typed(extra) }) if fields.is_empty() => {
            for_each_object(extra, types, depth, visit)
        }
        Type::Object(object) => visit(object),
        _ => true,
    }
}

/// The words seen so far. Each is taken apart, judged and stemmed once.
#[derive(Default)]
struct Vocabulary {
    /// The term of each word as written; none where it is noise.
    terms: HashMap<Box<str>, Option<u32>>,
    by_key: HashMap<Key, u32>,
}

impl Vocabulary {
    fn len(&self) -> usize {
        self.by_key.len()
    }

    fn term(&mut self, word: &str) -> Option<u32> {
        if let Some(term) = self.terms.get(word) {
            return *term;
        }
        let term = if words::is_noise(word) { None } else { self.new_term(Key::of(word)) };
        self.terms.insert(word.into(), term);
        term
    }

    fn new_term(&mut self, key: Key) -> Option<u32> {
        let next = u32::try_from(self.by_key.len()).ok()?;
        Some(*self.by_key.entry(key).or_insert(next))
    }

    /// The keys in order, the place of each term among them, and the spellings.
    fn finish(self) -> (Box<[Key]>, Vec<u32>, Spellings) {
        let mut order: Vec<(Key, u32)> = self.by_key.into_iter().collect();
        order.sort_unstable();
        let mut position = vec![0; order.len()];
        for (place, (_, term)) in (0..).zip(&order) {
            position[*term as usize] = place;
        }
        let known = self.terms.into_iter().filter_map(|(word, term)| Some((word, term?)));
        let mut known: Vec<(Box<str>, u32)> = known.collect();
        known.sort_unstable();
        let mut text = String::with_capacity(known.iter().map(|(word, _)| word.len()).sum());
        let mut entries = Vec::with_capacity(known.len());
        for (word, term) in known {
            text.push_str(&word);
            // A listing with four gigabytes of different words has other worries.
            let Ok(end) = u32::try_from(text.len()) else { break };
            let term = position[term as usize];
            entries.push(Spelling { end, letters: Letters::of(&word), term });
        }
        let terms = order.into_iter().map(|(key, _)| key).collect();
        (terms, position, Spellings { text: text.into(), entries: entries.into() })
    }
}
