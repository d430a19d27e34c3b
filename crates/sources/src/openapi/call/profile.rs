//! `Profile`: the settings of a source, checked once, as calls need them.

use std::{collections::BTreeMap, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue};
use toolscript_catalog::Secret;
use url::Url;

use super::{
    address::{self, BadBase},
    security::{Keyring, Means},
};
use crate::{SettingsError, openapi::Settings};

/// What the settings say about calls.
#[derive(Debug)]
pub(crate) struct Profile {
    /// Where the API is, where the settings say so.
    pub(super) base_url: Option<Url>,
    /// Values for the variables of the document's servers.
    pub(super) variables: BTreeMap<String, String>,
    /// Headers sent with every request, marked as sensitive: they may hold keys.
    pub(super) headers: HeaderMap,
    /// The credentials at hand.
    pub(super) keyring: Keyring,
    /// How long one request may take.
    pub(super) timeout: Duration,
    /// How often a request is tried again.
    pub(super) retries: u32,
    /// Parameters the caller never sees.
    pub(super) frozen: Vec<String>,
}

impl Profile {
    /// Checks the settings. Does no I/O but to look into the environment for `auth_env`.
    pub(crate) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        Ok(Self {
            base_url: settings.base_url.as_deref().map(base_url).transpose()?,
            variables: settings.server_variables.clone(),
            headers: headers(&settings.headers)?,
            keyring: keyring(settings)?,
            timeout: timeout(settings.timeout)?,
            retries: settings.retries,
            frozen: settings.frozen_params.keys().cloned().collect(),
        })
    }
}

fn base_url(text: &str) -> Result<Url, SettingsError> {
    let wrong = |problem: &str| error("base_url", problem);
    match address::parse_base(text) {
        Ok(_) if Url::parse(text).is_ok_and(|given| has_user(&given)) => {
            Err(wrong("holds a user or a password; put them into `auth`"))
        }
        Ok(url) => Ok(url),
        Err(BadBase::Relative) => Err(wrong(
            "must be a whole address, such as `https://api.example.com/v1`",
        )),
        Err(BadBase::NotHttp) => Err(wrong("must start with `https://` or `http://`")),
    }
}

fn has_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

fn headers(given: &BTreeMap<String, String>) -> Result<HeaderMap, SettingsError> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let key = format!("headers.{name}");
        let name: HeaderName = name
            .parse()
            .map_err(|_| error(&key, "is not a header name"))?;
        let mut value = HeaderValue::from_bytes(value.as_bytes())
            .map_err(|_| error(&key, "must be plain text without line breaks"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn keyring(settings: &Settings) -> Result<Keyring, SettingsError> {
    let general = match (&settings.auth, &settings.auth_env) {
        (Some(_), Some(_)) => {
            return Err(error("auth_env", "stands beside `auth`; keep one of them"));
        }
        (Some(auth), None) => {
            Some(Means::from_settings(auth).map_err(|problem| error("auth", problem))?)
        }
        (None, Some(variable)) => Some(Means::Plain(from_environment(variable)?)),
        (None, None) => None,
    };
    let mut named = BTreeMap::new();
    for (scheme, auth) in &settings.credentials {
        let means = Means::from_settings(auth);
        let means = means.map_err(|problem| error(&format!("credentials.{scheme}"), problem))?;
        named.insert(scheme.clone(), means);
    }
    Ok(Keyring { general, named })
}

fn from_environment(variable: &str) -> Result<Secret, SettingsError> {
    let value = std::env::var(variable).unwrap_or_default();
    match value.trim() {
        "" => Err(error(
            "auth_env",
            &format!("the environment variable `{variable}` is not set"),
        )),
        value => Ok(Secret::new(value)),
    }
}

fn timeout(seconds: f64) -> Result<Duration, SettingsError> {
    const LONGEST: f64 = 24.0 * 3600.0;
    if !(seconds > 0.0 && seconds <= LONGEST) {
        return Err(error(
            "timeout",
            "must be a number of seconds above 0 and at most 86400",
        ));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn error(key: &str, problem: &str) -> SettingsError {
    SettingsError {
        key: key.to_owned(),
        problem: problem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn profile(settings: Value) -> Result<Profile, SettingsError> {
        Profile::new(&serde_json::from_value(settings).unwrap())
    }

    #[track_caller]
    fn refuses(settings: Value, key: &str, says: &str) {
        let error = profile(settings).unwrap_err();
        assert_eq!(error.key, key);
        assert!(error.problem.contains(says), "{error}");
    }

    #[test]
    fn good_settings_pass() {
        let profile = profile(json!({
            "base_url": "https://a.io/v1",
            "headers": {"X-Team": "core"},
            "auth_env": "CARGO_PKG_NAME",
        }));
        let profile = profile.unwrap();
        assert_eq!(profile.timeout, Duration::from_secs(30));
        assert_eq!(profile.headers["x-team"], "core");
        assert!(matches!(profile.keyring.general, Some(Means::Plain(_))));
    }

    #[test]
    fn bad_settings_are_named() {
        refuses(json!({"base_url": "/v1"}), "base_url", "whole address");
        refuses(json!({"base_url": "ftp://a.io"}), "base_url", "`https://`");
        refuses(
            json!({"base_url": "https://ann:pw@a.io"}),
            "base_url",
            "`auth`",
        );
        refuses(
            json!({"headers": {"X Team": "core"}}),
            "headers.X Team",
            "header name",
        );
        refuses(
            json!({"headers": {"X": "a\nb"}}),
            "headers.X",
            "line breaks",
        );
        refuses(json!({"timeout": 0}), "timeout", "above 0");
        refuses(
            json!({"auth_env": "NO_SUCH_VARIABLE_7731"}),
            "auth_env",
            "`NO_SUCH_VARIABLE_7731`",
        );
        let bearer = json!({"type": "bearer", "token": "t"});
        refuses(
            json!({"auth": bearer, "auth_env": "X"}),
            "auth_env",
            "keep one",
        );
    }

    #[test]
    fn debug_shows_no_secret() {
        let profile = profile(json!({
            "auth": {"type": "bearer", "token": "hunter2"},
            "headers": {"X-Key": "hunter2"},
            "credentials": {
                "a": {"type": "api_key", "key": "hunter2"},
                "b": {
                    "type": "oauth2_client_credentials",
                    "client_id": "me",
                    "client_secret": "hunter2",
                },
            },
        }));
        let shown = format!("{:?}", profile.unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
