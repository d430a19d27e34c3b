//! The flags that several commands share.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use toolscript_engine::config::{Config, ConfigError};

/// What is shown, and how.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputOptions {
    /// Print JSON instead of tables and text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print results and errors only: no progress, notes or warnings
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Log more: -v for what happens, -vv for how
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// How log lines look; they go to standard error
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        default_value_t
    )]
    pub(crate) log_format: LogFormat,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// An MCP server to use besides those of the configuration.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Sources")]
pub(crate) struct McpOptions {
    /// An MCP server: the command that starts it, or its address (repeatable)
    #[arg(long = "mcp", value_name = "NAME=COMMAND|URL")]
    servers: Vec<String>,
}

impl McpOptions {
    /// Adds the servers to a configuration.
    pub(crate) fn apply(&self, config: &mut Config) -> Result<(), ConfigError> {
        self.servers
            .iter()
            .try_for_each(|server| config.add_mcp(server))
    }
}

/// Which configuration is used, and with which credentials.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Sources")]
pub(crate) struct ConfigOptions {
    /// The configuration [default: ./toolscript.toml, else the one in ~/.config/toolscript]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The environment variable that holds the credential of a source (repeatable)
    #[arg(long, value_name = "[NAME:]ENV_VAR")]
    auth: Vec<String>,
}

impl ConfigOptions {
    /// The configuration file alone.
    pub(crate) fn load(&self) -> Result<Config, ConfigError> {
        Config::load(self.config.as_deref())
    }

    /// Says where the credentials of sources that are already there come from.
    pub(crate) fn add_credentials(&self, config: &mut Config) -> Result<(), ConfigError> {
        for auth in &self.auth {
            match auth.split_once(':') {
                Some((name, variable)) => config.set_auth(Some(name), variable)?,
                None => config.set_auth(None, auth)?,
            }
        }
        Ok(())
    }

    /// The configuration file with what the command line adds to it.
    pub(crate) fn read(&self, specs: &[String]) -> Result<Config, ConfigError> {
        let mut config = self.load()?;
        for spec in specs {
            config.add_api(spec)?;
        }
        self.add_credentials(&mut config)?;
        Ok(config)
    }
}

/// Where functions come from, for commands whose arguments mean something else.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Sources")]
pub(crate) struct SourceOptions {
    /// An OpenAPI document to load besides the configuration (repeatable)
    #[arg(long = "spec", value_name = "[NAME=]PATH|URL")]
    specs: Vec<String>,
    #[command(flatten)]
    mcp: McpOptions,
    #[command(flatten)]
    config: ConfigOptions,
}

impl SourceOptions {
    /// The configuration file that was named.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.config.config.as_deref()
    }

    /// The configuration file with what the command line adds to it.
    pub(crate) fn read(&self) -> Result<Config, ConfigError> {
        let mut config = self.config.read(&self.specs)?;
        self.mcp.apply(&mut config)?;
        Ok(config)
    }
}

/// What a script may use up; wins over the configuration.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitOptions {
    /// How long a script may run, its calls included
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// How much memory a script may hold
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..))]
    memory_limit: Option<u64>,
    /// How many calls a script may make
    #[arg(long, value_name = "N")]
    max_calls: Option<u64>,
}

impl LimitOptions {
    /// Writes the limits that were given into a configuration.
    pub(crate) fn apply(&self, config: &mut Config) {
        let limits = &mut config.settings.limits;
        if let Some(timeout) = self.timeout {
            limits.timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        }
        limits.memory_mb = self.memory_limit.unwrap_or(limits.memory_mb);
        limits.max_calls = self.max_calls.unwrap_or(limits.max_calls);
    }
}

/// A number of seconds, with a fraction or without.
pub(crate) fn seconds(text: &str) -> anyhow::Result<Duration> {
    let seconds = text
        .parse()
        .context("not a number of seconds, such as 30 or 0.5")?;
    let duration = Duration::try_from_secs_f64(seconds)?;
    anyhow::ensure!(
        Duration::from_millis(1) <= duration,
        "less than a millisecond"
    );
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_may_have_a_fraction() {
        assert_eq!(seconds("0.5").unwrap(), Duration::from_millis(500));
        assert_eq!(seconds("30").unwrap(), Duration::from_secs(30));
        for bad in ["", "0", "-1", "inf", "NaN", "a while", "1e99"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
