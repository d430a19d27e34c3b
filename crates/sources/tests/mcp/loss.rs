//! Calls that are lost, late, or not wanted any more.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use toolscript_catalog::{CallError, Source as _};
use toolscript_sources::mcp::Settings;
use toolscript_testkit::mcp::{Era, Plan};

use crate::{PATIENCE, fake, is_running, ready};

fn patient_for(seconds: f64) -> Settings {
    Settings {
        timeout: seconds,
        ..fake(&Plan::default())
    }
}

#[tokio::test]
async fn a_server_that_dies_during_a_call_says_so_and_comes_back() {
    let mut tested = ready(fake(&Plan::default())).await;
    let before = tested.pid().await;
    let refusal = tested.refusal("die", json!({"code": 7})).await;
    assert!(
        refusal.contains("the server stopped with exit code 7"),
        "{refusal}"
    );
    assert!(refusal.contains("I cannot go on"), "{refusal}");
    assert!(
        refusal.contains("whether the call was carried out is not known"),
        "{refusal}"
    );
    let after = tested.pid().await;
    assert_ne!(before, after);
    tested.news().await;
}

#[tokio::test]
async fn only_what_cannot_be_done_twice_unnoticed_is_not_repeated() {
    let tested = ready(fake(&Plan::default())).await;
    let folder = tempfile::tempdir().unwrap();
    let marker = |name: &str| json!({"marker": folder.path().join(name)});
    let repeated = tested.call("flaky_safe", marker("one")).await;
    assert_eq!(repeated.unwrap(), "done");
    let refusal = tested.refusal("flaky", marker("two")).await;
    assert!(refusal.contains("exit code 3"), "{refusal}");
    assert_eq!(tested.call("flaky", marker("two")).await.unwrap(), "done");
}

#[tokio::test]
async fn other_calls_are_told_when_a_server_dies() {
    let tested = ready(fake(&Plan::default())).await;
    let waiting = tested.call("hang", json!({}));
    let (waiting, _) = tokio::join!(waiting, tested.call("die", json!({"code": 1})));
    let error = waiting.unwrap_err().to_string();
    assert!(error.contains("exit code 1"), "{error}");
}

#[tokio::test]
async fn a_call_without_an_answer_ends_and_the_server_is_told() {
    let tested = ready(patient_for(0.3)).await;
    let error = tested.call("hang", json!({})).await.unwrap_err();
    assert!(
        matches!(
            error,
            CallError::Timeout {
                after_ms: 300..,
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(tested.call("cancelled", json!({})).await.unwrap(), "yes");
}

#[tokio::test]
async fn progress_extends_the_time() {
    for era in [Era::Handshake, Era::Stateless] {
        let plan = Plan {
            era,
            ..Plan::default()
        };
        let settings = Settings {
            timeout: 0.5,
            ..fake(&plan)
        };
        let tested = ready(settings).await;
        let slow = json!({"steps": 8, "every_ms": 150});
        assert_eq!(tested.call("slow", slow).await.unwrap(), "done", "{era:?}");
    }
}

#[tokio::test]
async fn the_caller_has_the_last_word_about_time() {
    let tested = ready(patient_for(60.0)).await;
    let deadline = Instant::now() + Duration::from_millis(400);
    let slow = json!({"steps": 100, "every_ms": 50});
    let error = tested
        .call_until("slow", slow, Some(deadline))
        .await
        .unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }), "{error:?}");
    assert!(deadline.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn letting_go_of_a_call_reaches_the_server() {
    let tested = ready(fake(&Plan::default())).await;
    let mut call = Box::pin(tested.call("hang", json!({})));
    // The call is on its way once another has been answered.
    tokio::select! {
        _ = &mut call => panic!("this tool does not answer"),
        echo = tested.call("echo", json!({"text": "a"})) => assert_eq!(echo.unwrap(), "a"),
    }
    drop(call);
    assert_eq!(tested.call("cancelled", json!({})).await.unwrap(), "yes");
}

#[tokio::test]
async fn many_calls_share_one_connection() {
    let tested = ready(fake(&Plan::default())).await;
    let hanging = tested.call("hang", json!({}));
    let echoes = async {
        let texts = (0..300).map(|number| tested.call("echo", json!({"text": number.to_string()})));
        join_all(texts).await
    };
    let answers = tokio::select! {
        _ = hanging => panic!("this tool does not answer"),
        answers = echoes => answers,
    };
    for (number, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.unwrap(), json!(number.to_string()));
    }
}

#[tokio::test]
async fn an_answer_without_measure_is_refused() {
    let tested = ready(fake(&Plan::default())).await;
    let refusal = tested.refusal("huge", json!({})).await;
    assert!(refusal.contains("larger than"), "{refusal}");
    assert_eq!(
        tested.call("echo", json!({"text": "a"})).await.unwrap(),
        "a"
    );
}

#[tokio::test]
async fn a_closed_source_makes_no_calls() {
    let tested = ready(fake(&Plan::default())).await;
    tested.server.close().await;
    let refusal = tested.refusal("echo", json!({"text": "a"})).await;
    assert!(refusal.contains("closed"), "{refusal}");
    tested.server.close().await;
}

#[tokio::test]
async fn kills_under_load_leave_nobody_waiting() {
    const KILLS: usize = 100;
    let tested = ready(fake(&Plan::default())).await;
    let (answered, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let caller = || async {
        loop {
            match tested.call("echo", json!({"text": "a"})).await {
                Ok(answer) => {
                    assert_eq!(answer, "a");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
                Err(CallError::Upstream { problem, .. }) => {
                    assert!(problem.contains("signal 9"), "{problem}");
                    failed.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => panic!("{error}"),
            }
        }
    };
    let killing = async {
        let mut killed = Vec::new();
        while killed.len() < KILLS {
            // The question itself may fall to the last kill.
            let Ok(answer) = tested.call("pid", json!({})).await else {
                continue;
            };
            let pid = i32::try_from(answer["pid"].as_i64().unwrap()).unwrap();
            if kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).is_ok() {
                killed.push(pid);
            }
        }
        killed
    };
    let callers = join_all((0..20).map(|_| caller()));
    let killed = tokio::select! {
        _ = callers => unreachable!("callers do not stop by themselves"),
        killed = tokio::time::timeout(PATIENCE, killing) => killed.expect("nobody is stuck"),
    };
    assert_eq!(
        tested.call("echo", json!({"text": "b"})).await.unwrap(),
        "b"
    );
    tested.server.close().await;
    assert!(killed.into_iter().all(|pid| !is_running(pid)));
    assert!(KILLS < answered.into_inner(), "{failed:?} calls failed");
}
