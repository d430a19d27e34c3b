//! `server add`, `import`, `list`, `remove`, `introspect`, and what the doctor says of servers.

use std::{fmt::Write as _, fs};

use tokio::runtime::Runtime;
use toolscript_testkit::{
    Canned, canned,
    mcp::{Plan, program},
    rude::nobody,
};

use crate::sandbox::{Ran, Sandbox};

/// Everything a run printed, and the configuration after it.
#[track_caller]
fn check(sandbox: &Sandbox, name: &str, code: i32, arguments: &[&str]) {
    let ran = sandbox.run(arguments);
    assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    let mut shown = ran.shown();
    if let Ok(text) = fs::read_to_string(sandbox.path("toolscript.toml")) {
        write!(shown, "----- toolscript.toml -----\n{text}").unwrap();
    }
    insta::assert_snapshot!(name, shown);
}

/// Everything a run printed; the path of the fake server differs from machine to machine.
#[track_caller]
fn prints(sandbox: &Sandbox, name: &str, code: i32, arguments: &[&str]) {
    let ran = sandbox.run(arguments);
    assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    insta::assert_snapshot!(name, ran.shown());
}

/// A configuration with fake servers that follow plans.
fn with_fakes(plans: &[(&str, Plan)]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("toolscript.toml", &fakes(plans));
    sandbox
}

fn fakes(plans: &[(&str, Plan)]) -> String {
    let mut text = String::new();
    for (name, plan) in plans {
        let (command, arguments) = (program().display().to_string(), plan.arguments());
        writeln!(
            text,
            "[mcp_servers.{name}]\ncommand = {command:?}\nargs = {arguments:?}"
        )
        .unwrap();
    }
    text
}

const MINE: &str = "# my servers\n[mcp_servers.files] # keep\ncommand = \"npx\"\nargs = [\"-y\", \"files\"]\n\n[limits]\nmax_calls = 7\n";

#[test]
fn servers_are_added() {
    let sandbox = Sandbox::new();
    check(
        &sandbox,
        "add_command",
        0,
        &[
            "server",
            "add",
            "files",
            "--env",
            "ROOT=${HOME}",
            "--",
            "npx",
            "-y",
            "@scope/server",
            "--root=/tmp",
        ],
    );
    check(
        &sandbox,
        "add_url",
        0,
        &[
            "server",
            "add",
            "remote",
            "--url",
            "https://mcp.example.com/sse",
            "--transport",
            "sse",
            "--header",
            "Authorization: Bearer ${TOKEN}",
        ],
    );
    check(
        &sandbox,
        "add_secret",
        0,
        &[
            "server",
            "add",
            "git",
            "--env",
            "GITHUB_TOKEN=ghp_hunter2hunter2",
            "--",
            "uvx",
            "server",
        ],
    );
    prints(
        &sandbox,
        "add_same",
        0,
        &[
            "server",
            "add",
            "git",
            "--env",
            "GITHUB_TOKEN=ghp_hunter2hunter2",
            "--",
            "uvx",
            "server",
        ],
    );
    prints(
        &sandbox,
        "add_taken",
        3,
        &["server", "add", "git", "--", "other"],
    );
    let replaced = sandbox.run(&["server", "add", "git", "--force", "--json", "--", "other"]);
    assert_eq!(replaced.json()["state"], "replaced");
}

#[test]
fn what_was_written_stays() {
    let sandbox = Sandbox::new();
    sandbox.write("toolscript.toml", MINE);
    check(
        &sandbox,
        "add_beside",
        0,
        &["server", "add", "time", "--", "uvx", "mcp-server-time"],
    );
    sandbox.run(&["server", "remove", "time"]);
    assert_eq!(
        fs::read_to_string(sandbox.path("toolscript.toml")).unwrap(),
        MINE
    );
}

#[test]
fn mistakes_when_adding() {
    let sandbox = Sandbox::new();
    prints(&sandbox, "add_nowhere", 2, &["server", "add", "x"]);
    prints(
        &sandbox,
        "add_both",
        2,
        &["server", "add", "x", "--url", "https://x.test", "--", "npx"],
    );
    prints(
        &sandbox,
        "add_bad_name",
        5,
        &["server", "add", "My-Server", "--", "npx"],
    );
    prints(
        &sandbox,
        "add_library_name",
        5,
        &["server", "add", "json", "--", "npx"],
    );
    prints(
        &sandbox,
        "add_bad_url",
        5,
        &["server", "add", "x", "--url", "mcp.example.com"],
    );
    prints(
        &sandbox,
        "add_bad_header",
        2,
        &[
            "server",
            "add",
            "x",
            "--url",
            "https://x.test",
            "--header",
            "nothing",
        ],
    );
    prints(
        &sandbox,
        "add_header_to_command",
        5,
        &["server", "add", "x", "--header", "A=b", "--", "npx"],
    );
    sandbox.write("toolscript.toml", "[mcp_servers\n");
    prints(
        &sandbox,
        "add_to_broken",
        3,
        &["server", "add", "x", "--", "npx"],
    );
    sandbox.write("toolscript.toml", "mcp_servers = 3\n");
    prints(
        &sandbox,
        "add_to_odd",
        3,
        &["server", "add", "x", "--", "npx"],
    );
}

#[test]
fn a_new_file_puts_another_out_of_use() {
    let sandbox = Sandbox::new();
    let mine = sandbox.path("../config/toolscript");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("toolscript.toml"), MINE).unwrap();
    prints(
        &sandbox,
        "add_in_front",
        0,
        &["server", "add", "x", "--", "npx"],
    );
}

#[test]
fn a_server_called_like_an_api_is_told() {
    let sandbox = Sandbox::with_pets();
    prints(
        &sandbox,
        "add_like_api",
        0,
        &["server", "add", "pets", "--", "npx"],
    );
}

#[test]
fn servers_are_removed() {
    let sandbox = Sandbox::new();
    sandbox.write("toolscript.toml", MINE);
    prints(
        &sandbox,
        "remove_unknown",
        4,
        &["server", "remove", "flies"],
    );
    check(&sandbox, "remove", 0, &["server", "remove", "files"]);
    prints(
        &sandbox,
        "remove_nothing",
        4,
        &["server", "remove", "files"],
    );
}

const CLAUDE: &str = r#"{
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"]
    },
    "GitHub Tools": {
      "type": "http",
      "url": "https://api.githubcopilot.com/mcp/",
      "headers": { "Authorization": "Bearer ghp_hunter2hunter2" }
    },
    "db": {
      "command": "uvx",
      "args": ["db-server", "--password", "hunter2!"],
      "env": { "API_KEY": "hunter2hunter2", "LEVEL": "info" },
      "disabled": true,
      "autoApprove": ["query"]
    },
    "socket": { "type": "ws", "url": "wss://example.com" }
  }
}
"#;

const VS_CODE: &str = r#"// VS Code
{
  "inputs": [
    { "type": "promptString", "id": "perplexity-key", "description": "Perplexity API Key", "password": true },
  ],
  "servers": {
    /* one with a key */
    "perplexity": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "server-perplexity-ask", "${workspaceFolder}"],
      "env": { "PERPLEXITY_API_KEY": "${input:perplexity-key}", "LANG": "${env:LANG}" },
      "envFile": "${workspaceFolder}/.env",
    },
    "remote": { "type": "sse", "url": "https://mcp.example.com/sse", "headers": { "X-Team": "${command:team}" } },
  },
}
"#;

#[test]
fn servers_of_claude_are_taken_over() {
    let sandbox = Sandbox::new();
    sandbox.write(".mcp.json", CLAUDE);
    prints(
        &sandbox,
        "import_dry_run",
        5,
        &["server", "import", ".mcp.json", "--dry-run"],
    );
    assert!(!sandbox.path("toolscript.toml").exists());
    check(
        &sandbox,
        "import_claude",
        5,
        &["server", "import", ".mcp.json"],
    );
    check(
        &sandbox,
        "import_again",
        5,
        &["server", "import", ".mcp.json", "--secrets-to-env"],
    );
    check(
        &sandbox,
        "import_secrets",
        5,
        &[
            "server",
            "import",
            ".mcp.json",
            "--secrets-to-env",
            "--force",
        ],
    );
    prints(
        &sandbox,
        "import_json",
        5,
        &["server", "import", ".mcp.json", "--json"],
    );
}

#[cfg(unix)]
#[test]
fn a_new_file_with_secrets_is_for_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |arguments: &[&str]| {
        let sandbox = Sandbox::new();
        sandbox.write(".mcp.json", CLAUDE);
        sandbox.run(&[&["server", "import", ".mcp.json"], arguments].concat());
        let written = fs::metadata(sandbox.path("toolscript.toml")).unwrap();
        written.permissions().mode() & 0o777
    };
    assert_eq!(mode(&[]), 0o600);
    assert_eq!(mode(&["--secrets-to-env"]), 0o644);
}

#[test]
fn servers_of_vs_code_are_taken_over() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path(".vscode")).unwrap();
    sandbox.write(".vscode/mcp.json", VS_CODE);
    sandbox.write(".env", "REGION=eu\nexport SECRET=hunter2\n");
    let ran = sandbox.run(&["server", "import", ".vscode/mcp.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = fs::read_to_string(sandbox.path("toolscript.toml")).unwrap();
    let folder = sandbox.path("").display().to_string();
    let text = text.replace(folder.trim_end_matches('/'), "$WORK");
    insta::assert_snapshot!(
        "import_vs_code",
        format!("{}----- toolscript.toml -----\n{text}", ran.shown())
    );
}

#[test]
fn mistakes_when_importing() {
    let sandbox = Sandbox::new();
    prints(
        &sandbox,
        "import_missing",
        3,
        &["server", "import", "nowhere.json"],
    );
    sandbox.write("broken.json", "{\n  \"mcpServers\": {\n    \"a\" 1\n");
    prints(
        &sandbox,
        "import_broken",
        3,
        &["server", "import", "broken.json"],
    );
    sandbox.write("package.json", "{\"name\": \"x\", \"version\": \"1\"}");
    prints(
        &sandbox,
        "import_other",
        3,
        &["server", "import", "package.json"],
    );
    sandbox.write("none.json", "{\"mcpServers\": {}}");
    prints(
        &sandbox,
        "import_none",
        0,
        &["server", "import", "none.json"],
    );
    assert!(
        !sandbox.path("toolscript.toml").exists(),
        "nothing was written"
    );
}

fn misbehaving() -> Vec<(&'static str, Plan)> {
    let refusal =
        r#"{"jsonrpc":"2.0","id":2000000002,"error":{"code":-32600,"message":"go away"}}"#;
    vec![
        ("good", Plan::default()),
        (
            "dies",
            Plan {
                exits_with: Some(3),
                stderr_lines: 2,
                ..Plan::default()
            },
        ),
        (
            "garbage",
            Plan {
                garbage: Some("Usage: serve".to_owned()),
                ..Plan::default()
            },
        ),
        (
            "refuses",
            Plan {
                garbage: Some(refusal.to_owned()),
                ..Plan::default()
            },
        ),
        (
            "silent",
            Plan {
                is_silent: true,
                ..Plan::default()
            },
        ),
    ]
}

#[test]
fn every_server_has_a_line() {
    let sandbox = with_fakes(&misbehaving());
    let text = fakes(&misbehaving())
        + "[mcp_servers.off]\ncommand = \"x\"\nenabled = false\n[mcp_servers.lost]\ncommand = \"no-such-program\"\n";
    sandbox.write("toolscript.toml", &text);
    prints(&sandbox, "list", 0, &["server", "list", "--timeout", "2"]);
    let listed = sandbox
        .run(&["server", "list", "--timeout", "2", "--json"])
        .json();
    assert_eq!(listed[0]["connected"], true);
    assert_eq!(
        (&listed[5]["enabled"], &listed[5]["error"]),
        (&false.into(), &serde_json::Value::Null)
    );
    prints(&Sandbox::new(), "list_none", 0, &["server", "list"]);
}

#[test]
fn one_server_shows_its_tools() {
    let sandbox = with_fakes(&[("fake", Plan::default())]);
    prints(&sandbox, "introspect", 0, &["server", "introspect", "fake"]);
    let shown = sandbox
        .run(&["server", "introspect", "fake", "--json"])
        .json();
    insta::assert_snapshot!("introspect_json", format!("{:#}", shown["tools"][0]));
    assert_eq!(shown["revision"], "2025-11-25");
    prints(
        &sandbox,
        "introspect_unknown",
        4,
        &["server", "introspect", "fack"],
    );
}

/// What is said of a server that cannot be looked at, by the code the program ends with.
#[track_caller]
fn trouble(sandbox: &Sandbox, name: &str, code: i32, words: &str) {
    let ran: Ran = sandbox.run(&["server", "introspect", name, "--timeout", "2"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (code, ""),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.starts_with(&format!("error: {words}: ")),
        "{}",
        ran.stderr
    );
}

#[test]
fn troubles_are_told_apart() {
    let runtime = Runtime::new().unwrap();
    let closed = runtime.block_on(nobody());
    let guarded = runtime.block_on(canned::start((0..20).map(|_| Canned::status(401))));
    let page = || Canned::body(200, "text/html", "<html>");
    let website = runtime.block_on(canned::start((0..20).map(|_| page())));
    let sandbox = with_fakes(&misbehaving());
    let mut text = fakes(&misbehaving());
    for (name, url) in [
        ("closed", &*closed),
        ("guarded", guarded.url()),
        ("website", website.url()),
    ] {
        write!(text, "[mcp_servers.{name}]\nurl = \"{url}/mcp\"\n").unwrap();
    }
    text += "[mcp_servers.senseless]\ncommand = \"x\"\nurl = \"https://x.test\"\n";
    sandbox.write("toolscript.toml", &text);
    trouble(&sandbox, "dies", 10, "could not start");
    trouble(&sandbox, "silent", 8, "timed out");
    trouble(&sandbox, "garbage", 9, "malformed answer");
    trouble(&sandbox, "refuses", 9, "protocol error");
    trouble(&sandbox, "closed", 10, "not reachable");
    trouble(&sandbox, "guarded", 6, "login needed");
    trouble(&sandbox, "website", 9, "malformed answer");
    trouble(&sandbox, "senseless", 3, "bad settings");
}

#[test]
fn the_doctor_looks_at_every_server() {
    let plans = [
        ("good", Plan::default()),
        (
            "dies",
            Plan {
                exits_with: Some(3),
                stderr_lines: 3,
                ..Plan::default()
            },
        ),
    ];
    let sandbox = Sandbox::with_pets();
    let text = "[apis.pets]\nspec = \"pets.yaml\"\n".to_owned()
        + &fakes(&plans)
        + "[mcp_servers.off]\ncommand = \"x\"\nenabled = false\n\
           [mcp_servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"files\"]\n\
           [mcp_servers.mine]\ncommand = \"./serve\"\n\
           [mcp_servers.pets]\ncommand = \"uvx\"\n";
    sandbox.write("toolscript.toml", &text);
    prints(&sandbox, "doctor", 3, &["doctor"]);
}

#[test]
fn the_doctor_names_every_missing_variable() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "toolscript.toml",
        "[mcp_servers.a]\nurl = \"https://${HOST}/mcp\"\nheaders = { Authorization = \"Bearer ${TOKEN}\" }\n",
    );
    prints(&sandbox, "doctor_variables", 3, &["doctor"]);
}

#[test]
fn the_doctor_names_missing_credentials() {
    let sandbox = crate::sandbox::Shop::start().sandbox();
    prints(&sandbox, "doctor_credentials", 0, &["doctor"]);
}
