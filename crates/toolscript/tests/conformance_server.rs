//! The official conformance suite and the Inspector, on our real `/mcp` endpoint.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what cannot be had stops the test"
)]

#[expect(dead_code, reason = "other tests need the rest of it")]
mod support {
    pub(crate) mod installed;
    pub(crate) mod program;
    pub(crate) mod stage;
}

use std::process::Command;

use support::{
    installed::{installed, repository_tests},
    stage::Stage,
};

#[test]
fn our_server_conforms_to_every_revision() {
    installed(
        "conformance",
        &["conformance/setup", "conformance/package.json"],
    );
    let stage = Stage::new();
    let serving = stage.serve();
    let ran = Command::new(repository_tests("conformance/server/run"))
        .arg(&serving.url)
        .output()
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
    serving.stop();
    assert!(ran.status.success(), "{said}");
    for line in [
        "inspector legacy: clean",
        "inspector modern: clean",
        "inspector auto: clean",
    ] {
        assert!(said.contains(line), "{said}");
    }
    let tally = said.lines().last().unwrap_or_default();
    assert!(tally.contains("failed=0"), "{said}");
}
