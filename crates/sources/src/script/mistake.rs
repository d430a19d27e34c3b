//! `Mistake`: what can be wrong with a tool script, with the line it is on.

use std::fmt;

use toolscript_luau::{Phase, ScriptError};

/// What is wrong with a script, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The file, as the configuration writes it.
    pub file: String,
    /// The line.
    pub line: u32,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file cannot be read.
    #[error("the script cannot be read: {0}")]
    Unreadable(String),
    /// Something else is there.
    #[error("this is not a file")]
    NotAFile,
    /// The file is larger than a script may be.
    #[error("the script has more than the {0} bytes allowed (`limits.max_script_bytes`)")]
    TooLarge(usize),
    /// The script is not Luau.
    #[error("this is not Luau: {0}")]
    Syntax(String),
    /// The top level of the script raised an error.
    #[error("the script fails while it is loaded: {0}")]
    Raised(String),
    /// The top level of the script does not come to an end.
    #[error(
        "the script is still loading after {0} ms: what takes long belongs into `tool.execute`"
    )]
    Endless(u64),
    /// There is no global `tool`.
    #[error(
        "the script defines no global table `tool`: write `tool = {{ description = …, execute = function(params, context) … end }}`, without `local`"
    )]
    NoTool,
    /// There is nothing to call.
    #[error("`tool.execute` is missing: add `execute = function(params, context) … end`")]
    NoExecute,
    /// `tool` holds something that cannot be described.
    #[error("`tool` holds what only a script can hold: {0}")]
    Value(String),
    /// A field of `tool` does not fit.
    #[error("`tool.{key}` {problem}")]
    Field {
        /// Which field.
        key: String,
        /// What is wrong and what would do.
        problem: String,
    },
    /// A parameter does not fit.
    #[error("parameter {name} {problem}")]
    Parameter {
        /// Which one: its name in backticks, or its number.
        name: String,
        /// What is wrong and what would do.
        problem: String,
    },
}

/// How far the reading of a script got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The script is loaded.
    Load,
    /// There is something to call.
    Execute,
    /// What it says of itself makes sense.
    Parameters,
}

impl Problem {
    /// The step that failed.
    pub fn step(&self) -> Step {
        match self {
            Self::Unreadable(_)
            | Self::NotAFile
            | Self::TooLarge(_)
            | Self::Syntax(_)
            | Self::Raised(_)
            | Self::Endless(_)
            | Self::NoTool => Step::Load,
            Self::NoExecute => Step::Execute,
            Self::Value(_) | Self::Field { .. } | Self::Parameter { .. } => Step::Parameters,
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.problem)
    }
}

impl std::error::Error for Mistake {}

impl Mistake {
    /// A mistake in a file that could not be looked into.
    pub(super) fn of_file(file: &str, problem: Problem) -> Self {
        Self {
            file: file.to_owned(),
            line: 1,
            problem,
        }
    }

    /// What the sandbox said when it loaded the script.
    pub(super) fn of_loading(file: &str, text: &str, error: ScriptError) -> Self {
        let problem = match error.phase {
            Phase::Parse => Problem::Syntax(error.message),
            Phase::Timeout => Problem::Endless(super::described::LOADING_MS),
            Phase::Check => Problem::NoTool,
            // What the script did was fine; what it says of itself cannot be handed over.
            Phase::Validation if error.line.is_none() => Problem::Value(error.message),
            _ => Problem::Raised(error.message),
        };
        let guess = || match problem {
            Problem::Endless(_) => first_loop(text),
            Problem::NoTool | Problem::Value(_) => line_with(text, "tool"),
            _ => None,
        };
        Self {
            file: file.to_owned(),
            line: error.line.or_else(guess).unwrap_or(1),
            problem,
        }
    }

    /// A mistake in what the script says of itself; the line is that of the first of `near` that
    /// is found, or else of `tool` itself.
    pub(super) fn of_tool(file: &str, text: &str, near: &[&str], problem: Problem) -> Self {
        let found = near.iter().find_map(|words| line_with(text, words));
        Self {
            file: file.to_owned(),
            line: found.or_else(|| line_with(text, "tool")).unwrap_or(1),
            problem,
        }
    }
}

/// The first line of code that holds some words.
fn line_with(text: &str, words: &str) -> Option<u32> {
    let holds = |line: &str| {
        line.split("--")
            .next()
            .is_some_and(|code| code.contains(words))
    };
    line_where(text, holds)
}

/// Where a script that does not end most likely turns round and round.
fn first_loop(text: &str) -> Option<u32> {
    let begins = |line: &str| {
        let code = line.trim_start();
        ["while ", "repeat", "for "]
            .iter()
            .any(|word| code.starts_with(word))
    };
    line_where(text, begins)
}

fn line_where(text: &str, fits: impl Fn(&str) -> bool) -> Option<u32> {
    let at = text.lines().position(fits)?;
    u32::try_from(at + 1).ok()
}
