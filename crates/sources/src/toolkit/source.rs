//! `ToolkitSource`: the tools of one JSON file as functions.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::io::AsyncReadExt as _;
use toolscript_catalog::{
    Call, CallContext, CallError, Condition, Function, FunctionId, FunctionName, FunctionState,
    Listing, Rate, Reply, Source, SourceInfo, SourceName, Type, Warning, function::Convention,
    validate,
};
use toolscript_luau::{Argument, EntryPoint, Run};

use super::{
    document::{self, Document, Entry, Flaw, Tool, Work},
    settings::Settings,
};
use crate::{
    Context, SettingsError,
    execution::{self, Execution, settle_result},
    hidden::Hidden,
    settings::seconds,
    tool,
};

/// The largest file.
const LARGEST: u64 = 4 << 20;
/// How long the code of a tool may take to be read.
const LOADING: Duration = Duration::from_secs(2);

/// One toolkit.
pub(super) struct ToolkitSource {
    cx: Context,
    name: SourceName,
    path: PathBuf,
    /// The path as the configuration writes it.
    file: String,
    timeout: Duration,
    rate: Option<Rate>,
    /// The latest good version of each tool.
    loaded: ArcSwapOption<Loaded>,
    states: Mutex<Vec<FunctionState>>,
}

#[derive(Clone)]
struct Loaded {
    info: SourceInfo,
    tools: BTreeMap<FunctionName, Arc<Tool>>,
}

impl ToolkitSource {
    pub(super) fn new(
        cx: Context,
        name: SourceName,
        settings: Settings,
    ) -> Result<Self, SettingsError> {
        if settings.path.trim().is_empty() {
            return Err(SettingsError {
                key: "path".to_owned(),
                problem: "is empty; write the path of a JSON file".to_owned(),
            });
        }
        Ok(Self {
            timeout: seconds("timeout", settings.timeout)?,
            path: cx.folder.join(&settings.path),
            file: settings.path,
            rate: settings.rate_limit,
            cx,
            name,
            loaded: ArcSwapOption::empty(),
            states: Mutex::default(),
        })
    }

    async fn read(&self) -> Result<Document, Flaw> {
        let flaw = |problem: String| Flaw {
            file: self.file.clone(),
            pointer: String::new(),
            problem,
        };
        let unreadable = |cause: std::io::Error| flaw(format!("cannot be read: {cause}"));
        let about = tokio::fs::metadata(&self.path).await.map_err(unreadable)?;
        if !about.is_file() {
            return Err(flaw("is not a file".to_owned()));
        }
        let opened = tokio::fs::File::open(&self.path)
            .await
            .map_err(unreadable)?;
        let mut bytes = Vec::new();
        let mut limited = opened.take(LARGEST + 1);
        limited.read_to_end(&mut bytes).await.map_err(unreadable)?;
        if LARGEST < bytes.len() as u64 {
            return Err(flaw(format!("has more than the {LARGEST} bytes allowed")));
        }
        document::parse(&self.file, &bytes)
    }

    /// Whether the code of a tool is Luau, and no more than the body of one function.
    async fn check_code(&self, entry: Entry) -> Entry {
        let Ok(Tool {
            work: Work::Code(script),
            ..
        }) = &entry.tool
        else {
            return entry;
        };
        let doorway = execution::closed_doorway();
        let outcome = self.cx.runtime.run(Run {
            entry: EntryPoint::Describe {
                global: "tool".to_owned(),
            },
            limits: execution::limits(&self.cx.limits, LOADING),
            ..Run::new(script, doorway.catalog, doorway.caller)
        });
        match outcome.await.result {
            Ok(_) => entry,
            Err(error) => Entry {
                tool: Err(Flaw {
                    file: self.file.clone(),
                    pointer: format!("{}/execute", entry.pointer),
                    problem: format!(
                        "line {} is neither Luau nor the name of a function: {}",
                        error.line.unwrap_or(1),
                        error.message
                    ),
                }),
                ..entry
            },
        }
    }

    fn info(document: &Document) -> SourceInfo {
        SourceInfo {
            kind: "toolkit".to_owned(),
            title: document.title.clone(),
            description: document.description.clone(),
            version: document.version.clone(),
            ..SourceInfo::default()
        }
    }

    /// The listing of what is loaded, with what went wrong this time.
    fn publish(
        &self,
        loaded: Loaded,
        states: Vec<FunctionState>,
        warnings: Vec<Warning>,
    ) -> Listing {
        let mut listing = Listing {
            info: loaded.info.clone(),
            warnings,
            ..Listing::default()
        };
        for tool in loaded.tools.values() {
            let mut part = tool.listing.clone();
            for function in &mut part.functions {
                function.rate = self.rate;
            }
            tool::join(&mut listing, part);
        }
        self.loaded.store(Some(Arc::new(loaded)));
        *self.states.lock().unwrap_or_else(PoisonError::into_inner) = states;
        listing
    }

    fn state(&self, name: String, work: Option<&Work>, condition: Condition) -> FunctionState {
        FunctionState {
            name,
            path: self.path.clone(),
            condition,
            refers_to: match work {
                Some(Work::Reference(target)) => Some(target.clone()),
                _ => None,
            },
        }
    }

    /// Takes the good tools of a document; of a broken one the version before.
    fn settle(&self, document: &Document, entries: Vec<Entry>) -> Listing {
        let before = self.loaded.load_full();
        let mut warnings = document.warnings.clone();
        let (mut tools, mut states) = (BTreeMap::new(), Vec::new());
        for entry in entries {
            let flaw = match entry.tool {
                Ok(tool) => {
                    states.push(self.state(entry.name, Some(&tool.work), Condition::Good));
                    tools.insert(tool.name.clone(), Arc::new(tool));
                    continue;
                }
                Err(flaw) => flaw,
            };
            let known = before.as_ref();
            let known =
                known.and_then(|known| known.tools.get(FunctionName::clean(&entry.name).as_str()));
            let outcome = if known.is_some() {
                "the version before stays in use"
            } else {
                "the tool is left out"
            };
            let problem = flaw.to_string();
            // What is wrong at the start is told by whoever starts.
            if before.is_some() {
                let (toolkit, tool) = (&self.name, &entry.name);
                tracing::warn!(%toolkit, tool, problem, outcome, "tool of a toolkit is broken");
            }
            warnings.push(Warning {
                place: problem.clone(),
                reason: outcome.to_owned(),
            });
            let condition = match known {
                Some(known) => {
                    tools.insert(known.name.clone(), known.clone());
                    Condition::Kept { problem }
                }
                None => Condition::Broken { problem },
            };
            states.push(self.state(entry.name, known.map(|known| &known.work), condition));
        }
        let info = Self::info(document);
        self.publish(Loaded { info, tools }, states, warnings)
    }

    /// What is left when the file as a whole is broken: the version before, where there is one.
    fn keep(&self, flaw: &Flaw) -> Result<Listing, CallError> {
        let problem = flaw.to_string();
        let Some(before) = self.loaded.load_full() else {
            return Err(CallError::Unavailable {
                source_name: self.name.to_string(),
                problem,
            });
        };
        tracing::warn!(toolkit = %self.name, %problem, "toolkit is broken; the version before stays in use");
        let kept = |tool: &Arc<Tool>| {
            let condition = Condition::Kept {
                problem: problem.clone(),
            };
            self.state(tool.name.to_string(), Some(&tool.work), condition)
        };
        let states = before.tools.values().map(kept).collect();
        let warnings = vec![Warning {
            place: problem.clone(),
            reason: "the version before stays in use".to_owned(),
        }];
        Ok(self.publish(Loaded::clone(&before), states, warnings))
    }

    /// Calls the function a tool stands for.
    async fn refer(
        &self,
        cx: &CallContext,
        call: Call,
        target: &FunctionId,
    ) -> Result<Reply, CallError> {
        let missing = |problem: String| CallError::Tool {
            function: call.function.clone(),
            problem: format!("{}: it stands for `{target}`, {problem}", self.file),
            body: None,
        };
        let Some(doorway) = &cx.doorway else {
            return Err(missing(
                "and there is no way to other functions here".to_owned(),
            ));
        };
        let found = doorway.catalog.by_id(target);
        let (_, function) =
            found.map_err(|unknown| missing(format!("which is not there: {unknown}")))?;
        let (params, body) = arranged(function, call.params.clone());
        let work = doorway.caller.call(Call {
            function: target.clone(),
            params,
            body,
        });
        let left = cx.deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        let time = self.timeout.min(left);
        match tokio::time::timeout(time, work).await {
            Ok(outcome) => outcome,
            Err(_) => Err(CallError::Timeout {
                function: call.function.clone(),
                after_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            }),
        }
    }
}

/// The one table of a tool as the parameters and the body of a function.
fn arranged(
    function: &Function,
    mut given: Map<String, Value>,
) -> (Map<String, Value>, Option<Value>) {
    let Some(body) = &function.body else {
        return (given, None);
    };
    let named = |key: &str| {
        function
            .params
            .fields
            .iter()
            .any(|field| &*field.name == key)
    };
    if !named("body")
        && !matches!(body.ty, Type::Object(_) | Type::Named { .. })
        && let Some(body) = given.remove("body")
    {
        return (given, Some(body));
    }
    let params = match function.convention() {
        Convention::ParamsAndBody => {
            let keys: Vec<String> = given.keys().filter(|key| named(key)).cloned().collect();
            let take = |key: String| given.remove(&key).map(|value| (key, value));
            keys.into_iter().filter_map(take).collect()
        }
        _ => Map::new(),
    };
    let is_needed = body.required || !given.is_empty();
    (params, is_needed.then_some(Value::Object(given)))
}

#[async_trait]
impl Source for ToolkitSource {
    async fn list(&self) -> Result<Listing, CallError> {
        let mut document = match self.read().await {
            Ok(document) => document,
            Err(flaw) => return self.keep(&flaw),
        };
        let mut entries = Vec::new();
        for entry in std::mem::take(&mut document.tools) {
            entries.push(self.check_code(entry).await);
        }
        Ok(self.settle(&document, entries))
    }

    async fn call(&self, cx: &CallContext, mut call: Call) -> Result<Reply, CallError> {
        let loaded = self.loaded.load_full();
        let tool = loaded.and_then(|loaded| loaded.tools.get(&call.function.name).cloned());
        let Some(tool) = tool else {
            return Err(CallError::NotFound {
                function: call.function.to_string(),
                hint: format!("`{}` does not list it any more", self.name),
            });
        };
        if let Some(function) = tool.listing.functions.first() {
            validate::fill_defaults(&function.params, &mut call.params);
        }
        let script = match &tool.work {
            Work::Code(script) => script,
            Work::Reference(target) => return self.refer(cx, call, target).await,
        };
        let execution = Execution {
            cx: &self.cx,
            call: cx,
            function: &call.function,
            file: &format!("{}#{}", self.file, tool.name),
            timeout: self.timeout,
            hidden: &Hidden::default(),
        };
        let entry = EntryPoint::Call {
            global: "tool".to_owned(),
            function: "execute".to_owned(),
            arguments: vec![Argument::Value(Value::Object(call.params))],
        };
        let mut reply = execution.run(script, entry, Vec::new()).await?;
        settle_result(&tool.listing, &mut reply);
        Ok(reply)
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn states(&self) -> Vec<FunctionState> {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.clone()
    }
}
