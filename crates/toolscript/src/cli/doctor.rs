//! `toolscript doctor`: what is wrong, and how to repair it.

mod servers;

use std::{collections::BTreeMap, path::Path};

use serde::Serialize;
use toolscript_engine::{
    Engine, OpenError, Opened, Patience,
    config::{Config, ConfigError},
    mcp_servers,
};

use super::{Exit, Printer, options::SourceOptions, progress::LoadProgress};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    sources: SourceOptions,
}

/// Something the doctor looked at.
#[derive(Debug, Serialize)]
struct Finding {
    level: Level,
    /// What it is about: `configuration`, `cache`, or the name of a source.
    about: String,
    message: String,
    /// What to do, where the message does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Ok,
    Warning,
    Error,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Everything the doctor found, as it is printed with `--json`.
#[derive(Debug, Serialize)]
struct Report {
    errors: usize,
    warnings: usize,
    findings: Vec<Finding>,
}

/// Looks at everything; fails where something cannot work.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let mut findings = Vec::new();
    match args.sources.read() {
        Err(error) => findings.extend(unusable(args, &error)),
        Ok(config) => {
            findings.push(configuration(&config));
            findings.extend(clashes(&config));
            findings.extend(examine(config, printer).await);
        }
    }
    findings.push(cache());
    let report = Report::new(findings);
    report.print(printer)?;
    Ok(if report.errors == 0 {
        Exit::OK
    } else {
        Exit::CONFIGURATION
    })
}

impl Finding {
    fn new(level: Level, about: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            level,
            about: about.into(),
            message: message.into(),
            remedy: None,
        }
    }

    fn error(about: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Level::Error, about, message)
    }

    fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self {
            remedy: Some(remedy.into()),
            ..self
        }
    }
}

impl Report {
    fn new(findings: Vec<Finding>) -> Self {
        let count = |level| {
            findings
                .iter()
                .filter(|finding| finding.level == level)
                .count()
        };
        Self {
            errors: count(Level::Error),
            warnings: count(Level::Warning),
            findings,
        }
    }

    fn print(&self, printer: &Printer) -> anyhow::Result<()> {
        if printer.is_json() {
            return printer.value(self);
        }
        let rows = self.findings.iter().map(|finding| {
            let remedy = finding
                .remedy
                .as_ref()
                .map(|remedy| format!("; {remedy}"))
                .unwrap_or_default();
            let message = format!("{}{remedy}", finding.message);
            [
                finding.level.word().to_owned(),
                finding.about.clone(),
                message,
            ]
        });
        printer.table(["STATE", "ABOUT", "FOUND"], rows)?;
        printer.text(&format!(
            "\n{}, {}",
            count(self.errors, "error"),
            count(self.warnings, "warning")
        ))
    }
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn configuration(config: &Config) -> Finding {
    let sources = count(config.sources.len(), "source");
    let message = match &config.file {
        Some(file) => format!("`{}` is sound; {sources} in all", file.display()),
        None => format!("no toolscript.toml here or in the configuration folder; {sources} in all"),
    };
    Finding::new(Level::Ok, "configuration", message)
}

/// What is wrong with a configuration that cannot be used: every variable that is missing, where
/// that is it.
fn unusable(args: &Args, error: &ConfigError) -> Vec<Finding> {
    let finding = |error: &ConfigError| Finding::error("configuration", error.to_string());
    match error {
        ConfigError::Unset { .. } => {
            let missing = Config::unset_variables(args.sources.file());
            missing.iter().map(finding).collect()
        }
        error => vec![finding(error)],
    }
}

/// Names that several sources want.
fn clashes(config: &Config) -> Vec<Finding> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for source in &config.sources {
        if let Some(name) = &source.name {
            let named = places.entry(name.as_str()).or_default();
            named.push(source.origin.place(""));
        }
    }
    let several = places.into_iter().filter(|(_, places)| 1 < places.len());
    let finding = |(name, places): (&str, Vec<String>)| {
        let message = format!("several sources want this name: {}", places.join(", "));
        Finding::new(Level::Warning, name, message).with_remedy("give each a name of its own")
    };
    several.map(finding).collect()
}

/// Opens every source and connects to every server.
async fn examine(config: Config, printer: &Printer) -> Vec<Finding> {
    let mut findings = servers::look(&config).await;
    let is_server_only = !findings.is_empty();
    let others = mcp_servers::without(config);
    if !(is_server_only && others.sources.is_empty()) {
        findings.extend(sources(others, printer).await);
    }
    findings
}

/// Opens every source; what became of each is told even when none could be opened.
async fn sources(config: Config, printer: &Printer) -> Vec<Finding> {
    let progress = LoadProgress::new(printer);
    let opened = Engine::open(config, Patience::Unlimited, Some(&progress)).await;
    let mut findings: Vec<Finding> = progress.into_opened().iter().flat_map(source).collect();
    match opened {
        Ok(engine) => {
            findings.extend(engine.lacks().into_iter().map(|(source, problem)| {
                Finding::new(Level::Warning, source, problem).with_remedy(
                    "set `auth` or `auth_env`, or let each client bring its own (`_meta.auth`)",
                )
            }));
            engine.close().await;
        }
        // Each of them has been told about already.
        Err(OpenError::AllFailed { .. }) if !findings.is_empty() => {}
        Err(error) => findings.push(Finding::error("sources", error.to_string())),
    }
    findings
}

fn source(opened: &Opened) -> Vec<Finding> {
    let milliseconds = opened.elapsed.as_millis();
    let about = || opened.name.clone();
    let mut findings = vec![match &opened.outcome {
        Err(problem) => Finding::error(about(), problem),
        Ok(0) => Finding::new(Level::Warning, about(), "it offers no function")
            .with_remedy("look at `include` and `exclude`, and at the warnings below"),
        Ok(functions) => {
            let functions = count(*functions, "function");
            Finding::new(
                Level::Ok,
                about(),
                format!("{functions} in {milliseconds} ms"),
            )
        }
    }];
    findings.extend(opened.warnings.iter().map(|warning| {
        let message = format!("{}: {}", warning.place, warning.reason);
        Finding::new(Level::Warning, about(), message)
    }));
    findings
}

/// Whether compiled documents can be kept between starts.
fn cache() -> Finding {
    let Some(folder) = toolscript_engine::cache_folder() else {
        return Finding::new(
            Level::Warning,
            "cache",
            "there is no folder for compiled documents",
        )
        .with_remedy("set `HOME` or `XDG_CACHE_HOME`, or every start reads them again");
    };
    let shown = folder.display();
    match try_writing(&folder) {
        Ok(()) => Finding::new(Level::Ok, "cache", format!("`{shown}` can be written")),
        Err(cause) => Finding::new(
            Level::Warning,
            "cache",
            format!("cannot write to `{shown}`: {cause}"),
        )
        .with_remedy(
            "set `XDG_CACHE_HOME` to a folder of yours, or every start reads all documents again",
        ),
    }
}

fn try_writing(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let file = folder.join(format!("doctor-{}", std::process::id()));
    std::fs::write(&file, "")?;
    std::fs::remove_file(&file)
}
