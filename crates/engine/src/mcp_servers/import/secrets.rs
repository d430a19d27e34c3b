//! Secrets written out in settings: found, shown to nobody, and put into variables on request.
//!
//! Whether a text is a secret can only be guessed. A guess too many costs a warning; a guess too
//! few leaves the text where the user had it already. Nothing is lost either way.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use toolscript_catalog::name::words;

use super::{
    Export,
    variables::{is_variable, variable},
};

/// Words in the name of something secret.
const SECRET: &[&str] = &[
    "auth",
    "authorization",
    "apikey",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "key",
    "keys",
    "passphrase",
    "passwd",
    "password",
    "pat",
    "pwd",
    "secret",
    "secrets",
    "token",
];
/// Words in the name of something that is about secrets, and none.
const ABOUT: &[&str] = &[
    "count", "dir", "endpoint", "expiry", "file", "id", "limit", "max", "mode", "name", "path",
    "tokens", "ttl", "type", "url",
];
/// How the secrets of well-known services begin.
const BEGINNINGS: &[&str] = &[
    "AKIA",
    "AIza",
    "eyJ",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "pat_",
    "rk_live_",
    "sk-",
    "sk_live_",
    "xoxb-",
    "xoxp-",
];
/// What stands before a credential in a header.
const SCHEMES: &[&str] = &["Bearer ", "bearer ", "Basic ", "basic ", "Token ", "token "];
/// What a secret is shown as.
const MASK: &str = "[secret]";

/// Secrets found in the settings of one server.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Where they stand, such as `env.API_KEY`.
    pub(super) places: Vec<String>,
    /// The settings with each of them masked.
    pub(super) masked: Map<String, Value>,
    /// The settings with each of them replaced by a variable.
    pub(super) replaced: Map<String, Value>,
    /// The variables of `replaced`.
    pub(super) exports: Vec<Export>,
}

/// The variables that have been given away, with the secrets they stand for.
pub(super) type Taken = BTreeMap<String, String>;

/// A secret inside a text.
struct Secret<'a> {
    /// What it belongs to, such as the name of a header.
    owner: &'a str,
    value: &'a str,
}

/// Finds what is secret in the settings of a server.
pub(super) fn find(server: &str, settings: &Map<String, Value>, taken: &mut Taken) -> Found {
    let mut search = Search {
        server,
        taken,
        found: Found {
            masked: settings.clone(),
            replaced: settings.clone(),
            ..Found::default()
        },
    };
    for section in ["env", "headers"] {
        for (name, value) in settings
            .get(section)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let Some(text) = value.as_str() else { continue };
            if let Some(secret) = named(name, text) {
                search.take(
                    &format!("/{section}/{}", pointer(name)),
                    &format!("{section}.{name}"),
                    text,
                    &secret,
                );
            }
        }
    }
    search.arguments(settings);
    if let Some(url) = settings.get("url").and_then(Value::as_str) {
        for secret in in_address(url) {
            search.take("/url", "url", url, &secret);
        }
    }
    search.found
}

struct Search<'a> {
    server: &'a str,
    taken: &'a mut Taken,
    found: Found,
}

impl Search<'_> {
    fn arguments(&mut self, settings: &Map<String, Value>) {
        let mut before = "";
        for (at, value) in settings
            .get("args")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            let Some(text) = value.as_str() else { continue };
            if let Some(secret) = in_argument(before, text) {
                self.take(
                    &format!("/args/{at}"),
                    &format!("args[{at}]"),
                    text,
                    &secret,
                );
            }
            before = text;
        }
    }

    /// Notes a secret and puts it out of sight.
    fn take(&mut self, pointer: &str, place: &str, text: &str, secret: &Secret<'_>) {
        let variable = self.variable(place, secret);
        let put = |settings: &mut Map<String, Value>, instead: &str| {
            let mut whole = Value::Object(std::mem::take(settings));
            if let Some(Value::String(text)) = whole.pointer_mut(pointer) {
                *text = text.replacen(secret.value, instead, 1);
            }
            if let Value::Object(whole) = whole {
                *settings = whole;
            }
        };
        put(&mut self.found.masked, MASK);
        put(&mut self.found.replaced, &format!("${{{variable}}}"));
        self.found.places.push(place.to_owned());
        self.found.exports.push(Export {
            variable,
            meaning: format!(
                "`{place}` of `{}`{}",
                self.server,
                part_of(text, secret.value)
            ),
        });
    }

    /// A variable that stands for this secret and no other.
    fn variable(&mut self, place: &str, secret: &Secret<'_>) -> String {
        let own = secret.owner.to_owned();
        let is_plain = place.starts_with("env.") && is_variable(&own);
        let last = if own.eq_ignore_ascii_case("authorization") {
            "token"
        } else {
            &*own
        };
        let general = variable(&format!("{} {last}", self.server));
        let numbered = (2..).map(|number| format!("{general}_{number}"));
        let choices = is_plain
            .then_some(own)
            .into_iter()
            .chain([general.clone()])
            .chain(numbered);
        for choice in choices {
            let holder = self
                .taken
                .entry(choice.clone())
                .or_insert_with(|| secret.value.to_owned());
            if holder == secret.value {
                return choice;
            }
        }
        general
    }
}

/// Where in a longer text the secret stands.
fn part_of(text: &str, secret: &str) -> &'static str {
    if text == secret {
        ""
    } else if text.ends_with(secret) {
        ", its last part"
    } else {
        ", a part of it"
    }
}

/// The secret in a value that has a name.
fn named<'a>(name: &'a str, value: &'a str) -> Option<Secret<'a>> {
    let credential = SCHEMES
        .iter()
        .find_map(|scheme| value.strip_prefix(scheme))
        .unwrap_or(value)
        .trim();
    if !is_literal(credential) {
        return None;
    }
    let secret = |value| Some(Secret { owner: name, value });
    if is_secret_name(name) || credential.len() < value.trim().len() || looks_secret(credential) {
        return secret(credential);
    }
    password_of(credential).and_then(secret)
}

/// The secret in an argument: `--key=…`, `KEY=…`, `Header: …`, or what follows `--key`.
fn in_argument<'a>(before: &'a str, text: &'a str) -> Option<Secret<'a>> {
    let pair = text.split_once(": ").or_else(|| text.split_once('='));
    if let Some((name, value)) = pair.filter(|(name, _)| !name.contains(['/', ' ', '?'])) {
        return named(name.trim_start_matches('-'), value.trim());
    }
    if before.starts_with('-') && !before.contains('=') && !text.starts_with('-') {
        return named(before.trim_start_matches('-'), text);
    }
    if let Some(secret) = in_address(text).into_iter().next() {
        return Some(secret);
    }
    (is_literal(text) && looks_secret(text)).then_some(Secret {
        owner: "secret",
        value: text,
    })
}

/// The secrets in an address: a password before the host, keys in the query.
fn in_address(url: &str) -> Vec<Secret<'_>> {
    if !url.contains("://") {
        return Vec::new();
    }
    let password = password_of(url).map(|value| Secret {
        owner: "password",
        value,
    });
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    password
        .into_iter()
        .chain(pairs.filter_map(|(name, value)| named(name, value)))
        .collect()
}

/// The password in `scheme://user:password@host`.
fn password_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let (user, _) = rest.split(['/', '?', '#']).next()?.rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    is_literal(password).then_some(password)
}

/// Whether a value stands for itself and is long enough to be worth hiding.
fn is_literal(value: &str) -> bool {
    const SHORTEST: usize = 6;
    let is_switch = matches!(
        value,
        "bearer" | "basic" | "oauth2" | "disabled" | "enabled"
    );
    SHORTEST <= value.len() && !value.contains("${") && !is_switch
}

fn is_secret_name(name: &str) -> bool {
    let words: Vec<String> = words(name)
        .iter()
        .map(|word| word.to_ascii_lowercase())
        .collect();
    let any = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    any(SECRET) && !any(ABOUT)
}

fn looks_secret(value: &str) -> bool {
    const LONG: usize = 16;
    LONG <= value.len()
        && BEGINNINGS
            .iter()
            .any(|beginning| value.starts_with(beginning))
}

/// A key as a JSON pointer takes it.
fn pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Checks what becomes of settings when secrets go into variables.
    #[track_caller]
    fn check(settings: Value, replaced: &Value) {
        let settings: Map<String, Value> = serde_json::from_value(settings).unwrap();
        let found = find("github", &settings, &mut Taken::new());
        assert_eq!(Value::Object(found.replaced), *replaced);
        let masked = Value::Object(found.masked).to_string();
        assert!(!masked.contains("hunter2"), "{masked}");
        for export in &found.exports {
            assert!(!export.meaning.contains("hunter2"), "{export:?}");
        }
    }

    /// Checks that nothing in these settings is a secret.
    #[track_caller]
    fn harmless(settings: &Value) {
        check(settings.clone(), settings);
    }

    #[test]
    fn variables_keep_their_names() {
        check(
            json!({"env": {"GITHUB_TOKEN": "hunter2hunter2", "LEVEL": "debug"}}),
            &json!({"env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "LEVEL": "debug"}}),
        );
        check(
            json!({"env": {"dbPassword": "hunter2"}}),
            &json!({"env": {"dbPassword": "${dbPassword}"}}),
        );
    }

    #[test]
    fn headers_keep_their_scheme() {
        check(
            json!({"headers": {"Authorization": "Bearer hunter2", "X-Api-Key": "hunter2"}}),
            &json!({"headers": {"Authorization": "Bearer ${GITHUB_TOKEN}", "X-Api-Key": "${GITHUB_X_API_KEY}"}}),
        );
    }

    #[test]
    fn arguments_and_addresses_hold_secrets_too() {
        check(
            json!({"args": ["--api-key=hunter2", "--token", "hunter2!", "-e", "SECRET=hunter2?"]}),
            &json!({"args": ["--api-key=${GITHUB_API_KEY}", "--token", "${GITHUB_TOKEN}", "-e", "SECRET=${GITHUB_SECRET}"]}),
        );
        check(
            json!({"args": ["--header", "Authorization: Bearer hunter2"]}),
            &json!({"args": ["--header", "Authorization: Bearer ${GITHUB_TOKEN}"]}),
        );
        check(
            json!({"url": "https://x.test/mcp?api_key=hunter2&team=core"}),
            &json!({"url": "https://x.test/mcp?api_key=${GITHUB_API_KEY}&team=core"}),
        );
        check(
            json!({"env": {"DATABASE": "postgres://ann:hunter2@db/shop"}}),
            &json!({"env": {"DATABASE": "postgres://ann:${DATABASE}@db/shop"}}),
        );
    }

    #[test]
    fn well_known_secrets_need_no_name() {
        check(
            json!({"args": ["ghp_hunter2hunter2hunter2"]}),
            &json!({"args": ["${GITHUB_SECRET}"]}),
        );
    }

    #[test]
    fn what_is_about_secrets_is_none() {
        harmless(
            &json!({"env": {"MAX_TOKENS": "200000", "KEY_FILE": "/etc/key.pem", "AUTH_MODE": "oauth2"}}),
        );
        harmless(&json!({"env": {"API_KEY": "${API_KEY}", "TOKEN": ""}}));
        harmless(&json!({"args": ["-y", "@scope/server-auth", "/home/ann/key/x", "--verbose"]}));
        harmless(&json!({"url": "https://x.test/mcp?team=core"}));
    }

    #[test]
    fn one_variable_stands_for_one_secret() {
        let mut taken = Taken::new();
        let mut variable = |server: &str, value: &str| {
            let settings = serde_json::from_value(json!({"env": {"TOKEN": value}})).unwrap();
            find(server, &settings, &mut taken)
                .exports
                .remove(0)
                .variable
        };
        assert_eq!(variable("a", "hunter2"), "TOKEN");
        assert_eq!(variable("b", "hunter2"), "TOKEN");
        assert_eq!(variable("c", "another"), "C_TOKEN");
    }
}
