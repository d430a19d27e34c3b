//! What a file may say, and what is said about one that does not.

use super::*;

fn parse(text: &str) -> Result<Config, ConfigError> {
    let environment = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
    Config::parse(Path::new("dir/toolscript.toml"), text, &environment)
}

#[track_caller]
fn says(text: &str, message: &str) {
    assert_eq!(parse(text).unwrap_err().to_string(), message);
}

#[test]
fn a_file_gives_sources_and_settings() {
    let config = parse(
        "[apis.petstore]\nspec = \"petstore.yaml\"\nauth = { type = \"bearer\", token = \"${TOKEN}\" }\n\
         [limits]\ntimeout_ms = 5000\n[server]\nsurface = \"single\"\n",
    )
    .unwrap();
    assert_eq!(config.folder, Path::new("dir"));
    assert_eq!(
        config.sources[0].name.as_ref().unwrap().as_str(),
        "petstore"
    );
    assert_eq!(config.sources[0].settings["auth"]["token"], "s3cret");
    assert_eq!(config.sources[0].origin.place(""), "dir/toolscript.toml:1");
    assert_eq!(config.settings.server.surface, Surface::Single);
    assert!(!format!("{config:?}").contains("s3cret"));
}

#[test]
fn unknown_keys_suggest_the_nearest() {
    says(
        "[apis.p]\nspec = \"x\"\nbasurl = \"y\"",
        "dir/toolscript.toml:3: unknown key `apis.p.basurl`; did you mean `base_url`?",
    );
    says(
        "[api.p]\nspec = \"x\"",
        "dir/toolscript.toml:1: unknown key `api`; did you mean `apis`?",
    );
    says(
        "[apis.p]\nspec = \"x\"\nauth = { type = \"bearer\", tokn = \"y\" }",
        "dir/toolscript.toml:3: unknown key `apis.p.auth.tokn`; did you mean `token`?",
    );
    says(
        "[limits]\ntimeot_ms = 3",
        "dir/toolscript.toml:2: unknown key `limits.timeot_ms`; did you mean `timeout_ms`?",
    );
}

#[test]
fn variables() {
    says(
        "[apis.p]\nspec = \"${NOWHERE}\"",
        "dir/toolscript.toml:2: `apis.p.spec` wants the environment variable `NOWHERE`, which is not set; set it, or write `${NOWHERE:-default}`",
    );
    says(
        "[apis.p]\nspec = \"${X\"",
        "dir/toolscript.toml:2: `apis.p.spec` has `${` without a closing `}`",
    );
    let spec = |text: &str| {
        parse(&format!("[apis.p]\nspec = \"{text}\""))
            .unwrap()
            .sources[0]
            .settings["spec"]
            .clone()
    };
    assert_eq!(spec("a-${NOWHERE:-b}-${TOKEN}"), "a-b-s3cret");
    assert_eq!(spec("$${TOKEN}"), "${TOKEN}");
}

#[test]
fn wrong_values_name_their_key() {
    says(
        "[limits]\ntimeout_ms = \"soon\"",
        "dir/toolscript.toml:2: `limits.timeout_ms` does not fit: invalid type: string \"soon\", expected u64",
    );
    says(
        "[server]\n\nsurface = \"tiny\"",
        "dir/toolscript.toml:3: `server.surface` does not fit: unknown variant `tiny`, expected `standard` or `single`",
    );
}

#[test]
fn broken_toml_names_the_line() {
    let error = parse("[apis.p]\nspec = \n").unwrap_err().to_string();
    assert!(error.starts_with("dir/toolscript.toml:2: "), "{error}");
}

#[test]
fn bad_names_are_refused() {
    says(
        "[apis.json]\nspec = \"x\"",
        "dir/toolscript.toml:1: `json` is the name of a library: choose another source name, such as `json_api`",
    );
}
