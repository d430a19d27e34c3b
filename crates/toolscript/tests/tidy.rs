//! The house rules a compiler does not check. Fails with the file and the rule.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Which of our crates each crate may depend on (dev-dependencies are free).
const ARROWS: &[(&str, &[&str])] = &[
    ("catalog", &[]),
    ("luau", &["catalog"]),
    ("sources", &["catalog", "luau"]),
    ("engine", &["catalog", "luau", "sources"]),
    ("testkit", &[]),
    ("toolscript", &["catalog", "engine"]),
];

/// Crates of others that would let a room do what is not its work.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("catalog", &["tokio", "reqwest", "mlua", "axum"]),
    ("luau", &["reqwest", "axum", "rmcp", "toml"]),
    ("engine", &["reqwest", "axum", "rmcp", "clap", "mlua"]),
    ("toolscript", &["reqwest", "mlua"]),
];

/// The one file that goes around the compiler, for speed.
const UNSAFE_FILE: &str = "luau/src/value/plain.rs";

const LONGEST_FILE: usize = 800;
const DUMPING_GROUNDS: &[&str] = &["util.rs", "utils.rs", "helpers.rs", "misc.rs", "common.rs"];

#[test]
fn arrows_point_down() {
    for (name, allowed) in ARROWS {
        for dependency in dependencies(name) {
            let Some(ours) = dependency.strip_prefix("toolscript-") else {
                continue;
            };
            assert!(
                allowed.contains(&ours),
                "`{name}` may not depend on `{ours}`"
            );
        }
    }
    let present = fs::read_dir(crates()).unwrap().count();
    assert_eq!(ARROWS.len(), present, "every crate needs a line in ARROWS");
}

#[test]
fn rooms_do_their_own_work() {
    for (name, forbidden) in FORBIDDEN {
        for dependency in dependencies(name) {
            assert!(
                !forbidden.contains(&dependency.as_str()),
                "`{name}` may not use `{dependency}`"
            );
        }
    }
}

#[test]
fn files_are_tidy() {
    let mut complaints = Vec::new();
    for path in rust_files(&crates()) {
        let text = fs::read_to_string(&path).unwrap();
        let shown = path.display();
        let code_lines = text
            .split("#[cfg(test)]")
            .next()
            .unwrap_or("")
            .lines()
            .count();
        let file_name = path.file_name().unwrap().to_str().unwrap();
        if !text.starts_with("//!") {
            complaints.push(format!(
                "{shown}: starts without a `//!` line saying what it is for"
            ));
        }
        if LONGEST_FILE < code_lines {
            complaints.push(format!(
                "{shown}: {code_lines} lines, longest allowed {LONGEST_FILE}"
            ));
        }
        if DUMPING_GROUNDS.contains(&file_name) {
            complaints.push(format!("{shown}: name the file after what it holds"));
        }
        if !is_test(&path) && text.lines().any(is_stringly) {
            complaints.push(format!("{shown}: a string is not an error type"));
        }
        if text.contains(concat!("#[", "ignore")) {
            complaints.push(format!("{shown}: a test that does not run proves nothing"));
        }
        if text.contains(concat!("#[", "allow(")) || text.contains(concat!("#![", "allow(")) {
            complaints.push(format!("{shown}: use `#[expect(…, reason = …)]`"));
        }
        if text.contains(concat!("expect(", "unsafe_code")) && !path.ends_with(UNSAFE_FILE) {
            complaints.push(format!("{shown}: only {UNSAFE_FILE} may use `unsafe`"));
        }
    }
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn functions_are_short() {
    // Clippy counts lines of code; this makes sure nobody raised its limit.
    let settings = fs::read_to_string(crates().join("../clippy.toml")).unwrap();
    assert!(
        settings.contains("too-many-lines-threshold = 80"),
        "clippy.toml: functions end at 80 lines"
    );
}

#[test]
fn licences_are_ones_we_may_use() {
    let rules = fs::read_to_string(crates().join("../deny.toml")).unwrap();
    let rules: toml::Table = rules.parse().unwrap();
    let allowed: Vec<&str> = rules["licenses"]["allow"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(toml::Value::as_str)
        .collect();
    let metadata = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .current_dir(crates())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(100 < packages.len(), "cargo metadata lists too little");
    for package in packages {
        let licence = package["license"].as_str().unwrap_or("none");
        assert!(
            is_allowed(licence, &allowed),
            "{} is licensed under `{licence}`, which deny.toml does not allow",
            package["name"]
        );
    }
}

/// Whether one alternative of a licence expression has only allowed parts.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], "");
    let fits = |part: &str| allowed.contains(&part.trim());
    expression
        .split(" OR ")
        .any(|choice| choice.split(" AND ").all(fits))
}

/// Whether a line returns text where an error type belongs.
fn is_stringly(line: &str) -> bool {
    let returned = line.split("-> Result<").nth(1);
    returned.is_some_and(|returned| returned.contains(concat!(", ", "String>")))
}

/// Whether a file holds nothing but tests, which may say what they like.
fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs")
}

fn dependencies(name: &str) -> Vec<String> {
    let manifest = fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    manifest["dependencies"]
        .as_table()
        .unwrap()
        .keys()
        .cloned()
        .collect()
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
