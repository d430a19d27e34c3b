//! The built-in tools `search`, `get` and `sources`: the knowledge base.
//!
//! No connector can be configured yet, so it is empty: questions are judged and answered, and
//! nothing is found.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};
use toolscript_catalog::{
    CallError, Effect, Entry, Field, Function, FunctionId, FunctionName, Listing, SourceInfo,
    SourceName, Type, Types,
    function::Returns,
    ty::{self, Definition},
    validate,
};

/// The name the knowledge base goes by.
const NAME: &str = "kb";

/// How the knowledge base can be searched.
const MODES: [&str; 3] = ["keyword", "semantic", "hybrid"];
/// The most hits one search may ask for.
const MOST_HITS: f64 = 100.0;

static ENTRY: LazyLock<Arc<Entry>> =
    LazyLock::new(|| Arc::new(Entry::new(SourceName::clean(NAME), listing())));

/// What the knowledge base offers.
pub(crate) fn entry() -> &'static Arc<Entry> {
    &ENTRY
}

/// Answers a question, or says what does not fit.
pub(crate) fn call(function: &FunctionId, params: &Map<String, Value>) -> Result<Value, CallError> {
    let Some(wanted) = ENTRY.function(function.name.as_str()) else {
        return Err(CallError::NotFound {
            function: function.to_string(),
            hint: "the knowledge base has `search`, `get` and `sources`".to_owned(),
        });
    };
    validate::arguments(function, wanted, &ENTRY.listing.types, params, None)?;
    Ok(match function.name.as_str() {
        "get" => Value::Null,
        _ => json!([]),
    })
}

fn listing() -> Listing {
    let info = SourceInfo {
        kind: "builtin".to_owned(),
        title: "Knowledge base".to_owned(),
        ..SourceInfo::default()
    };
    Listing {
        info,
        functions: vec![search(), get(), sources()],
        types: types(),
        ..Listing::default()
    }
}

fn search() -> Function {
    let modes = Type::Literal {
        values: MODES.map(Value::from).to_vec(),
    };
    let limit = Type::Number(ty::Number {
        integer: true,
        minimum: Some(1.0),
        maximum: Some(MOST_HITS),
        ..ty::Number::default()
    });
    reading(
        "search",
        "Searches the knowledge base",
        vec![
            described(Field::required("query", Type::string()), "What to look for"),
            described(Field::optional("mode", modes), "How to compare"),
            described(Field::optional("limit", limit), "How many hits at most"),
            described(
                Field::optional("source", Type::string()),
                "Look in this source alone",
            ),
        ],
        Type::array(named("Hit")),
    )
}

fn get() -> Function {
    reading(
        "get",
        "Gives a whole document of the knowledge base; null where there is none of that id",
        vec![described(
            Field::required("id", Type::string()),
            "The `id` of a hit",
        )],
        named("Document").nullable(),
    )
}

fn sources() -> Function {
    reading(
        "sources",
        "Lists what the knowledge base is fed from",
        Vec::new(),
        Type::array(named("Feed")),
    )
}

fn types() -> Types {
    let texts = |names: &[&str]| -> Vec<Field> {
        names
            .iter()
            .map(|name| Field::required(*name, Type::string()))
            .collect()
    };
    let mut hit = texts(&["id", "title", "source", "source_id", "snippet"]);
    hit.push(Field::required("score", Type::number()));
    hit.push(Field::optional("updated_at", Type::string()));
    hit.push(Field::optional("source_url", Type::string()));
    let mut document = texts(&["id", "title", "source", "source_id", "body"]);
    document.push(Field::optional("updated_at", Type::string()));
    document.push(Field::optional("source_url", Type::string()));
    let mut feed = texts(&["name"]);
    feed.push(Field::required("configured", Type::Boolean));
    feed.push(Field::required("healthy", Type::Boolean));
    feed.push(Field::optional("notes", Type::string()));
    [("Hit", hit), ("Document", document), ("Feed", feed)]
        .into_iter()
        .map(|(name, fields)| {
            let definition = Definition {
                ty: Type::object(fields),
                description: String::new(),
            };
            (toolscript_catalog::TypeName::clean(name), definition)
        })
        .collect()
}

fn named(name: &str) -> Type {
    Type::named(toolscript_catalog::TypeName::clean(name))
}

fn described(field: Field, description: &str) -> Field {
    Field {
        description: description.into(),
        ..field
    }
}

fn reading(name: &str, summary: &str, params: Vec<Field>, returns: Type) -> Function {
    let mut function = Function {
        name: FunctionName::clean(name),
        summary: summary.to_owned(),
        effect: Effect::Reads,
        returns: Returns {
            ty: returns,
            description: String::new(),
        },
        ..Function::default()
    };
    function.params.fields = params;
    function
}
