//! `list`, `search`, `docs`, `config` and `doctor` on a small document.

use std::fmt::Write as _;

use serde_json::json;

use crate::sandbox::{Sandbox, data, repository};

#[track_caller]
fn check(name: &str, code: i32, arguments: &[&str]) {
    let ran = Sandbox::with_pets().run(arguments);
    assert_eq!(ran.code, code, "{}", ran.stderr);
    insta::assert_snapshot!(name, ran.shown());
}

#[test]
fn list_shows_sources_or_functions() {
    check("list", 0, &["list"]);
    check("list_source", 0, &["list", "pets"]);
    check(
        "list_source_json",
        0,
        &["list", "pets", "--json", "--limit", "1"],
    );
    check("list_tag", 0, &["list", "pets", "--tag", "pets"]);
    check("list_first_page", 0, &["list", "pets", "--limit", "2"]);
    check(
        "list_second_page",
        0,
        &["list", "pets", "--limit", "2", "--cursor", "2"],
    );
    check("list_unknown_source", 4, &["list", "petz"]);
    check("list_unknown_tag", 4, &["list", "pets", "--tag", "birds"]);
    check("list_bad_cursor", 5, &["list", "pets", "--cursor", "x"]);
}

#[test]
fn list_all_is_every_page() {
    let sandbox = Sandbox::with_pets();
    let whole = sandbox.run(&["list", "--all", "--json"]).json();
    let counted = whole["items"].as_array().unwrap().len();
    assert_eq!(whole["total"], json!(counted));
    assert_eq!(whole.get("next_cursor"), None);
}

#[test]
fn list_says_the_same_in_a_table_and_as_json() {
    let sandbox = Sandbox::with_pets();
    let sources = sandbox.run(&["list", "--json"]).json();
    assert_eq!(sources[0]["name"], json!("pets"));
    assert_eq!(sources[0]["functions"], json!(4));
    assert_eq!(sources[0]["groups"], json!({"health": 1, "pets": 3}));
}

#[test]
fn search_finds_by_meaning() {
    check(
        "search",
        0,
        &["search", "add", "an", "animal", "--source", "pets"],
    );
    check(
        "search_json",
        0,
        &["search", "read one pet", "--limit", "1", "--json"],
    );
    check("search_nothing", 0, &["search", "qqqqqqqq"]);
    check(
        "search_unknown_source",
        4,
        &["search", "pet", "--source", "petz"],
    );
}

#[test]
fn docs_are_whole() {
    check("docs", 0, &["docs", "pets.get_pet", "sdk.pets.create_pet"]);
    check("docs_type", 0, &["docs", "pets.Kind"]);
    check("docs_library", 0, &["docs", "json.encode"]);
    check("docs_unknown", 4, &["docs", "pets.get_pat"]);
    check("docs_no_name", 5, &["docs", "pets"]);
    let docs = Sandbox::with_pets()
        .run(&["docs", "pets.health", "--json"])
        .json();
    assert!(
        docs["docs"]
            .as_str()
            .unwrap()
            .contains("function sdk.pets.health("),
        "{docs}"
    );
}

#[test]
fn documents_come_from_flags_too() {
    let sandbox = Sandbox::new();
    let spec = format!("zoo={}", data("pets.yaml").display());
    let ran = sandbox.run(&["list", "--spec", &spec, "--json"]);
    assert_eq!(ran.json()[0]["name"], json!("zoo"));
    // Without a name the title gives it.
    let ran = sandbox.run(&[
        "list",
        "--spec",
        &data("pets.yaml").display().to_string(),
        "--json",
    ]);
    assert_eq!(ran.json()[0]["name"], json!("pets"));
}

#[test]
fn the_configuration_folder_of_the_user_is_looked_at() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("../config/toolscript");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(data("pets.yaml"), folder.join("pets.yaml")).unwrap();
    std::fs::write(
        folder.join("toolscript.toml"),
        "[apis.mine]\nspec = \"pets.yaml\"\n",
    )
    .unwrap();
    assert_eq!(
        sandbox.run(&["list", "--json"]).json()[0]["name"],
        json!("mine")
    );
}

#[test]
fn config_check_reads_without_loading() {
    check("config_check", 0, &["config", "check"]);
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(
        "config_check_none",
        sandbox.run(&["config", "check"]).shown()
    );
}

#[test]
fn config_schema_describes_every_section() {
    let schema = Sandbox::new().run(&["config", "schema"]).json();
    let sections = schema["properties"].as_object().unwrap();
    for section in ["apis", "server", "limits"] {
        assert!(sections.contains_key(section), "{section}");
    }
}

#[test]
fn the_examples_are_sound() {
    for name in ["minimal.toml", "toolscript.toml"] {
        let file = repository("examples").join(name).display().to_string();
        let ran = Sandbox::new().run(&["config", "check", &file]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
}

#[test]
fn doctor_says_what_is_well_and_what_is_not() {
    check("doctor", 0, &["doctor"]);
    let sandbox = Sandbox::with_pets();
    let missing = "[apis.pets]\nspec = \"pets.yaml\"\n[apis.gone]\nspec = \"gone.yaml\"\n";
    sandbox.write("toolscript.toml", missing);
    insta::assert_snapshot!("doctor_missing_file", sandbox.run(&["doctor"]).shown());
    let report = sandbox.run(&["doctor", "--json"]);
    assert_eq!(report.code, 3);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["errors"], json!(1));

    sandbox.write("toolscript.toml", "[apis.pets]\nspeck = \"pets.yaml\"\n");
    insta::assert_snapshot!("doctor_bad_configuration", sandbox.run(&["doctor"]).shown());
    let nothing = Sandbox::new().run(&["doctor"]);
    insta::assert_snapshot!("doctor_nothing", nothing.shown());
}

#[test]
fn doctor_lists_the_warnings_that_others_shorten() {
    let sandbox = Sandbox::new();
    let mut document = "openapi: 3.0.0\ninfo: { title: Odd, version: '1' }\n\
        servers: [{ url: 'http://127.0.0.1:9' }]\npaths:\n\
        \u{20} /fine: { get: { operationId: fine, responses: {} } }\n"
        .to_owned();
    for number in 0..8 {
        let operation = "parameters: [{ $ref: '#/no/where' }], responses: {}";
        writeln!(
            document,
            "  /p{number}: {{ get: {{ operationId: op{number}, {operation} }} }}"
        )
        .unwrap();
    }
    sandbox.write("odd.yaml", &document);
    let listed = sandbox.run(&["list", "odd", "--spec", "odd=odd.yaml"]);
    let shown = listed
        .stderr
        .lines()
        .filter(|line| line.starts_with("warning: "))
        .count();
    assert!((2..=6).contains(&shown), "{}", listed.stderr);
    assert!(
        listed
            .stderr
            .contains("more; `toolscript doctor` lists them"),
        "{}",
        listed.stderr
    );
    assert_eq!(
        sandbox
            .run(&["list", "--quiet", "--spec", "odd=odd.yaml"])
            .stderr,
        ""
    );

    let doctor = sandbox.run(&["doctor", "--spec", "odd=odd.yaml"]);
    assert_eq!(doctor.code, 0, "warnings do not fail: {}", doctor.stdout);
    assert!(
        8 <= doctor.stdout.matches("warning").count(),
        "{}",
        doctor.stdout
    );
}

#[test]
fn many_sources_are_told_about_while_they_load() {
    let sandbox = Sandbox::with_pets();
    let mut config = String::new();
    for number in 0..5 {
        writeln!(config, "[apis.pets{number}]\nspec = \"pets.yaml\"").unwrap();
    }
    sandbox.write("toolscript.toml", &config);
    let ran = sandbox.run(&["list"]);
    assert_eq!(
        ran.stderr
            .lines()
            .filter(|line| line.starts_with("loaded pets"))
            .count(),
        5
    );
    assert_eq!(sandbox.run(&["list", "--quiet"]).stderr, "");
}
