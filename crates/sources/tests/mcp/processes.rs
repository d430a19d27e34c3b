//! Child processes: what they are given, and that none stays behind.

use std::collections::BTreeMap;

use serde_json::json;
use toolscript_catalog::{Secret, Source as _};
use toolscript_sources::mcp::Settings;
use toolscript_testkit::mcp::Plan;

use crate::{Tested, fake, gone, group_of, is_running, open, ready};

async fn variable(tested: &Tested, name: &str) -> Option<String> {
    let value = tested
        .call("environment", json!({"name": name}))
        .await
        .unwrap();
    value.as_str().map(str::to_owned)
}

#[tokio::test]
async fn a_child_sees_little_of_our_environment() {
    let mut settings = fake(&Plan::default());
    let env = [("GREETING".to_owned(), Secret::new("hello"))];
    settings.env = Some(BTreeMap::from(env));
    let tested = ready(settings).await;
    assert_eq!(
        variable(&tested, "GREETING").await.as_deref(),
        Some("hello")
    );
    assert_eq!(variable(&tested, "PATH").await, std::env::var("PATH").ok());
    assert_eq!(variable(&tested, "HOME").await, std::env::var("HOME").ok());
    // Cargo sets this one for every test.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert_eq!(variable(&tested, "CARGO_MANIFEST_DIR").await, None);
}

#[tokio::test]
async fn a_child_sees_all_of_it_on_request() {
    let settings = Settings {
        inherit_env: true,
        ..fake(&Plan::default())
    };
    let tested = ready(settings).await;
    assert!(variable(&tested, "CARGO_MANIFEST_DIR").await.is_some());
}

#[tokio::test]
async fn closing_ends_the_child_and_waits_for_it() {
    let tested = ready(fake(&Plan::default())).await;
    let pid = tested.pid().await;
    assert!(is_running(pid));
    tested.server.close().await;
    assert!(!is_running(pid));
}

#[tokio::test]
async fn closing_ends_a_child_that_has_not_answered_yet() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("pid");
    let settings = Settings {
        command: Some("sh".to_owned()),
        args: Some(vec![
            "-c".to_owned(),
            format!("echo $$ > {}; exec cat", marker.display()),
        ]),
        ..Settings::default()
    };
    let tested = open(settings);
    let started = async {
        // The shell has said which process it is once the file holds a line.
        loop {
            let text = std::fs::read_to_string(&marker).unwrap_or_default();
            if let Some(pid) = text.strip_suffix('\n') {
                return pid.parse().unwrap();
            }
            tokio::task::yield_now().await;
        }
    };
    let pid = tokio::select! {
        listing = tested.server.list() => panic!("{listing:?}"),
        pid = started => pid,
    };
    tested.server.close().await;
    assert!(!is_running(pid));
}

#[tokio::test]
async fn a_child_that_does_not_want_to_go_is_ended() {
    let plan = Plan {
        ignores_the_end: true,
        starts_another: true,
        ..Plan::default()
    };
    let tested = ready(fake(&plan)).await;
    let pid = tested.pid().await;
    let group = group_of(pid);
    assert_eq!(group.len(), 2, "the server and what it started");
    tested.server.close().await;
    assert!(!is_running(pid));
    for process in group {
        gone(process).await;
    }
}

#[tokio::test]
async fn letting_go_of_a_source_ends_its_child() {
    let tested = ready(fake(&Plan::default())).await;
    let pid = tested.pid().await;
    drop(tested);
    gone(pid).await;
}

#[tokio::test]
async fn what_a_dead_server_started_is_ended_with_it() {
    let plan = Plan {
        starts_another: true,
        ..Plan::default()
    };
    let tested = ready(fake(&plan)).await;
    let group = group_of(tested.pid().await);
    assert_eq!(group.len(), 2, "the server and what it started");
    let refusal = tested.refusal("die", json!({"code": 1})).await;
    assert!(refusal.contains("exit code 1"), "{refusal}");
    for process in group {
        gone(process).await;
    }
}

#[test]
fn the_end_of_the_runtime_ends_all_children() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let plan = Plan {
        ignores_the_end: true,
        ..Plan::default()
    };
    let (tested, pid) = runtime.block_on(async {
        let tested = ready(fake(&plan)).await;
        let pid = tested.pid().await;
        (tested, pid)
    });
    drop(runtime);
    let waiting = tokio::runtime::Runtime::new().unwrap();
    waiting.block_on(gone(pid));
    drop(tested);
}

#[tokio::test]
async fn a_secret_on_stderr_is_not_shown() {
    let mut settings = fake(&Plan::default());
    let env = [("API_KEY".to_owned(), Secret::new("hunter2"))];
    settings.env = Some(BTreeMap::from(env));
    let tested = ready(settings).await;
    tested
        .call("complain", json!({"text": "bad key hunter2"}))
        .await
        .unwrap();
    let refusal = tested.refusal("die", json!({"code": 1})).await;
    assert!(refusal.contains("bad key [secret]"), "{refusal}");
}
