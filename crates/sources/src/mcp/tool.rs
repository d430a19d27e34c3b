//! A tool of a server as a function: its names, its words, its types, what it does to the world.

use std::collections::{HashMap, HashSet};

use rmcp::model::{ServerPeerInfo, Tool, ToolAnnotations};
use toolscript_catalog::{
    Effect, Function, FunctionName, Listing, SourceInfo, Type, Warning, function::Returns,
};

use super::{listing::Fetched, settings::ToolFilter, upstream::Upstream};
use crate::{
    text::{self, LONGEST_LINE, LONGEST_TEXT},
    tool::{Schemas, Words},
};

/// What a tool gives that does not say what it gives.
const ANY_RESULT: &str = "text as a string; several or other items as tables with a `type`";
/// The most warnings a listing has.
const MOST_WARNINGS: usize = 500;

/// What a listing is made of, and what it takes to call it.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) listing: Listing,
    pub(super) callables: HashMap<FunctionName, Callable>,
}

/// What it takes to call a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Callable {
    /// The name the server knows it by.
    pub(super) tool: String,
    /// The tool says that doing its work twice is like doing it once. It decides nothing but
    /// whether a call that may have arrived is made again.
    pub(super) is_repeatable: bool,
}

/// Makes functions of the tools that are wanted.
pub(super) fn compile(upstream: &Upstream, info: &ServerPeerInfo, fetched: Fetched) -> Compiled {
    let mut listing = Listing {
        info: describe(upstream, info),
        warnings: fetched.warnings,
        ..Listing::default()
    };
    let tools = wanted(&upstream.filter, fetched.tools, &mut listing.warnings);
    let names = names(&tools);
    let mut callables = HashMap::new();
    for (tool, name) in tools.iter().zip(names) {
        callables.insert(name.clone(), callable(tool));
        let function = function(tool, name, &mut listing);
        listing.functions.push(Function {
            rate: upstream.rate,
            ..function
        });
    }
    listing.warnings.truncate(MOST_WARNINGS);
    Compiled { listing, callables }
}

/// What the operator says of the server, else what the server says of itself.
fn describe(upstream: &Upstream, info: &ServerPeerInfo) -> SourceInfo {
    let server = info.server_info.as_ref();
    let own =
        |text: &Option<String>| text::clean(text.as_deref().unwrap_or_default(), LONGEST_TEXT);
    let description = match &upstream.description {
        Some(description) => description.clone(),
        None => server
            .map(|server| own(&server.description))
            .unwrap_or_default(),
    };
    let instructions = match &upstream.instructions {
        Some(instructions) => instructions.clone(),
        None => own(&info.instructions),
    };
    let title = server.map(|server| server.title.as_deref().unwrap_or(&server.name));
    SourceInfo {
        kind: "mcp".to_owned(),
        title: text::line(title.unwrap_or_default(), LONGEST_LINE),
        description: format!("{description}\n\n{instructions}").trim().to_owned(),
        version: server
            .map(|server| text::line(&server.version, 80))
            .unwrap_or_default(),
        address: upstream.address(),
        ..SourceInfo::default()
    }
}

/// The tools the settings ask for. A pattern nobody fits is told: it is mostly a typing error.
fn wanted(filter: &ToolFilter, tools: Vec<Tool>, warnings: &mut Vec<Warning>) -> Vec<Tool> {
    let fits = |pattern: &String, tool: &Tool| {
        matches(pattern, &tool.name) || matches(pattern, FunctionName::clean(&tool.name).as_str())
    };
    for (key, patterns) in [("include", &filter.include), ("exclude", &filter.exclude)] {
        for pattern in patterns {
            if !tools.iter().any(|tool| fits(pattern, tool)) {
                warnings.push(Warning {
                    place: format!("tools.{key}"),
                    reason: format!("no tool is called `{pattern}`"),
                });
            }
        }
    }
    let is_wanted = |tool: &Tool| {
        let included =
            filter.include.is_empty() || filter.include.iter().any(|pattern| fits(pattern, tool));
        included && !filter.exclude.iter().any(|pattern| fits(pattern, tool))
    };
    tools.into_iter().filter(is_wanted).collect()
}

/// Whether a name fits a pattern in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// One name per tool, the same whatever the order: who already has a clean name keeps it.
fn names(tools: &[Tool]) -> Vec<FunctionName> {
    let mut order: Vec<usize> = (0..tools.len()).collect();
    let rank = |at: &usize| {
        let name: &str = &tools[*at].name;
        (FunctionName::clean(name).as_str() != name, name)
    };
    order.sort_by(|one, other| rank(one).cmp(&rank(other)));
    let mut taken = HashSet::new();
    let mut names = vec![FunctionName::default(); tools.len()];
    for at in order {
        names[at] = FunctionName::clean(&tools[at].name).unique(&mut taken);
    }
    names
}

fn callable(tool: &Tool) -> Callable {
    let says = |hint: fn(&ToolAnnotations) -> Option<bool>| {
        tool.annotations.as_ref().and_then(hint).unwrap_or(false)
    };
    Callable {
        tool: tool.name.to_string(),
        is_repeatable: says(|hints| hints.read_only_hint) || says(|hints| hints.idempotent_hint),
    }
}

/// What the tool says it does to the world. These are the server's own words: a policy may be
/// stricter because of them, never more lenient.
fn effect(annotations: Option<&ToolAnnotations>) -> Effect {
    match annotations {
        Some(hints) if hints.read_only_hint == Some(true) => Effect::Reads,
        Some(hints) if hints.destructive_hint == Some(true) => Effect::Destroys,
        _ => Effect::Writes,
    }
}

fn function(tool: &Tool, name: FunctionName, listing: &mut Listing) -> Function {
    let original = tool.name.to_string();
    let hints = tool.annotations.as_ref();
    let title = tool.title.as_deref();
    let title = title.or_else(|| hints?.title.as_deref());
    let words = Words::of(title, tool.description.as_deref());
    let mut schemas = Schemas::new(&original, listing);
    let params = schemas.params(&tool.input_schema);
    let returns = match tool.output_schema.as_deref() {
        Some(schema) => schemas.returns(schema),
        None => Returns {
            ty: Type::Any,
            description: ANY_RESULT.to_owned(),
        },
    };
    Function {
        name,
        summary: words.summary,
        description: words.description,
        effect: effect(hints),
        params,
        returns,
        original,
        ..Function::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::settings::Settings;
    use rmcp::model::{Implementation, ProtocolVersion, ServerCapabilities};
    use serde_json::{Value, json};
    use std::path::Path;
    use toolscript_catalog::{SourceName, TypeName, ty::Object};

    fn compile_with(tools: Value, filter: &Value) -> Compiled {
        let settings = json!({"command": "x", "tools": filter});
        let settings: Settings = serde_json::from_value(settings).unwrap();
        let name = SourceName::parse("files").unwrap();
        let upstream = Upstream::check(name, settings, Path::new("/")).unwrap();
        let mut info =
            ServerPeerInfo::new(ProtocolVersion::V_2025_11_25, ServerCapabilities::default());
        info.server_info = Some(Implementation::new("file\u{200b}server", "1.2"));
        info.instructions = Some("Be careful.".to_owned());
        let fetched = Fetched {
            tools: serde_json::from_value(tools).unwrap(),
            ..Fetched::default()
        };
        compile(&upstream, &info, fetched)
    }

    fn compiled(tools: Value) -> Compiled {
        compile_with(tools, &json!({}))
    }

    fn function_names(compiled: &Compiled) -> Vec<&str> {
        let functions = compiled.listing.functions.iter();
        functions.map(|function| function.name.as_str()).collect()
    }

    fn tool(name: &str) -> Value {
        json!({"name": name, "inputSchema": {"type": "object"}})
    }

    #[test]
    fn names_are_cleaned_and_the_original_stays() {
        let compiled = compiled(json!([tool("get-user"), tool("get_user"), tool("Do It!")]));
        assert_eq!(
            function_names(&compiled),
            ["get_user_2", "get_user", "do_it"]
        );
        assert_eq!(compiled.listing.functions[2].original, "Do It!");
        let name = FunctionName::clean("do_it");
        assert_eq!(compiled.callables[&name].tool, "Do It!");
    }

    #[test]
    fn names_do_not_depend_on_the_order() {
        let one = compiled(json!([tool("a b"), tool("a-b")]));
        let other = compiled(json!([tool("a-b"), tool("a b")]));
        assert_eq!(one.callables, other.callables);
    }

    #[test]
    fn patterns_choose_tools_by_either_name() {
        let filter = json!({"include": ["read*", "list-all", "nope"], "exclude": ["*_secret"]});
        let tools = json!([
            tool("read_file"),
            tool("read_secret"),
            tool("list-all"),
            tool("write")
        ]);
        let compiled = compile_with(tools, &filter);
        assert_eq!(function_names(&compiled), ["read_file", "list_all"]);
        let warnings: Vec<&str> = compiled
            .listing
            .warnings
            .iter()
            .map(|warning| &*warning.reason)
            .collect();
        assert_eq!(warnings, ["no tool is called `nope`"]);
    }

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, fits) in [
            ("*", "x", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*b*c", "a-b-c", true),
            ("a*a", "a", false),
            ("ab", "abc", false),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn hints_say_what_a_tool_does() {
        let with = |hints: Value| {
            let tools = json!([{"name": "t", "inputSchema": {}, "annotations": hints}]);
            let compiled = compiled(tools);
            let callable = compiled.callables.into_values().next().unwrap();
            (compiled.listing.functions[0].effect, callable.is_repeatable)
        };
        assert_eq!(with(json!({})), (Effect::Writes, false));
        assert_eq!(with(json!({"readOnlyHint": true})), (Effect::Reads, true));
        assert_eq!(
            with(json!({"destructiveHint": true})),
            (Effect::Destroys, false)
        );
        assert_eq!(
            with(json!({"idempotentHint": true})),
            (Effect::Writes, true)
        );
    }

    #[test]
    fn words_are_data_and_cleaned() {
        let compiled = compiled(json!([{
            "name": "t",
            "title": "Title",
            "description": "First.\u{e0041}\nThen \u{202e}more.",
            "inputSchema": {"properties": {
                "description": {"type": "string", "description": "a\u{200b}b"},
                "enum": {"description": "\u{feff}c", "enum": ["x\u{200b}"]},
            }},
        }]));
        let function = &compiled.listing.functions[0];
        assert_eq!(
            (&*function.summary, &*function.description),
            ("First.", "Then more.")
        );
        let fields = &function.params.fields;
        assert_eq!(
            (&*fields[0].description, &*fields[1].description),
            ("ab", "c")
        );
        assert_eq!(
            fields[1].ty,
            Type::Literal {
                values: vec![json!("x\u{200b}")]
            }
        );
        let info = &compiled.listing.info;
        assert_eq!((&*info.title, &*info.version), ("fileserver", "1.2"));
        assert_eq!(info.description, "Be careful.");
    }

    #[test]
    fn a_title_stands_in_for_a_description() {
        let tools = json!([{"name": "t", "inputSchema": {}, "annotations": {"title": "Do it"}}]);
        assert_eq!(compiled(tools).listing.functions[0].summary, "Do it");
    }

    #[test]
    fn types_of_two_tools_share_a_name_only_if_they_are_the_same() {
        let entity = |field: &str| {
            json!({
                "type": "object",
                "properties": {"entity": {"$ref": "#/$defs/Entity"}},
                "$defs": {"Entity": {"type": "object", "properties": {field: {"type": "string"}}}},
            })
        };
        let compiled = compiled(json!([
            {"name": "create", "inputSchema": entity("name"), "outputSchema": entity("name")},
            {"name": "drop-it", "inputSchema": entity("id")},
        ]));
        let names: Vec<&str> = compiled
            .listing
            .types
            .keys()
            .map(TypeName::as_str)
            .collect();
        assert_eq!(names, ["DropItEntity", "Entity"]);
        let drop_it = &compiled.listing.functions[1];
        let expected = Type::named(TypeName::clean("DropItEntity"));
        assert_eq!(drop_it.params.fields[0].ty, expected);
    }

    #[test]
    fn a_schema_without_properties_takes_nothing_and_one_with_alternatives_anything() {
        let params = |schema: Value| {
            let compiled = compiled(json!([{"name": "t", "inputSchema": schema}]));
            compiled.listing.functions[0].params.clone()
        };
        assert_eq!(params(json!({"type": "object"})), Object::default());
        let either = json!({"oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]});
        assert!(params(either).extra.is_typed());
    }

    #[test]
    fn references_stay_inside_the_schema() {
        let schema = json!({"type": "object", "properties": {
            "a": {"$ref": "https://example.com/schema.json"},
        }});
        let compiled = compiled(json!([{"name": "t", "inputSchema": schema}]));
        assert_eq!(compiled.listing.functions[0].params.fields[0].ty, Type::Any);
        assert_eq!(compiled.listing.warnings.len(), 1);
    }
}
