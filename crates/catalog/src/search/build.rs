//! Building a `Segment`: which words of a function count, and how much.

use std::{collections::HashMap, ops::Range};

use super::{
    segment::{About, Listed, Posting, Segment},
    vocabulary::Vocabulary,
    words::{self, Key, Letters},
};
use crate::{
    Field, Function, FunctionName, Listing, SourceName, Type, TypeName, Types,
    ty::{Definition, Extra, Object},
};

/// A part of a document and what its words are worth.
///
/// A word's worth over all parts is summed first and dampened after (BM25F),
/// so that a word in name, summary and path does not count as three words.
/// Lengths are measured against a usual length that is fixed rather than the
/// average of the catalog: what a document is worth then depends on nothing
/// but itself, and a segment never has to change.
struct Part {
    /// What a word is worth in a part of the usual length.
    weight: f32,
    /// How many words the part usually has.
    usual_length: f32,
    /// How much a long part dilutes its words: 0 not at all, 1 in full.
    dilution: f32,
    /// Whether a word that is said again counts again.
    repeats: bool,
}

const NAME: Part = said_once(7.0, 4.0, 1.0);
const ORIGINAL: Part = said_once(1.0, 4.0, 0.5);
const GROUP: Part = said_once(1.5, 1.0, 0.3);
const SUMMARY: Part = said_once(6.0, 5.0, 0.5);
const DESCRIPTION: Part = said_often(1.5, 25.0, 0.7);
const ENDPOINT: Part = said_once(2.0, 5.0, 0.5);
const PARAMETERS: Part = said_often(1.0, 6.0, 0.3);
const PARAMETER_TEXT: Part = said_often(0.3, 12.0, 0.5);
const BODY: Part = said_often(0.7, 12.0, 0.3);
const ANSWER: Part = said_often(0.6, 20.0, 0.3);
const TYPE_FIELDS: Part = said_often(1.5, 12.0, 0.5);

/// Names and paths: `/coupons/{coupon}` is no more about coupons than `/coupons`.
const fn said_once(weight: f32, usual_length: f32, dilution: f32) -> Part {
    let repeats = false;
    Part {
        weight,
        usual_length,
        dilution,
        repeats,
    }
}

/// Prose and fields: what is said more often is more important.
const fn said_often(weight: f32, usual_length: f32, dilution: f32) -> Part {
    let repeats = true;
    Part {
        weight,
        usual_length,
        dilution,
        repeats,
    }
}

/// The worth at which a word has half of its greatest impact.
const HALF: f32 = 6.0;

/// How many words of prose count: what matters stands at the start.
const SUMMARY_WORDS: usize = 20;
const DESCRIPTION_WORDS: usize = 60;
const PARAMETER_TEXT_WORDS: usize = 24;
/// How many words of names and paths count.
const IDENTIFIER_WORDS: usize = 96;
/// How many fields of a value are looked at, those at the top first.
const FIELDS: usize = 48;
/// How many names, lists and unions are followed to find them.
const STEPS: usize = 256;

/// What is not meant to be called any more comes a little later.
const DEPRECATED: f32 = 0.85;
/// Who searches mostly wants a function; its page shows the types anyway.
const TYPE: f32 = 0.6;

/// What the words of the source's name and of its title are worth to its functions.
const SOURCE_NAME: f32 = 0.9;
const SOURCE_TITLE: f32 = 0.5;
/// Words every other title has.
const TITLE_NOISE: &str = "api definition open openapi rest server service spec v1 v2 v3";

impl Segment {
    /// Indexes what a source listed.
    pub(crate) fn build(name: &SourceName, listing: &Listing) -> Self {
        let mut builder = Builder::new(&listing.types);
        let functions = by_name(&listing.functions);
        for function in functions
            .iter()
            .filter_map(|listed| listed.function(listing))
        {
            builder.function(function);
        }
        let room = Posting::MOST_DOCUMENTS - functions.len();
        for (name, definition) in listing.types.iter().take(room) {
            builder.named_type(name, definition);
        }
        builder.finish(functions, about(name, &listing.info.title))
    }
}

fn by_name(functions: &[Function]) -> Box<[Listed]> {
    let mut order: Vec<(&FunctionName, u32)> = functions
        .iter()
        .map(|function| &function.name)
        .zip(0..)
        .collect();
    order.truncate(Posting::MOST_DOCUMENTS);
    order.sort_unstable();
    let listed = |(name, at): (&FunctionName, u32)| {
        let letters = Letters::of(name.as_str());
        Listed { at, letters }
    };
    order.into_iter().map(listed).collect()
}

fn about(name: &SourceName, title: &str) -> Box<[About]> {
    const MOST: usize = 12;
    let mut about: Vec<About> = Vec::new();
    let mut add = |word: &str, impact| {
        let key = Key::of(word);
        let known = about.iter().any(|known| known.key == key);
        let noise = words::is_noise(word) || TITLE_NOISE.split(' ').any(|noise| noise == word);
        if !known && !noise && about.len() < MOST {
            about.push(About {
                word: word.into(),
                key,
                impact,
            });
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
struct Builder<'a> {
    types: &'a Types,
    vocabulary: Vocabulary,
    documents: usize,
    postings: Vec<(u32, Posting)>,
    /// The terms of the part at hand, in order, again where they repeat.
    part: Vec<u32>,
    /// The terms of the document at hand.
    touched: Vec<u32>,
    /// By term: what it is worth in the document at hand, zero where that lacks it.
    worth: Vec<f32>,
    /// The terms of the fields of named types, in one list.
    fields: Vec<u32>,
    /// Where those of each type are: many functions give back the same types.
    fields_of: HashMap<&'a TypeName, Range<usize>>,
}

impl<'a> Builder<'a> {
    fn new(types: &'a Types) -> Self {
        Self {
            types,
            vocabulary: Vocabulary::default(),
            documents: 0,
            postings: Vec::new(),
            part: Vec::new(),
            touched: Vec::new(),
            worth: Vec::new(),
            fields: Vec::new(),
            fields_of: HashMap::new(),
        }
    }

    fn function(&mut self, function: &'a Function) {
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
            self.value(&body.ty);
            self.close(&BODY);
        }
        self.value(&function.returns.ty);
        self.close(&ANSWER);
        self.end_document(if function.deprecated { DEPRECATED } else { 1.0 });
    }

    fn named_type(&mut self, name: &'a TypeName, definition: &'a Definition) {
        self.identifier(name.as_str());
        self.close(&NAME);
        self.prose(&definition.description, DESCRIPTION_WORDS);
        self.close(&DESCRIPTION);
        self.named_fields(name, &definition.ty);
        self.close(&TYPE_FIELDS);
        self.end_document(TYPE);
    }

    fn identifier(&mut self, text: &str) {
        words::of_identifier(text, &mut |word| {
            if self.part.len() < IDENTIFIER_WORDS {
                self.part.extend(self.vocabulary.term(word));
            }
        });
    }

    /// Takes words until the part has `most`.
    fn prose(&mut self, text: &str, most: usize) {
        words::of_prose(text, &mut |word| {
            let room = self.part.len() < most;
            if room {
                self.part.extend(self.vocabulary.term(word));
            }
            room
        });
    }

    /// Takes the name of a value's type and the names of its fields.
    fn value(&mut self, ty: &'a Type) {
        match ty {
            Type::Nullable { inner } => self.value(inner),
            Type::Array(array) => self.value(&array.items),
            Type::Named { name } => {
                self.identifier(name.as_str());
                self.named_fields(name, ty);
            }
            _ => self.fields(ty),
        }
    }

    /// The same as `fields`, worked out once per named type.
    fn named_fields(&mut self, name: &'a TypeName, ty: &'a Type) {
        if let Some(known) = self.fields_of.get(name) {
            self.part.extend_from_slice(&self.fields[known.clone()]);
            return;
        }
        let before = self.part.len();
        self.fields(ty);
        let start = self.fields.len();
        self.fields.extend_from_slice(&self.part[before..]);
        self.fields_of.insert(name, start..self.fields.len());
    }

    /// Takes the names of the fields a value has, and of the fields one step down.
    fn fields(&mut self, ty: &'a Type) {
        let types = self.types;
        let mut steps = STEPS;
        let mut top: Vec<&Field> = Vec::new();
        for_each_object(ty, types, &mut steps, &mut |object| {
            top.extend(object.fields.iter().take(FIELDS - top.len()));
            top.len() < FIELDS
        });
        for field in &top {
            self.identifier(&field.name);
        }
        let mut room = FIELDS - top.len();
        for field in &top {
            for_each_object(&field.ty, types, &mut steps, &mut |object| {
                for field in object.fields.iter().take(room) {
                    self.identifier(&field.name);
                }
                room -= object.fields.len().min(room);
                0 < room
            });
        }
    }

    /// Ends a part: its words add to what they are worth in the document.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a part has some dozens of words"
    )]
    fn close(&mut self, part: &Part) {
        let length = self.part.len() as f32 / part.usual_length;
        let worth = part.weight / (1.0 - part.dilution + part.dilution * length);
        self.worth.resize(self.vocabulary.len(), 0.0);
        if !part.repeats {
            self.part.sort_unstable();
            self.part.dedup();
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
            self.postings
                .push((term, Posting::new(self.documents, impact)));
        }
        self.documents += 1;
    }

    fn finish(self, functions: Box<[Listed]>, about: Box<[About]>) -> Segment {
        let (terms, place, spellings) = self.vocabulary.finish();
        let mut starts = vec![0; terms.len() + 1];
        for (term, _) in &self.postings {
            starts[place[*term as usize] as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        // Documents came in order, so each term's postings end up in order too.
        let mut next = starts.clone();
        let mut postings = vec![Posting::new(0, 0.0); self.postings.len()];
        for (term, posting) in &self.postings {
            let at = &mut next[place[*term as usize] as usize];
            postings[*at as usize] = *posting;
            *at += 1;
        }
        Segment {
            documents: self.documents,
            functions,
            terms,
            starts: starts.into(),
            postings: postings.into(),
            spellings,
            about,
        }
    }
}

/// What stands in for a missing summary, and the rest.
fn first_sentence(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(". ").into_iter().chain(text.find('\n')).min();
    text.split_at(end.unwrap_or(text.len()))
}

/// Calls `visit` with the objects a value may be or is a list of, until it answers `false`.
///
/// Types may hold each other in circles, so each step is taken from `steps`.
fn for_each_object<'a>(
    ty: &'a Type,
    types: &'a Types,
    steps: &mut usize,
    visit: &mut impl FnMut(&'a Object) -> bool,
) -> bool {
    let Some(left) = steps.checked_sub(1) else {
        return false;
    };
    *steps = left;
    match ty.resolve(types) {
        Type::Nullable { inner } => for_each_object(inner, types, steps, visit),
        Type::Array(array) => for_each_object(&array.items, types, steps, visit),
        Type::Union(union) => {
            let mut variants = union.variants.iter();
            variants.all(|variant| for_each_object(variant, types, steps, visit))
        }
        Type::Object(Object {
            fields,
            extra: Extra::Typed(extra),
        }) if fields.is_empty() => for_each_object(extra, types, steps, visit),
        Type::Object(object) => visit(object),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{function::Returns, ty::Union};

    fn segment(listing: &Listing) -> Segment {
        Segment::build(&SourceName::parse("api").unwrap(), listing)
    }

    fn listing(function: Function) -> Listing {
        Listing {
            functions: vec![function],
            ..Listing::default()
        }
    }

    #[track_caller]
    fn check(listing: &Listing, found: &[&str], not_found: &[&str]) {
        let segment = segment(listing);
        for word in found {
            assert_eq!(segment.frequency(Key::of(word)), 1, "`{word}` is not there");
        }
        for word in not_found {
            assert_eq!(segment.frequency(Key::of(word)), 0, "`{word}` is there");
        }
    }

    fn name(text: &str) -> TypeName {
        TypeName::clean(text)
    }

    #[test]
    fn fields_count_down_to_the_second_step() {
        let field = |name: &str, ty| Field::optional(name, ty);
        let bottom = Type::object(vec![field("bottom", Type::string())]);
        let middle = Type::object(vec![
            field("middle", Type::array(bottom)),
            field("size", Type::Any),
        ]);
        let top = Type::object(vec![field("top", Type::named(name("Inner")).nullable())]);
        let mut listing = listing(Function {
            returns: Returns {
                ty: Type::array(Type::named(name("Outer"))),
                ..Returns::default()
            },
            ..Function::default()
        });
        for (key, ty) in [("Outer", top), ("Inner", middle)] {
            listing.types.insert(
                name(key),
                Definition {
                    ty,
                    description: String::new(),
                },
            );
        }
        let segment = segment(&listing);
        let has = |word| {
            segment
                .term(Key::of(word))
                .map_or(0, |term| segment.postings(term).len())
        };
        // The function and the type it gives back; `Inner` has its own fields, too.
        assert_eq!(
            (has("outer"), has("top"), has("middle"), has("size")),
            (2, 2, 3, 3)
        );
        assert_eq!(has("bottom"), 1, "only `Inner` is that near to it");
    }

    #[test]
    fn types_may_go_in_circles() {
        let ring = Type::array(Type::named(name("Ring")));
        let union = Union {
            variants: vec![ring; 100],
            ..Union::default()
        };
        let field = Field::optional("field", Type::Union(union.clone()));
        let mut listing = Listing::default();
        for (key, ty) in [
            ("Ring", Type::Union(union)),
            ("Holder", Type::object(vec![field])),
        ] {
            listing.types.insert(
                name(key),
                Definition {
                    ty,
                    description: String::new(),
                },
            );
        }
        check(&listing, &["ring", "holder", "field"], &[]);
    }

    #[test]
    fn long_texts_count_only_at_their_start() {
        let filler: Vec<String> = (0..DESCRIPTION_WORDS)
            .map(|at| format!("word{at}"))
            .collect();
        let description = format!("start {} finish", filler.join(" "));
        let function = Function {
            summary: "short".to_owned(),
            description,
            ..Function::default()
        };
        check(
            &listing(function),
            &["short", "start", "word5"],
            &["finish"],
        );
    }

    #[test]
    fn the_first_sentence_stands_in_for_a_summary() {
        let shown = |text| first_sentence(text);
        assert_eq!(
            shown(" Adds a pet. Then waits."),
            ("Adds a pet", ". Then waits.")
        );
        assert_eq!(shown("Adds\nwaits. "), ("Adds", "\nwaits. "));
        assert_eq!(shown(""), ("", ""));
    }
}
