//! Every status of the HTTP API, against tools that do as they are told.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use reqwest::{Client, RequestBuilder, Response, header};
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolscript_catalog::{
    Call, CallContext, CallError, Field, Function, FunctionName, Level, Listing, Reply, Secret,
    Sign, Source, SourceInfo, SourceName, Type,
    function::Returns,
    ty::{Extra, Object},
    validate,
};
use toolscript_engine::{
    Patience,
    config::{Auth, Config, Configured, Origin, Settings},
};
use toolscript_sources::{Context, Kind, SettingsError, UnnamedError};

use super::*;

/// A kind whose only source does what the names of its functions say.
struct Fake;

/// Told when a call that lingers is given up.
static GIVEN_UP: Notify = Notify::const_new();

#[async_trait]
impl Kind for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn section(&self) -> &'static str {
        "fakes"
    }

    fn settings_schema(&self) -> schemars::Schema {
        schemars::Schema::default()
    }

    fn open(
        &self,
        _cx: &Context,
        _name: SourceName,
        settings: Value,
    ) -> Result<Arc<dyn Source>, SettingsError> {
        Ok(Arc::new(FakeSource {
            kind: settings.as_str().unwrap_or_default().to_owned(),
            calls: Mutex::default(),
        }))
    }

    async fn open_unnamed(
        &self,
        _cx: &Context,
        _settings: Value,
    ) -> Result<(SourceName, Arc<dyn Source>), UnnamedError> {
        Err(UnnamedError::Nameless)
    }
}

struct FakeSource {
    kind: String,
    calls: Mutex<usize>,
}

struct GivenUp;

impl Drop for GivenUp {
    fn drop(&mut self) {
        GIVEN_UP.notify_one();
    }
}

fn function(name: &str, fields: Vec<Field>, returns: Type) -> Function {
    Function {
        name: FunctionName::clean(name),
        summary: format!("Does {name}"),
        params: Object {
            fields,
            extra: Extra::Unspecified,
        },
        returns: Returns {
            ty: returns,
            description: String::new(),
        },
        ..Function::default()
    }
}

fn echo() -> Function {
    let size = Type::Literal {
        values: vec![json!("small"), json!("large")],
    };
    let times = Field {
        default: Some(json!(1)),
        ..Field::optional("times", Type::integer())
    };
    let fields = vec![
        Field::required("text", Type::string()),
        times,
        Field::optional("size", size),
    ];
    function("echo", fields, Type::Any)
}

#[async_trait]
impl Source for FakeSource {
    async fn list(&self) -> Result<Listing, CallError> {
        let plain = [
            "fail", "hang", "linger", "often", "chatty", "refuse", "search",
        ];
        let mut functions: Vec<Function> = plain
            .iter()
            .map(|name| function(name, Vec::new(), Type::string()))
            .collect();
        functions.push(echo());
        Ok(Listing {
            info: SourceInfo {
                kind: self.kind.clone(),
                ..SourceInfo::default()
            },
            functions,
            ..Listing::default()
        })
    }

    async fn call(&self, cx: &CallContext, call: Call) -> Result<Reply, CallError> {
        let function = call.function.clone();
        *self.calls.lock().unwrap() += 1;
        match function.name.as_str() {
            "echo" => {
                let mut params = call.params;
                validate::fill_defaults(&echo().params, &mut params);
                Ok(Reply::value(Value::Object(params)))
            }
            "fail" => Err(CallError::Tool {
                function,
                problem: "tools/fail.luau:3: no luck".to_owned(),
                body: None,
            }),
            "hang" => std::future::pending().await,
            "linger" => {
                let _guard = GivenUp;
                std::future::pending().await
            }
            "often" => Err(CallError::RateLimited {
                function,
                rate: "1/minute".to_owned(),
                retry_after_s: 42,
            }),
            "refuse" => Err(CallError::Denied {
                function,
                rule: "not on Sundays".to_owned(),
            }),
            "chatty" => {
                let observer = cx.observer.as_ref().unwrap();
                observer.log(&function, Level::Info, "first\nsecond");
                tokio::task::yield_now().await;
                let sign = Sign {
                    done: 1.0,
                    total: Some(2.0),
                    message: Some("half".to_owned()),
                };
                observer.progress(&function, &sign);
                Ok(Reply::value(json!("done")))
            }
            other => Ok(Reply::value(json!(other))),
        }
    }
}

struct Serving {
    url: String,
    client: Client,
    _stop: tokio_util::sync::DropGuard,
}

impl Serving {
    async fn start(settings: Settings) -> Self {
        let source = |name: &str, kind: &str| Configured {
            kind: &Fake,
            name: Some(SourceName::parse(name).unwrap()),
            settings: json!(kind),
            origin: Origin::CommandLine("test".to_owned()),
        };
        let config = Config {
            sources: vec![
                source("tools", "script"),
                source("kit", "toolkit"),
                source("api", "openapi"),
            ],
            settings,
            ..Config::empty()
        };
        // Whoever comes second finds it installed.
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let engine = Engine::open(config, Patience::Unlimited, None)
            .await
            .unwrap();
        let listener = listen("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shutdown = CancellationToken::new();
        tokio::spawn(serve(Arc::new(engine), listener, shutdown.clone()));
        Self {
            url,
            client: Client::new(),
            _stop: shutdown.drop_guard(),
        }
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.url))
    }

    /// A call with a JSON body.
    fn post(&self, tool: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
        self.client
            .post(format!("{}/tools/{tool}", self.url))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
    }
}

async fn json_of(response: Response) -> Value {
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

/// Sends a request that has to fail this way, and gives the message.
#[track_caller]
fn fails(request: RequestBuilder, status: u16, code: &str) -> impl Future<Output = String> {
    let place = std::panic::Location::caller();
    let code = code.to_owned();
    async move {
        let response = request.send().await.unwrap();
        let found = response.status().as_u16();
        let body = json_of(response).await;
        assert_eq!(found, status, "{place}: {body}");
        let error = body["error"].as_object().unwrap();
        assert_eq!(error["code"], *code, "{place}: {body}");
        assert_eq!(error.len(), 2, "{place}: {body}");
        error["message"].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_call_gives_its_result() {
    let serving = Serving::start(Settings::default()).await;
    let response = serving
        .post("echo", r#"{"text": "hi"}"#)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
    assert_eq!(
        json_of(response).await,
        json!({"result": {"text": "hi", "times": 1}})
    );
    // By its full name, of a toolkit, and without a body where nothing is required.
    for (name, body) in [
        ("tools.echo", r#"{"text": "hi"}"#),
        ("kit.echo", r#"{"text": "hi"}"#),
        ("tools.search", ""),
        ("kit.search", "{}"),
    ] {
        let response = serving.post(name, body).send().await.unwrap();
        assert_eq!(response.status(), 200, "{name}");
    }
}

#[tokio::test]
async fn parameters_that_do_not_fit_are_bad_requests() {
    let serving = Serving::start(Settings::default()).await;
    for (body, named) in [
        ("{}", "`text` is missing"),
        ("", "`text` is missing"),
        (r#"{"text": 1}"#, "parameter `text` must be"),
        (r#"{"text": "a", "times": 1.5}"#, "a whole number"),
        (r#"{"text": "a", "size": "huge"}"#, "\"small\", \"large\""),
        (r#"{"text": "a", "colour": "red"}"#, "`colour` is not known"),
        ("[1]", "a JSON object"),
        ("\"text\"", "a JSON object"),
        ("null", "a JSON object"),
        ("{\"text\": ", "not JSON"),
        ("text=hi", "not JSON"),
    ] {
        let message = fails(serving.post("echo", body), 400, "bad_request").await;
        assert!(message.contains(named), "{body}: {message}");
    }
    let form = serving
        .client
        .post(format!("{}/tools/echo", serving.url))
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body("text=hi");
    fails(form, 415, "unsupported_media_type").await;
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let serving = Serving::start(Settings::default()).await;
    let message = fails(serving.post("ecko", "{}"), 404, "not_found").await;
    assert!(message.contains("`echo`"), "{message}");
    // The functions of APIs and servers are for scripts.
    for name in [
        "api.echo",
        "nothing.echo",
        "a.b.c",
        "%00",
        "%ff",
        &"x".repeat(5_000),
    ] {
        fails(serving.post(name, "{}"), 404, "not_found").await;
    }
    fails(serving.get("/nowhere"), 404, "not_found").await;
    let response = serving.get("/tools/echo").send().await.unwrap();
    assert_eq!(response.headers()[header::ALLOW], "POST");
    fails(serving.get("/tools/echo"), 405, "method_not_allowed").await;
}

#[tokio::test]
async fn failures_of_tools_have_their_statuses() {
    let serving = Serving::start(Settings::default()).await;
    let message = fails(serving.post("fail", "{}"), 500, "tool_error").await;
    assert!(message.contains("tools/fail.luau:3: no luck"), "{message}");
    fails(serving.post("refuse", "{}"), 403, "denied").await;
    let response = serving.post("often", "{}").send().await.unwrap();
    assert_eq!(response.headers()[header::RETRY_AFTER], "42");
    fails(serving.post("often", "{}"), 429, "rate_limited").await;
}

#[tokio::test]
async fn a_tool_that_takes_too_long_is_stopped() {
    let mut settings = Settings::default();
    settings.limits.timeout_ms = 100;
    let serving = Serving::start(settings).await;
    let message = fails(serving.post("hang", "{}"), 408, "timeout").await;
    assert!(message.contains("100 ms"), "{message}");
}

#[tokio::test]
async fn a_large_body_is_refused() {
    let mut settings = Settings::default();
    settings.server.max_body_bytes = 1_000;
    let serving = Serving::start(settings).await;
    let large = json!({"text": "x".repeat(2_000)}).to_string();
    let message = fails(serving.post("echo", large.clone()), 413, "too_large").await;
    assert!(message.contains("1000 bytes"), "{message}");
    // The same without a length said beforehand.
    let pieces = futures_util::stream::iter(
        large
            .into_bytes()
            .chunks(100)
            .map(|piece| Ok::<_, std::convert::Infallible>(piece.to_vec()))
            .collect::<Vec<_>>(),
    );
    fails(
        serving.post("echo", reqwest::Body::wrap_stream(pieces)),
        413,
        "too_large",
    )
    .await;
}

#[tokio::test]
async fn tools_are_listed_for_function_calling() {
    let serving = Serving::start(Settings::default()).await;
    let listed = json_of(serving.get("/tools/list").send().await.unwrap()).await;
    let tools = listed["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let built_in: Vec<&str> = names[..3].to_vec();
    assert_eq!(built_in, ["search", "get", "sources"]);
    for name in ["echo", "kit.echo", "tools.search", "kit.search"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(
        !names.iter().any(|name| name.starts_with("api.")),
        "{names:?}"
    );
    let echo = tools.iter().find(|tool| tool["name"] == "echo").unwrap();
    assert_eq!(
        echo,
        &json!({
            "name": "echo",
            "description": "Does echo",
            "builtin": false,
            "parameters": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "times": {"type": "integer", "default": 1},
                    "size": {"type": "string", "enum": ["small", "large"]},
                },
                "required": ["text"],
                "additionalProperties": false,
            },
        })
    );
}

#[tokio::test]
async fn the_knowledge_base_is_there_and_empty() {
    let serving = Serving::start(Settings::default()).await;
    for (name, body, result) in [
        (
            "search",
            r#"{"query": "hi", "mode": "keyword", "limit": 5}"#,
            json!([]),
        ),
        ("get", r#"{"id": "1"}"#, json!(null)),
        ("sources", "{}", json!([])),
    ] {
        let response = serving.post(name, body).send().await.unwrap();
        assert_eq!(json_of(response).await, json!({"result": result}), "{name}");
    }
    fails(serving.post("search", "{}"), 400, "bad_request").await;
    fails(
        serving.post("search", r#"{"query": "a", "limit": 0}"#),
        400,
        "bad_request",
    )
    .await;
}

#[tokio::test]
async fn a_stream_tells_logs_progress_and_the_result() {
    let serving = Serving::start(Settings::default()).await;
    let streamed = |tool: &str| {
        serving
            .post(tool, "{}")
            .header(header::ACCEPT, "text/event-stream")
    };
    let response = streamed("chatty").send().await.unwrap();
    assert_eq!(
        response.headers()[header::CONTENT_TYPE],
        "text/event-stream"
    );
    let text = response.text().await.unwrap();
    let told: Vec<(&str, Value)> = text
        .split("\n\n")
        .filter(|event| !event.is_empty())
        .map(|event| {
            let (name, data) = event.split_once("\ndata: ").unwrap();
            (
                name.strip_prefix("event: ").unwrap(),
                serde_json::from_str(data).unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (
                "log",
                json!({"function": "tools.chatty", "level": "info", "text": "first\nsecond"})
            ),
            (
                "progress",
                json!({"function": "tools.chatty", "done": 1.0, "total": 2.0, "message": "half"})
            ),
            ("result", json!({"result": "done"})),
        ]
    );
    // What is wrong from the start has its status.
    fails(streamed("nothing"), 404, "not_found").await;
    fails(streamed("echo"), 400, "bad_request").await;
    fails(streamed("often"), 429, "rate_limited").await;
}

#[tokio::test]
async fn a_client_that_hangs_up_ends_its_call() {
    let serving = Serving::start(Settings::default()).await;
    let response = serving
        .post("linger", "{}")
        .header(header::ACCEPT, "text/event-stream")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    drop(response);
    tokio::time::timeout(Duration::from_secs(30), GIVEN_UP.notified())
        .await
        .expect("the call is given up");
}

#[tokio::test]
async fn a_token_is_asked_for_everywhere_but_at_the_door() {
    let mut settings = Settings::default();
    settings.server.auth = Some(Auth {
        token: Secret::new("s3cret-7d1f"),
    });
    let serving = Serving::start(settings).await;
    for path in ["/tools/list", "/api/openapi.json", "/mcp"] {
        let response = serving.get(path).send().await.unwrap();
        assert_eq!(
            response.headers()[header::WWW_AUTHENTICATE],
            "Bearer realm=\"toolscript\"",
            "{path}"
        );
        fails(serving.get(path), 401, "unauthorized").await;
    }
    let wrong = serving.post("echo", "{}").bearer_auth("wrong");
    let message = fails(wrong, 401, "unauthorized").await;
    assert!(!message.contains("s3cret"), "{message}");
    assert_eq!(serving.get("/health").send().await.unwrap().status(), 200);
    let stranger = json_of(serving.get("/ready").send().await.unwrap()).await;
    assert_eq!(stranger, json!({"status": "ready"}));
    let friend = serving.get("/ready").bearer_auth("s3cret-7d1f");
    assert!(json_of(friend.send().await.unwrap()).await["sources"].is_array());

    let call = serving
        .post("echo", r#"{"text": "hi"}"#)
        .bearer_auth("s3cret-7d1f");
    assert_eq!(call.send().await.unwrap().status(), 200);
    let document = serving.get("/api/openapi.json").bearer_auth("s3cret-7d1f");
    let document = json_of(document.send().await.unwrap()).await;
    assert_eq!(document["security"], json!([{"token": []}]));
    assert!(!document.to_string().contains("s3cret"));
}

#[tokio::test]
async fn pages_and_hosts_of_others_are_refused() {
    let serving = Serving::start(Settings::default()).await;
    let page = serving
        .post("echo", "{}")
        .header(header::ORIGIN, "https://evil.example");
    fails(page, 403, "denied").await;
    let host = serving
        .get("/tools/list")
        .header(header::HOST, "evil.example");
    fails(host, 403, "denied").await;
    let probe = serving.get("/health").header(header::HOST, "10.0.0.7:8080");
    assert_eq!(probe.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn the_document_describes_every_tool() {
    let serving = Serving::start(Settings::default()).await;
    let document = json_of(serving.get("/api/openapi.json").send().await.unwrap()).await;
    let paths = document["paths"].as_object().unwrap();
    for path in [
        "/health",
        "/ready",
        "/tools/list",
        "/tools/search",
        "/tools/echo",
        "/tools/kit.echo",
    ] {
        assert!(paths.contains_key(path), "{path}: {:?}", paths.keys());
    }
    let echo = &paths["/tools/echo"]["post"];
    assert_eq!(echo["operationId"], "echo");
    assert_eq!(
        echo["requestBody"]["content"]["application/json"]["schema"]["properties"]["size"],
        json!({"type": ["string", "null"], "enum": ["small", "large", null]})
    );
    assert_eq!(document["security"], Value::Null);
    let mut ids: Vec<&str> = paths
        .values()
        .flat_map(|item| item.as_object().unwrap().values())
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "{ids:?}");
}
