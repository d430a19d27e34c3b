//! Real MCP servers from outside, from npm and from `PyPI`, as sources of the real program: all
//! their tools, their docs, and one script that calls all of them.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what cannot be had stops the test"
)]

#[expect(dead_code, reason = "other tests need the rest of it")]
mod support {
    pub(crate) mod installed;
    pub(crate) mod program;
}

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::Write as _,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use support::{
    installed::installed,
    program::{PATIENCE, Program},
};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use toolscript_testkit::Sample;

/// How many tools each server has for a client that can answer questions and nothing else.
const TOOLS: &[(&str, usize)] = &[
    ("everything", 14),
    ("everything_http", 14),
    ("everything_sse", 14),
    ("fetch", 1),
    ("files", 14),
    ("git", 12),
    ("memory", 9),
    ("time", 2),
];

/// All servers, an API, and a configuration that names them.
struct Street {
    folder: TempDir,
    sample: Sample,
    _runtime: Runtime,
    _remotes: [Program; 2],
}

impl Street {
    fn open() -> Self {
        let home = installed(
            "servers",
            &[
                "servers/setup",
                "servers/requirements.txt",
                "servers/package.json",
            ],
        );
        let runtime = Runtime::new().unwrap();
        let sample = runtime.block_on(Sample::start());
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("shop.json"), sample.document()).unwrap();
        fs::write(folder.path().join("note.txt"), "buy milk").unwrap();
        make_repository(&folder.path().join("repository"));
        let (sse, sse_port) = everything(&home, "sse");
        let (http, http_port) = everything(&home, "streamableHttp");
        let text = configuration(&home, folder.path(), sse_port, http_port);
        fs::write(folder.path().join("toolscript.toml"), text).unwrap();
        Self {
            folder,
            sample,
            _runtime: runtime,
            _remotes: [sse, http],
        }
    }

    /// Runs the program and gives what it printed, as JSON.
    fn run(&self, arguments: &[&str], input: &str) -> Value {
        let (code, stdout, stderr) = self.ran(arguments, input);
        assert_eq!(code, Some(0), "{arguments:?}: {stdout}{stderr}");
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
    }

    fn ran(&self, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
        let folder = self.folder.path();
        let mut program = Command::new(env!("CARGO_BIN_EXE_toolscript"))
            .args(arguments)
            .current_dir(folder)
            .env_remove("RUST_LOG")
            .env("XDG_CONFIG_HOME", folder.join("config"))
            .env("XDG_CACHE_HOME", folder.join("cache"))
            .env("XDG_STATE_HOME", folder.join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = program.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        let output = program.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    }
}

fn configuration(home: &Path, folder: &Path, sse: u16, http: u16) -> String {
    let mut text = "[apis.shop]\nspec = \"shop.json\"\n".to_owned();
    let mut server = |name: &str, command: PathBuf, arguments: Value| {
        write!(
            text,
            "[mcp_servers.{name}]\ncommand = {:?}\nargs = {arguments}\n",
            command.display().to_string()
        )
        .unwrap();
    };
    let node = || home.join("bin/node");
    let python = |name: &str| home.join("venv/bin").join(name);
    let folder = folder.display().to_string();
    server(
        "everything",
        node(),
        json!([script(home, "everything"), "stdio"]),
    );
    server("files", node(), json!([script(home, "filesystem"), folder]));
    server("memory", node(), json!([script(home, "memory")]));
    let memory = format!("{folder}/memory.jsonl");
    server("time", python("mcp-server-time"), json!([]));
    server("git", python("mcp-server-git"), json!([]));
    server(
        "fetch",
        python("mcp-server-fetch"),
        json!(["--ignore-robots-txt", "--allow-private-ips"]),
    );
    let text = text.replacen(
        "[mcp_servers.time]",
        &format!("env = {{ MEMORY_FILE_PATH = {memory:?} }}\n[mcp_servers.time]"),
        1,
    );
    format!(
        "{text}[mcp_servers.everything_sse]\nurl = \"http://127.0.0.1:{sse}/sse\"\n\
         [mcp_servers.everything_http]\nurl = \"http://127.0.0.1:{http}/mcp\"\n"
    )
}

fn script(home: &Path, name: &str) -> String {
    let script = format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
    home.join(script).display().to_string()
}

/// The server that shows everything, behind an address, once it listens.
fn everything(home: &Path, transport: &str) -> (Program, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let mut command = Command::new(home.join("bin/node"));
    command
        .args([&script(home, "everything"), transport])
        .env("PORT", port.to_string());
    let program = Program::start(&mut command);
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "{transport} does not listen");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    (program, port)
}

fn make_repository(path: &Path) {
    let git = |arguments: &[&str]| {
        let ran = Command::new("git")
            .arg("-C")
            .arg(path)
            .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"])
            .args(arguments)
            .output()
            .expect("git is installed");
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    };
    fs::create_dir(path).unwrap();
    git(&["init", "--quiet"]);
    git(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "The first step",
    ]);
}

#[test]
fn real_servers_are_listed_documented_and_called() {
    let street = Street::open();
    lists_all_tools(&street);
    documents_every_function_as_luau(&street);
    calls_all_of_them_in_one_script(&street);
}

fn lists_all_tools(street: &Street) {
    let listed = street.run(&["server", "list", "--json"], "");
    let listed: BTreeMap<&str, &Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|server| (server["name"].as_str().unwrap(), server))
        .collect();
    for (name, tools) in TOOLS {
        let server = listed[name];
        assert_eq!(server["connected"], true, "{server}");
        assert_eq!(server["tool_count"], *tools, "{server}");
    }
    assert_eq!(listed.len(), TOOLS.len());
    assert_eq!(listed["everything_sse"]["type"], "sse");
    assert_eq!(listed["everything_http"]["type"], "http");
}

/// Every function has a page, and every page is Luau.
fn documents_every_function_as_luau(street: &Street) {
    let listed = street.run(&["list", "--all", "--json"], "");
    let names: Vec<&str> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|function| function["name"].as_str().unwrap())
        .filter(|name| {
            TOOLS
                .iter()
                .any(|(server, _)| name.starts_with(&format!("{server}.")))
        })
        .collect();
    let tools: usize = TOOLS.iter().map(|(_, tools)| tools).sum();
    assert_eq!(names.len(), tools, "{names:?}");
    let script = format!(
        "local pages = {{}}\nfor _, name in {{ '{}' }} do pages[name] = docs(name) end\nreturn pages",
        names.join("', '")
    );
    let pages = street.run(&["exec", "-", "--json"], &script);
    for name in names {
        let page = pages["result"][name].as_str().unwrap();
        assert!(page.contains(&format!("function sdk.{name}(")), "{page}");
        let parsed = mlua::chunk::Compiler::new().compile(page);
        assert!(parsed.is_ok(), "{name}: {}\n{page}", parsed.unwrap_err());
    }
}

fn calls_all_of_them_in_one_script(street: &Street) {
    let folder = street.folder.path().display();
    let script = format!(
        r#"
        local note = files.read_text_file({{ path = "{folder}/note.txt" }})
        local entity = {{ name = "milk", entityType = "errand", observations = {{ note.content }} }}
        memory.create_entities({{ entities = {{ entity }} }})
        local calls = parallel({{
            function() return everything.echo({{ message = "over stdio" }}) end,
            function() return everything_sse.echo({{ message = "over sse" }}) end,
            function() return everything_http.get_sum({{ a = 2, b = 3 }}) end,
            function() return time.convert_time({{ source_timezone = "UTC", time = "12:00", target_timezone = "Asia/Tokyo" }}) end,
            function() return git.git_log({{ repo_path = "{folder}/repository" }}) end,
            function() return fetch.fetch({{ url = "{shop}/pets", raw = true }}) end,
            function() return shop.list_pets() end,
        }})
        return {{
            errand = memory.read_graph().entities[1].observations[1],
            stdio = calls[1],
            sse = calls[2],
            http = calls[3],
            tokyo = calls[4].target.datetime,
            log = calls[5],
            page = calls[6],
            pets = #calls[7],
        }}
        "#,
        shop = street.sample.url(),
    );
    let ran = street.run(&["exec", "-", "--json", "--timeout", "60"], &script);
    let result = &ran["result"];
    assert_eq!(result["errand"], "buy milk", "{ran:#}");
    assert_eq!(result["stdio"], "Echo: over stdio");
    assert_eq!(result["sse"], "Echo: over sse");
    let holds = |key: &str, word: &str| {
        let text = result[key].to_string();
        assert!(text.contains(word), "{key}: {text}");
    };
    holds("http", "5");
    holds("tokyo", "T21:00");
    holds("log", "The first step");
    holds("page", "name");
    assert!(0 < result["pets"].as_u64().unwrap(), "{ran:#}");
}
