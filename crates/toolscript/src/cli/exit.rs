//! Exit codes: one table, shown by `toolscript --help` and never renumbered.

use std::{fmt::Write as _, process::ExitCode};

use toolscript_catalog::{BadName, ErrorCode};
use toolscript_engine::{
    GenerateFailure, OpenError, Phase, ScriptError,
    config::ConfigError,
    discover::AskError,
    mcp_servers::{BadSettings, FileError, ImportError, LoginError, Taken, Trouble, UnknownServer},
    toolbox::{InstallError, TemplateError, TrialError},
};

/// What the program ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit(u8);

impl Exit {
    /// All went well.
    pub(crate) const OK: Self = Self(0);
    /// Nothing below.
    pub(crate) const UNEXPECTED: Self = Self(1);
    /// The command line makes no sense.
    pub(crate) const USAGE: Self = Self(2);
    /// The configuration cannot be used, or nothing of it can be served.
    pub(crate) const CONFIGURATION: Self = Self(3);
    /// Something given does not fit.
    pub(crate) const MISFIT: Self = Self(5);
    /// The script is not Luau, or does not fit the catalog.
    pub(crate) const SCRIPT: Self = Self(12);
    /// The script raised an error.
    pub(crate) const RAISED: Self = Self(13);

    /// The code of an error, by its type.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        if error.is::<ConfigError>() || error.is::<OpenError>() || error.is::<TrialError>() {
            return Self::CONFIGURATION;
        }
        if error.is::<FileError>() || error.is::<ImportError>() || error.is::<Taken>() {
            return Self::CONFIGURATION;
        }
        if error.is::<BadSettings>() || error.is::<BadName>() {
            return Self::MISFIT;
        }
        if error.is::<UnknownServer>() {
            return ErrorCode::NotFound.into();
        }
        if let Some(error) = error.downcast_ref::<InstallError>() {
            return match error {
                InstallError::Unknown { .. } => ErrorCode::NotFound.into(),
                InstallError::Section(_) => Self::CONFIGURATION,
                _ => Self::UNEXPECTED,
            };
        }
        if let Some(error) = error.downcast_ref::<TemplateError>() {
            return match error {
                TemplateError::Name(_) => Self::USAGE,
                TemplateError::Section(_) => Self::CONFIGURATION,
                TemplateError::Write { .. } => Self::UNEXPECTED,
            };
        }
        if let Some(error) = error.downcast_ref::<GenerateFailure>() {
            let is_ours = matches!(error, GenerateFailure::Write(_));
            return if is_ours {
                Self::UNEXPECTED
            } else {
                Self::CONFIGURATION
            };
        }
        if let Some(error) = error.downcast_ref::<AskError>() {
            return error.code().into();
        }
        if let Some(error) = error.downcast_ref::<LoginError>() {
            return error.code().into();
        }
        if let Some(error) = error.downcast_ref::<clap::Error>() {
            return if error.use_stderr() {
                Self::USAGE
            } else {
                Self::OK
            };
        }
        Self::UNEXPECTED
    }

    /// The code for a server that could not be looked at.
    pub(crate) fn of_trouble(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Settings => Self::CONFIGURATION,
            Trouble::CouldNotStart | Trouble::Unreachable => ErrorCode::Unavailable.into(),
            Trouble::Login => ErrorCode::Denied.into(),
            Trouble::Protocol | Trouble::Malformed => ErrorCode::Upstream.into(),
            Trouble::TimedOut => ErrorCode::Timeout.into(),
        }
    }

    /// The code of a script that gave no result, by its phase.
    pub(crate) fn of_script(error: &ScriptError) -> Self {
        if error.cancelled {
            return ErrorCode::Cancelled.into();
        }
        match error.phase {
            Phase::Parse | Phase::Check => Self::SCRIPT,
            Phase::Execution => Self::RAISED,
            Phase::Validation => ErrorCode::BadRequest.into(),
            Phase::ApiCall => ErrorCode::Upstream.into(),
            Phase::Timeout => ErrorCode::Timeout.into(),
            Phase::Limit => ErrorCode::Limit.into(),
            Phase::Approval => ErrorCode::Denied.into(),
        }
    }
}

impl From<ErrorCode> for Exit {
    fn from(code: ErrorCode) -> Self {
        Self(code.exit_code())
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

/// What each code means.
const MEANINGS: &[(u8, &str)] = &[
    (0, "all went well"),
    (1, "something unexpected failed"),
    (2, "the command line makes no sense"),
    (
        3,
        "the configuration cannot be used, or nothing of it can be served",
    ),
    (4, "no source, function, tag or type of that name"),
    (5, "arguments or a result do not fit (phase `validation`)"),
    (6, "a policy or a person said no (phase `approval`)"),
    (7, "a limit was reached (phase `limit`)"),
    (8, "time was up (phase `timeout`)"),
    (9, "the other side of a call failed (phase `api_call`)"),
    (10, "a source is not available"),
    (11, "cancelled"),
    (
        12,
        "the script is not Luau or does not fit (phases `parse`, `check`)",
    ),
    (13, "the script raised an error (phase `execution`)"),
];

/// The table for the long help.
pub(crate) fn table() -> String {
    let mut text = "Exit codes:".to_owned();
    for (code, meaning) in MEANINGS {
        let _infallible = write!(text, "\n  {code:>2}  {meaning}");
    }
    text
}

/// Shows what is wrong with a command line, or the help that was asked for.
pub(crate) fn of_usage(error: &clap::Error) -> Exit {
    match error.print() {
        Ok(()) if !error.use_stderr() => Exit::OK,
        Ok(()) => Exit::USAGE,
        Err(cause) if cause.kind() == std::io::ErrorKind::BrokenPipe => Exit::OK,
        Err(_) => Exit::UNEXPECTED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(phase: Phase, code: u8) {
        assert_eq!(Exit::of_script(&ScriptError::new(phase, "no")), Exit(code));
    }

    #[test]
    fn scripts_fail_with_the_code_of_their_phase() {
        check(Phase::Parse, 12);
        check(Phase::Check, 12);
        check(Phase::Validation, 5);
        check(Phase::Execution, 13);
        check(Phase::ApiCall, 9);
        check(Phase::Timeout, 8);
        check(Phase::Limit, 7);
        check(Phase::Approval, 6);
        let cancelled = ScriptError {
            cancelled: true,
            ..ScriptError::new(Phase::Execution, "no")
        };
        assert_eq!(Exit::of_script(&cancelled), Exit(11));
    }

    #[test]
    fn the_table_names_every_code_once() {
        let codes: Vec<u8> = MEANINGS.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, (0..=13).collect::<Vec<u8>>());
    }

    #[test]
    fn errors_keep_their_code_under_context() {
        let error = anyhow::Error::from(OpenError::Nothing).context("while starting");
        assert_eq!(Exit::of(&error), Exit::CONFIGURATION);
        assert_eq!(Exit::of(&anyhow::anyhow!("no")), Exit::UNEXPECTED);
    }
}
