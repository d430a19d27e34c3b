//! `Stage`: the sample API, documents that describe it, and toolscript started on them.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::Command,
    time::Duration,
};

use tempfile::TempDir;
use tokio::runtime::Runtime;
use toolscript_testkit::{
    Sample,
    mcp::{self, Plan},
};

use super::program::{PATIENCE, Program};

/// The sample API as source `shop`, and the same document with nobody behind it as source `dead`.
pub(crate) struct Stage {
    runtime: Runtime,
    pub(crate) sample: Sample,
    folder: TempDir,
    /// Further words of the command line.
    further: Vec<String>,
}

/// toolscript serving over HTTP.
pub(crate) struct Serving {
    program: Program,
    pub(crate) url: String,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let sample = runtime.block_on(Sample::start());
        let folder = TempDir::new().unwrap();
        let document = sample.document();
        fs::write(folder.path().join("shop.json"), &document).unwrap();
        let nowhere = document.replace(sample.url(), &format!("http://{}", closed_port()));
        fs::write(folder.path().join("dead.json"), nowhere).unwrap();
        Self {
            runtime,
            sample,
            folder,
            further: Vec::new(),
        }
    }

    /// The same with a fake MCP server as source `fake`.
    pub(crate) fn with_server(plan: &Plan) -> Self {
        let program = mcp::program().display().to_string();
        let server = format!("fake={program} '{}'", plan.arguments()[0]);
        Self {
            further: vec!["--mcp".to_owned(), server],
            ..Self::new()
        }
    }

    /// The command that serves on standard input and output, with every log line there is.
    pub(crate) fn command_line(&self) -> Vec<String> {
        let spec = |name: &str| {
            let path: PathBuf = self.folder.path().join(name).with_extension("json");
            format!("{name}={}", path.display())
        };
        let binary = env!("CARGO_BIN_EXE_toolscript").to_owned();
        let words = [binary, "run".to_owned(), "-vvv".to_owned()];
        let mut line = words.to_vec();
        line.extend([spec("shop"), spec("dead")]);
        line.extend(self.further.clone());
        line
    }

    /// Serves over HTTP on a free port.
    pub(crate) fn serve(&self) -> Serving {
        let line = self.command_line();
        let mut command = Command::new(&line[0]);
        command
            .args(&line[1..])
            .args(["--transport", "http", "--port", "0"]);
        let mut program = Program::start(self.at_home(&mut command));
        let url = loop {
            let line = program
                .stderr
                .next()
                .expect("toolscript says where it serves");
            if let Some((_, rest)) = line.split_once("serving MCP at ") {
                break rest.split(';').next().unwrap().to_owned();
            }
        };
        check_health(&url);
        Serving { program, url }
    }

    /// Lets a program see this stage only: no configuration or cache of whoever runs the tests.
    pub(crate) fn at_home<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let folder = self.folder.path();
        command
            .current_dir(folder)
            .env_remove("RUST_LOG")
            .env("XDG_CONFIG_HOME", folder.join("config"))
            .env("XDG_CACHE_HOME", folder.join("cache"))
            .env("XDG_STATE_HOME", folder.join("state"))
    }

    /// Waits until the sample API has seen what the test is about.
    pub(crate) fn wait_until(&self, what: &str, seen: impl Fn(&Sample) -> bool) {
        let polling = async {
            let mut ticks = tokio::time::interval(Duration::from_millis(10));
            while !seen(&self.sample) {
                ticks.tick().await;
            }
        };
        let waited = self
            .runtime
            .block_on(async { tokio::time::timeout(PATIENCE, polling).await });
        assert!(
            waited.is_ok(),
            "the sample API never saw {what}: {:#?}",
            self.sample.requests()
        );
    }

    /// Waits until somebody stopped waiting for an answer of the sample API.
    pub(crate) fn wait_until_abandoned(&self) {
        let abandoned = self.sample.abandoned();
        let waited = self
            .runtime
            .block_on(async { tokio::time::timeout(PATIENCE, abandoned).await });
        assert!(
            waited.is_ok(),
            "the request to the sample API was never given up"
        );
    }
}

impl Serving {
    /// Ends it and gives its log.
    pub(crate) fn stop(self) -> String {
        self.program.stop()
    }
}

/// An address nobody listens on.
fn closed_port() -> std::net::SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

#[track_caller]
fn check_health(url: &str) {
    let address = url
        .strip_prefix("http://")
        .unwrap()
        .strip_suffix("/mcp")
        .unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
