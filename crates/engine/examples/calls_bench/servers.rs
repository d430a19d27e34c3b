//! Calls to an MCP server on pipes, beside clients that speak with the same server directly: the
//! leanest one there is ([`Pipe`]), and the official SDK, which most programs use.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use futures_util::future::join_all;
use rmcp::{RoleClient, ServiceExt as _, model::CallToolRequestParams, service::RunningService};
use serde_json::{Value, json};
use tokio::process::Command;
use toolscript_engine::Engine;

use crate::{CALLS, measure, open, pipe::Pipe, run, samples::Samples};

/// The SDK's client, with the process it talks with.
struct Sdk {
    service: RunningService<RoleClient, ()>,
    _child: tokio::process::Child,
}

impl Sdk {
    async fn start(fake: &str) -> Self {
        let mut child = Command::new(fake)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let service = ().serve(pipes).await.unwrap();
        Self {
            service,
            _child: child,
        }
    }

    async fn call(&self, tool: &'static str, arguments: Value) {
        let arguments = arguments.as_object().unwrap().clone();
        let params = CallToolRequestParams::new(tool).with_arguments(arguments);
        self.service.call_tool(params).await.unwrap();
    }
}

/// The three ways to one kind of server.
struct Ways {
    _folder: tempfile::TempDir,
    pipe: Arc<Mutex<Pipe>>,
    sdk: Arc<Sdk>,
    engine: Arc<Engine>,
}

impl Ways {
    async fn open(fake: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let configuration = format!(
            "[mcp_servers.fake]\ncommand = {fake:?}\n[limits]\nmax_calls = 100000\ntimeout_ms = 300000"
        );
        Self {
            pipe: Arc::new(Mutex::new(Pipe::start(Path::new(fake), &[]))),
            sdk: Arc::new(Sdk::start(fake).await),
            engine: open(folder.path(), &configuration).await,
            _folder: folder,
        }
    }

    /// Calls `echo` over the pipe, this often in turn.
    async fn over_pipe(&self, times: usize, calls: usize) -> Samples {
        Samples::of(times, async || {
            let mut pipe = self.pipe.lock().unwrap();
            for _ in 0..calls {
                pipe.call("echo", &text());
            }
        })
        .await
    }

    /// Calls `echo` by the SDK's client and from a script, this often in turn.
    async fn over_both(&self, times: usize, calls: usize) -> (Samples, Samples) {
        let in_turn = async |sdk: Arc<Sdk>| {
            for _ in 0..calls {
                sdk.call("echo", text()).await;
            }
        };
        Samples::of_both(
            times,
            || in_turn(self.sdk.clone()),
            || run(self.engine.clone(), echoes(calls)),
        )
        .await
    }
}

fn text() -> Value {
    json!({"text": "hello"})
}

/// A script that calls the server's `echo` this often.
fn echoes(times: usize) -> String {
    format!("for _ = 1, {times} do assert(fake.echo({{ text = 'hello' }}) == 'hello') end")
}

pub(crate) async fn twenty_calls(fake: String) {
    let ways = Ways::open(&fake).await;
    let mut lean = ways.over_pipe(500, CALLS).await;
    let (mut direct, mut ours) = ways.over_both(500, CALLS).await;
    lean.line("20 sequential MCP calls, bare pipe");
    direct.line("20 sequential MCP calls, official SDK's client");
    ours.line("20 sequential MCP calls, one script");
    println!(
        "  {:.2}x the SDK's client (wanted <= 1.3x), {:.2}x a bare pipe",
        ours.wall() / direct.wall(),
        ours.wall() / lean.wall()
    );

    let mut direct = Samples::of(20, || slow_at_once(ways.sdk.clone())).await;
    let script = format!(
        "return #parallel.map(table.create({CALLS}, 1), function() \
         return fake.slow({{ steps = 1, every_ms = 50 }}) end)"
    );
    let mut ours = measure(&ways.engine, 20, &script).await;
    direct.line("20 parallel MCP calls of 50 ms, official SDK");
    ours.line("20 parallel MCP calls of 50 ms, one script");
    println!(
        "  {:.0} ms with at most 16 at once, the default (wanted <= 120 ms)",
        ours.wall() / 1e3
    );
    ways.engine.close().await;
}

async fn slow_at_once(sdk: Arc<Sdk>) {
    let slow = || json!({"steps": 1, "every_ms": 50});
    join_all((0..CALLS).map(|_| sdk.call("slow", slow()))).await;
}

/// What a call costs more than without us.
pub(crate) async fn added(fake: String) {
    const TIMES: usize = 3_000;
    const EACH: usize = 100;
    let ways = Ways::open(&fake).await;
    let mut lean = ways.over_pipe(TIMES, 1).await;
    // One call per script: the script itself is part of what is added.
    let (mut direct, mut ours) = ways.over_both(TIMES, 1).await;
    lean.line("one MCP call, bare pipe");
    direct.line("one MCP call, official SDK's client");
    ours.line("one MCP call, a script that makes it");
    println!(
        "  sdk.x.y() adds {:.0} us wall to a bare pipe ({:.0} us to the SDK's client)",
        ours.wall() - lean.wall(),
        ours.wall() - direct.wall(),
    );
    // Many calls per script: what each one costs.
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let each = measure(&ways.engine, 50, &echoes(EACH)).await.cpu() / EACH as f64;
    println!(
        "  CPU per call, of {EACH} in a script: {each:.0} us, {:.0} us more than a bare pipe (wanted <= 150)",
        each - lean.cpu()
    );
    ways.engine.close().await;
}

/// Many scripts on one server, beside one client that sends the same calls without waiting.
pub(crate) async fn many_scripts(fake: String) {
    const SCRIPTS: usize = 50;
    const ROUNDS: usize = 10;
    let ways = Ways::open(&fake).await;
    let mut direct = Samples::of(ROUNDS, async || {
        let mut pipe = ways.pipe.lock().unwrap();
        pipe.pipeline(SCRIPTS * CALLS, "echo", &text());
    })
    .await;
    let mut ours = Samples::of(ROUNDS, async || {
        let scripts = (0..SCRIPTS).map(|_| tokio::spawn(run(ways.engine.clone(), echoes(CALLS))));
        join_all(scripts).await.into_iter().for_each(Result::unwrap);
    })
    .await;
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let calls = (SCRIPTS * CALLS) as f64;
    println!(
        "{SCRIPTS} scripts x {CALLS} calls on one server at once: {:.0} calls/s, {:.0} us CPU each; \
         one direct client, 100 in flight: {:.0} calls/s, {:.0} us CPU each",
        calls / ours.wall() * 1e6,
        ours.cpu() / calls,
        calls / direct.wall() * 1e6,
        direct.cpu() / calls,
    );
    ways.engine.close().await;
}
