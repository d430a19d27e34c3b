//! `run` and `serve`: what goes to standard output and when they end.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::sandbox::{Background, Sandbox};

/// The address in `serving MCP at http://127.0.0.1:1234/mcp`.
fn address(server: &mut Background) -> String {
    let lines = BufReader::new(server.0.stderr.take().unwrap()).lines();
    let serving = lines
        .map_while(Result::ok)
        .find(|line| line.contains("serving MCP at"));
    let serving = serving.expect("a line that says where it serves");
    serving
        .split("http://")
        .nth(1)
        .and_then(|rest| rest.split('/').next())
        .unwrap()
        .to_owned()
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn standard_output_belongs_to_mcp() {
    let sandbox = Sandbox::with_pets();
    let mut child = sandbox
        .command(&["run", "-vv"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    // Logs must not fill their pipe while nobody reads it.
    let mut errors = child.stderr.take().unwrap();
    std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
    let server = Background(child);
    let mut say = |message: Value| writeln!(input, "{message}").unwrap();
    say(
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}}),
    );
    let answer: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
    assert_eq!(answer["id"], json!(1));
    say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    say(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    let answer: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
    assert_eq!(answer["result"]["tools"].as_array().map(Vec::len), Some(5));
    drop(input);
    let mut server = server;
    assert_eq!(
        server.0.wait().unwrap().code(),
        Some(0),
        "it ends when the client hangs up"
    );
    assert!(output.next().is_none(), "nothing but answers");
}

#[test]
fn run_serves_http_when_told_so() {
    let sandbox = Sandbox::with_pets();
    for arguments in [
        &["run", "--transport", "http", "--port", "0"][..],
        &["run", "--transport", "sse", "--port", "0"],
        &["run", "--port", "0"],
        &["serve", "--port", "0"],
        &["serve", "--bind", "localhost:0"],
    ] {
        let mut server = Background(sandbox.command(arguments).spawn().unwrap());
        let address = address(&mut server);
        assert!(
            get(&address, "/health").starts_with("HTTP/1.1 200"),
            "{arguments:?}"
        );
    }
}

#[test]
fn serve_takes_a_generated_directory() {
    let sandbox = Sandbox::with_pets();
    assert_eq!(sandbox.run(&["generate", "-o", "out"]).code, 0);
    std::fs::remove_file(sandbox.path("toolscript.toml")).unwrap();
    let mut server = Background(
        sandbox
            .command(&["serve", "out", "--port", "0"])
            .spawn()
            .unwrap(),
    );
    let address = address(&mut server);
    assert!(get(&address, "/ready").contains("\"pets\""));
}

/// What `/ready` says once it says what is wanted.
#[track_caller]
fn ready_when(address: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        let answer = get(address, "/ready");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let ready: Value = serde_json::from_str(body).unwrap();
        if is_wanted(&ready) {
            return ready;
        }
        assert!(Instant::now() < patience, "it stays at {ready}");
        std::thread::yield_now();
    }
}

#[test]
fn changed_files_are_taken_in_while_serving() {
    let sandbox = Sandbox::with_pets();
    let server = sandbox.command(&["serve", "--port", "0"]).spawn();
    let mut server = Background(server.unwrap());
    let address = address(&mut server);
    let before = ready_when(&address, |_| true);
    assert_eq!(before["setbacks"], json!([]));
    let count = before["functions"].as_u64().unwrap();
    let pets = std::fs::read_to_string(sandbox.path("pets.yaml")).unwrap();

    let another = "paths:\n  /state:\n    get:\n      operationId: state\n      responses: {}\n";
    sandbox.write("pets.yaml", &pets.replacen("paths:\n", another, 1));
    ready_when(&address, |ready| ready["functions"] == count + 1);

    sandbox.write("pets.yaml", "openapi: [");
    let broken = ready_when(&address, |ready| ready["setbacks"] != json!([]));
    assert_eq!(broken["functions"], count + 1, "the old version stays");
    assert_eq!(broken["setbacks"][0]["about"], "pets");

    sandbox.write("pets.yaml", &pets);
    ready_when(&address, |ready| ready["setbacks"] == json!([]));

    std::fs::copy(sandbox.path("pets.yaml"), sandbox.path("more.yaml")).unwrap();
    let both = "[apis.pets]\nspec = \"pets.yaml\"\n[apis.more]\nspec = \"more.yaml\"\n";
    sandbox.write("toolscript.toml", both);
    ready_when(&address, |ready| {
        ready["sources"] == json!(["more", "pets", "luau"])
    });

    sandbox.write(
        "toolscript.toml",
        &both.replace("more.yaml\"", "more.yaml\"\nspeck = 1"),
    );
    let broken = ready_when(&address, |ready| ready["setbacks"] != json!([]));
    assert_eq!(broken["sources"], json!(["more", "pets", "luau"]));
    let problem = broken["setbacks"][0]["problem"].as_str().unwrap();
    assert!(problem.contains("did you mean `spec`"), "{problem}");

    sandbox.write("toolscript.toml", "[apis.more]\nspec = \"more.yaml\"\n");
    ready_when(&address, |ready| {
        ready["sources"] == json!(["more", "luau"])
    });
}

#[test]
fn clients_hear_that_lists_have_changed() {
    let sandbox = Sandbox::with_pets();
    let mut command = sandbox.command(&["run"]);
    let mut server = Background(command.stdin(Stdio::piped()).spawn().unwrap());
    let mut input = server.0.stdin.take().unwrap();
    let mut output = BufReader::new(server.0.stdout.take().unwrap()).lines();
    let mut say = |message: Value| writeln!(input, "{message}").unwrap();
    say(
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}}),
    );
    let greeting = output.next().unwrap().unwrap();
    assert!(greeting.contains("listChanged"), "{greeting}");
    say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    say(json!({"jsonrpc": "2.0", "id": 2, "method": "resources/list"}));
    // Once this is answered, the server has taken in that the client is ready.
    output.next().unwrap().unwrap();
    let single = "[server]\nsurface = \"single\"\n[apis.more]\nspec = \"pets.yaml\"\n";
    sandbox.write("toolscript.toml", single);
    let mut heard = || {
        let line = output.next().unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        message["method"].as_str().unwrap_or_default().to_owned()
    };
    let mut methods = [heard(), heard()];
    methods.sort();
    assert_eq!(
        methods,
        [
            "notifications/resources/list_changed",
            "notifications/tools/list_changed"
        ]
    );
}

#[test]
fn a_taken_port_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = Sandbox::with_pets().run(&["serve", "--port", &port]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains(&format!("127.0.0.1:{port}")),
        "{}",
        ran.stderr
    );
}

#[test]
fn other_machines_are_not_let_in_by_accident() {
    let ran = Sandbox::with_pets().run(&["serve", "--bind", "0.0.0.0:0", "--quiet"]);
    assert_ne!(ran.code, 0);
    assert!(
        ran.stderr.contains("allow_unauthenticated"),
        "{}",
        ran.stderr
    );
}
