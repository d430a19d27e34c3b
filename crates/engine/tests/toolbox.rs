//! Tools of scripts and toolkits through the engine: one door, one set of rules.

#![expect(clippy::unwrap_used, reason = "a step that fails must stop the test")]

use std::{fs, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolscript_engine::{
    Engine, Patience, Phase, Script, ScriptResult,
    config::Config,
    toolbox::{ToolState, Wanted, install},
};

const ECHO: &str = "tool = { description = 'Echoes.', parameters = {
    { name = 'text', type = 'string', required = true },
    { name = 'mood', type = 'string', enum = { 'glad', 'sad' }, default = 'glad' } },
    execute = function(params) return params end }";

async fn open(folder: &TempDir, config: &str) -> Engine {
    let path = folder.path().join("toolscript.toml");
    let config = Config::parse(&path, config, &|_| None).unwrap();
    Engine::open(config, Patience::Unlimited, None)
        .await
        .unwrap()
}

async fn run(engine: &Engine, owner: &str, text: &str) -> Result<Value, (Phase, String)> {
    let script = Script {
        text: text.to_owned(),
        owner: owner.to_owned(),
        ..Script::default()
    };
    match engine.execute(script).await.result {
        Ok(ScriptResult::Value(value)) => Ok(value),
        Ok(ScriptResult::Kept(kept)) => panic!("{kept:?}"),
        Err(error) => Err((error.phase, error.message)),
    }
}

#[tokio::test]
async fn arguments_are_checked_and_defaults_filled_in_before_a_script_runs() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("echo.luau"), ECHO).unwrap();
    let engine = open(&folder, "[tools.script.echo]\npath = \"echo.luau\"").await;
    let call = |arguments: &str| format!("return sdk.tools.echo({arguments})");
    assert_eq!(
        run(&engine, "", &call("{ text = 'x' }")).await.unwrap(),
        json!({"text": "x", "mood": "glad"})
    );
    for (arguments, message) in [
        ("{}", "parameter `text` is missing"),
        ("{ text = 7 }", "parameter `text` must be `string`"),
        (
            "{ text = 'x', mood = 'mad' }",
            "parameter `mood` must be one of",
        ),
        ("{ text = 'x', more = 1 }", "parameter `more` is not known"),
    ] {
        let (phase, words) = run(&engine, "", &call(arguments)).await.unwrap_err();
        assert_eq!(phase, Phase::Validation);
        assert!(words.contains(message), "{words}");
    }
}

#[tokio::test]
async fn a_rate_is_kept_for_each_caller() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("echo.luau"), ECHO).unwrap();
    let config = "[tools.script.echo]\npath = \"echo.luau\"\nrate_limit = \"2/hour\"";
    let engine = open(&folder, config).await;
    let call = "return sdk.tools.echo({ text = 'x' }).text";
    for owner in ["ann", "bob", "ann", "bob"] {
        assert_eq!(run(&engine, owner, call).await.unwrap(), json!("x"));
    }
    let (phase, words) = run(&engine, "ann", call).await.unwrap_err();
    assert_eq!(phase, Phase::Limit);
    assert!(
        words.starts_with("`tools.echo` is called too often (2/hour); try again in "),
        "{words}"
    );
}

#[tokio::test]
async fn tools_are_listed_with_their_state() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("echo.luau"), ECHO).unwrap();
    fs::write(folder.path().join("bad.luau"), "tool = 1").unwrap();
    let tool = |name: &str, execute: &str| json!({"name": name, "inputSchema": {"type": "object"}, "execute": execute});
    let kit = json!({"tools": [tool("good", "tools.echo"), tool("lost", "tools.gone")]});
    fs::write(folder.path().join("kit.json"), kit.to_string()).unwrap();
    let config = "[tools.script.echo]\npath = \"echo.luau\"\n[tools.script.bad]\npath = \"bad.luau\"\n\
                  [toolkits.kit]\npath = \"kit.json\"";
    let engine = open(&folder, config).await;
    let rows = engine.tool_states();
    let states: Vec<(&str, ToolState)> = rows.iter().map(|row| (&*row.name, row.state)).collect();
    assert_eq!(
        states,
        [
            ("kit.good", ToolState::Ok),
            ("kit.lost", ToolState::Error),
            ("tools.echo", ToolState::Ok),
            ("tools.bad", ToolState::Error),
        ]
    );
    assert_eq!(rows[2].parameters, ["text", "mood?"]);
    let lost = rows[1].problem.as_deref();
    assert_eq!(
        lost,
        Some("it stands for `tools.gone`, which no source has")
    );
    assert!(
        rows[3]
            .problem
            .as_deref()
            .unwrap()
            .starts_with("bad.luau:1: ")
    );
}

#[tokio::test]
async fn tools_that_call_each_other_come_to_an_end() {
    let folder = TempDir::new().unwrap();
    fs::write(
        folder.path().join("loop.luau"),
        "tool = { execute = function() return sdk.tools.again() end }",
    )
    .unwrap();
    let engine = open(&folder, "[tools.script.again]\npath = \"loop.luau\"").await;
    let (_, words) = run(&engine, "", "return sdk.tools.again()")
        .await
        .unwrap_err();
    assert!(
        words.contains("tools call each other at most 8 deep"),
        "{words}"
    );
}

#[tokio::test]
async fn host_modules_are_documented_for_tool_scripts() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("echo.luau"), ECHO).unwrap();
    let engine = open(&folder, "[tools.script.echo]\npath = \"echo.luau\"").await;
    let docs = engine.docs(&["luau.http_get"], 10_000).unwrap().docs;
    assert!(docs.contains("(tool scripts only)"), "{docs}");
    let (_, words) = run(&engine, "", "return http.get('https://x.test')")
        .await
        .unwrap_err();
    assert!(
        words.contains("nil"),
        "agents have no host modules: {words}"
    );
}

#[tokio::test]
async fn configuration_errors_point_at_their_line() {
    let says = |text: &str, message: &str| {
        let parsed = Config::parse(Path::new("toolscript.toml"), text, &|_| None);
        let error = parsed.unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    };
    says(
        "[tools.scripts.x]\npath = \"x\"",
        "toolscript.toml:1: unknown key `tools.scripts`; did you mean `script`?",
    );
    says(
        "[toolkits.x]\npath = \"x\"\ntimout = 3",
        "toolscript.toml:3: unknown key `toolkits.x.timout`; did you mean `timeout`?",
    );
    let bad = "[tools.script.x]\npath = \"x.luau\"\ntimeout = -1";
    let config = Config::parse(Path::new("toolscript.toml"), bad, &|_| None).unwrap();
    let error = Engine::open(config, Patience::Unlimited, None)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("toolscript.toml:3: `x.timeout` must be"),
        "{error}"
    );
}

#[tokio::test]
async fn only_what_the_index_promises_is_installed() {
    let registry = TempDir::new().unwrap();
    let (home, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::write(outside.path().join("secret"), "secret").unwrap();
    fs::create_dir(registry.path().join("tools")).unwrap();
    fs::write(registry.path().join("tools/echo.luau"), "abc").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.path().join("secret"), registry.path().join("link"))
        .unwrap();
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let index = format!(
        "[tools.echo]\npath = \"tools/echo.luau\"\nsha256 = \"{hash}\"\nversion = \"1.0\"\nmodules = [\"http\"]\n\
         [tools.echo.config]\nurl = {{ required = true, description = \"where\" }}\nlevel = {{ default = 3 }}\n\
         [tools.forged]\npath = \"tools/echo.luau\"\nsha256 = \"{}\"\n\
         [tools.outside]\npath = \"../secret\"\nsha256 = \"{hash}\"\n\
         [tools.linked]\npath = \"link\"\nsha256 = \"{hash}\"\n\
         [tools.needy]\npath = \"tools/echo.luau\"\nsha256 = \"{hash}\"\nmodules = [\"gpu\"]\n\
         [connectors.wiki]\npath = \"tools/echo.luau\"\nsha256 = \"{hash}\"\n",
        "0".repeat(64)
    );
    fs::write(registry.path().join("registry.toml"), index).unwrap();
    let config = home.path().join("toolscript.toml");
    let from = registry.path().display().to_string();
    let install = async |name: &str| {
        let wanted = Wanted {
            name,
            from: &from,
            folder: home.path(),
            config: Some(&config),
        };
        install(&wanted).await.map_err(|error| error.to_string())
    };
    for (name, words) in [
        ("forged", "is not what the index promises"),
        ("outside", "leads out of the folder"),
        ("linked", "links are not followed"),
        ("needy", "needs the module `gpu`"),
        ("wiki", "is a connector, not a tool"),
        ("ecko", "did you mean `echo`?"),
        ("../echo", "has no tool"),
    ] {
        let error = install(name).await.unwrap_err();
        assert!(error.contains(words), "{name}: {error}");
        assert!(
            !home.path().join("tools").exists(),
            "{name} left something behind"
        );
    }
    let installed = install("echo").await.unwrap();
    assert_eq!(installed.needs, [("url".to_owned(), "where".to_owned())]);
    assert_eq!(
        fs::read_to_string(home.path().join("tools/echo.luau")).unwrap(),
        "abc"
    );
    assert_eq!(
        fs::read_to_string(&config).unwrap(),
        "[tools.script.echo]\npath = \"tools/echo.luau\"\nlevel = 3\n# url = \"\" # needed: where\n"
    );
    let again = install("echo").await.unwrap_err();
    assert!(
        again.contains("already has `[tools.script.echo]`"),
        "{again}"
    );
}
