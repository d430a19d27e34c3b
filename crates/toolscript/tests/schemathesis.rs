//! schemathesis against the running server: what the HTTP API answers is what its document says,
//! whatever is sent.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what cannot be had stops the test"
)]

mod support {
    pub(crate) mod installed;
    #[expect(dead_code, reason = "nobody speaks with this server over pipes")]
    pub(crate) mod program;
}

use std::process::Command;

use support::{installed::installed, program::Program};

/// How many requests are made up for each operation.
const EXAMPLES: &str = "40";

/// Tools that are there to fail.
const FAILING: &[&str] = &["fail", "wait", "seldom"];

#[test]
fn the_api_keeps_its_word() {
    let home = installed(
        "schemathesis",
        &["schemathesis/setup", "schemathesis/requirements.txt"],
    );
    let folder = tempfile::tempdir().unwrap();
    let mut serving = Program::start(
        Command::new(env!("CARGO_BIN_EXE_toolscript"))
            .args(["serve", "--port", "0", "--config"])
            .arg(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/tests/data/tools.toml"
            ))
            .current_dir(folder.path())
            .env("XDG_CONFIG_HOME", folder.path().join("config"))
            .env("XDG_CACHE_HOME", folder.path().join("cache"))
            .env_remove("RUST_LOG"),
    );
    let url = loop {
        let line = serving.stderr.next().expect("it says where it serves");
        if let Some((_, rest)) = line.split_once("serving MCP at ") {
            break rest.split("/mcp").next().unwrap().to_owned();
        }
    };
    let tried = Command::new(home.join("venv/bin/schemathesis"))
        .args(["run", &format!("{url}/api/openapi.json")])
        .args(["--checks", "all", "--max-examples", EXAMPLES])
        .args(
            FAILING
                .iter()
                .flat_map(|tool| ["--exclude-operation-id", tool]),
        )
        // The same requests every time: a test that fails today fails tomorrow.
        .args(["--seed", "1", "--generation-database", "none"])
        .args(["--suppress-health-check", "too_slow", "--no-color"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&tried.stdout);
    assert!(
        tried.status.success(),
        "{told}\n{}\n{}",
        String::from_utf8_lossy(&tried.stderr),
        serving.stop()
    );
    assert!(told.contains("No issues found"), "{told}");
}
