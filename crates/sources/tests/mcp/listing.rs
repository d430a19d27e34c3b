//! What is listed, and what calls give.

use serde_json::json;
use toolscript_catalog::{CallError, Effect, Function, Source as _, Type};
use toolscript_sources::mcp::ToolFilter;
use toolscript_testkit::mcp::{Era, Plan};

use crate::{Tested, fake, open, ready};

const ERAS: [Era; 3] = [Era::Handshake, Era::Stateless, Era::Both];

async fn in_era(era: Era) -> Tested {
    let plan = Plan {
        era,
        ..Plan::default()
    };
    ready(fake(&plan)).await
}

async fn function(tested: &Tested, name: &str) -> Function {
    let listing = tested.list().await;
    let found = listing
        .functions
        .into_iter()
        .find(|function| function.name.as_str() == name);
    found.unwrap()
}

#[tokio::test]
async fn tools_are_called_in_every_era() {
    for era in ERAS {
        let tested = in_era(era).await;
        let said = tested
            .call("echo", json!({"text": "größer"}))
            .await
            .unwrap();
        assert_eq!(said, json!("größer"), "{era:?}");
        let sum = tested.call("add", json!({"a": 1, "b": 2.5})).await.unwrap();
        assert_eq!(sum, json!({"sum": 3.5}), "{era:?}");
    }
}

#[tokio::test]
async fn a_tool_becomes_a_function() {
    let tested = in_era(Era::Handshake).await;
    let listing = tested.list().await;
    assert_eq!(
        (&*listing.info.kind, &*listing.info.title),
        ("mcp", "Fake server")
    );
    assert_eq!(listing.info.description, "Use echo.");
    let echo = function(&tested, "echo").await;
    assert_eq!(
        (&*echo.summary, &*echo.description),
        ("Does echo.", "And nothing else.")
    );
    assert_eq!(echo.effect, Effect::Reads);
    assert!(echo.params.fields[0].required);
    let add = function(&tested, "add").await;
    assert!(matches!(&add.returns.ty, Type::Object(object) if object.fields.len() == 1));
    assert!(listing.types.keys().any(|name| name.as_str() == "Sum"));
    assert_eq!(function(&tested, "flaky_safe").await.original, "flaky-safe");
}

#[tokio::test]
async fn every_kind_of_content_reaches_the_script() {
    let tested = in_era(Era::Handshake).await;
    let call = async |name: &str| tested.call(name, json!({})).await.unwrap();
    assert_eq!(call("image").await["data"], json!({"$base64": "AAEC"}));
    let several = call("several").await;
    assert_eq!(
        (&several[0]["text"], &several[1]["uri"]),
        (&json!("one"), &json!("file:///two"))
    );
    assert_eq!(
        call("unknown_item").await,
        json!([{"type": "hologram", "depth": 3}])
    );
}

#[tokio::test]
async fn what_a_tool_says_of_its_failure_is_passed_on() {
    for era in ERAS {
        let tested = in_era(era).await;
        let error = tested.call("fail", json!({})).await.unwrap_err();
        assert_eq!(error.to_string(), "`fake.fail` failed: it went wrong");
        let CallError::Upstream {
            body: Some(body), ..
        } = error
        else {
            panic!("{error:?}")
        };
        assert_eq!(body[0]["text"], "it went wrong");
        let refusal = tested.refusal("refuse", json!({})).await;
        assert_eq!(refusal, "`fake.refuse` failed: the arguments are odd");
    }
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_fails_its_call_alone() {
    let tested = in_era(Era::Handshake).await;
    let refusal = tested.refusal("malformed", json!({})).await;
    assert!(refusal.contains("not valid JSON-RPC"), "{refusal}");
    assert_eq!(
        tested.call("echo", json!({"text": "a"})).await.unwrap(),
        "a"
    );
}

#[tokio::test]
async fn a_function_that_is_not_there_is_not_found() {
    let tested = in_era(Era::Handshake).await;
    let error = tested.call("nothing", json!({})).await.unwrap_err();
    assert!(matches!(error, CallError::NotFound { .. }), "{error:?}");
}

#[tokio::test]
async fn a_question_for_a_person_gets_a_clear_answer() {
    for era in ERAS {
        let tested = in_era(era).await;
        let refusal = tested.refusal("ask", json!({})).await;
        assert!(
            refusal.contains("nobody can be asked here"),
            "{era:?}: {refusal}"
        );
        assert!(refusal.contains("What is your name?"), "{era:?}: {refusal}");
    }
}

#[tokio::test]
async fn thousands_of_tools_are_listed_to_the_last_page() {
    for era in [Era::Handshake, Era::Stateless] {
        let plan = Plan {
            era,
            more_tools: 3_000,
            page: 50,
            ..Plan::default()
        };
        let tested = open(fake(&plan));
        let listing = tested.list().await;
        assert!(
            3_000 < listing.functions.len(),
            "{}",
            listing.functions.len()
        );
        assert!(listing.warnings.is_empty(), "{:?}", listing.warnings);
        let last = tested
            .call("tool_2999", json!({"value": "x"}))
            .await
            .unwrap();
        assert_eq!(last, "tool_2999");
    }
}

#[tokio::test]
async fn pages_that_go_in_circles_come_to_an_end() {
    let plan = Plan {
        goes_in_circles: true,
        page: 5,
        ..Plan::default()
    };
    let listing = open(fake(&plan)).list().await;
    assert!(
        listing
            .functions
            .iter()
            .any(|function| function.name.as_str() == "echo")
    );
    assert!(
        listing
            .warnings
            .iter()
            .any(|warning| warning.reason.contains("circle"))
    );
}

#[tokio::test]
async fn tools_that_change_while_running_are_listed_again() {
    for era in ERAS {
        let mut tested = in_era(era).await;
        assert!(!tested.names().await.contains(&"extra".to_owned()));
        tested.call("toggle", json!({})).await.unwrap();
        tested.news().await;
        assert!(
            tested.names().await.contains(&"extra".to_owned()),
            "{era:?}"
        );
        assert_eq!(tested.call("extra", json!({})).await.unwrap(), "extra");
    }
}

#[tokio::test]
async fn only_the_tools_that_are_wanted_are_there() {
    let mut settings = fake(&Plan::default());
    settings.tools = ToolFilter {
        include: vec!["e*".to_owned(), "flaky_*".to_owned()],
        exclude: vec!["environment".to_owned()],
    };
    let tested = open(settings);
    assert_eq!(tested.names().await, ["echo", "flaky_safe"]);
    assert!(matches!(
        tested.call("add", json!({})).await,
        Err(CallError::NotFound { .. })
    ));
}

#[tokio::test]
async fn a_server_that_is_switched_off_is_not_started() {
    let mut settings = fake(&Plan::default());
    settings.enabled = false;
    let tested = open(settings);
    assert!(tested.names().await.is_empty());
    let refusal = tested.refusal("echo", json!({})).await;
    assert!(refusal.contains("switched off"), "{refusal}");
    let status = tested.server.status().unwrap();
    assert!(!status.enabled && !status.connected);
}
