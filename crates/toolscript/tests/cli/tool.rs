//! `tool init`, `test`, `list` and `install`: what a person who writes tools sees.

use std::{fs, process::Command};

use serde_json::json;

use crate::sandbox::{Sandbox, repository};

#[test]
fn a_new_tool_works_at_once() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!("tool_init", sandbox.run(&["tool", "init", "hello"]).shown());
    let arguments = ["tool", "test", "tools/hello.luau", "--param", "name=x"];
    insta::assert_snapshot!("tool_test", sandbox.run(&arguments).shown());
    let list = sandbox.run(&["tool", "list"]);
    insta::assert_snapshot!("tool_list", list.shown());
    let called = sandbox.run(&[
        "exec",
        "-e",
        "return sdk.tools.hello({ name = 'ann', style = 'long' })",
    ]);
    assert_eq!(called.out(), "A very good day to you, ann!\n");
    insta::assert_snapshot!(
        "tool_init_again",
        sandbox.run(&["tool", "init", "hello"]).shown()
    );
}

#[test]
fn the_configuration_is_left_alone_where_that_is_wanted() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["tool", "init", "hello", "--no-config", "-q"])
        .out();
    assert!(!sandbox.path("toolscript.toml").exists());
    let arguments = [
        "tool",
        "test",
        "tools/hello.luau",
        "--param",
        "name=x",
        "--json",
    ];
    let answer = sandbox.run(&arguments).json();
    assert_eq!(answer["result"], json!("Hello x"));
    assert_eq!(answer["steps"][2]["step"], json!("2 parameters"));
    assert_eq!(sandbox.run(&["tool", "init", "../evil"]).code, 2);
    fs::create_dir(sandbox.path("sub")).unwrap();
    let made = sandbox.run(&["tool", "init", "x", "--config", "sub/other.toml", "--json"]);
    assert_eq!(made.json()["script"], json!("sub/tools/x.luau"));
}

/// Each kind of mistake is shown with its file and line, and ends in failure.
#[test]
fn mistakes_show_file_and_line() {
    let sandbox = Sandbox::new();
    let mut shown = String::new();
    for (name, script) in [
        ("no_tool", "local x = 1\n"),
        (
            "bad_type",
            "tool = {\n  parameters = {\n    { name = \"n\", type = \"strin\" },\n  },\n  execute = function() end,\n}",
        ),
        (
            "no_execute",
            "-- nothing to call\ntool = {\n  name = \"x\",\n}",
        ),
        ("endless", "local n = 0\nwhile true do n += 1 end\n"),
        ("error_at_load", "local config = nil\nprint(config.url)\n"),
        ("syntax", "tool = {\n  execute = function(\n}"),
    ] {
        let file = format!("{name}.luau");
        sandbox.write(&file, script);
        let ran = sandbox.run(&["tool", "test", &file]);
        assert_eq!(ran.code, 12, "{}", ran.stdout);
        assert!(ran.stdout.contains(&format!("{file}:")), "{}", ran.stdout);
        shown.push_str(&ran.stdout);
    }
    let missing = sandbox.run(&["tool", "test", "gone.luau"]);
    shown.push_str(&missing.stdout);
    insta::assert_snapshot!("tool_mistakes", shown);
}

#[test]
fn a_trial_uses_the_settings_of_the_tool_and_the_sources_named() {
    let sandbox = Sandbox::with_pets();
    sandbox.write(
        "t.luau",
        "tool = { parameters = { { name = 'n', type = 'integer' }, { name = 'list', type = 'array' } },
          execute = function(params, context)
            print('hi')
            return { context.config.greeting, params.n, params.list, sdk.pets ~= nil }
          end }",
    );
    let config = "[apis.pets]\nspec = \"pets.yaml\"\n[tools.script.my_tool]\npath = \"t.luau\"\ngreeting = \"hello there\"\n";
    sandbox.write("toolscript.toml", config);
    let test = |more: &[&str]| {
        let mut arguments = vec!["tool", "test", "t.luau"];
        arguments.extend(more);
        sandbox.run(&arguments)
    };
    let ran = test(&[
        "--param",
        "n=7",
        "--param",
        "list=[1,2]",
        "--source",
        "pets",
        "--json",
    ]);
    let answer = ran.json();
    assert_eq!(answer["result"], json!(["hello there", 7, [1, 2], true]));
    assert_eq!(answer["logs"][0]["text"], json!("hi"));
    let wrong = test(&["--param", "n=seven"]);
    assert_eq!(wrong.code, 5);
    assert!(wrong.stdout.contains("✗ called in"), "{}", wrong.stdout);
    assert!(
        wrong.stdout.contains("parameter `n` must be `number`"),
        "{}",
        wrong.stdout
    );
    let unknown = test(&["--source", "dogs"]);
    assert_eq!(unknown.code, 3);
    assert!(
        unknown.stderr.contains("no source is called `dogs`"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn states_are_listed() {
    let sandbox = Sandbox::new();
    sandbox.write("good.luau", "tool = { execute = function() end }");
    sandbox.write("bad.luau", "\ntool = { }");
    let config = "[tools.script.good]\npath = \"good.luau\"\n[tools.script.bad]\npath = \"bad.luau\"\ntoken = \"s3cret-token\"\n";
    sandbox.write("toolscript.toml", config);
    let rows = sandbox.run(&["tool", "list", "--json"]);
    assert!(!rows.stdout.contains("s3cret"), "{}", rows.stdout);
    let rows = rows.json();
    assert_eq!(rows[0]["state"], json!("ok"));
    assert_eq!(rows[1]["state"], json!("error"));
    assert!(
        rows[1]["problem"]
            .as_str()
            .unwrap()
            .starts_with("bad.luau:2: `tool.execute` is missing")
    );
    let listed = sandbox.run(&["list", "tools"]);
    assert!(listed.stderr.contains("bad.luau:2: "), "{}", listed.stderr);
}

#[test]
fn the_examples_are_sound() {
    let sandbox = Sandbox::new();
    let config = repository("examples/tools.toml").display().to_string();
    let rows = sandbox
        .run(&["tool", "list", "--config", &config, "--json"])
        .json();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 5);
    assert!(
        rows.iter().all(|row| row["state"] == json!("ok")),
        "{rows:?}"
    );
    let script = "return { sdk.greetings.hello(), sdk.greetings.repeat_after_me({ text = 'a', times = 2 }).text }";
    let ran = sandbox.run(&["exec", "--config", &config, "-e", script, "--json"]);
    assert_eq!(ran.json()["result"], json!(["hello world", "a a"]));
}

/// A registry in a folder, and the same as a git repository.
fn registry(sandbox: &Sandbox) {
    let script = "tool = { description = 'Echoes.', execute = function() return 1 end }\n";
    fs::create_dir_all(sandbox.path("registry/tools")).unwrap();
    sandbox.write("registry/tools/echo.luau", script);
    let output = Command::new("sha256sum")
        .arg(sandbox.path("registry/tools/echo.luau"))
        .output()
        .unwrap();
    let hash = String::from_utf8(output.stdout).unwrap();
    let hash = hash.split_whitespace().next().unwrap();
    let index = format!(
        "[tools.echo]\npath = \"tools/echo.luau\"\nversion = \"1.0.0\"\nsha256 = \"{hash}\"\nmodules = [\"http\"]\n\
         config.url = {{ required = true, description = \"where it goes\" }}\n"
    );
    sandbox.write("registry/registry.toml", &index);
    let git = |arguments: &[&str]| {
        let ran = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t.test", "-C"])
            .arg(sandbox.path("registry"))
            .args(arguments)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "registry"]);
}

#[test]
fn tools_come_out_of_a_folder_or_a_repository() {
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", &std::env::var("PATH").unwrap());
    registry(&sandbox);
    let install = |from: &str| sandbox.run(&["tool", "install", "echo", "--from", from]);
    insta::assert_snapshot!("tool_install", install("registry").shown());
    assert!(sandbox.run(&["tool", "list"]).out().contains("tools.echo"));
    fs::remove_file(sandbox.path("toolscript.toml")).unwrap();
    fs::remove_dir_all(sandbox.path("tools")).unwrap();
    let address = format!("file://{}", sandbox.path("registry").display());
    assert_eq!(install(&address).code, 0);
    assert!(sandbox.path("tools/echo.luau").exists());
    let nothing = install("nowhere");
    assert_eq!(nothing.code, 1);
    assert!(
        nothing
            .stderr
            .contains("cannot fetch the registry `nowhere`"),
        "{}",
        nothing.stderr
    );
    let unknown = sandbox.run(&["tool", "install", "eco", "--from", "registry"]);
    assert_eq!(unknown.code, 4);
    let ext = install("ext::touch owned");
    assert_eq!(ext.code, 1);
    assert!(!sandbox.path("owned").exists());
}
