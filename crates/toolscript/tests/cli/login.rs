//! Logging in to a server and out again, with a browser made of two requests.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::Child,
};

use tokio::runtime::Runtime;
use toolscript_testkit::{Guarded, oauth::Rules};

use crate::sandbox::{Ran, Sandbox};

/// A server that wants a login, configured as `notes`.
struct Stage {
    sandbox: Sandbox,
    served: Guarded,
    _runtime: Runtime,
}

impl Stage {
    fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let served = runtime.block_on(Guarded::start(Rules::default()));
        let sandbox = Sandbox::new();
        let config = format!("[mcp_servers.notes]\nurl = \"{}\"\n", served.url());
        sandbox.write("toolscript.toml", &config);
        Self {
            sandbox,
            served,
            _runtime: runtime,
        }
    }

    /// Logs in, with more flags.
    fn log_in(&self, flags: &[&str]) -> Ran {
        let arguments = [&["server", "login", "notes", "--no-browser"], flags].concat();
        let mut child = self.sandbox.command(&arguments).spawn().unwrap();
        let url = address_in(&mut child);
        let back = location(&get(&url));
        let page = get(&back);
        assert!(page.contains("<h1>Logged in</h1>"), "{page}");
        self.sandbox.ended(child)
    }
}

/// The address a person is asked to open.
fn address_in(child: &mut Child) -> String {
    let stderr = child.stderr.take().unwrap();
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let address = lines.find(|line| line.trim().starts_with("http://"));
    address.unwrap().trim().to_owned()
}

fn location(answer: &str) -> String {
    let header = answer
        .lines()
        .find_map(|line| line.strip_prefix("location: "));
    header.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// The whole answer to a GET request.
fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, target) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!("GET /{target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_person_logs_in_and_out() {
    let stage = Stage::new();
    let ran = stage.sandbox.run(&["list", "notes"]);
    let words = "run `toolscript server login notes`";
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
    let ran = stage.log_in(&[]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stdout.starts_with("✓ logged in to `notes`: "),
        "{}",
        ran.stdout
    );
    let ran = stage.sandbox.run(&["list", "notes"]);
    assert!(ran.out().contains("notes.echo"), "{}", ran.stdout);
    let ran = stage.sandbox.run(&["server", "logout", "notes"]);
    assert_eq!(ran.out(), "✓ logged out of `notes`\n");
    assert_eq!(stage.served.logins(), 0);
    let ran = stage.sandbox.run(&["server", "logout", "notes"]);
    assert_eq!(ran.out(), "there was no login to `notes`\n");
}

#[test]
fn a_login_can_be_read_by_programs() {
    let ran = Stage::new().log_in(&["--json", "--quiet"]);
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(said["logged_in"], true);
    assert!(said["tools"].as_u64().unwrap() > 3, "{said}");
}

#[test]
fn what_cannot_be_logged_in_to_is_told_apart() {
    let stage = Stage::new();
    let ran = stage.sandbox.run(&["server", "login", "note"]);
    assert_eq!(ran.code, 4);
    assert!(
        ran.stderr.contains("the servers are notes"),
        "{}",
        ran.stderr
    );
    let program = "[mcp_servers.files]\ncommand = \"cat\"\n";
    stage.sandbox.write("toolscript.toml", program);
    let ran = stage.sandbox.run(&["server", "login", "files"]);
    assert_eq!(ran.code, 10);
    assert!(ran.stderr.contains("is a program"), "{}", ran.stderr);
}
