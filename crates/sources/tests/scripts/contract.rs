//! What a script says of itself, and what happens when it is called.

use std::time::Duration;

use serde_json::{Value, json};
use toolscript_catalog::{CallError, Condition, Effect, Entry, Level, SourceName, docs};

use crate::stage::Stage;

const GREET: &str = r#"
tool = {
    name = "greet",
    version = "1.2.0",
    description = "Greets somebody. With many words.",
    effect = "reads",
    parameters = {
        { name = "who", type = "string", required = true, description = "Whom" },
        { name = "times", type = "integer", default = 1 },
        { name = "mood", type = "string", enum = { "glad", "sad" }, default = "glad" },
    },
    returns = { type = "object", properties = { text = { type = "string" } } },
    execute = function(params, context)
        return { text = string.rep("hello " .. params.who .. " ", params.times), mood = params.mood }
    end,
}
"#;

#[tokio::test]
async fn a_script_is_a_function_with_types_and_words() {
    let stage = Stage::with_settings(GREET, json!({"rate_limit": "10/minute"}));
    let listing = stage.list().await;
    assert!(listing.warnings.is_empty(), "{:?}", listing.warnings);
    let function = &listing.functions[0];
    assert_eq!(function.effect, Effect::Reads);
    assert_eq!(function.rate.unwrap().to_string(), "10/minute");
    let page = docs::page(
        &Entry::new(SourceName::parse("tools").unwrap(), listing.clone()),
        function,
    );
    assert!(
        page.contains("-- Greets somebody. With many words."),
        "{page}"
    );
    assert!(
        page.contains(r#"function sdk.tools.t(params: { who: string, times: number?, mood: ("glad" | "sad")? })"#),
        "{page}"
    );
}

#[tokio::test]
async fn defaults_are_filled_in() {
    let stage = Stage::with(GREET);
    assert_eq!(
        stage.run(json!({"who": "ann"})).await.unwrap(),
        json!({"text": "hello ann ", "mood": "glad"})
    );
    assert_eq!(
        stage
            .run(json!({"who": "ann", "times": 2, "mood": "sad"}))
            .await
            .unwrap(),
        json!({"text": "hello ann hello ann ", "mood": "sad"})
    );
}

#[tokio::test]
async fn parameters_may_be_a_json_schema() {
    let stage = Stage::with(
        r##"tool = {
            parameters = { type = "object", required = { "list" },
                properties = { list = { type = "array", items = { type = "integer" } }, deep = { ["$ref"] = "#/$defs/Deep" } },
                ["$defs"] = { Deep = { type = "object", properties = { a = { type = "string" } } } } },
            execute = function(params) return #params.list end,
        }"##,
    );
    let listing = stage.list().await;
    assert_eq!(listing.functions[0].params.fields.len(), 2);
    assert_eq!(listing.types.len(), 1);
    assert_eq!(stage.run(json!({"list": [1, 2]})).await.unwrap(), json!(2));
}

/// Every kind of mistake has a message with file and line.
#[tokio::test]
async fn mistakes_have_a_file_and_a_line() {
    for (script, message) in [
        (
            "\nlocal x = 1",
            "t.luau:1: the script defines no global table `tool`",
        ),
        (
            "\n\ntool = 7",
            "t.luau:3: the script defines no global table `tool`",
        ),
        (
            "local tool = { execute = function() end }",
            "t.luau:1: the script defines no global table `tool`: write",
        ),
        (
            "\ntool = {\n  name = 'x',\n}",
            "t.luau:2: `tool.execute` is missing",
        ),
        (
            "tool = {\n  execute = 'x',\n}",
            "t.luau:2: `tool.execute` is missing",
        ),
        (
            "tool = {\n  parameters = {\n    { name = 'a', type = \"strng\" },\n  },\n  execute = function() end,\n}",
            "t.luau:3: parameter `a` has the type \"strng\"",
        ),
        (
            "tool = {\n  parameters = {\n    { name = \"a\", type = \"integer\", default = \"x\" } },\n  execute = function() end }",
            "t.luau:3: parameter `a` has the default \"x\", which is no integer",
        ),
        (
            "tool = { helpers = { f = function() end }, execute = function() end }",
            "t.luau:1: `tool` holds what only a script can hold: ",
        ),
        (
            "tool = {\n  version = 3,\n  execute = function() end }",
            "t.luau:2: `tool.version` must be text",
        ),
        (
            "tool = {\n  effect = 'x',\n  execute = function() end }",
            "t.luau:2: `tool.effect` must be",
        ),
        (
            "\nwhile true do end",
            "t.luau:2: the script is still loading after 2000 ms",
        ),
        (
            "local x = 1\nerror('no config')",
            "t.luau:2: the script fails while it is loaded: no config",
        ),
        (
            "local x = nil\nx.y = 1",
            "t.luau:2: the script fails while it is loaded: attempt to index nil",
        ),
        (
            "\nhttp.get('https://x.test')",
            "t.luau:2: the script fails while it is loaded: `http.get` works inside `tool.execute`",
        ),
        (
            "tool = {\n  execute = function(\n}",
            "t.luau:3: this is not Luau",
        ),
        (
            "local t = {}\nwhile true do t[#t + 1] = string.rep('x', 1e6) end",
            "t.luau",
        ),
    ] {
        let problem = Stage::with(script).problem().await;
        assert!(problem.starts_with(message), "{script}\n{problem}");
    }
}

#[tokio::test]
async fn what_is_no_file_is_said_to_be_none() {
    let mut stage = Stage::empty();
    std::fs::create_dir(stage.folder.path().join("folder.luau")).unwrap();
    stage.write("bytes.luau", "x");
    std::fs::write(stage.folder.path().join("bytes.luau"), [0xff, 0xfe]).unwrap();
    stage.write("large.luau", &"-".repeat(300_000));
    for (path, message) in [
        (
            "gone.luau",
            "gone.luau:1: the script cannot be read: No such file",
        ),
        ("folder.luau", "folder.luau:1: this is not a file"),
        (
            "bytes.luau",
            "bytes.luau:1: the script cannot be read: it is not text in UTF-8",
        ),
        (
            "large.luau",
            "large.luau:1: the script has more than the 262144 bytes allowed",
        ),
    ] {
        stage.open(json!({"t": {"path": path}})).unwrap();
        let problem = stage.problem().await;
        assert!(problem.starts_with(message), "{problem}");
    }
}

#[tokio::test]
async fn one_bad_script_does_not_lose_the_others() {
    let mut stage = Stage::empty();
    stage.write("good.luau", GREET);
    stage.write("bad.luau", "tool = nil");
    let settings = json!({"good-one": {"path": "good.luau"}, "bad": {"path": "bad.luau"}});
    stage.open(settings).unwrap();
    let listing = stage.list().await;
    assert_eq!(listing.functions.len(), 1);
    assert_eq!(listing.functions[0].name.as_str(), "good_one");
    let states = stage.source().states();
    assert_eq!(states[0].condition, Condition::Good);
    assert!(matches!(states[1].condition, Condition::Broken { .. }));
    assert_eq!(stage.source().files().len(), 2);
}

#[tokio::test]
async fn a_broken_new_version_leaves_the_old_one_in_use() {
    let stage = Stage::with("tool = { execute = function() return 1 end }");
    assert_eq!(stage.run(json!({})).await.unwrap(), json!(1));
    stage.write("t.luau", "tool = {\n  execute = function( return 2 end }");
    assert!(
        stage
            .problem()
            .await
            .starts_with("t.luau:2: this is not Luau")
    );
    assert_eq!(stage.call("tools.t", json!({})).await.unwrap(), json!(1));
    let Condition::Kept { problem } = &stage.source().states()[0].condition else {
        panic!("{:?}", stage.source().states())
    };
    assert!(problem.starts_with("t.luau:2: "), "{problem}");
    stage.write("t.luau", "tool = { execute = function() return 3 end }");
    assert!(stage.list().await.warnings.is_empty());
    assert_eq!(stage.call("tools.t", json!({})).await.unwrap(), json!(3));
}

#[tokio::test]
async fn failures_say_where() {
    let stage = Stage::with("tool = { execute = function()\n  error('out of paper')\nend }");
    let error = stage.run(json!({})).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`tools.t` failed: t.luau:2: out of paper"
    );
    let stage =
        Stage::with("tool = { execute = function() error({ message = 'no', code = 7 }) end }");
    let CallError::Tool { body, .. } = stage.run(json!({})).await.unwrap_err() else {
        panic!("a tool that fails is a failure of the tool")
    };
    assert_eq!(body, Some(json!({"message": "no", "code": 7})));
    let stage = Stage::with(
        "tool = { execute = function() local t = {} while true do t[#t + 1] = string.rep('x', 1e6) .. #t end end }",
    );
    let error = stage.run(json!({})).await.unwrap_err();
    assert!(matches!(error, CallError::Tool { .. }), "{error}");
    assert!(error.to_string().contains("64 MB of memory"), "{error}");
}

#[tokio::test]
async fn time_is_the_tools_own_and_never_more_than_the_caller_waits() {
    let endless = "tool = { execute = function() while true do end end }";
    let stage = Stage::with_settings(endless, json!({"timeout": 0.2}));
    let error = stage.run(json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "`tools.t` did not answer within 200 ms");
    let sleepy = "tool = { execute = function() sleep(60) end }";
    let stage = Stage::with(sleepy);
    stage.list().await;
    let within = Duration::from_millis(100);
    let error = stage
        .call_within(within, "tools.t", json!({}))
        .await
        .unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }), "{error}");
    let error = stage
        .call_within(Duration::ZERO, "tools.t", json!({}))
        .await
        .unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }), "{error}");
}

#[tokio::test]
async fn logs_are_heard_while_the_tool_runs() {
    let stage = Stage::with(
        "tool = { execute = function() log.info('a', 1, { b = true }) log.warn('careful') print('printed') end }",
    );
    stage.run(json!({})).await.unwrap();
    let heard = stage.observer.0.lock().unwrap().clone();
    let expected = [
        (Level::Info, "a 1 {\"b\":true}"),
        (Level::Warn, "careful"),
        (Level::Info, "printed"),
    ];
    assert_eq!(
        heard,
        expected.map(|(level, text)| (level, text.to_owned()))
    );
}

#[tokio::test]
async fn other_functions_are_called_through_the_door() {
    let stage = Stage::with(
        "tool = { execute = function(params) return sdk.petstore.get_pet({ id = params.id }) end,
          parameters = { { name = 'id', type = 'integer' } } }",
    );
    assert_eq!(
        stage.run(json!({"id": 7})).await.unwrap(),
        json!({"function": "petstore.get_pet", "params": {"id": 7}})
    );
    let stage =
        Stage::with("sdk.petstore.get_pet({ id = 1 })\ntool = { execute = function() end }");
    assert!(
        stage
            .problem()
            .await
            .starts_with("t.luau:1: the script fails while it is loaded")
    );
}

#[tokio::test]
async fn what_the_configuration_holds_is_shown_nowhere() {
    let script = r#"tool = { execute = function(_, context)
        log.info("token is " .. context.config.token)
        if context.config.deep.flag then error("cannot use " .. context.config.token) end
        return #context.config.token
    end }"#;
    let config = json!({"token": "s3cret-token", "deep": {"flag": false}});
    let stage = Stage::with_settings(script, config);
    assert_eq!(stage.run(json!({})).await.unwrap(), json!(12));
    let heard = stage.observer.0.lock().unwrap().clone();
    assert_eq!(heard[0].1, "token is [config.token]");
    let config = json!({"token": "s3cret-token", "deep": {"flag": true}});
    let stage = Stage::with_settings(script, config);
    let error = stage.run(json!({})).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`tools.t` failed: t.luau:3: cannot use [config.token]"
    );
    let listing = serde_json::to_string(&stage.list().await).unwrap();
    assert!(!listing.contains("s3cret"), "{listing}");
}

#[tokio::test]
async fn settings_that_do_not_fit_name_their_key() {
    let mut stage = Stage::empty();
    for (settings, key, words) in [
        (json!({}), "t", "missing field `path`"),
        (json!({"path": ""}), "t.path", "is empty"),
        (
            json!({"path": "x", "timeout": 0}),
            "t.timeout",
            "above zero",
        ),
        (
            json!({"path": "x", "rate_limit": "often"}),
            "t",
            "`often` is not a rate",
        ),
        (
            json!({"path": "x", "allow_hosts": ["a/b"]}),
            "t.allow_hosts",
            "`a/b` is not a host",
        ),
    ] {
        let error = stage.open(json!({"t": settings})).unwrap_err();
        assert!(error.key.starts_with(key), "{error}");
        assert!(error.problem.contains(words), "{error}");
    }
    stage.write(
        "t.luau",
        "tool = { execute = function() end, paramters = {} }",
    );
    stage
        .open(json!({"t": {"path": "t.luau", "timout": 3}}))
        .unwrap();
    let reasons: Vec<String> = stage
        .list()
        .await
        .warnings
        .into_iter()
        .map(|w| w.reason)
        .collect();
    assert_eq!(
        reasons,
        [
            "nobody reads `tool.paramters`; did you mean `parameters`?",
            "goes to the script as `context.config.timout`; was `timeout` meant?",
        ]
    );
}

#[tokio::test]
async fn agents_words_stay_data() {
    let stage =
        Stage::with("tool = { description = 'Does.\u{202e} it', execute = function() end }");
    assert_eq!(stage.list().await.functions[0].summary, "Does. it");
    let value: Value = stage.run(json!({})).await.unwrap();
    assert_eq!(value, Value::Null);
}
