//! The JSON file of a toolkit: `{ "tools": [ { name, title, description, inputSchema, execute } ] }`.

use std::{collections::HashSet, fmt};

use serde_json::{Map, Value};
use toolscript_catalog::{
    Effect, Function, FunctionId, FunctionName, Listing, Type, Warning, function::Returns, suggest,
};

use crate::{
    text::{self, LONGEST_LINE, LONGEST_TEXT},
    tool::{Schemas, Words, check_parameters},
};

/// The most tools of a toolkit.
const MOST_TOOLS: usize = 1_000;
/// What may be said of a toolkit.
const KEYS: &[&str] = &["tools", "title", "description", "version"];
/// What may be said of a tool.
const TOOL_KEYS: &[&str] = &[
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "execute",
];

/// A toolkit that has been read.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) title: String,
    pub(super) description: String,
    pub(super) version: String,
    pub(super) tools: Vec<Entry>,
    pub(super) warnings: Vec<Warning>,
}

/// One tool, good or not.
#[derive(Debug)]
pub(super) struct Entry {
    /// What it is called, or where it stands if it has no name.
    pub(super) name: String,
    /// Where it stands.
    pub(super) pointer: String,
    pub(super) tool: Result<Tool, Flaw>,
}

/// A tool that can be offered.
#[derive(Debug, Clone)]
pub(super) struct Tool {
    pub(super) name: FunctionName,
    /// The listing of its one function.
    pub(super) listing: Listing,
    pub(super) work: Work,
}

/// What a tool does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Work {
    /// Runs this: a script whose `tool.execute` is the code of the toolkit.
    Code(String),
    /// Calls another function.
    Reference(FunctionId),
}

/// What is wrong with a toolkit, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) file: String,
    /// A JSON pointer; empty for the whole.
    pub(super) pointer: String,
    pub(super) problem: String,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(f, "{}: {}", self.file, self.problem),
            pointer => write!(f, "{}: `{pointer}` {}", self.file, self.problem),
        }
    }
}

impl std::error::Error for Flaw {}

/// Reads a toolkit. A tool that is wrong is told of and does not lose the others.
pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Document, Flaw> {
    let reader = Reader { file };
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| reader.flaw("", format!("is not JSON: {error}")))?;
    let Value::Object(kit) = &value else {
        return Err(reader.flaw("", "must be an object: { \"tools\": [ … ] }"));
    };
    let Some(tools) = kit.get("tools").and_then(Value::as_array) else {
        return Err(reader.flaw("/tools", "must be a list of tools"));
    };
    if MOST_TOOLS < tools.len() {
        return Err(reader.flaw("/tools", format!("has more than {MOST_TOOLS} entries")));
    }
    let words = |key: &str, longest| {
        let words = kit.get(key).and_then(Value::as_str);
        text::clean(words.unwrap_or_default(), longest)
    };
    let mut document = Document {
        title: words("title", LONGEST_LINE),
        description: words("description", LONGEST_TEXT),
        version: words("version", LONGEST_LINE),
        warnings: reader.unknown("", kit, KEYS),
        tools: Vec::new(),
    };
    let mut taken = HashSet::new();
    for (at, tool) in tools.iter().enumerate() {
        let pointer = format!("/tools/{at}");
        let name = tool.get("name").and_then(Value::as_str);
        document.tools.push(Entry {
            name: name.map_or_else(|| pointer.clone(), str::to_owned),
            tool: reader.tool(&pointer, tool, &mut taken),
            pointer,
        });
    }
    Ok(document)
}

struct Reader<'a> {
    file: &'a str,
}

impl Reader<'_> {
    fn flaw(&self, pointer: &str, problem: impl Into<String>) -> Flaw {
        Flaw {
            file: self.file.to_owned(),
            pointer: pointer.to_owned(),
            problem: problem.into(),
        }
    }

    fn tool(
        &self,
        pointer: &str,
        tool: &Value,
        taken: &mut HashSet<FunctionName>,
    ) -> Result<Tool, Flaw> {
        let Value::Object(fields) = tool else {
            return Err(self.flaw(pointer, "must be an object: { name, inputSchema, execute }"));
        };
        let written = self.needed(pointer, fields, "name")?;
        let name = FunctionName::clean(written);
        let title = self.words(pointer, fields, "title")?;
        let description = self.words(pointer, fields, "description")?;
        let work = Self::work(self.needed(pointer, fields, "execute")?);
        let schema = self.schema(pointer, fields)?;
        if !taken.insert(name.clone()) {
            let problem = format!("is `{written}`, and there is a tool of that name already");
            return Err(self.flaw(&format!("{pointer}/name"), problem));
        }
        let mut listing = Listing {
            warnings: self.unknown(pointer, fields, TOOL_KEYS),
            ..Listing::default()
        };
        let mut schemas = Schemas::new(name.as_str(), &mut listing);
        let params = schemas.params(schema);
        let returns = match fields.get("outputSchema").and_then(Value::as_object) {
            Some(schema) => schemas.returns(schema),
            None => Returns {
                ty: Type::Any,
                description: String::new(),
            },
        };
        let words = Words::of(title.or(Some(written)), description);
        listing.functions.push(Function {
            name: name.clone(),
            original: written.to_owned(),
            summary: words.summary,
            description: words.description,
            endpoint: match &work {
                Work::Reference(target) => target.to_string(),
                Work::Code(_) => String::new(),
            },
            effect: Effect::Writes,
            params,
            returns,
            ..Function::default()
        });
        Ok(Tool {
            name,
            listing,
            work,
        })
    }

    fn needed<'v>(
        &self,
        pointer: &str,
        fields: &'v Map<String, Value>,
        key: &str,
    ) -> Result<&'v str, Flaw> {
        let text = self.words(pointer, fields, key)?;
        let text = text.filter(|text| !text.trim().is_empty());
        text.ok_or_else(|| self.flaw(&format!("{pointer}/{key}"), "is missing: give some text"))
    }

    fn words<'v>(
        &self,
        pointer: &str,
        fields: &'v Map<String, Value>,
        key: &str,
    ) -> Result<Option<&'v str>, Flaw> {
        match fields.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.flaw(&format!("{pointer}/{key}"), "must be text")),
        }
    }

    fn schema<'v>(
        &self,
        pointer: &str,
        fields: &'v Map<String, Value>,
    ) -> Result<&'v Map<String, Value>, Flaw> {
        let place = format!("{pointer}/inputSchema");
        let Some(schema) = fields.get("inputSchema") else {
            let problem = "is missing: give a JSON Schema of type `object`";
            return Err(self.flaw(&place, problem));
        };
        check_parameters(schema)
            .map_err(|bad| self.flaw(&format!("{place}{}", bad.pointer), bad.problem))
    }

    /// One name with a dot in it is a function; everything else is code.
    fn work(execute: &str) -> Work {
        match execute.trim().parse() {
            Ok(target) => Work::Reference(target),
            Err(_) => Work::Code(format!(
                "tool = {{ execute = function(params) {execute}\nend }}"
            )),
        }
    }

    /// Keys nobody reads are mostly typing errors.
    fn unknown(&self, pointer: &str, fields: &Map<String, Value>, known: &[&str]) -> Vec<Warning> {
        let unknown = fields.keys().filter(|key| !known.contains(&key.as_str()));
        let warning = |key: &String| {
            let near = suggest::nearest(key, known.iter().copied(), 1);
            let advice = near
                .first()
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            Warning {
                place: format!("{} {pointer}/{key}", self.file),
                reason: format!("nobody reads this key{advice}"),
            }
        };
        unknown.map(warning).collect()
    }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "`flaw(json!(…))` reads best")]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(fields: Value) -> Value {
        let mut tool =
            json!({"name": "t", "inputSchema": {"type": "object"}, "execute": "return 1"});
        for (key, value) in fields.as_object().unwrap() {
            tool[key] = value.clone();
        }
        tool
    }

    fn read(tools: Value) -> Document {
        parse("kit.json", json!({"tools": tools}).to_string().as_bytes()).unwrap()
    }

    #[track_caller]
    fn flaw(fields: Value, message: &str) {
        let document = read(json!([tool(fields), tool(json!({"name": "good"}))]));
        let flaw = document.tools[0].tool.as_ref().unwrap_err();
        assert!(flaw.to_string().starts_with(message), "{flaw}");
        assert!(
            document.tools[1].tool.is_ok(),
            "one bad tool loses no other"
        );
    }

    #[test]
    fn code_and_references_are_told_apart() {
        let document = read(json!([
            tool(json!({"name": "a", "execute": "petstore.get_pet"})),
            tool(json!({"name": "b", "execute": " sdk.petstore.get_pet "})),
            tool(json!({"name": "c", "execute": "return petstore.get_pet(params)"})),
        ]));
        let works: Vec<&Work> = document
            .tools
            .iter()
            .map(|entry| &entry.tool.as_ref().unwrap().work)
            .collect();
        let target = Work::Reference("petstore.get_pet".parse().unwrap());
        assert_eq!((works[0], works[1]), (&target, &target));
        assert!(matches!(works[2], Work::Code(_)));
    }

    #[test]
    fn flaws_name_the_file_and_the_place() {
        flaw(
            json!({"name": null}),
            "kit.json: `/tools/0/name` is missing",
        );
        flaw(
            json!({"title": 7}),
            "kit.json: `/tools/0/title` must be text",
        );
        flaw(
            json!({"execute": ""}),
            "kit.json: `/tools/0/execute` is missing",
        );
        flaw(
            json!({"inputSchema": null}),
            "kit.json: `/tools/0/inputSchema` must be a JSON Schema, which is an object",
        );
        flaw(
            json!({"inputSchema": {"type": "string"}}),
            "kit.json: `/tools/0/inputSchema/type` must be `\"object\"`",
        );
        flaw(
            json!({"inputSchema": {"type": "object", "properties": {"a": {"type": "text"}}}}),
            "kit.json: `/tools/0/inputSchema/properties/a/type` is not JSON Schema",
        );
        flaw(
            json!({"inputSchema": {"type": "object", "$ref": "https://x.test/s.json"}}),
            "kit.json: `/tools/0/inputSchema` is not a schema that can be used",
        );
    }

    #[test]
    fn the_file_itself_has_to_fit() {
        let message = |text: &str| parse("kit.json", text.as_bytes()).unwrap_err().to_string();
        assert!(message("{").starts_with("kit.json: is not JSON: EOF"));
        assert!(message("[]").starts_with("kit.json: must be an object"));
        assert!(message("{}").starts_with("kit.json: `/tools` must be a list"));
        let twice = read(json!([tool(json!({})), tool(json!({}))]));
        assert!(twice.tools[1].tool.is_err());
        let warned = read(json!([tool(json!({"inputschema": {}}))]));
        let listing = &warned.tools[0].tool.as_ref().unwrap().listing;
        assert_eq!(listing.warnings[0].place, "kit.json /tools/0/inputschema");
    }
}
