//! Toolkits: code and references, and what is said about those that do not fit.

use serde_json::{Value, json};
use toolscript_catalog::{CallError, Condition};

use crate::stage::Stage;

fn tool(name: &str, execute: &str) -> Value {
    json!({
        "name": name, "title": "A tool", "description": "Does something.", "execute": execute,
        "inputSchema": {"type": "object", "properties": {
            "id": {"type": "integer", "default": 3}, "name": {"type": "string"},
        }},
    })
}

fn kit(tools: &[Value]) -> Value {
    json!({"title": "My kit", "tools": tools})
}

async fn stage(tools: &[Value]) -> Stage {
    let mut stage = Stage::empty();
    stage.open_kit(&kit(tools));
    stage.list().await;
    stage
}

#[tokio::test]
async fn code_runs_with_params_and_sdk() {
    let stage = stage(&[tool("greet", "local name = params.name or 'you'\nreturn { name, sdk.petstore.get_pet({ id = params.id }).params.id }")]).await;
    assert_eq!(
        stage
            .call("kit.greet", json!({"name": "ann"}))
            .await
            .unwrap(),
        json!(["ann", 3])
    );
    let function = &stage.list().await.functions[0];
    assert_eq!(function.rate.unwrap().to_string(), "5/minute");
    assert_eq!(function.summary, "Does something.");
}

#[tokio::test]
async fn code_has_no_host_modules_and_says_where_it_fails() {
    let stage = stage(&[tool(
        "bad",
        "local x = 1\nreturn http.get('https://x.test')",
    )])
    .await;
    let error = stage.call("kit.bad", json!({})).await.unwrap_err();
    assert!(matches!(error, CallError::Tool { .. }), "{error}");
    assert!(error.to_string().contains("kit.json#bad:2: "), "{error}");
}

#[tokio::test]
async fn references_call_the_function_the_way_it_wants() {
    let stage = stage(&[
        tool("get", "petstore.get_pet"),
        tool("create", "petstore.create_pet"),
        tool("update", "petstore.update_pet"),
        tool("lost", "petstore.sell_pet"),
    ])
    .await;
    let call = async |name: &str| {
        let answer = stage
            .call(name, json!({"id": 7, "name": "Otto"}))
            .await
            .unwrap();
        (answer["params"].clone(), answer["body"].clone())
    };
    assert_eq!(
        call("kit.get").await,
        (json!({"id": 7, "name": "Otto"}), json!(null))
    );
    assert_eq!(
        call("kit.create").await,
        (json!({}), json!({"id": 7, "name": "Otto"}))
    );
    assert_eq!(
        call("kit.update").await,
        (json!({"id": 7}), json!({"name": "Otto"}))
    );
    let error = stage
        .call("kit.lost", json!({}))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with(
            "`kit.lost` failed: kit.json: it stands for `petstore.sell_pet`, which is not there"
        ),
        "{error}"
    );
    let states = stage.source().states();
    assert_eq!(
        states[0].refers_to,
        Some("petstore.get_pet".parse().unwrap())
    );
}

#[tokio::test]
async fn a_bad_tool_is_skipped_and_an_old_one_kept() {
    let stage = stage(&[tool("good", "return 1"), tool("bad", "return return")]).await;
    let listing = stage.list().await;
    assert_eq!(listing.functions.len(), 1);
    assert_eq!(
        listing.warnings[0].place,
        "kit.json: `/tools/1/execute` line 1 is neither Luau nor the name of a function: Expected identifier when parsing expression, got 'return'"
    );
    stage.write("kit.json", &kit(&[tool("good", "return (")]).to_string());
    stage.list().await;
    assert_eq!(stage.call("kit.good", json!({})).await.unwrap(), json!(1));
    assert!(matches!(
        stage.source().states()[0].condition,
        Condition::Kept { .. }
    ));
    stage.write("kit.json", "{");
    let listing = stage.list().await;
    assert!(
        listing.warnings[0]
            .place
            .starts_with("kit.json: is not JSON")
    );
    assert_eq!(stage.call("kit.good", json!({})).await.unwrap(), json!(1));
    stage.write("kit.json", &kit(&[tool("good", "return 2")]).to_string());
    stage.list().await;
    assert_eq!(stage.call("kit.good", json!({})).await.unwrap(), json!(2));
}

#[tokio::test]
async fn a_kit_that_never_was_good_is_not_available() {
    let stage = Stage {
        source: None,
        ..Stage::empty()
    };
    let mut stage = stage;
    stage.open_kit(&json!([]));
    let error = stage.source().list().await.unwrap_err().to_string();
    assert_eq!(
        error,
        "source `kit` is not available: kit.json: must be an object: { \"tools\": [ … ] }"
    );
}
