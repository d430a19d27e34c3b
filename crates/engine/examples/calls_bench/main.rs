//! Measures what stands between a script and the outside, each figure beside a direct client that
//! does the same: `calls_bench runtime PROGRAM FAKE_MCP` and `calls_bench mcp FAKE_MCP`, where
//! PROGRAM is `toolscript` itself. Prints plain lines; run it with `--release`.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]
#![expect(clippy::unwrap_used, reason = "a measurement that fails may say so")]

mod http;
mod pipe;
mod samples;
mod servers;
mod trivial;

use std::{path::Path, process::ExitCode, sync::Arc};

use samples::Samples;
use toolscript_engine::{Engine, Patience, Script, config::Config};
use toolscript_sources::mcp::guard;

/// How many calls a script makes.
const CALLS: usize = 20;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words.as_slice() {
        // Servers are started behind a guard, which is this program once more.
        [guard::SUBCOMMAND, ..] => return guard::run(std::env::args_os().skip(2)),
        ["serve"] => block_on(http::serve()),
        ["runtime", program, fake] => {
            trivial::over_stdio(Path::new(program));
            guard::offer_this_program();
            block_on(http::twenty_calls());
            block_on(servers::twenty_calls(fake.into()));
        }
        ["mcp", fake] => {
            guard::offer_this_program();
            block_on(servers::added(fake.into()));
            block_on(servers::many_scripts(fake.into()));
        }
        _ => {
            println!("calls_bench runtime PROGRAM FAKE_MCP | mcp FAKE_MCP");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn block_on<F: Future<Output = ()> + Send + 'static>(body: F) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // On a worker, as in the program: the thread that only waits would have to be woken each time.
    runtime.block_on(async { tokio::spawn(body).await.unwrap() });
}

/// An engine on a configuration in a text.
async fn open(folder: &Path, configuration: &str) -> Arc<Engine> {
    let file = folder.join("toolscript.toml");
    let config = Config::parse(&file, configuration, &|_| None).unwrap();
    Arc::new(
        Engine::open(config, Patience::Unlimited, None)
            .await
            .unwrap(),
    )
}

/// Runs a script to its good end.
async fn run(engine: Arc<Engine>, text: String) {
    let script = Script {
        text,
        ..Script::default()
    };
    let outcome = engine.execute(script).await;
    assert!(outcome.result.is_ok(), "{outcome:?}");
}

/// Runs a script many times.
async fn measure(engine: &Arc<Engine>, times: usize, script: &str) -> Samples {
    Samples::of(times, || run(engine.clone(), script.to_owned())).await
}
