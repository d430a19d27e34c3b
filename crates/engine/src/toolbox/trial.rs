//! `tool test`: loads one script, says how far it got, and calls it.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use serde_json::{Map, Value, json};
use toolscript_catalog::{
    ErrorCode, Function, FunctionId, FunctionName, Level, Observer, Sign, SourceName, Type, Types,
};
use toolscript_sources::{
    Kind as _,
    script::{InspectError, Script, Step, inspect},
};

use crate::{
    Engine, LogLine, OpenError, Patience, ToolCall,
    config::{Config, Configured, Origin},
    registry,
};

/// What to try.
#[derive(Debug, Clone, Default)]
pub struct Trial {
    /// The script.
    pub path: PathBuf,
    /// The parameters as a person writes them; the tool's types say what the texts mean.
    pub params: Vec<(String, String)>,
    /// The configured sources the script may call; none where left out.
    pub sources: Vec<String>,
}

/// How far it got.
#[derive(Debug, Clone)]
pub struct TrialReport {
    /// The steps, up to the first that failed.
    pub steps: Vec<TrialStep>,
    /// What the tool gave back.
    pub result: Option<Value>,
    /// What it logged.
    pub logs: Vec<LogLine>,
    /// What failed, if something did.
    pub failed: Option<Failed>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialStep {
    /// What was done, or what was to be done.
    pub what: String,
    /// Why it failed, if it did.
    pub problem: Option<String>,
}

/// What failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    /// The script itself.
    Script,
    /// The call, and how.
    Call(ErrorCode),
}

/// A trial that could not begin.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The settings of the tool do not fit.
    #[error("the settings of the tool do not fit: {0}")]
    Settings(#[from] toolscript_sources::SettingsError),
    /// A source that is not configured.
    #[error("no source is called `{name}`; the configuration has {known}")]
    Source {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The sources cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Loads a script and calls it. A script that the configuration names is tried with the settings
/// it has there.
pub async fn test(config: Config, trial: &Trial) -> Result<TrialReport, TrialError> {
    let subject = Subject::find(&config, &trial.path);
    let mut report = TrialReport {
        steps: Vec::new(),
        result: None,
        logs: Vec::new(),
        failed: None,
    };
    let cx = registry::context(&config);
    let inspected = inspect(&cx, &subject.key, subject.settings.clone()).await;
    match inspected {
        Ok(parameters) => report.good_steps(Step::Parameters, parameters),
        Err(InspectError::Settings(error)) => return Err(error.into()),
        Err(InspectError::Mistake(mistake)) => {
            report.bad_step(mistake.problem.step(), mistake.to_string());
            return Ok(report);
        }
    }
    let engine = Engine::open(
        subject.config(config, &trial.sources)?,
        Patience::Unlimited,
        None,
    )
    .await?;
    call(&engine, &subject.key, trial, &mut report).await;
    engine.close().await;
    Ok(report)
}

/// The script under trial.
struct Subject {
    key: String,
    settings: Value,
}

impl Subject {
    /// What the configuration says of a script, or what can be said without it.
    fn find(config: &Config, path: &Path) -> Self {
        let here = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let real = |path: &Path| path.canonicalize().ok();
        let scripts = config
            .sources
            .iter()
            .filter(|source| source.kind.name() == Script.name());
        for (key, settings) in scripts
            .filter_map(|source| source.settings.as_object())
            .flatten()
        {
            let Some(configured) = settings.get("path").and_then(Value::as_str) else {
                continue;
            };
            let configured = config.folder.join(configured);
            if real(&configured).is_some() && real(&configured) == real(&here) {
                return Self {
                    key: key.clone(),
                    settings: settings.clone(),
                };
            }
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        // Shown as it was given, where that means the same from the folder of the configuration.
        let given = config.folder.join(path);
        let path = if std::path::absolute(given).ok().as_ref() == Some(&here) {
            path
        } else {
            &here
        };
        Self {
            key: stem.into_owned(),
            settings: json!({"path": path.display().to_string()}),
        }
    }

    /// A configuration of the script and the sources it may call.
    fn config(&self, mut config: Config, wanted: &[String]) -> Result<Config, TrialError> {
        let named = |source: &Configured, name: &str| {
            source
                .name
                .as_ref()
                .is_some_and(|known| known.as_str() == name)
        };
        let known: Vec<String> = config
            .sources
            .iter()
            .filter_map(|source| source.name.as_ref().map(ToString::to_string))
            .collect();
        let lost = wanted.iter().find(|name| !known.contains(name));
        if let Some(name) = lost {
            return Err(TrialError::Source {
                name: name.clone(),
                known: if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                },
            });
        }
        config
            .sources
            .retain(|source| wanted.iter().any(|name| named(source, name)));
        let mut entries = Map::new();
        if let Some(at) = config
            .sources
            .iter()
            .position(|source| named(source, Script::SOURCE))
            && let Value::Object(others) = config.sources.remove(at).settings
        {
            entries.extend(others);
        }
        entries.insert(self.key.clone(), self.settings.clone());
        config.sources.push(Configured {
            kind: &Script,
            name: SourceName::parse(Script::SOURCE).ok(),
            settings: Value::Object(entries),
            origin: Origin::CommandLine(self.key.clone()),
        });
        Ok(config)
    }
}

impl TrialReport {
    /// The words for the steps up to one, with the parameters there are.
    fn good_steps(&mut self, last: Step, parameters: usize) {
        for step in [Step::Load, Step::Execute, Step::Parameters] {
            if step <= last {
                self.steps.push(TrialStep {
                    what: words(step, parameters),
                    problem: None,
                });
            }
        }
    }

    fn bad_step(&mut self, failed: Step, problem: String) {
        for step in [Step::Load, Step::Execute, Step::Parameters] {
            if step < failed {
                self.steps.push(TrialStep {
                    what: words(step, 0),
                    problem: None,
                });
            }
        }
        let what = match failed {
            Step::Load => "script loaded",
            Step::Execute => "execute defined",
            Step::Parameters => "parameters",
        };
        self.steps.push(TrialStep {
            what: what.to_owned(),
            problem: Some(problem),
        });
        self.failed = Some(Failed::Script);
    }
}

fn words(step: Step, parameters: usize) -> String {
    match (step, parameters) {
        (Step::Load, _) => "script loaded".to_owned(),
        (Step::Execute, _) => "execute defined".to_owned(),
        (Step::Parameters, 1) => "1 parameter".to_owned(),
        (Step::Parameters, count) => format!("{count} parameters"),
    }
}

async fn call(engine: &Engine, key: &str, trial: &Trial, report: &mut TrialReport) {
    let name = format!("{}.{}", Script::SOURCE, FunctionName::clean(key));
    let tools = engine.tools();
    let tool = tools.iter().find(|tool| tool.id().to_string() == name);
    let params = tool.map(|tool| typed(tool.function(), tool.types(), &trial.params));
    let heard = Arc::new(Heard::default());
    let begun = Instant::now();
    let outcome = engine.call_tool(ToolCall {
        name,
        params: params.unwrap_or_default(),
        // As long as may be; the tool's own time is mostly shorter.
        timeout_ms: Some(u64::MAX),
        observer: Some(heard.clone()),
        ..ToolCall::default()
    });
    let outcome = outcome.await;
    let elapsed = format!("{:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
    report.logs = heard.take();
    let problem = match outcome {
        Ok(value) => {
            report.result = Some(value);
            None
        }
        Err(error) => {
            report.failed = Some(Failed::Call(error.code()));
            Some(error.to_string())
        }
    };
    report.steps.push(TrialStep {
        what: format!("called in {elapsed}"),
        problem,
    });
}

/// What texts mean, by the types of the parameters. What fits no type stays text, and the check
/// of the call has the words for it.
fn typed(function: &Function, types: &Types, params: &[(String, String)]) -> Map<String, Value> {
    let value = |name: &str, text: &str| {
        let field = function
            .params
            .fields
            .iter()
            .find(|field| &*field.name == name);
        let is_text = field.is_some_and(|field| match field.ty.resolve(types) {
            Type::String(_) => true,
            Type::Literal { values } => values.iter().any(|value| value == text),
            _ => false,
        });
        if is_text {
            return Value::from(text);
        }
        serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
    };
    params
        .iter()
        .map(|(name, text)| (name.clone(), value(name, text)))
        .collect()
}

/// Remembers what the tool logs.
#[derive(Default)]
struct Heard(Mutex<Vec<LogLine>>);

impl Heard {
    fn take(&self) -> Vec<LogLine> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Heard {
    fn progress(&self, _function: &FunctionId, _sign: &Sign) {}

    fn log(&self, _function: &FunctionId, level: Level, text: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(LogLine {
            level,
            line: None,
            text: text.to_owned(),
        });
    }
}
