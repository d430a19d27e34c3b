//! `[toolkits.<name>]`: what a person may say about one toolkit.

use schemars::JsonSchema;
use serde::Deserialize;
use toolscript_catalog::Rate;

use crate::settings::Approve;

/// One toolkit: a JSON file that defines tools.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The file, relative to the configuration file.
    pub path: String,
    /// How long a call of one of its tools may take, in seconds. The caller's own time limit still
    /// holds.
    #[serde(default = "thirty_seconds")]
    pub timeout: f64,
    /// Which calls need a person's yes.
    #[serde(default)]
    pub approve: Option<Approve>,
    /// How often each caller may use each of its tools, such as `10/minute`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub rate_limit: Option<Rate>,
}

fn thirty_seconds() -> f64 {
    30.0
}
