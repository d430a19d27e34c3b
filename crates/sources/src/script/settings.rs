//! `[tools.script.<name>]`: what a person may say about one tool script.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use toolscript_catalog::Rate;

use crate::settings::Approve;

/// One tool script. Every key that is not listed here is handed to the script in
/// `context.config` and shown nowhere.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Settings {
    /// The script: a `.luau` file, relative to the configuration file.
    pub path: String,
    /// How long a call may take, in seconds. The caller's own time limit still holds.
    #[serde(default = "thirty_seconds")]
    pub timeout: f64,
    /// What the tool is for, in words for the agent; instead of what the script says.
    #[serde(default)]
    pub description: Option<String>,
    /// Which calls need a person's yes.
    #[serde(default)]
    pub approve: Option<Approve>,
    /// How often each caller may use it, such as `10/minute`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub rate_limit: Option<Rate>,
    /// The environment variables the script may read with `env.get`.
    #[serde(default)]
    pub allow_env: Vec<String>,
    /// Hosts the script may reach besides the public internet: `host`, `host:port`, `*.domain`, an
    /// address or a range such as `10.0.0.0/8`.
    #[serde(default)]
    pub allow_hosts: Vec<String>,
    /// Everything else, for the script.
    #[serde(flatten)]
    pub config: Config,
}

/// What a script finds in `context.config`. It may hold secrets, so it shows nothing.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Config(pub Map<String, Value>);

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Config")
    }
}

/// The keys with a meaning of their own.
pub(super) const KEYS: &[&str] = &[
    "path",
    "timeout",
    "description",
    "approve",
    "rate_limit",
    "allow_env",
    "allow_hosts",
];

fn thirty_seconds() -> f64 {
    30.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_other_key_is_for_the_script() {
        let settings: Settings = serde_json::from_value(json!({
            "path": "x.luau", "timeout": 3, "rate_limit": "1/day", "approve": true,
            "url": "https://x.test/s3cret", "deep": {"a": 1},
        }))
        .unwrap();
        assert_eq!(settings.config.0.len(), 2);
        assert!(!format!("{settings:?}").contains("s3cret"));
    }

    #[test]
    fn every_key_is_known_and_explained() {
        let schema = schemars::schema_for!(Settings);
        let properties = schema.as_value()["properties"].as_object().unwrap();
        let mut known: Vec<&str> = properties.keys().map(String::as_str).collect();
        let mut keys = KEYS.to_vec();
        known.sort_unstable();
        keys.sort_unstable();
        assert_eq!(known, keys);
        for (key, property) in properties {
            assert!(property["description"].is_string(), "{key}");
        }
        assert_ne!(schema.as_value()["additionalProperties"], json!(false));
    }
}
