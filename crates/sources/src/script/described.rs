//! What a script says of itself, read in the sandbox without calling it.

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::{Map, Value};
use tokio::io::AsyncReadExt as _;
use toolscript_catalog::{
    Effect, Function, FunctionName, Listing, Type, Warning, function::Returns, suggest,
};
use toolscript_luau::{EntryPoint, HostModule, Run, ScriptResult};

use super::{
    mistake::{Mistake, Problem},
    parameters,
};
use crate::{
    Context, execution,
    text::{self, LONGEST_TEXT},
    tool::{Schemas, Words},
};

/// How long a script may take to say what it is.
pub(super) const LOADING_MS: u64 = 2_000;

/// The fields of `tool` besides its functions.
const FIELDS: &[&str] = &[
    "name",
    "version",
    "description",
    "parameters",
    "returns",
    "effect",
    "functions",
];

/// A script to look into.
pub(super) struct Subject<'a> {
    pub(super) cx: &'a Context,
    /// The file, as errors show it.
    pub(super) file: &'a str,
    /// The function it becomes.
    pub(super) name: &'a FunctionName,
    /// The modules it will have; while it is read they answer nothing.
    pub(super) modules: Vec<Arc<dyn HostModule>>,
}

/// Reads the text of a script.
pub(super) async fn read(cx: &Context, file: &str, path: &Path) -> Result<String, Mistake> {
    let wrong = |problem| Mistake::of_file(file, problem);
    let unreadable = |cause: std::io::Error| wrong(Problem::Unreadable(cause.to_string()));
    // Opening a pipe would wait for somebody to write to it.
    let about = tokio::fs::metadata(path).await.map_err(unreadable)?;
    if !about.is_file() {
        return Err(wrong(Problem::NotAFile));
    }
    let most = cx.limits.max_script_bytes;
    let opened = tokio::fs::File::open(path).await.map_err(unreadable)?;
    let mut bytes = Vec::new();
    let mut limited = opened.take(most as u64 + 1);
    limited.read_to_end(&mut bytes).await.map_err(unreadable)?;
    if most < bytes.len() {
        return Err(wrong(Problem::TooLarge(most)));
    }
    String::from_utf8(bytes)
        .map_err(|_| wrong(Problem::Unreadable("it is not text in UTF-8".to_owned())))
}

impl Subject<'_> {
    /// The listing of one function: the script's.
    pub(super) async fn describe(&self, text: &str) -> Result<Listing, Mistake> {
        let doorway = execution::closed_doorway();
        let outcome = self.cx.runtime.run(Run {
            entry: EntryPoint::Describe {
                global: "tool".to_owned(),
            },
            limits: execution::limits(&self.cx.limits, Duration::from_millis(LOADING_MS)),
            modules: self.modules.clone(),
            ..Run::new(text, doorway.catalog, doorway.caller)
        });
        match outcome.await.result {
            Ok(ScriptResult::Value(Value::Object(tool))) => self.listing(text, &tool),
            Ok(_) => Err(self.wrong(text, &[], Problem::NoTool)),
            Err(error) => Err(Mistake::of_loading(self.file, text, error)),
        }
    }

    fn wrong(&self, text: &str, near: &[&str], problem: Problem) -> Mistake {
        Mistake::of_tool(self.file, text, near, problem)
    }

    fn listing(&self, text: &str, tool: &Map<String, Value>) -> Result<Listing, Mistake> {
        let functions = tool.get("functions").and_then(Value::as_array);
        let has_execute = functions.is_some_and(|names| names.contains(&"execute".into()));
        if !has_execute {
            return Err(self.wrong(text, &["execute", "tool ="], Problem::NoExecute));
        }
        let schema = parameters::schema(tool.get("parameters")).map_err(|wrong| {
            let near: Vec<&str> = wrong.near.iter().map(String::as_str).collect();
            self.wrong(text, &near, wrong.problem)
        })?;
        let field = |key: &str| self.text_field(text, tool, key);
        let (title, description) = (field("name")?, field("description")?);
        let version = field("version")?;
        let words = Words::of(title, description);
        let mut listing = Listing {
            warnings: self.unknown_fields(tool),
            ..Listing::default()
        };
        let mut schemas = Schemas::new(self.name.as_str(), &mut listing);
        let params = schemas.params(&schema);
        let returns = self.returns(text, tool.get("returns"), &mut schemas)?;
        let description = match version {
            Some(version) => format!("{}\n\nVersion {version}.", words.description),
            None => words.description,
        };
        listing.functions.push(Function {
            name: self.name.clone(),
            summary: words.summary,
            description: description.trim().to_owned(),
            effect: self.effect(text, tool.get("effect"))?,
            params,
            returns,
            ..Function::default()
        });
        Ok(listing)
    }

    /// A field that is text, where it is there.
    fn text_field<'t>(
        &self,
        text: &str,
        tool: &'t Map<String, Value>,
        key: &str,
    ) -> Result<Option<&'t str>, Mistake> {
        match tool.get(key) {
            None => Ok(None),
            Some(Value::String(words)) => Ok(Some(words)),
            Some(_) => Err(self.wrong(
                text,
                &[key],
                Problem::Field {
                    key: key.to_owned(),
                    problem: "must be text".to_owned(),
                },
            )),
        }
    }

    fn effect(&self, text: &str, effect: Option<&Value>) -> Result<Effect, Mistake> {
        let Some(effect) = effect else {
            return Ok(Effect::default());
        };
        serde_json::from_value(effect.clone()).map_err(|_| {
            let problem = Problem::Field {
                key: "effect".to_owned(),
                problem: format!("must be `reads`, `writes` or `destroys`, not {effect}"),
            };
            self.wrong(text, &["effect"], problem)
        })
    }

    /// A type, words about the result, or a JSON Schema.
    fn returns(
        &self,
        text: &str,
        returns: Option<&Value>,
        schemas: &mut Schemas<'_>,
    ) -> Result<Returns, Mistake> {
        let anything = Returns {
            ty: Type::Any,
            description: String::new(),
        };
        match returns {
            None => Ok(anything),
            Some(Value::String(words)) => Ok(Returns {
                description: text::clean(words, LONGEST_TEXT),
                ..anything
            }),
            Some(Value::Object(schema)) => {
                let words = schema.get("description").and_then(Value::as_str);
                let described = schemas.returns(schema);
                Ok(Returns {
                    description: text::clean(words.unwrap_or_default(), LONGEST_TEXT),
                    ..described
                })
            }
            Some(_) => Err(self.wrong(
                text,
                &["returns"],
                Problem::Field {
                    key: "returns".to_owned(),
                    problem: "must be words about the result, or its JSON Schema".to_owned(),
                },
            )),
        }
    }

    /// Fields nobody reads are mostly typing errors.
    fn unknown_fields(&self, tool: &Map<String, Value>) -> Vec<Warning> {
        let unknown = tool.keys().filter(|key| !FIELDS.contains(&key.as_str()));
        let warning = |key: &String| {
            let near = suggest::nearest(key, FIELDS.iter().copied(), 1);
            let advice = near
                .first()
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            Warning {
                place: self.file.to_owned(),
                reason: format!("nobody reads `tool.{key}`{advice}"),
            }
        };
        unknown.map(warning).collect()
    }
}
