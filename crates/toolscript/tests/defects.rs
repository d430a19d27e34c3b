//! Defects earlier programs of this kind had, each kept out by a test through the binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "`operation(\"id\", json!(…))` reads best"
)]

use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolscript_testkit::{Sample, Server, echo};

/// A folder with documents, and the ways to run scripts against them.
struct Stage {
    folder: TempDir,
    specs: Vec<String>,
    variables: Vec<(&'static str, &'static str)>,
    arguments: Vec<&'static str>,
}

/// What `exec` gave back.
struct Ran {
    code: i32,
    result: Value,
    all: String,
}

impl Stage {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            specs: Vec::new(),
            variables: Vec::new(),
            arguments: Vec::new(),
        }
    }

    fn document(mut self, name: &str, text: &str) -> Self {
        let path = self.folder.path().join(format!("{name}.json"));
        fs::write(&path, text).unwrap();
        self.specs.push(format!("{name}={}", path.display()));
        self
    }

    fn exec(&self, script: &str) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolscript"));
        command
            .args(["exec", "--json", "-vv", "-e", script])
            .args(&self.arguments);
        for spec in &self.specs {
            command.args(["--spec", spec]);
        }
        command.envs(self.variables.iter().copied());
        command
            .env("XDG_CACHE_HOME", self.folder.path())
            .env("XDG_CONFIG_HOME", self.folder.path());
        command.current_dir(self.folder.path());
        let output = command.output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        Ran {
            code: output.status.code().unwrap(),
            result: serde_json::from_str(&stdout).unwrap_or(Value::Null),
            all: format!("{stdout}{stderr}"),
        }
    }

    #[track_caller]
    fn gives(&self, script: &str, expected: &Value) {
        let ran = self.exec(script);
        assert_eq!(ran.code, 0, "{}", ran.all);
        let result = ran.result.get("result").unwrap_or(&ran.result);
        assert_eq!(result, expected, "{}", ran.all);
    }
}

async fn sample() -> (Sample, Stage) {
    let sample = Sample::start().await;
    let stage = Stage::new().document("shop", &sample.document());
    (sample, stage)
}

/// An API whose operations all end at a server that tells what arrived.
async fn echoing(paths: Value) -> (Server, Stage) {
    let server = echo::start().await;
    let stage = Stage::new().document("echo", &document(server.url(), &paths));
    (server, stage)
}

fn document(server: &str, paths: &Value) -> String {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Echo", "version": "1"},
        "servers": [{"url": server}],
        "paths": paths,
    })
    .to_string()
}

fn operation(id: &str, parameters: Value) -> Value {
    json!({"operationId": id, "parameters": parameters,
        "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": {}}}}}})
}

#[tokio::test(flavor = "multi_thread")]
async fn api_keys_go_where_the_document_says() {
    let (_sample, mut stage) = sample().await;
    let script = "return { header = shop.secure_key_header().ok, query = shop.secure_key_query().ok, cookie = shop.secure_key_cookie().ok }";
    stage.arguments = vec!["--auth", "shop:SHOP_KEY"];
    stage.variables = vec![("SHOP_KEY", Sample::KEY)];
    let ran = stage.exec(script);
    assert_eq!(ran.code, 0, "{}", ran.all);
    assert!(!ran.all.contains(Sample::KEY), "{}", ran.all);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_and_text_are_answers_too() {
    let (_sample, stage) = sample().await;
    stage.gives(
        "local pet = shop.create_pet({ name = 'Rex' })\n\
         return { gone = shop.delete_pet({ id = pet.id }) == nil, text = type(shop.get_text()) }",
        &json!({"gone": true, "text": "string"}),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_value_stays_one_segment() {
    let id = json!([{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}]);
    let (server, stage) = echoing(json!({"/things/{id}/x": {"get": operation("get", id)}})).await;
    for value in ["a/b?x=1#f", "../../etc"] {
        let ran = stage.exec(&format!("return echo.get({{ id = '{value}' }})"));
        assert_eq!(ran.code, 0, "{}", ran.all);
    }
    let paths: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.path.clone())
        .collect();
    assert_eq!(
        paths,
        ["/things/a%2Fb%3Fx%3D1%23f/x", "/things/..%2F..%2Fetc/x"]
    );
    let queries: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.query.clone())
        .collect();
    assert!(
        queries
            .iter()
            .all(|query| query.is_none() || query.as_deref() == Some("")),
        "{queries:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn arrays_and_path_item_parameters_arrive() {
    let tags = json!([{"name": "tag", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}}]);
    let shared =
        json!([{"name": "shop", "in": "path", "required": true, "schema": {"type": "string"}}]);
    let paths = json!({"/{shop}/things": {"parameters": shared, "get": operation("list", tags)}});
    let (server, stage) = echoing(paths).await;
    let ran = stage.exec("return echo.list({ shop = 'a', tag = { 'x', 'y' } })");
    assert_eq!(ran.code, 0, "{}", ran.all);
    let request = server.only_request();
    assert_eq!(request.path, "/a/things");
    assert_eq!(request.query.as_deref(), Some("tag=x&tag=y"));
}

#[tokio::test(flavor = "multi_thread")]
async fn null_is_nil_and_may_be_passed() {
    let maybe = json!([{"name": "q", "in": "query", "schema": {"type": ["string", "null"]}}]);
    let (_server, stage) = echoing(json!({"/things": {"get": operation("list", maybe)}})).await;
    stage.gives(
        "local answer = echo.list({ q = nil })\nreturn { nothing = answer.missing == nil, query = answer.query or '' }",
        &json!({"nothing": true, "query": ""}),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_operation_ids_become_names() {
    let none = || json!([]);
    let (_server, stage) = echoing(json!({
        "/a": {"get": operation("repos/list-for-org", none())},
        "/b": {"get": operation("end", none())},
        "/c": {"get": operation("get-pet.by id", none())},
    }))
    .await;
    stage.gives(
        "return { echo.repos_list_for_org().path, sdk.echo.end_().path, echo.get_pet_by_id().path, echo['end']().path }",
        &json!(["/a", "/b", "/c", "/b"]),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_documents_may_use_the_same_names() {
    let server = echo::start().await;
    let api = |path: &str, ty: &str| {
        json!({
            "openapi": "3.0.3", "info": {"title": "T", "version": "1"}, "servers": [{"url": server.url()}],
            "paths": {path: {"post": {"operationId": "make", "requestBody": {"required": true, "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}, "responses": {"200": {"description": "ok"}}}}},
            "components": {"schemas": {"Thing": {"type": "object", "properties": {"value": {"type": ty}}}}},
        })
        .to_string()
    };
    let stage = Stage::new()
        .document("one", &api("/1", "string"))
        .document("two", &api("/2", "integer"));
    stage.gives(
        "return { one.make({ value = 'x' }).path, two.make({ value = 5 }).path, (pcall(two.make, { value = 'x' })) }",
        &json!(["/1", "/2", false]),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_timeout_covers_the_other_side() {
    let (_sample, mut stage) = sample().await;
    stage.arguments = vec!["--timeout", "1"];
    let clock = Instant::now();
    let ran = stage.exec("return shop.slow({ delay_ms = 5000 })");
    assert!(ran.all.contains("timeout"), "{}", ran.all);
    assert_ne!(ran.code, 0);
    assert!(
        clock.elapsed() < Duration::from_secs(4),
        "{:?}",
        clock.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_404_says_where_and_what() {
    let (_sample, stage) = sample().await;
    let ran = stage.exec("local a = 1\nreturn shop.get_pet({ id = 999 })");
    let error = &ran.result["error"];
    assert_eq!(error["phase"], "api_call", "{}", ran.all);
    assert_eq!(error["api_status"], 404);
    assert_eq!(error["line"], 2);
    assert_eq!(error["function"], "shop.get_pet");
}
