//! Responses: what a function gives back, which failures it documents, what to ask for.

use toolscript_catalog::{Outcome, Type, function::Returns};

use super::{compiler::Compiler, rank, view::View};
use crate::openapi::media::Media;

/// What the responses of an operation say.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) returns: Returns,
    pub(super) errors: Vec<Outcome>,
    pub(super) accept: String,
    /// Whether a `Link` header is documented.
    pub(super) has_link_header: bool,
}

impl<'b> Compiler<'b> {
    /// Reads the responses of an operation.
    pub(super) fn answers(&mut self, operation: &View<'b>) -> Answers {
        let responses = operation.entries("responses");
        let Some(best) = best(&responses) else {
            return Answers {
                errors: errors(&responses, None),
                ..Answers::default()
            };
        };
        let (status, response) = &responses[best];
        let contents = self.contents(operation, response);
        let chosen = contents
            .iter()
            .min_by_key(|content| rank::response_rank(&content.media_type));
        let ty = match chosen {
            Some(content) => self.response_type(content),
            // A redirect leads to an answer nobody describes.
            None if status.starts_with('3') => Type::Any,
            None => Type::Null,
        };
        let may_be_empty = responses
            .iter()
            .any(|(status, _)| matches!(*status, "204" | "205"));
        Answers {
            returns: Returns {
                ty: if may_be_empty { ty.nullable() } else { ty },
                description: description(&responses, best),
            },
            errors: errors(&responses, Some(best)),
            accept: accept(chosen, &self.error_types(operation, &responses)),
            has_link_header: response
                .entries("headers")
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case("link")),
        }
    }

    /// The forms a response may come in.
    fn contents(&self, operation: &View<'b>, response: &View<'b>) -> Vec<Content<'b>> {
        if response.has("content") {
            let entries = response.entries("content").into_iter();
            let content = |(media_type, media): (&str, View<'b>)| Content {
                media_type: media_type.to_owned(),
                schema: media.raw("schema"),
                item: media.raw("itemSchema"),
            };
            return entries.map(content).collect();
        }
        // Swagger 2.0 has one schema for all forms.
        let Some(schema) = response.raw("schema") else {
            return Vec::new();
        };
        let mut media_types = self.media_types(operation, "produces");
        if media_types.is_empty() {
            media_types.push("application/json".to_owned());
        }
        let content = |media_type| Content {
            media_type,
            schema: Some(schema.clone()),
            item: None,
        };
        media_types.into_iter().map(content).collect()
    }

    fn response_type(&mut self, content: &Content<'b>) -> Type {
        let schema = content.schema.as_ref();
        match Media::of(&content.media_type) {
            Media::JsonLines | Media::Events => self.sequence_type(content),
            Media::Binary => Type::Binary,
            Media::Text | Media::Form => Type::string(),
            _ => schema
                .or(content.item.as_ref())
                .map_or(Type::Any, |schema| self.ty(schema)),
        }
    }

    /// One value after another arrives as a list.
    fn sequence_type(&mut self, content: &Content<'b>) -> Type {
        if let Some(item) = &content.item {
            return Type::array(self.ty(item));
        }
        match content.schema.as_ref().map(|schema| self.ty(schema)) {
            None => Type::array(Type::Any),
            Some(list @ Type::Array(_)) => list,
            Some(one) => Type::array(one),
        }
    }

    /// The JSON forms failures come in.
    fn error_types(&self, operation: &View<'b>, responses: &[(&str, View<'b>)]) -> Vec<String> {
        let failures = responses
            .iter()
            .filter(|(status, _)| !status.starts_with('2'));
        let contents = failures.flat_map(|(_, response)| self.contents(operation, response));
        let types = contents.map(|content| content.media_type);
        types
            .filter(|media_type| Media::of(media_type) == Media::Json)
            .collect()
    }
}

/// One form of a response.
#[derive(Debug)]
struct Content<'b> {
    media_type: String,
    schema: Option<View<'b>>,
    item: Option<View<'b>>,
}

/// The response that describes success.
fn best(responses: &[(&str, View<'_>)]) -> Option<usize> {
    let rank = |(status, response): &(&str, View<'_>)| {
        let is_empty = !response.has("content") && !response.has("schema");
        let order = match *status {
            "200" => 0,
            "201" => 1,
            status if status.eq_ignore_ascii_case("2XX") => 3,
            status if status.starts_with('2') => 2,
            "default" => 4,
            status if status.starts_with('3') && status != "304" => 5,
            _ => return None,
        };
        // Success that carries something says more than success that does not.
        Some(if order < 4 {
            (0, is_empty, order)
        } else {
            (order, is_empty, 0)
        })
    };
    let ranked = responses
        .iter()
        .enumerate()
        .filter_map(|(at, response)| Some((rank(response)?, at)));
    ranked.min().map(|(_, at)| at)
}

/// What success means, in words; further ways to succeed get a line each.
fn description(responses: &[(&str, View<'_>)], best: usize) -> String {
    let mut text = responses[best].1.text("description");
    for (at, (status, response)) in responses.iter().enumerate() {
        let words = response.text("description");
        if at == best || !status.starts_with('2') || words.is_empty() || words == text {
            continue;
        }
        let gap = if text.is_empty() { "" } else { "\n" };
        text = format!("{text}{gap}{status}: {words}");
    }
    text
}

fn errors(responses: &[(&str, View<'_>)], best: Option<usize>) -> Vec<Outcome> {
    let failures = responses.iter().enumerate().filter(|(at, (status, _))| {
        let is_failure = *status == "default" || status.starts_with(['3', '4', '5']);
        Some(*at) != best && is_failure
    });
    let outcome = |(_, (status, response)): (usize, &(&str, View<'_>))| Outcome {
        status: (*status).to_owned(),
        description: response.text("description"),
    };
    failures.map(outcome).collect()
}

/// What to ask for: the chosen form, and JSON for failures.
fn accept(chosen: Option<&Content<'_>>, error_types: &[String]) -> String {
    let Some(chosen) = chosen else {
        return String::new();
    };
    let mut types = vec![chosen.media_type.clone()];
    for media_type in error_types {
        if !types.contains(media_type) {
            types.push(media_type.clone());
        }
    }
    types.join(", ")
}
