//! The official conformance suite on our MCP client: everything both revisions require.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what cannot be had stops the test"
)]

mod support {
    pub(crate) mod installed;
}

use std::process::Command;

use support::installed::{installed, repository_tests};
use toolscript_testkit::built::{Target, built};

#[test]
fn our_client_conforms_to_every_revision() {
    installed(
        "conformance",
        &["conformance/setup", "conformance/package.json"],
    );
    let client = built(Target::Example("conformance_client"));
    let ran = Command::new(repository_tests("conformance/client/run"))
        .arg(client)
        .output()
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
    assert!(ran.status.success(), "{said}");
    let tally = said.lines().last().unwrap_or_default();
    assert!(tally.contains("failed=0"), "{said}");
}
