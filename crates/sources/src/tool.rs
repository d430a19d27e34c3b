//! What a tool says of itself, whoever wrote it, as the words and types of a function.

use serde_json::{Map, Value};
use toolscript_catalog::{
    Listing, Node, Type, Types, Warning,
    function::Returns,
    name::words,
    schema::{Lone, Reader},
    ty::{Extra, Object},
};

use crate::{
    text::{self, LONGEST_FIELD, LONGEST_LINE, LONGEST_TEXT},
    types,
};

/// The words about a tool: one line, and the rest.
pub(crate) struct Words {
    pub(crate) summary: String,
    pub(crate) description: String,
}

impl Words {
    /// The first sentence of the description stands for all of it; a title stands in for none.
    pub(crate) fn of(title: Option<&str>, description: Option<&str>) -> Self {
        let description = text::clean(description.unwrap_or_default(), LONGEST_TEXT);
        let (summary, rest) = match text::first_sentence(&description) {
            ("", _) => (text::line(title.unwrap_or_default(), LONGEST_LINE), ""),
            (summary, rest) => (text::line(summary, LONGEST_LINE), rest),
        };
        // A first sentence that had to be cut is whole in the description.
        let description = if summary.ends_with('…') {
            &description
        } else {
            rest
        };
        Self {
            description: description.to_owned(),
            summary,
        }
    }
}

/// Reads the schemas of one tool into a listing.
pub(crate) struct Schemas<'a> {
    /// What its types are called where their own names are taken.
    prefix: String,
    tool: &'a str,
    listing: &'a mut Listing,
}

impl<'a> Schemas<'a> {
    pub(crate) fn new(tool: &'a str, listing: &'a mut Listing) -> Self {
        Self {
            prefix: pascal_case(tool),
            tool,
            listing,
        }
    }

    /// The parameters an object schema describes.
    pub(crate) fn params(&mut self, schema: &Map<String, Value>) -> Object {
        let params = self.read(schema, "input", |reader, ty| {
            let anything = Object {
                fields: Vec::new(),
                extra: Extra::Typed(Box::new(Type::Any)),
            };
            // Alternatives and the like: whatever fits is between the script and the tool.
            Type::Object(reader.object_of(&ty).unwrap_or(anything))
        });
        match params {
            Type::Object(params) => params,
            _ => Object::default(),
        }
    }

    /// The result a schema describes.
    pub(crate) fn returns(&mut self, schema: &Map<String, Value>) -> Returns {
        Returns {
            ty: self.read(schema, "output", |_, ty| ty),
            description: String::new(),
        }
    }

    fn read(
        &mut self,
        schema: &Map<String, Value>,
        place: &str,
        finish: impl FnOnce(&mut Reader<'_, Lone<'_>>, Type) -> Type,
    ) -> Type {
        let mut schema = Value::Object(schema.clone());
        tidy(&mut schema);
        let root = Node::from(&schema);
        let name = format!("{}{}", self.prefix, pascal_case(place));
        let lone = Lone {
            root: &root,
            name: &name,
        };
        let mut reader = Reader::new(&lone);
        let place = format!("{} {place}", self.tool);
        let ty = reader.read(0, &root, &place);
        let ty = finish(&mut reader, ty);
        let (types, warnings) = reader.finish();
        self.listing
            .warnings
            .extend(warnings.into_iter().map(|warning| Warning {
                place: if warning.place == place {
                    warning.place
                } else {
                    format!("{place} {}", warning.place)
                },
                ..warning
            }));
        self.shelve(types, ty)
    }

    /// Puts the types of a schema beside those of the others.
    fn shelve(&mut self, own: Types, mut ty: Type) -> Type {
        let names = types::add(&mut self.listing.types, own, &self.prefix);
        types::rename(&mut ty, &names);
        ty
    }
}

/// Takes out of a schema's words what a reader cannot see. Values stay as they are: they are sent.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(tidy),
        Value::Object(keywords) => {
            for (keyword, value) in keywords {
                tidy_keyword(keyword, value);
            }
        }
        _ => {}
    }
}

fn tidy_keyword(keyword: &str, value: &mut Value) {
    match (keyword, value) {
        ("description" | "title" | "$comment", Value::String(words)) => {
            *words = text::clean(words, LONGEST_FIELD);
        }
        ("const" | "default" | "enum" | "example" | "examples", _) => {}
        // Here the keys are names and not keywords.
        (
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
            Value::Object(schemas),
        ) => schemas.values_mut().for_each(tidy),
        (_, value) => tidy(value),
    }
}

fn pascal_case(text: &str) -> String {
    let words = words(text);
    let capitalised = words.iter().map(|word| {
        let mut letters = word.chars();
        let first: String = letters
            .next()
            .into_iter()
            .flat_map(char::to_uppercase)
            .collect();
        first + letters.as_str()
    });
    capitalised.collect()
}

/// Adds what one tool lists to what its source lists: the types of two tools may share a name.
pub(crate) fn join(listing: &mut Listing, part: Listing) {
    let prefix = part
        .functions
        .first()
        .map_or_else(String::new, |function| pascal_case(function.name.as_str()));
    let names = types::add(&mut listing.types, part.types, &prefix);
    for mut function in part.functions {
        types::rename_in(&mut function.params, &names);
        types::rename(&mut function.returns.ty, &names);
        listing.functions.push(function);
    }
    listing.warnings.extend(part.warnings);
}

/// A schema that cannot describe the parameters of a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub(crate) struct BadSchema {
    /// Where in the schema, as a JSON pointer; empty for the whole.
    pub(crate) pointer: String,
    pub(crate) problem: String,
}

/// Judges a schema somebody wrote for the parameters of a tool. It may refer to itself and to
/// nothing else.
pub(crate) fn check_parameters(schema: &Value) -> Result<&Map<String, Value>, BadSchema> {
    let bad = |pointer: &str, problem: String| BadSchema {
        pointer: pointer.to_owned(),
        problem,
    };
    let Value::Object(keywords) = schema else {
        return Err(bad(
            "",
            "must be a JSON Schema, which is an object".to_owned(),
        ));
    };
    if keywords.get("type").and_then(Value::as_str) != Some("object") {
        let found = keywords
            .get("type")
            .map_or("missing".to_owned(), Value::to_string);
        let problem = format!("must be `\"object\"`, since parameters have names; it is {found}");
        return Err(bad("/type", problem));
    }
    if let Err(error) = jsonschema::meta::validate(schema) {
        let pointer = error.instance_path().to_string();
        return Err(bad(&pointer, format!("is not JSON Schema: {error}")));
    }
    if let Err(error) = jsonschema::options().offline().build(schema) {
        return Err(bad(
            "",
            format!("is not a schema that can be used: {error}"),
        ));
    }
    Ok(keywords)
}
