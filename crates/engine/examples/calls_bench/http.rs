//! Calls to an HTTP API on this machine, beside an HTTP client that makes the same requests over
//! the same kind of kept connections.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Command, Stdio},
    time::Duration,
};

use axum::{Json, Router, extract::Path, routing::get, serve::ListenerExt as _};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{CALLS, measure, open, run, samples::Samples};

/// How long the slow function takes.
const SLOW: Duration = Duration::from_millis(50);

/// The API, as a process of its own: writes its address and serves until it is killed.
pub(crate) async fn serve() {
    let router = Router::new()
        .route(
            "/items/{id}",
            get(async |Path(id): Path<u64>| Json(item(id))),
        )
        .route(
            "/slow/{id}",
            get(async |Path(id): Path<u64>| {
                tokio::time::sleep(SLOW).await;
                Json(item(id))
            }),
        );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    std::io::stdout().flush().unwrap();
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    axum::serve(listener, router).await.unwrap();
}

fn item(id: u64) -> Value {
    json!({"id": id, "name": format!("item {id}"), "tags": ["new", "paying"], "price": 12.5})
}

struct Api {
    process: Child,
    url: String,
}

impl Api {
    fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .arg("serve")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut address).unwrap();
        let url = format!("http://{}", address.trim());
        Self { process, url }
    }

    fn document(&self) -> Value {
        let operation = |name: &str| {
            json!({"get": {
                "operationId": name,
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}],
                "responses": {"200": {"description": "It", "content": {"application/json": {"schema": {
                    "type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
                }}}}},
            }})
        };
        json!({
            "openapi": "3.1.0",
            "info": {"title": "Items", "version": "1"},
            "servers": [{"url": self.url}],
            "paths": {"/items/{id}": operation("item"), "/slow/{id}": operation("slow")},
        })
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        // Both fail only where the process is gone already.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

pub(crate) async fn twenty_calls() {
    let api = Api::start();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("api.json"), api.document().to_string()).unwrap();
    let engine = open(folder.path(), "[apis.api]\nspec = \"api.json\"").await;
    // The client wants to know how it would encrypt, though it never has to.
    rustls::crypto::ring::default_provider()
        .install_default()
        .unwrap();
    let client = reqwest::Client::new();

    let script = format!("for id = 1, {CALLS} do assert(api.item({{ id = id }}).id == id) end");
    let (mut direct, mut ours) = Samples::of_both(
        500,
        || in_turn(client.clone(), api.url.clone()),
        || run(engine.clone(), script.clone()),
    )
    .await;
    direct.line("20 sequential HTTP calls, direct client");
    ours.line("20 sequential HTTP calls, one script");
    println!(
        "  {:.2}x the direct client (wanted <= 1.3x)",
        ours.wall() / direct.wall()
    );

    let mut direct = Samples::of(20, || at_once(client.clone(), api.url.clone())).await;
    let script = format!(
        "local ids = table.create({CALLS}) for id = 1, {CALLS} do ids[id] = id end \
         return #parallel.map(ids, function(id) return api.slow({{ id = id }}) end)"
    );
    let mut ours = measure(&engine, 20, &script).await;
    direct.line("20 parallel HTTP calls of 50 ms, direct client");
    ours.line("20 parallel HTTP calls of 50 ms, one script");
    println!(
        "  {:.0} ms with at most 16 at once, the default (wanted <= 120 ms)",
        ours.wall() / 1e3
    );
    engine.close().await;
}

async fn in_turn(client: reqwest::Client, url: String) {
    for id in 1..=CALLS {
        assert_eq!(fetch(&client, format!("{url}/items/{id}")).await["id"], id);
    }
}

async fn at_once(client: reqwest::Client, url: String) {
    join_all((1..=CALLS).map(|id| fetch(&client, format!("{url}/slow/{id}")))).await;
}

async fn fetch(client: &reqwest::Client, url: String) -> Value {
    let response = client.get(url).send().await.unwrap();
    serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
}
