//! `ScriptSource`: the tool scripts of a configuration as the functions of one source.

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use futures_util::future::join_all;
use serde_json::Value;
use toolscript_catalog::{
    Call, CallContext, CallError, Condition, Function, FunctionName, FunctionState, Listing, Rate,
    Reply, Source, SourceInfo, SourceName, Warning, suggest, validate,
};
use toolscript_luau::{Argument, EntryPoint, HostModule};

use super::{
    described::{self, Subject},
    host::{self, Grants},
    mistake::Mistake,
    settings::{KEYS, Settings},
};
use crate::{
    Context, SettingsError,
    execution::{Execution, settle_result},
    hidden::Hidden,
    outbound::AllowList,
    settings::seconds,
    tool::{self, Words},
};

/// One script of the configuration.
pub(super) struct Tool {
    /// Its key in the configuration.
    key: String,
    name: FunctionName,
    path: PathBuf,
    /// The path as the configuration writes it.
    file: String,
    timeout: Duration,
    rate: Option<Rate>,
    description: Option<String>,
    /// Keys that look like settings and are not.
    doubtful: Vec<Warning>,
    hidden: Hidden,
    modules: Vec<Arc<dyn HostModule>>,
    context: Arc<dyn HostModule>,
}

impl Tool {
    /// Checks the settings of one script.
    pub(super) fn new(cx: &Context, key: &str, settings: Settings) -> Result<Self, SettingsError> {
        let bad = |key: &str, problem: String| SettingsError {
            key: key.to_owned(),
            problem,
        };
        if settings.path.trim().is_empty() {
            return Err(bad(
                "path",
                "is empty; write the path of a script".to_owned(),
            ));
        }
        let allow = AllowList::parse(&settings.allow_hosts)
            .map_err(|error| bad("allow_hosts", error.to_string()))?;
        let config = Value::Object(settings.config.0.clone());
        let mut hidden = Hidden::default();
        hidden.add("config", &config);
        for variable in &settings.allow_env {
            if let Ok(value) = std::env::var(variable) {
                hidden.add(&format!("env.{variable}"), &Value::String(value));
            }
        }
        let path = cx.folder.join(&settings.path);
        let grants = Grants {
            http: cx.outbound.guarded(allow),
            folder: path.parent().unwrap_or(&cx.folder).to_owned(),
            variables: settings.allow_env.into_iter().collect(),
        };
        Ok(Self {
            key: key.to_owned(),
            name: FunctionName::clean(key),
            timeout: seconds("timeout", settings.timeout)?,
            doubtful: doubtful(key, settings.config.0.keys()),
            file: settings.path,
            rate: settings.rate_limit,
            description: settings.description,
            modules: grants.modules(),
            context: host::context(config),
            hidden,
            path,
        })
    }

    /// Reads the script as it is now.
    pub(super) async fn load(&self, cx: &Context) -> Result<Loaded, Mistake> {
        let text = described::read(cx, &self.file, &self.path).await?;
        let subject = Subject {
            cx,
            file: &self.file,
            name: &self.name,
            modules: host::silenced(&self.modules),
        };
        let mut listing = subject.describe(&text).await?;
        for function in &mut listing.functions {
            self.finish(function);
        }
        listing.warnings.extend(self.doubtful.iter().cloned());
        Ok(Loaded { text, listing })
    }

    /// What the configuration says of the function.
    fn finish(&self, function: &mut Function) {
        function.original.clone_from(&self.key);
        function.rate = self.rate;
        if let Some(description) = &self.description {
            let words = Words::of(None, Some(description));
            function.summary = words.summary;
            function.description = words.description;
        }
    }
}

/// Keys for the script that a person probably meant as settings.
fn doubtful<'k>(tool: &str, keys: impl Iterator<Item = &'k String>) -> Vec<Warning> {
    let warning = |key: &String| {
        let near = suggest::nearest(key, KEYS.iter().copied(), 1);
        let near = near.first().filter(|near| is_a_slip(key, near))?;
        Some(Warning {
            place: format!("tools.script.{tool}.{key}"),
            reason: format!("goes to the script as `context.config.{key}`; was `{near}` meant?"),
        })
    };
    keys.filter_map(warning).collect()
}

/// Whether two keys differ by a slip: same first letter, and nearly the same length.
fn is_a_slip(key: &str, known: &str) -> bool {
    key.chars().next() == known.chars().next() && key.len().abs_diff(known.len()) <= 2
}

/// A script that can be called.
pub(super) struct Loaded {
    text: String,
    /// The listing of its one function.
    listing: Listing,
}

impl Loaded {
    /// How many parameters it has.
    pub(super) fn parameters(&self) -> usize {
        let functions = self.listing.functions.iter();
        functions.map(|function| function.params.fields.len()).sum()
    }
}

/// The scripts of a configuration.
pub(super) struct ScriptSource {
    cx: Context,
    name: SourceName,
    tools: Vec<Tool>,
    /// The latest good version of each, by function.
    loaded: ArcSwap<BTreeMap<FunctionName, Arc<Loaded>>>,
    states: Mutex<Vec<FunctionState>>,
}

impl ScriptSource {
    pub(super) fn new(cx: Context, name: SourceName, mut tools: Vec<Tool>) -> Self {
        let mut taken = HashSet::new();
        for tool in &mut tools {
            tool.name = tool.name.clone().unique(&mut taken);
        }
        Self {
            cx,
            name,
            tools,
            loaded: ArcSwap::default(),
            states: Mutex::default(),
        }
    }

    fn info() -> SourceInfo {
        SourceInfo {
            kind: "script".to_owned(),
            title: "Tools of this installation".to_owned(),
            description: "Scripts the operator wrote, each a function.".to_owned(),
            ..SourceInfo::default()
        }
    }

    /// Whether this is not the first listing.
    fn is_listed(&self) -> bool {
        !self.states().is_empty()
    }

    /// Takes a newly read script, or keeps the one before where the new one is broken.
    fn settle(
        &self,
        tool: &Tool,
        read: Result<Loaded, Mistake>,
        warnings: &mut Vec<Warning>,
    ) -> (Option<Arc<Loaded>>, Condition) {
        let mistake = match read {
            Ok(loaded) => return (Some(Arc::new(loaded)), Condition::Good),
            Err(mistake) => mistake,
        };
        let problem = tool.hidden.text(&mistake.to_string()).into_owned();
        let before = self.loaded.load().get(&tool.name).cloned();
        let outcome = if before.is_some() {
            "the version before stays in use"
        } else {
            "the tool is left out"
        };
        // What is wrong at the start is told by whoever starts.
        if self.is_listed() {
            tracing::warn!(tool = %tool.key, %problem, outcome, "tool script is broken");
        }
        warnings.push(Warning {
            place: problem.clone(),
            reason: outcome.to_owned(),
        });
        match before {
            Some(before) => (Some(before), Condition::Kept { problem }),
            None => (None, Condition::Broken { problem }),
        }
    }
}

#[async_trait]
impl Source for ScriptSource {
    async fn list(&self) -> Result<Listing, CallError> {
        let reads = join_all(self.tools.iter().map(|tool| tool.load(&self.cx))).await;
        let mut listing = Listing {
            info: Self::info(),
            ..Listing::default()
        };
        let (mut loaded, mut states) = (BTreeMap::new(), Vec::new());
        for (tool, read) in self.tools.iter().zip(reads) {
            let (good, condition) = self.settle(tool, read, &mut listing.warnings);
            states.push(FunctionState {
                name: tool.name.to_string(),
                path: tool.path.clone(),
                condition,
                refers_to: None,
            });
            if let Some(good) = good {
                tool::join(&mut listing, good.listing.clone());
                loaded.insert(tool.name.clone(), good);
            }
        }
        self.loaded.store(Arc::new(loaded));
        *self.states.lock().unwrap_or_else(PoisonError::into_inner) = states;
        Ok(listing)
    }

    async fn call(&self, cx: &CallContext, mut call: Call) -> Result<Reply, CallError> {
        let loaded = self.loaded.load().get(&call.function.name).cloned();
        let tool = self
            .tools
            .iter()
            .find(|tool| tool.name == call.function.name);
        let (Some(loaded), Some(tool)) = (loaded, tool) else {
            return Err(CallError::NotFound {
                function: call.function.to_string(),
                hint: format!("`{}` does not list it any more", self.name),
            });
        };
        if let Some(function) = loaded.listing.functions.first() {
            validate::fill_defaults(&function.params, &mut call.params);
        }
        let execution = Execution {
            cx: &self.cx,
            call: cx,
            function: &call.function,
            file: &tool.file,
            timeout: tool.timeout,
            hidden: &tool.hidden,
        };
        let entry = EntryPoint::Call {
            global: "tool".to_owned(),
            function: "execute".to_owned(),
            arguments: vec![
                Argument::Value(Value::Object(call.params)),
                Argument::Module(tool.context.clone()),
            ],
        };
        let mut reply = execution
            .run(&loaded.text, entry, tool.modules.clone())
            .await?;
        settle_result(&loaded.listing, &mut reply);
        Ok(reply)
    }

    fn files(&self) -> Vec<PathBuf> {
        self.tools.iter().map(|tool| tool.path.clone()).collect()
    }

    fn states(&self) -> Vec<FunctionState> {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.clone()
    }
}
