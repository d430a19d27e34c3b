//! Servers, retries, redirects, times and pages.

use super::*;
use crate::openapi::operation::Paging;
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};
use toolscript_testkit::{Canned, Sample, canned, echo, rude};

fn deadline(milliseconds: u64) -> CallContext {
    let deadline = Some(Instant::now() + Duration::from_millis(milliseconds));
    CallContext {
        deadline,
        ..CallContext::default()
    }
}

fn get(path: &str) -> Operation {
    operation("GET", path)
}

fn server(url: &str) -> Server {
    Server {
        url: url.into(),
        variables: BTreeMap::default(),
    }
}

#[tokio::test]
async fn servers_in_their_order() {
    let echo = echo::start().await;
    let with = |url: String, operation: Operation| api(&url, operation);
    let path = async |api: Api, settings: Value| {
        let reply = call(&client(api, settings), json!({})).await;
        reply.map(|reply| reply.value["path"].as_str().unwrap_or_default().to_owned())
    };
    let base = echo.url();
    assert_eq!(
        path(with(format!("{base}/api"), get("/x")), json!({}))
            .await
            .unwrap(),
        "/api/x"
    );
    let own = Operation {
        servers: vec![server(&format!("{base}/own/"))],
        ..get("/x")
    };
    assert_eq!(
        path(with("https://api.invalid".into(), own.clone()), json!({}))
            .await
            .unwrap(),
        "/own/x"
    );
    let settings = json!({"base_url": format!("{base}/set")});
    assert_eq!(
        path(with("https://api.invalid".into(), own), settings)
            .await
            .unwrap(),
        "/set/x"
    );
    let settings = json!({"server_variables": {"v": "2"}});
    assert_eq!(
        path(with(format!("{base}/{{v}}"), get("/x")), settings)
            .await
            .unwrap(),
        "/2/x"
    );
    let error = path(with("/v1".into(), get("/x")), json!({}))
        .await
        .unwrap_err();
    assert!(matches!(error, CallError::Unavailable { .. }));
    assert!(error.to_string().contains("set `base_url`"), "{error}");
}

#[tokio::test]
async fn flaky_servers_get_more_chances() {
    let sample = Sample::start().await;
    let attempts = async |method: &str, key: &str, query: &str| {
        let path = format!("/flaky/{key}?{query}");
        let result = once(sample.url(), operation(method, &path), json!({})).await;
        (
            result.map_err(|error| error.api_status()),
            sample.count(method, &format!("/flaky/{key}")),
        )
    };
    assert_eq!(
        attempts("GET", "a", "fails=2").await,
        (Ok(json!({"attempts": 3})), 3)
    );
    assert_eq!(
        attempts("PUT", "b", "fails=1&status=429").await,
        (Ok(json!({"attempts": 2})), 2)
    );
    assert_eq!(attempts("GET", "c", "fails=5").await, (Err(Some(503)), 3));
    assert_eq!(
        attempts("GET", "d", "fails=1&status=500").await,
        (Err(Some(500)), 1)
    );
    assert_eq!(attempts("POST", "e", "fails=1").await, (Err(Some(503)), 1));
    assert_eq!(
        attempts("PATCH", "f", "fails=1&status=429").await,
        (Err(Some(429)), 1)
    );
}

#[tokio::test]
async fn settings_say_how_often() {
    let server = canned::start([Canned::status(503)]).await;
    let client = client(api(server.url(), get("/")), json!({"retries": 0}));
    assert_eq!(
        call(&client, json!({})).await.unwrap_err().api_status(),
        Some(503)
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn broken_connections_are_tried_again_where_that_is_safe() {
    for (method, visits) in [("GET", 3), ("DELETE", 3), ("POST", 1), ("PATCH", 1)] {
        let server = rude::HangsUp::start().await;
        let error = once(server.url(), operation(method, "/"), json!({}))
            .await
            .unwrap_err();
        assert!(matches!(error, CallError::Upstream { .. }), "{error}");
        assert_eq!(server.visits(), visits, "{method}");
    }
    let url = rude::nobody().await;
    let error = once(&url, operation("POST", "/?q=1"), json!({}))
        .await
        .unwrap_err()
        .to_string();
    let host = url.strip_prefix("http://").unwrap();
    assert!(
        error.starts_with(&format!("`api.f` failed: cannot connect to `{host}`: ")),
        "{error}"
    );
    assert!(!error.contains("q=1"), "{error}");
}

#[tokio::test]
async fn waiting_stays_inside_the_deadline() {
    let server = canned::start([Canned::status(429).header("Retry-After", "20")]).await;
    let client = client(api(server.url(), get("/")), json!({}));
    let started = Instant::now();
    let error = call_with(&client, &deadline(5000), json!({}), None)
        .await
        .unwrap_err();
    assert_eq!(error.api_status(), Some(429));
    assert!(started.elapsed() < Duration::from_secs(4));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn slow_answers_time_out() {
    let sample = Sample::start().await;
    let slow = || api(sample.url(), get("/slow?delay_ms=60000"));
    let by_settings = client(slow(), json!({"timeout": 0.05}));
    let by_deadline = client(slow(), json!({}));
    let cases: [(Client, fn() -> CallContext); 2] = [
        (by_settings, CallContext::default),
        (by_deadline, || deadline(50)),
    ];
    for (client, cx) in cases {
        let error = call_with(&client, &cx(), json!({}), None)
            .await
            .unwrap_err();
        assert!(
            matches!(
                error,
                CallError::Timeout {
                    after_ms: 40..5000,
                    ..
                }
            ),
            "{error}"
        );
    }
    assert_eq!(
        sample.requests().len(),
        2,
        "a request that took too long is not repeated"
    );
}

#[tokio::test]
async fn a_dropped_call_is_cancelled() {
    let sample = Sample::start().await;
    let client = client(api(sample.url(), get("/slow?delay_ms=60000")), json!({}));
    let waiting = tokio::spawn(async move { call(&client, json!({})).await });
    sample.arrived(1).await;
    waiting.abort();
    sample.abandoned().await;
}

#[tokio::test]
async fn redirects_are_followed_where_that_repeats_nothing() {
    let sample = Sample::start().await;
    let follow = async |method: &str, status: u16| {
        let path = format!("/redirect/same?status={status}");
        once(sample.url(), operation(method, &path), json!({}))
            .await
            .map_err(|error| error.api_status())
    };
    for status in [301, 302, 303, 307, 308] {
        assert_eq!(
            follow("GET", status).await,
            Ok(json!({"arrived": true})),
            "{status}"
        );
    }
    assert_eq!(follow("POST", 303).await, Ok(json!({"arrived": true})));
    for status in [301, 302, 307, 308] {
        assert_eq!(follow("POST", status).await, Err(Some(status)));
    }
    assert_eq!(sample.count("POST", "/redirect/done"), 0);
    let error = once(sample.url(), get("/redirect/loop"), json!({}))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("more than 5 redirects"),
        "{error}"
    );
    assert_eq!(sample.count("GET", "/redirect/loop"), 6);
}

#[tokio::test]
async fn a_redirect_elsewhere_leaves_credentials_behind() {
    let (sample, elsewhere) = (Sample::start().await, echo::start().await);
    let operation = Operation {
        parameters: vec![
            parameter("to", Location::Query),
            parameter("X-Trace", Location::Header),
            parameter("c", Location::Cookie),
        ],
        ..get("/redirect/away")
    };
    let settings = json!({
        "auth": {"type": "bearer", "token": "hunter2-hunter2"},
        "headers": {"X-Team": "core"},
    });
    let client = client(api(sample.url(), operation), settings);
    let here = format!("{}/redirect/done", sample.url());
    for to in [elsewhere.url(), &here] {
        call(&client, json!({"to": to, "X-Trace": "t", "c": "d"}))
            .await
            .unwrap();
    }
    let names = |request: &toolscript_testkit::Recorded| {
        let names = ["authorization", "x-team", "x-trace", "cookie"];
        names
            .into_iter()
            .filter(|name| request.header(name).is_some())
            .count()
    };
    assert_eq!(names(&elsewhere.only_request()), 0);
    let arrived = sample
        .requests()
        .into_iter()
        .find(|request| request.path == "/redirect/done");
    assert_eq!(names(&arrived.unwrap()), 4);
}

#[tokio::test]
async fn pages_by_link_header() {
    let sample = Sample::start().await;
    let parameters = vec![
        parameter("limit", Location::Query),
        parameter("page", Location::Query),
        parameter("tenant", Location::Query),
    ];
    let list = Operation {
        parameters,
        ..get("/pets")
    };
    let client = client(
        api(sample.url(), list),
        json!({"frozen_params": {"tenant": "t"}}),
    );
    let reply = call(&client, json!({"limit": 5, "tenant": "t"}))
        .await
        .unwrap();
    let next = Value::Object(reply.next.unwrap());
    assert_eq!(
        next,
        json!({"limit": 5, "page": 2}),
        "frozen parameters stay out of sight"
    );
    let reply = call(&client, next).await.unwrap();
    let next = Value::Object(reply.next.unwrap());
    assert_eq!(next, json!({"limit": 5, "page": 3}));
    let reply = call(&client, next).await.unwrap();
    assert_eq!(
        (reply.value.as_array().unwrap().len(), reply.next),
        (2, None)
    );
}

#[tokio::test]
async fn pages_by_cursor() {
    let sample = Sample::start().await;
    let list = Operation {
        parameters: vec![parameter("cursor", Location::Query)],
        paging: Some(Paging::Cursor {
            parameter: "cursor".into(),
            field: "/next_cursor".into(),
        }),
        ..get("/cursor/pets")
    };
    let client = client(api(sample.url(), list), json!({}));
    let mut params = Some(json!({}));
    let mut names = Vec::new();
    while let Some(given) = params {
        let reply = call(&client, given).await.unwrap();
        names.extend(
            reply.value["data"]
                .as_array()
                .unwrap()
                .iter()
                .map(|pet| pet["id"].clone()),
        );
        params = reply.next.map(Value::Object);
    }
    assert_eq!(json!(names), json!((1..=Sample::PETS).collect::<Vec<_>>()));
}
