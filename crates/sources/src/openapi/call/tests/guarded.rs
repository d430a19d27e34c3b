//! Credentials: which goes where.

use super::*;
use crate::openapi::operation::Scheme;
use std::collections::BTreeMap;
use toolscript_catalog::Secret;
use toolscript_testkit::{Recorded, Sample, echo};

type Sets<'a> = &'a [&'a [&'a str]];

/// The schemes every test document declares.
fn schemes(url: &str) -> BTreeMap<String, Scheme> {
    let key = |location, name: &str| Scheme::ApiKey {
        location,
        name: name.into(),
    };
    [
        ("bearer", Scheme::Bearer),
        ("basic", Scheme::Basic),
        ("header", key(Location::Header, "X-API-Key")),
        ("query", key(Location::Query, "api_key")),
        ("cookie", key(Location::Cookie, "session")),
        ("legacy", key(Location::Header, "Authorization")),
        (
            "oauth",
            Scheme::ClientCredentials {
                token_url: format!("{url}/oauth/token"),
            },
        ),
        (
            "digest",
            Scheme::Unsupported {
                scheme: "digest".into(),
            },
        ),
    ]
    .map(|(name, scheme)| (name.to_owned(), scheme))
    .into()
}

fn guarded(url: &str, path: &str, sets: Sets<'_>) -> Api {
    let set = |names: &&[&str]| {
        names
            .iter()
            .map(|name| ((*name).to_owned(), Vec::new()))
            .collect()
    };
    let operation = Operation {
        security: sets.iter().map(set).collect(),
        ..operation("GET", path)
    };
    // The second one makes it plain that this document speaks about security.
    let other = Operation {
        security: vec![BTreeMap::from([("bearer".into(), vec![])])],
        ..Operation::default()
    };
    let mut api = Api {
        schemes: schemes(url),
        ..api(url, operation)
    };
    api.operations.push(other);
    api
}

fn bearer(token: &str) -> Credential {
    Credential::Bearer {
        token: Secret::new(token),
    }
}

fn basic(username: &str, password: &str) -> Credential {
    Credential::Basic {
        username: username.into(),
        password: Secret::new(password),
    }
}

fn key(key: &str) -> Credential {
    Credential::ApiKey {
        key: Secret::new(key),
    }
}

/// The credentials in a request, wherever they are.
fn credentials(request: &Recorded) -> Vec<String> {
    let header = |name: &str| request.header(name).map(|value| format!("{name}: {value}"));
    let query = request.query.as_ref().map(|query| format!("?{query}"));
    ["authorization", "x-api-key", "x-key", "cookie"]
        .into_iter()
        .filter_map(header)
        .chain(query)
        .collect()
}

/// What arrives when an operation that wants `sets` is called with a credential.
async fn sends(
    sets: Sets<'_>,
    settings: Value,
    brought: Option<Credential>,
) -> Result<Vec<String>, String> {
    let echo = echo::start().await;
    let client = client(guarded(echo.url(), "/", sets), settings);
    let cx = CallContext {
        credential: brought,
        ..CallContext::default()
    };
    let result = call_with(&client, &cx, json!({}), None).await;
    result
        .map_err(|error| error.to_string())
        .map(|_| credentials(&echo.only_request()))
}

#[track_caller]
fn check(found: Result<Vec<String>, String>, expected: &[&str]) {
    assert_eq!(found.unwrap(), expected);
}

#[tokio::test]
async fn each_kind_in_its_place() {
    let brings =
        async |scheme: &str, credential| sends(&[&[scheme]], json!({}), Some(credential)).await;
    let plain = |text: &str| Credential::Plain(Secret::new(text));
    check(
        brings("bearer", bearer("t")).await,
        &["authorization: Bearer t"],
    );
    check(
        brings("bearer", plain("t")).await,
        &["authorization: Bearer t"],
    );
    check(
        brings("oauth", bearer("t")).await,
        &["authorization: Bearer t"],
    );
    check(
        brings("basic", basic("ann", "pw")).await,
        &["authorization: Basic YW5uOnB3"],
    );
    check(
        brings("basic", plain("ann:pw")).await,
        &["authorization: Basic YW5uOnB3"],
    );
    check(
        brings("basic", plain("sk_test")).await,
        &["authorization: Basic c2tfdGVzdDo="],
    );
    check(brings("header", key("k")).await, &["x-api-key: k"]);
    check(brings("query", key("k&x=1")).await, &["?api_key=k%26x%3D1"]);
    check(brings("cookie", plain("k")).await, &["cookie: session=k"]);
    check(
        brings("legacy", key("token k")).await,
        &["authorization: token k"],
    );
    check(
        brings("legacy", bearer("t")).await,
        &["authorization: Bearer t"],
    );
    check(
        brings("legacy", basic("ann", "pw")).await,
        &["authorization: Basic YW5uOnB3"],
    );
    check(
        brings("digest", bearer("t")).await,
        &["authorization: Bearer t"],
    );
    check(brings("forgotten", key("k")).await, &["x-api-key: k"]);
}

#[tokio::test]
async fn the_wrong_kind_is_an_error_that_says_so() {
    for (scheme, credential, expected) in [
        (
            "header",
            bearer("hunter2"),
            "it wants an API key (`header`), and the credential given is a bearer token",
        ),
        (
            "bearer",
            key("hunter2"),
            "it wants a bearer token (`bearer`), and the credential given is an API key",
        ),
        (
            "basic",
            bearer("hunter2"),
            "it wants a user and a password (`basic`)",
        ),
    ] {
        let error = sends(&[&[scheme]], json!({}), Some(credential))
            .await
            .unwrap_err();
        assert!(
            error.contains(expected) && !error.contains("hunter2"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn the_first_alternative_we_can_meet() {
    let bring = async |sets: Sets<'_>, credential| sends(sets, json!({}), Some(credential)).await;
    check(
        bring(&[&["header"], &["bearer"]], bearer("t")).await,
        &["authorization: Bearer t"],
    );
    check(
        bring(&[&["header"], &["bearer"]], key("k")).await,
        &["x-api-key: k"],
    );
    check(
        bring(&[&[], &["bearer"]], bearer("t")).await,
        &["authorization: Bearer t"],
    );
    check(bring(&[&["header"], &[]], bearer("t")).await, &[]);
    check(bring(&[], bearer("t")).await, &[]);
    check(sends(&[&["bearer"]], json!({}), None).await, &[]);
}

#[tokio::test]
async fn sets_need_all_their_members() {
    let settings = json!({
        "auth": {"type": "bearer", "token": "t"},
        "credentials": {"header": {"type": "api_key", "key": "k"}},
    });
    let both: Sets<'_> = &[&["bearer", "header"]];
    check(
        sends(both, settings.clone(), None).await,
        &["authorization: Bearer t", "x-api-key: k"],
    );
    check(
        sends(both, settings.clone(), Some(bearer("mine"))).await,
        &["authorization: Bearer mine", "x-api-key: k"],
    );
    check(
        sends(&[&["bearer", "query"], &["header"]], settings, None).await,
        &["x-api-key: k"],
    );
}

#[tokio::test]
async fn what_the_caller_brings_wins() {
    let settings = json!({
        "auth": {"type": "bearer", "token": "ours"},
        "credentials": {"header": {"type": "api_key", "key": "ours"}},
    });
    check(
        sends(&[&["bearer"]], settings.clone(), Some(bearer("mine"))).await,
        &["authorization: Bearer mine"],
    );
    check(
        sends(&[&["header"]], settings.clone(), Some(key("mine"))).await,
        &["x-api-key: mine"],
    );
    let error = sends(&[&["header"]], settings, Some(bearer("mine")))
        .await
        .unwrap_err();
    assert!(
        error.contains("wants an API key"),
        "ours must not stand in for mine: {error}"
    );
}

/// What arrives when the document asks for nothing anywhere.
async fn unasked(schemes: BTreeMap<String, Scheme>, auth: Value) -> Vec<String> {
    let echo = echo::start().await;
    let api = Api {
        schemes,
        ..api(echo.url(), operation("GET", "/"))
    };
    call(&client(api, json!({"auth": auth})), json!({}))
        .await
        .unwrap();
    credentials(&echo.only_request())
}

#[tokio::test]
async fn a_silent_document_gets_the_credential_anyway() {
    let none = BTreeMap::new;
    let key = json!({"type": "api_key", "key": "k"});
    let placed = json!({"type": "api_key", "key": "k", "name": "X-Key"});
    let in_query = json!({"type": "api_key", "key": "k", "name": "key", "in": "query"});
    assert_eq!(
        unasked(none(), json!({"type": "bearer", "token": "t"})).await,
        ["authorization: Bearer t"]
    );
    let basic = json!({"type": "basic", "username": "ann", "password": "pw"});
    assert_eq!(
        unasked(none(), basic).await,
        ["authorization: Basic YW5uOnB3"]
    );
    assert_eq!(unasked(none(), key.clone()).await, ["x-api-key: k"]);
    assert_eq!(unasked(none(), placed).await, ["x-key: k"]);
    assert_eq!(unasked(none(), in_query).await, ["?key=k"]);
    let declared = || {
        schemes("")
            .into_iter()
            .filter(|(name, _)| name == "query")
            .collect()
    };
    assert_eq!(unasked(declared(), key).await, ["?api_key=k"]);
    assert_eq!(
        unasked(declared(), json!({"type": "bearer", "token": "t"})).await,
        ["authorization: Bearer t"]
    );
}

#[tokio::test]
async fn a_credential_that_cannot_travel_is_an_error() {
    for (scheme, credential) in [
        ("bearer", bearer("a\nb-hunter2")),
        ("cookie", key("a;b-hunter2")),
    ] {
        let error = sends(&[&[scheme]], json!({}), Some(credential))
            .await
            .unwrap_err();
        assert!(
            error.contains("line breaks") && !error.contains("hunter2"),
            "{error}"
        );
    }
}

fn oauth_settings() -> Value {
    json!({"auth": {
        "type": "oauth2_client_credentials",
        "client_id": Sample::CLIENT_ID,
        "client_secret": Sample::CLIENT_SECRET,
    }})
}

#[tokio::test]
async fn tokens_are_fetched_shared_and_renewed() {
    let sample = Sample::start().await;
    let client = client(
        guarded(sample.url(), "/secure/oauth", &[&["oauth"]]),
        oauth_settings(),
    );
    let calls = (0..10).map(|_| call(&client, json!({})));
    for reply in futures_util::future::join_all(calls).await {
        assert_eq!(reply.unwrap().value, json!({"welcome": true}));
    }
    assert_eq!(sample.count("POST", "/oauth/token"), 1);
    sample.revoke_tokens();
    assert!(call(&client, json!({})).await.is_ok());
    assert_eq!(sample.count("POST", "/oauth/token"), 2);
}

#[tokio::test]
async fn a_fresh_token_that_is_refused_is_not_renewed_for_ever() {
    let sample = Sample::start().await;
    let client = client(
        guarded(sample.url(), "/secure/bearer", &[&["oauth"]]),
        oauth_settings(),
    );
    assert_eq!(
        call(&client, json!({})).await.unwrap_err().api_status(),
        Some(401)
    );
    assert_eq!(sample.count("GET", "/secure/bearer"), 2);
    assert_eq!(sample.count("POST", "/oauth/token"), 2);
}

#[tokio::test]
async fn without_a_token_the_source_is_unavailable() {
    let sample = Sample::start().await;
    let settings = json!({"auth": {
        "type": "oauth2_client_credentials",
        "client_id": "wrong",
        "client_secret": "hunter2-hunter2",
    }});
    let client = client(
        guarded(sample.url(), "/secure/oauth", &[&["oauth"]]),
        settings,
    );
    let error = call(&client, json!({})).await.unwrap_err();
    assert!(matches!(error, CallError::Unavailable { .. }));
    let text = error.to_string();
    assert!(
        text.contains("invalid_client") && text.contains("`client_id`"),
        "{text}"
    );
}

#[tokio::test]
async fn the_doors_of_the_sample_open() {
    let sample = Sample::start().await;
    let opens = async |path: &str, scheme: &str, credential| {
        let client = client(guarded(sample.url(), path, &[&[scheme]]), json!({}));
        call_as(&client, credential)
            .await
            .map(|reply| reply.value["welcome"] == true)
    };
    assert!(
        opens("/secure/bearer", "bearer", bearer(Sample::TOKEN))
            .await
            .unwrap()
    );
    assert!(
        opens(
            "/secure/basic",
            "basic",
            basic(Sample::USER, Sample::PASSWORD)
        )
        .await
        .unwrap()
    );
    assert!(
        opens("/secure/key-header", "header", key(Sample::KEY))
            .await
            .unwrap()
    );
    assert!(
        opens("/secure/key-query", "query", key(Sample::KEY))
            .await
            .unwrap()
    );
    assert!(
        opens("/secure/key-cookie", "cookie", key(Sample::KEY))
            .await
            .unwrap()
    );
    let wrong = opens("/secure/bearer", "bearer", bearer("wrong"))
        .await
        .unwrap_err();
    assert_eq!(wrong.api_status(), Some(401));
}
