//! Settings as they come from a configuration, and the parts several kinds have in common.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::SettingsError;

/// Which calls need a person's yes: a word, or `true` for `always` and `false` for `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Approve {
    /// All or none.
    Flag(bool),
    /// By what the call does.
    Rule(ApproveRule),
}

/// Which calls need a person's yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApproveRule {
    /// None.
    Never,
    /// Those that change something.
    Writes,
    /// All.
    Always,
}

/// A value as the settings of a kind; an error names its key.
pub(crate) fn read<T: DeserializeOwned>(settings: Value) -> Result<T, SettingsError> {
    serde_path_to_error::deserialize(settings).map_err(|error| {
        let key = error.path().to_string();
        SettingsError {
            // The path of a fault at the top is a dot.
            key: if key == "." { String::new() } else { key },
            problem: error.inner().to_string(),
        }
    })
}

/// A number of seconds as a time that can be waited for.
pub(crate) fn seconds(key: &str, value: f64) -> Result<Duration, SettingsError> {
    const LONGEST: f64 = 86_400.0;
    if value.is_finite() && 0.0 < value && value <= LONGEST {
        return Ok(Duration::from_secs_f64(value));
    }
    Err(SettingsError {
        key: key.to_owned(),
        problem: "must be a number of seconds above zero, one day at most".to_owned(),
    })
}
