//! The files of other programs, and what becomes of them.

use serde_json::json;

use super::*;

/// A folder with one file in it.
fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn import(name: &str, text: &str) -> Import {
    let (folder, path) = file(name, text);
    read(&path, folder.path(), Secrets::Keep).unwrap()
}

#[track_caller]
fn one(text: &str, settings: &Value) -> Imported {
    let mut import = import(".mcp.json", text);
    assert!(import.refused.is_empty(), "{:?}", import.refused);
    let server = import.servers.remove(0);
    assert_eq!(Value::Object(server.settings.clone()), *settings);
    server
}

#[track_caller]
fn refused(entry: &str, reason: &str) {
    let import = import(
        ".mcp.json",
        &format!(r#"{{"mcpServers": {{"a": {entry}, "b": {{"command": "x"}}}}}}"#),
    );
    assert_eq!(import.refused[0].reason, reason);
    assert_eq!(import.servers.len(), 1, "the others are taken");
}

#[test]
fn claude_and_cursor() {
    let server = one(
        r#"{"mcpServers": {"files": {"command": "npx", "args": ["-y", "server", 7], "env": {"N": 1, "F": true}, "disabled": true}}}"#,
        &json!({"command": "npx", "args": ["-y", "server", "7"], "env": {"N": "1", "F": "true"}, "enabled": false}),
    );
    assert_eq!(server.name.as_str(), "files");
    assert!(server.notes.is_empty());
    one(
        r#"{"mcpServers": {"x": {"type": "sse", "url": "https://x.test/sse", "headers": {"X-Team": "${env:TEAM}"}}}}"#,
        &json!({"url": "https://x.test/sse", "transport": "sse", "headers": {"X-Team": "${TEAM}"}}),
    );
}

#[test]
fn vs_code() {
    let text = r#"{
        // asked for once
        "inputs": [{"type": "promptString", "id": "key", "description": "The key", "password": true}],
        "servers": {"remote": {"type": "http", "url": "https://x.test/mcp", "headers": {"Authorization": "Bearer ${input:key}"},},},
    }"#;
    let import = import(".vscode/mcp.json", text);
    let settings = Value::Object(import.servers[0].settings.clone());
    assert_eq!(
        settings,
        json!({"url": "https://x.test/mcp", "headers": {"Authorization": "Bearer ${KEY}"}})
    );
    assert_eq!(
        import.servers[0].exports,
        [Export {
            variable: "KEY".to_owned(),
            meaning: "The key".to_owned()
        }]
    );
    assert!(import.servers[0].secrets.is_empty());
}

#[test]
fn settings_of_vs_code_hold_servers_too() {
    for text in [
        r#"{"editor.fontSize": 12, "mcp": {"servers": {"a": {"command": "x"}}}}"#,
        r#"{"mcp.servers": {"a": {"command": "x"}}}"#,
        r#"{"a": {"command": "x"}}"#,
    ] {
        one(text, &json!({"command": "x"}));
    }
}

#[test]
fn a_file_of_variables_is_named_and_not_copied() {
    let (folder, path) = file(
        ".vscode/mcp.json",
        r#"{"servers": {"a": {"command": "x", "env": {"A": "1"}, "envFile": "${workspaceFolder}/.env"}}}"#,
    );
    fs::write(
        folder.path().join(".env"),
        "# mine\nA=2\nexport TOKEN='hunter2'\nnot a line\n",
    )
    .unwrap();
    let import = read(&path, folder.path(), Secrets::Keep).unwrap();
    let settings = Value::Object(import.servers[0].settings.clone());
    assert_eq!(settings["env"], json!({"A": "1", "TOKEN": "${TOKEN}"}));
    assert_eq!(import.servers[0].exports[0].variable, "TOKEN");
    assert!(
        import.servers[0].notes[0].contains("set -a; . "),
        "{:?}",
        import.servers[0].notes
    );
    assert!(!format!("{import:?}").contains("hunter2"));
}

#[test]
fn relative_paths_keep_their_meaning() {
    let (folder, path) = file(
        "project/.cursor/mcp.json",
        r#"{"mcpServers": {"a": {"command": "./bin/serve"}, "b": {"command": "node", "args": ["./serve.js"]}}}"#,
    );
    let project = folder.path().join("project").display().to_string();
    let import = read(&path, folder.path(), Secrets::Keep).unwrap();
    let setting = |server: usize, key: &str| import.servers[server].settings[key].clone();
    assert_eq!(
        setting(0, "command"),
        json!(format!("{project}/./bin/serve"))
    );
    assert_eq!(setting(1, "cwd"), json!(project));
    let import = read(&path, &folder.path().join("project"), Secrets::Keep).unwrap();
    assert_eq!(import.servers[0].settings["command"], json!("./bin/serve"));
    assert_eq!(import.servers[1].settings["cwd"], json!("."));
}

#[test]
fn names_are_cleaned_and_stay_apart() {
    let import = import(
        ".mcp.json",
        r#"{"mcpServers": {"My Files": {"command": "x"}, "my-files": {"command": "y"}, "json": {"command": "z"}}}"#,
    );
    let names: Vec<&str> = import
        .servers
        .iter()
        .map(|server| server.name.as_str())
        .collect();
    assert_eq!(names, ["my_files", "my_files_2", "json_api"]);
    assert_eq!(
        import.servers[0].notes,
        ["called `my_files` here, since `My Files` is no source name"]
    );
}

#[test]
fn what_nobody_knows_is_told() {
    let server = one(
        r#"{"mcpServers": {"a": {"command": "x", "alwaysAllow": ["y"], "timeout": 60}}}"#,
        &json!({"command": "x"}),
    );
    assert_eq!(
        server.notes,
        ["left out, since there is nothing like it here: `alwaysAllow`, `timeout`"]
    );
}

#[test]
fn what_cannot_be_taken_over_does_not_hold_up_the_rest() {
    refused("7", "it is no object with `command` or `url`");
    refused("{}", "it is no object with `command` or `url`");
    refused(r#"{"command": ["x"]}"#, "`command` should be a text");
    refused(
        r#"{"command": "x", "args": "y"}"#,
        "`args` should be a list of texts",
    );
    refused(
        r#"{"command": "x", "env": {"A": []}}"#,
        "`env.A` should be a text",
    );
    refused(
        r#"{"type": "ws", "url": "wss://x.test"}"#,
        "it speaks `ws`, which is not supported; stdio, http and sse are",
    );
    refused(
        r#"{"url": "x.test"}"#,
        "`url` is not a whole http(s) URL, such as `https://mcp.example.com/mcp`",
    );
    refused(
        r#"{"command": "x", "url": "https://x.test"}"#,
        "`url` set either `command` or `url`, not both",
    );
}

#[test]
fn addresses_of_variables_are_taken() {
    one(
        r#"{"mcpServers": {"a": {"url": "${URL}"}}}"#,
        &json!({"url": "${URL}"}),
    );
    one(
        r#"{"mcpServers": {"a": {"url": "https://${HOST}/mcp"}}}"#,
        &json!({"url": "https://${HOST}/mcp"}),
    );
}

#[test]
fn secrets_are_kept_or_put_into_variables() {
    let (folder, path) = file(
        ".mcp.json",
        r#"{"mcpServers": {"a": {"command": "x", "env": {"TOKEN": "hunter2"}}}}"#,
    );
    let kept = read(&path, folder.path(), Secrets::Keep).unwrap();
    assert_eq!(kept.servers[0].settings["env"]["TOKEN"], "hunter2");
    assert_eq!(kept.servers[0].shown["env"]["TOKEN"], "[secret]");
    assert_eq!(kept.servers[0].secrets, ["env.TOKEN"]);
    let moved = read(&path, folder.path(), Secrets::ToEnvironment).unwrap();
    assert_eq!(moved.servers[0].settings["env"]["TOKEN"], "${TOKEN}");
    assert_eq!(moved.servers[0].exports[0].variable, "TOKEN");
    assert!(moved.servers[0].secrets.is_empty());
}

#[track_caller]
fn unreadable(text: &str, problem: &str) {
    let (folder, path) = file(".mcp.json", text);
    let error = read(&path, folder.path(), Secrets::Keep)
        .unwrap_err()
        .to_string();
    assert_eq!(error.replace(&path.display().to_string(), "FILE"), problem);
}

#[test]
fn unreadable_files_name_the_line() {
    unreadable(
        "{\n  \"mcpServers\": {\n",
        "FILE:3: this is no JSON: EOF while parsing an object",
    );
    unreadable("", "FILE:1: this is no JSON: EOF while parsing a value");
    unreadable(
        "{\"a\": 1, \"b\": 2}",
        "`FILE` holds no MCP servers: it has neither `mcpServers` nor `servers`, but `a`, `b`",
    );
    unreadable(
        "[]",
        "`FILE` holds no MCP servers: it has neither `mcpServers` nor `servers`",
    );
    let missing = read(Path::new("/nowhere/x.json"), Path::new("."), Secrets::Keep).unwrap_err();
    assert!(
        missing
            .to_string()
            .starts_with("cannot read `/nowhere/x.json`: ")
    );
}
