//! Servers behind an address, by both transports and in both eras.

use std::collections::BTreeMap;

use serde_json::json;
use toolscript_catalog::{CallContext, CallError, Credential, Secret, Source as _};
use toolscript_sources::mcp::{Settings, Transport};
use toolscript_testkit::{
    Canned, canned,
    mcp::{Era, Plan, Remote},
};

use crate::{call, open, ready, remote};

async fn served(era: Era) -> Remote {
    Remote::start(Plan {
        era,
        ..Plan::default()
    })
    .await
}

#[tokio::test]
async fn a_remote_server_is_called_in_every_era() {
    for era in [Era::Handshake, Era::Stateless] {
        let served = served(era).await;
        let mut tested = ready(remote(&served.url())).await;
        assert_eq!(tested.server.status().unwrap().transport, "http");
        assert_eq!(
            tested.call("echo", json!({"text": "a"})).await.unwrap(),
            "a",
            "{era:?}"
        );
        let slow = json!({"steps": 2, "every_ms": 10});
        assert_eq!(tested.call("slow", slow).await.unwrap(), "done", "{era:?}");
        tested.call("toggle", json!({})).await.unwrap();
        tested.news().await;
        assert!(
            tested.names().await.contains(&"extra".to_owned()),
            "{era:?}"
        );
        tested.server.close().await;
    }
}

#[tokio::test]
async fn the_older_transport_is_spoken_on_request_and_found_by_itself() {
    let served = served(Era::Handshake).await;
    for transport in [Some(Transport::Sse), None] {
        let settings = Settings {
            transport,
            ..remote(&served.sse_url())
        };
        let mut tested = ready(settings).await;
        assert_eq!(tested.server.status().unwrap().transport, "sse");
        assert_eq!(
            tested.call("echo", json!({"text": "a"})).await.unwrap(),
            "a"
        );
        tested.call("toggle", json!({})).await.unwrap();
        tested.news().await;
    }
}

#[tokio::test]
async fn headers_go_with_every_request_and_a_callers_credential_wins() {
    let served = served(Era::Stateless).await;
    let headers = [("Authorization".to_owned(), Secret::new("Bearer ours"))];
    let settings = Settings {
        headers: Some(BTreeMap::from(headers)),
        ..remote(&served.url())
    };
    let tested = ready(settings).await;
    tested.call("echo", json!({"text": "a"})).await.unwrap();
    let cx = CallContext {
        credential: Some(Credential::Bearer {
            token: Secret::new("theirs"),
        }),
        ..CallContext::default()
    };
    tested
        .server
        .call(&cx, call("echo", json!({"text": "b"})))
        .await
        .unwrap();
    let seen = served.server().requests();
    let sent: Vec<&str> = seen
        .iter()
        .filter_map(|request| request.header("authorization"))
        .collect();
    assert_eq!(sent.len(), seen.len());
    assert_eq!(
        sent.iter()
            .filter(|value| **value == "Bearer theirs")
            .count(),
        1
    );
}

#[tokio::test]
async fn a_session_that_has_ended_is_begun_anew() {
    let served = served(Era::Handshake).await;
    let tested = ready(remote(&served.url())).await;
    served.forget_sessions();
    assert_eq!(
        tested.call("echo", json!({"text": "a"})).await.unwrap(),
        "a"
    );
}

#[tokio::test]
async fn letting_go_of_a_call_reaches_a_remote_server() {
    let served = served(Era::Handshake).await;
    let settings = Settings {
        timeout: 0.3,
        ..remote(&served.url())
    };
    let tested = ready(settings).await;
    let error = tested.call("hang", json!({})).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }), "{error:?}");
    assert_eq!(tested.call("cancelled", json!({})).await.unwrap(), "yes");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_named_without_its_key() {
    // Nothing listens on the port of a server that has ended.
    let url = served(Era::Handshake).await.url();
    let problem = open(remote(&format!("{url}?key=s3cret"))).problem().await;
    assert!(
        problem.contains("cannot connect to `127.0.0.1:"),
        "{problem}"
    );
    assert!(!problem.contains("s3cret"), "{problem}");
}

#[tokio::test]
async fn a_server_that_goes_away_is_missed() {
    let served = served(Era::Stateless).await;
    let tested = ready(remote(&served.url())).await;
    drop(served);
    let refusal = tested.refusal("echo", json!({"text": "a"})).await;
    assert!(refusal.contains("cannot connect"), "{refusal}");
    let status = tested.server.status().unwrap();
    assert!(!status.connected && status.error.is_some(), "{status:?}");
}

#[tokio::test]
async fn what_is_no_mcp_server_is_told_from_one() {
    for (answer, words) in [
        (Canned::body(200, "text/html", "<html>"), "no MCP"),
        (Canned::json(500, &json!({"no": "luck"})), "answered 500"),
        (
            Canned::status(401).header("www-authenticate", "Bearer"),
            "wants a login",
        ),
        (Canned::json(200, &json!({"jsonrpc": "2.0"})), "no MCP"),
    ] {
        let served = canned::start([answer]).await;
        let problem = open(remote(served.url())).problem().await;
        assert!(problem.contains(words), "{words}: {problem}");
    }
}
