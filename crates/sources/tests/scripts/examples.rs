//! The tools under `examples/`, each against a service of its own.

use std::path::Path;

use serde_json::{Value, json};
use toolscript_catalog::CallError;
use toolscript_testkit::{Canned, Server, canned};

use crate::stage::Stage;

fn example(name: &str, settings: Value) -> Stage {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tools");
    let script = std::fs::read_to_string(folder.join(name)).unwrap();
    Stage::with_settings(&script, settings)
}

fn settings(server: &Server, more: &Value) -> Value {
    let mut settings = json!({"url": server.url(), "allow_hosts": ["127.0.0.1"]});
    for (key, value) in more.as_object().unwrap() {
        settings[key] = value.clone();
    }
    settings
}

#[tokio::test]
async fn echo_gives_back_what_it_is_given() {
    let stage = example("echo.luau", json!({}));
    assert_eq!(
        stage.run(json!({"text": "hé"})).await.unwrap(),
        json!({"text": "hé", "length": 2})
    );
    assert_eq!(
        stage
            .run(json!({"text": "a", "times": 2, "case": "upper"}))
            .await
            .unwrap(),
        json!({"text": "A A", "length": 3})
    );
}

#[tokio::test]
async fn a_ticket_is_opened() {
    let tracker = canned::start([Canned::json(
        201,
        &json!({"id": 7, "url": "https://t.test/7"}),
    )])
    .await;
    let config = settings(
        &tracker,
        &json!({"token": "s3cret-token", "project": "OPS"}),
    );
    let stage = example("create-ticket.luau", config);
    let ticket = stage
        .run(json!({"title": "Printer on fire", "labels": ["urgent"]}))
        .await;
    assert_eq!(
        ticket.unwrap(),
        json!({"id": "7", "url": "https://t.test/7"})
    );
    let request = tracker.only_request();
    assert_eq!(request.header("authorization"), Some("Bearer s3cret-token"));
    assert_eq!(
        serde_json::from_slice::<Value>(&request.body).unwrap(),
        json!({
            "project": "OPS", "title": "Printer on fire", "body": "", "priority": "normal",
            "labels": ["urgent"],
        })
    );
}

#[tokio::test]
async fn a_tracker_that_refuses_is_told_of() {
    let tracker = canned::start([Canned::status(503)]).await;
    let stage = example("create-ticket.luau", settings(&tracker, &json!({})));
    let error = stage.run(json!({"title": "x"})).await.unwrap_err();
    assert!(
        error.to_string().contains("the tracker answered 503"),
        "{error}"
    );
    let CallError::Tool {
        body: Some(body), ..
    } = error
    else {
        panic!("the status is kept")
    };
    assert_eq!(body["status"], json!(503));
    let stage = example("create-ticket.luau", json!({}));
    let error = stage
        .run(json!({"title": "x"}))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("`url` is missing"), "{error}");
}

#[tokio::test]
async fn a_message_arrives_signed_after_the_receiver_was_busy() {
    let chat = canned::start([Canned::status(503), Canned::status(204)]).await;
    let stage = example(
        "notify.luau",
        settings(&chat, &json!({"secret": "hook-secret"})),
    );
    assert_eq!(
        stage.run(json!({"text": "done"})).await.unwrap(),
        json!(true)
    );
    let requests = chat.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1].text(), r#"{"channel":"general","text":"done"}"#);
    let signature = requests[1].header("x-signature").unwrap();
    assert_eq!(signature.len(), "sha256=".len() + 64);
}
