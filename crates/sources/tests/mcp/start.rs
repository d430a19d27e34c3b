//! Servers that start slowly, badly or not at all.

use std::{sync::Arc, time::Instant};

use serde_json::json;
use toolscript_catalog::{CallError, Source as _};
use toolscript_sources::mcp::Settings;
use toolscript_testkit::mcp::{Era, Plan, Remote, program};

use crate::{fake, open, open_again, ready, remote};

/// A server that must begin within this many seconds.
fn within(seconds: f64, plan: &Plan) -> Settings {
    Settings {
        start_timeout: seconds,
        ..fake(plan)
    }
}

#[tokio::test]
async fn a_slow_start_works_in_every_era() {
    for era in [Era::Handshake, Era::Stateless, Era::Both] {
        // With 6 s to begin, the second question is asked after 1 s.
        let plan = Plan {
            era,
            start_after_ms: 1_300,
            ..Plan::default()
        };
        let tested = ready(within(6.0, &plan)).await;
        assert_eq!(
            tested.call("echo", json!({"text": "late"})).await.unwrap(),
            "late"
        );
    }
}

#[tokio::test]
async fn a_server_that_ignores_what_it_does_not_know_is_understood() {
    let plan = Plan {
        ignores_unknown: true,
        ..Plan::default()
    };
    let tested = ready(within(3.0, &plan)).await;
    assert_eq!(
        tested.call("echo", json!({"text": "a"})).await.unwrap(),
        "a"
    );
}

#[tokio::test]
async fn silence_is_reported_and_holds_nobody_up() {
    let plan = Plan {
        is_silent: true,
        stderr_lines: 3,
        ..Plan::default()
    };
    let silent = open(within(1.0, &plan));
    let (problem, other) = tokio::join!(silent.problem(), ready(fake(&Plan::default())));
    assert!(problem.contains("no answer within 1 s"), "{problem}");
    assert!(problem.ends_with("line 2 of many"), "{problem}");
    assert_eq!(other.call("echo", json!({"text": "a"})).await.unwrap(), "a");
    let asked = Instant::now();
    let error = silent.call("echo", json!({"text": "a"})).await.unwrap_err();
    let CallError::Unavailable { problem, .. } = error else {
        panic!("{error:?}")
    };
    assert!(problem.contains("no answer within 1 s"), "{problem}");
    assert!(
        asked.elapsed().as_millis() < 900,
        "a call does not wait for a server that is away"
    );
}

#[tokio::test]
async fn garbage_is_shown() {
    let plan = Plan {
        garbage: Some("Usage: serve [options]".to_owned()),
        ..Plan::default()
    };
    let problem = open(within(1.0, &plan)).problem().await;
    assert!(
        problem.contains("no MCP message: `Usage: serve [options]`"),
        "{problem}"
    );
}

#[tokio::test]
async fn a_banner_is_no_obstacle() {
    let plan = Plan {
        banner: vec![
            "Welcome!".to_owned(),
            String::new(),
            "{\"level\":\"info\"}".to_owned(),
        ],
        ..Plan::default()
    };
    let tested = ready(fake(&plan)).await;
    assert_eq!(
        tested.call("echo", json!({"text": "a"})).await.unwrap(),
        "a"
    );
}

#[tokio::test]
async fn an_early_end_is_explained() {
    let plan = Plan {
        exits_with: Some(3),
        stderr_lines: 5_000,
        ..Plan::default()
    };
    let tested = open(fake(&plan));
    let problem = tested.problem().await;
    let reason = "source `fake` is not available: the server stopped with exit code 3 before it answered; its stderr ends with:\n";
    assert!(problem.starts_with(reason), "{problem}");
    assert!(problem.ends_with("line 4999 of many"), "{problem}");
    assert!(problem.len() < 1_000);
    assert_eq!(tested.server.stderr().len(), 100);
    let error = tested.server.status().unwrap().error.unwrap();
    assert!(problem.ends_with(&error), "{error}");
}

#[tokio::test]
async fn an_end_while_listing_is_explained() {
    let plan = Plan {
        exits_when_listed: Some(4),
        ..Plan::default()
    };
    let problem = open(fake(&plan)).problem().await;
    assert!(
        problem.contains("cannot be listed: the server stopped with exit code 4"),
        "{problem}"
    );
    assert!(problem.ends_with("I cannot go on"), "{problem}");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let settings = Settings {
        command: Some("no-such-server-program".to_owned()),
        ..Settings::default()
    };
    let problem = open(settings).problem().await;
    assert!(
        problem.contains("cannot start `no-such-server-program`"),
        "{problem}"
    );
    assert!(problem.contains("installed"), "{problem}");
}

#[tokio::test]
async fn much_on_stderr_blocks_nothing() {
    let plan = Plan {
        stderr_lines: 5_000,
        ..Plan::default()
    };
    let tested = ready(fake(&plan)).await;
    tested
        .call("complain", json!({"text": "the last line"}))
        .await
        .unwrap();
    assert_eq!(tested.server.stderr().len(), 100);
}

#[tokio::test]
async fn a_server_that_comes_later_is_found_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("ready");
    let plan = Plan::default().arguments().remove(0);
    let script = format!(
        "test -e {} || exit 1; exec {} '{plan}'",
        marker.display(),
        program().display()
    );
    let settings = Settings {
        command: Some("sh".to_owned()),
        args: Some(vec!["-c".to_owned(), script]),
        ..Settings::default()
    };
    let mut tested = open(settings);
    let problem = tested.problem().await;
    assert!(problem.contains("exit code 1"), "{problem}");
    std::fs::write(marker, "").unwrap();
    tested.news().await;
    assert!(tested.server.status().unwrap().connected);
    assert!(tested.names().await.contains(&"echo".to_owned()));
}

#[tokio::test]
async fn the_era_is_remembered() {
    let served = Remote::start(Plan::default()).await;
    let tested = ready(remote(&served.url())).await;
    let state = Arc::clone(&tested.state);
    let before = served.fake().heard();
    assert_eq!(before[0]["method"], "server/discover");
    open_again(remote(&served.url()), state).list().await;
    let after = &served.fake().heard()[before.len()..];
    let methods: Vec<&str> = after
        .iter()
        .filter_map(|said| said["method"].as_str())
        .collect();
    assert_eq!(methods[0], "initialize", "{methods:?}");
    assert!(!methods.contains(&"server/discover"));
}

#[tokio::test]
async fn a_remembered_era_that_does_not_hold_any_more_is_forgotten() {
    let state = Arc::new(tempfile::tempdir().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("new");
    let plan = |era| {
        Plan {
            era,
            ..Plan::default()
        }
        .arguments()
        .remove(0)
    };
    let script = format!(
        "test -e {0} && exec {1} '{2}'; exec {1} '{3}'",
        marker.display(),
        program().display(),
        plan(Era::Stateless),
        plan(Era::Handshake),
    );
    let settings = Settings {
        command: Some("sh".to_owned()),
        args: Some(vec!["-c".to_owned(), script]),
        ..Settings::default()
    };
    open_again(settings.clone(), Arc::clone(&state))
        .list()
        .await;
    std::fs::write(marker, "").unwrap();
    let renewed = open_again(settings, state);
    renewed.list().await;
    assert_eq!(
        renewed.call("echo", json!({"text": "a"})).await.unwrap(),
        "a"
    );
}
