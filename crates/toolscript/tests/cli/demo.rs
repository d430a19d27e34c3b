//! `demo`: the sample script, and the sample API while it is served.

use std::{
    fs,
    io::{BufRead as _, BufReader},
};

use serde_json::json;

use crate::sandbox::{Background, Ran, Sandbox, data, repository};

#[test]
fn once_runs_the_sample_script() {
    let ran = Sandbox::new().run(&["demo", "--once"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    insta::assert_snapshot!("demo_once", ran.shown());
}

#[test]
fn once_as_json_is_the_answer_an_agent_gets() {
    let answer = Sandbox::new().run(&["demo", "--once", "--json"]).json();
    assert_eq!(answer["result"]["status"], "sold");
    assert_eq!(answer["stats"]["calls"], 6);
}

#[test]
fn the_demo_says_how_to_connect_and_runs_the_examples() {
    let demo = Demo::start();
    for snippet in [
        "claude mcp add --transport http toolscript http://127.0.0.1:",
        "mcpServers",
        "\"servers\"",
    ] {
        assert!(
            demo.welcome.contains(snippet),
            "{snippet}: {}",
            demo.welcome
        );
    }
    for entry in fs::read_dir(repository("examples/scripts")).unwrap() {
        let path = entry.unwrap().path().display().to_string();
        let ran = demo.exec(&path);
        assert_eq!(ran.code, 0, "{path}: {}", ran.stderr);
    }
}

#[test]
fn the_sample_api_does_what_its_document_says() {
    let ran = Demo::start().exec(&data("every-call.luau").display().to_string());
    let left: serde_json::Value = ran.json();
    assert_eq!(left, json!({"available": 11, "sold": 1}));
}

/// A demo in the background, and what it printed.
struct Demo {
    sandbox: Sandbox,
    welcome: String,
    _program: Background,
}

impl Demo {
    fn start() -> Self {
        let sandbox = Sandbox::new();
        let mut program = Background(sandbox.command(&["demo", "--port", "0"]).spawn().unwrap());
        let lines = BufReader::new(program.0.stdout.take().unwrap()).lines();
        let mut welcome = String::new();
        for line in lines.map_while(Result::ok) {
            welcome.push_str(&line);
            welcome.push('\n');
            if line.contains("Press Ctrl-C") {
                break;
            }
        }
        Self {
            sandbox,
            welcome,
            _program: program,
        }
    }

    /// Runs a script against it, with the address it printed.
    fn exec(&self, script: &str) -> Ran {
        let rest = self
            .welcome
            .split("--spec ")
            .nth(1)
            .expect("a command to try");
        let spec = rest.split_whitespace().next().unwrap();
        self.sandbox.run(&["exec", script, "--spec", spec])
    }
}
