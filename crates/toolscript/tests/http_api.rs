//! Tools over HTTP with real tool scripts: every status, the same answers as in a script over MCP,
//! and a document another toolscript can load.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what cannot be had stops the test"
)]

mod support {
    #[expect(dead_code, reason = "no process is looked at by its number")]
    pub(crate) mod program;
}

use std::{path::Path, process::Command};

use reqwest::{Client, RequestBuilder, Response, header};
use serde_json::{Value, json};
use support::program::Program;
use tempfile::TempDir;

/// A value of the configuration that nobody but the tool may see.
const PASSWORD: &str = "hidden-config-5a1b";
const TOKEN: &str = "server-token-c07e";

struct Serving {
    program: Program,
    folder: TempDir,
    url: String,
    client: Client,
}

impl Serving {
    /// Serves the tools of the tests, with more settings.
    fn start(settings: &str) -> Self {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let folder = tempfile::tempdir().unwrap();
        let tools = folder.path().join("tools");
        std::fs::create_dir(&tools).unwrap();
        for entry in std::fs::read_dir(data.join("tools")).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, tools.join(path.file_name().unwrap())).unwrap();
        }
        let configuration = std::fs::read_to_string(data.join("tools.toml")).unwrap();
        let configuration = format!("{configuration}\n{settings}\n");
        std::fs::write(folder.path().join("toolscript.toml"), configuration).unwrap();
        // Whoever comes second finds it installed.
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let mut program = toolscript(folder.path(), &["serve", "-vv", "--port", "0"]);
        let url = loop {
            let line = program.stderr.next().expect("it says where it serves");
            if let Some((_, rest)) = line.split_once("serving MCP at ") {
                break rest.split("/mcp").next().unwrap().to_owned();
            }
        };
        Self {
            program,
            folder,
            url,
            client: Client::new(),
        }
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.url))
    }

    fn post(&self, tool: &str, params: &Value) -> RequestBuilder {
        self.client
            .post(format!("{}/tools/{tool}", self.url))
            .header(header::CONTENT_TYPE, "application/json")
            .body(params.to_string())
    }

    /// Calls a tool and gives the status and the body.
    async fn call(&self, tool: &str, params: &Value) -> (u16, Value) {
        let response = self.post(tool, params).send().await.unwrap();
        (response.status().as_u16(), body(response).await)
    }
}

/// A program that sees this folder only.
fn toolscript(folder: &Path, arguments: &[&str]) -> Program {
    Program::start(
        Command::new(env!("CARGO_BIN_EXE_toolscript"))
            .args(arguments)
            .current_dir(folder)
            .env("XDG_CONFIG_HOME", folder.join("config"))
            .env("XDG_CACHE_HOME", folder.join("cache"))
            .env("XDG_STATE_HOME", folder.join("state"))
            .env_remove("RUST_LOG"),
    )
}

async fn body(response: Response) -> Value {
    let text = response.text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// MCP over standard input and output: scripts in, outcomes out.
struct Agent {
    program: Program,
    number: u64,
}

impl Agent {
    fn start(folder: &Path) -> Self {
        let mut agent = Self {
            program: toolscript(folder, &["run", "--quiet"]),
            number: 0,
        };
        let greeting = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        agent.ask("initialize", &greeting);
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        agent.program.say(&done.to_string());
        agent
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let id = self.number;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.program.say(&request.to_string());
        loop {
            let line = self.program.stdout.next().expect("an answer");
            let mut message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message["result"].take();
            }
        }
    }

    /// What a script that calls one function comes to.
    fn call(&mut self, function: &str, params: &Value) -> Value {
        let text = params.to_string();
        let script = format!("return sdk.{function}(json.decode({text:?}))");
        let arguments = json!({"name": "execute_script", "arguments": {"script": script}});
        self.ask("tools/call", &arguments)["structuredContent"].take()
    }
}

#[tokio::test]
async fn tools_answer_the_same_over_http_and_in_scripts() {
    let serving = Serving::start("");
    let mut agent = Agent::start(serving.folder.path());
    for (tool, function, params, status) in [
        (
            "measure",
            "tools.measure",
            json!({"label": "a", "width": 2.5, "count": 4}),
            200,
        ),
        (
            "measure",
            "tools.measure",
            json!({"label": "a", "width": 1, "owner": {"name": "Ann"}}),
            200,
        ),
        ("kit.double", "kit.double", json!({"number": -21}), 200),
        (
            "kit.measure_again",
            "kit.measure_again",
            json!({"label": "b", "width": 3}),
            200,
        ),
        ("measure", "tools.measure", json!({"label": "a"}), 400),
        (
            "measure",
            "tools.measure",
            json!({"label": 7, "width": 1}),
            400,
        ),
        (
            "measure",
            "tools.measure",
            json!({"label": "", "width": 1}),
            400,
        ),
        (
            "measure",
            "tools.measure",
            json!({"label": "a", "width": 1, "shape": "ball"}),
            400,
        ),
        (
            "measure",
            "tools.measure",
            json!({"label": "a", "width": 1, "colour": "red"}),
            400,
        ),
        (
            "measure",
            "tools.measure",
            json!({"label": "a", "width": 1, "day": "soon"}),
            400,
        ),
        ("kit.double", "kit.double", json!({"number": 1.5}), 400),
        ("fail", "tools.fail", json!({}), 500),
        ("wait", "tools.wait", json!({}), 408),
    ] {
        let (found, over_http) = serving.call(tool, &params).await;
        let in_script = agent.call(function, &params);
        assert_eq!(found, status, "{tool} {params}: {over_http}");
        if status == 200 {
            assert_eq!(over_http["result"], in_script["result"], "{tool} {params}");
            assert!(!over_http["result"].is_null(), "{tool} {params}");
        } else {
            let message = &over_http["error"]["message"];
            assert_eq!(*message, in_script["error"]["message"], "{tool} {params}");
        }
    }
}

#[tokio::test]
async fn failures_have_their_words() {
    let serving = Serving::start("[server]\nmax_body_bytes = 1000");
    let fits = json!({"label": "a", "width": 1});
    for (tool, params, status, code) in [
        ("measure", json!({"label": "a"}), 400, "bad_request"),
        ("measure", json!([fits]), 400, "bad_request"),
        ("nothing", json!({}), 404, "not_found"),
        ("wait", json!({}), 408, "timeout"),
        (
            "measure",
            json!({"label": "x".repeat(2_000), "width": 1}),
            413,
            "too_large",
        ),
        ("fail", json!({}), 500, "tool_error"),
    ] {
        let (found, body) = serving.call(tool, &params).await;
        assert_eq!(
            (found, &body["error"]["code"]),
            (status, &json!(code)),
            "{body}"
        );
    }
    let (_, failed) = serving.call("fail", &json!({})).await;
    let message = failed["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("no luck today") && message.contains("fail.luau:6"),
        "{message}"
    );

    assert_eq!(
        serving.call("seldom", &json!({})).await,
        (200, json!({"result": "once"}))
    );
    let again = serving.post("seldom", &json!({})).send().await.unwrap();
    assert_eq!(again.status(), 429);
    let wait: u64 = again.headers()[header::RETRY_AFTER]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((1..=3_600).contains(&wait), "{wait}");
    assert_eq!(body(again).await["error"]["code"], "rate_limited");
}

#[tokio::test]
async fn what_is_listed_can_be_called_and_holds_no_configuration() {
    let serving = Serving::start("");
    let listed = body(serving.get("/tools/list").send().await.unwrap()).await;
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let expected = [
        "search",
        "get",
        "sources",
        "kit.double",
        "kit.measure_again",
        "fail",
        "measure",
        "seldom",
        "wait",
    ];
    let sorted = |names: &[&str]| {
        let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(sorted(&names), sorted(&expected));
    let measure = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "measure")
        .unwrap();
    assert_eq!(measure["parameters"]["required"], json!(["label", "width"]));
    assert_eq!(measure["parameters"]["properties"]["count"]["default"], 1);
    let document = body(serving.get("/api/openapi.json").send().await.unwrap()).await;
    let (_, measured) = serving
        .call("measure", &json!({"label": "a", "width": 1}))
        .await;
    let log = serving.program.stop();
    for seen in [
        listed.to_string(),
        document.to_string(),
        measured.to_string(),
        log,
    ] {
        assert!(!seen.contains(PASSWORD), "{seen}");
    }
}

#[tokio::test]
async fn a_stream_tells_what_the_script_logs() {
    let serving = Serving::start("");
    let response = serving
        .post("measure", &json!({"label": "box", "width": 2}))
        .header(header::ACCEPT, "text/event-stream")
        .send()
        .await
        .unwrap();
    assert_eq!(
        response.headers()[header::CONTENT_TYPE],
        "text/event-stream"
    );
    let text = response.text().await.unwrap();
    let (log, result) = text.split_once("\n\n").unwrap();
    assert!(
        log.starts_with("event: log\ndata: ") && log.contains("measuring"),
        "{text}"
    );
    assert!(
        result.starts_with("event: result\ndata: {\"result\":{\"label\":\"box\""),
        "{text}"
    );
}

#[tokio::test]
async fn a_token_keeps_strangers_out() {
    let serving = Serving::start(&format!("[server]\nauth = {{ token = \"{TOKEN}\" }}"));
    let (status, refused) = serving
        .call("measure", &json!({"label": "a", "width": 1}))
        .await;
    assert_eq!(
        (status, &refused["error"]["code"]),
        (401, &json!("unauthorized"))
    );
    assert_eq!(serving.get("/health").send().await.unwrap().status(), 200);
    assert_eq!(serving.get("/mcp").send().await.unwrap().status(), 401);
    let known = serving
        .post("measure", &json!({"label": "a", "width": 1}))
        .bearer_auth(TOKEN);
    assert_eq!(known.send().await.unwrap().status(), 200);
    let log = serving.program.stop();
    assert!(!log.contains(TOKEN), "{log}");
}

#[tokio::test]
async fn another_toolscript_can_use_the_tools() {
    let serving = Serving::start("");
    let elsewhere = tempfile::tempdir().unwrap();
    let spec = format!("team={}/api/openapi.json", serving.url);
    let run = |arguments: &[&str]| {
        let arguments = [arguments, &["--spec", &spec]].concat();
        let (status, told) = toolscript(elsewhere.path(), &arguments).finish();
        assert!(status.success(), "{told}");
        told
    };
    let listed = run(&["list", "team"]);
    for name in [
        "team.measure(",
        "team.kit_double(",
        "team.search(",
        "team.list_tools(",
    ] {
        assert!(listed.contains(name), "{listed}");
    }
    let docs = run(&["docs", "team.measure"]);
    assert!(docs.contains("shape: (\"cube\" | \"crate\")?"), "{docs}");
    let script = "return team.measure({ label = 'far', width = 2, count = 3 }).result.total";
    assert_eq!(run(&["exec", "--quiet", "-e", script]).trim(), "6");
}
