//! Real MCP clients from outside, in both eras of the protocol, over stdio and HTTP: what an
//! agent's own client sees of toolscript.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what cannot be had stops the test"
)]

#[expect(dead_code, reason = "other tests need the rest of it")]
mod support {
    pub(crate) mod client;
    pub(crate) mod installed;
    pub(crate) mod program;
    pub(crate) mod stage;
}

use std::collections::BTreeSet;

use serde_json::{Value, json};
use support::{
    client::{Client, Era, Kit, failure, result},
    stage::Stage,
};
use toolscript_testkit::{Sample, mcp};

/// Secrets the sample API does not take, to see what becomes of them in errors.
const WRONG_TOKEN: &str = "wrong-token-e41d";
const MISPLACED_TOKEN: &str = "misplaced-token-0b7c";
const UNDELIVERED_KEY: &str = "undelivered-key-a90e";

#[test]
fn python_older_over_stdio() {
    check_stdio(Kit::Python, Era::Older);
}

#[test]
fn python_newer_over_stdio() {
    check_stdio(Kit::Python, Era::Newer);
}

#[test]
fn python_older_over_http() {
    check_http(Kit::Python, Era::Older);
}

#[test]
fn python_newer_over_http() {
    check_http(Kit::Python, Era::Newer);
}

#[test]
fn typescript_1_older_over_stdio() {
    check_stdio(Kit::TypeScript1, Era::Older);
}

#[test]
fn typescript_1_older_over_http() {
    check_http(Kit::TypeScript1, Era::Older);
}

#[test]
fn typescript_2_older_over_stdio() {
    check_stdio(Kit::TypeScript2, Era::Older);
}

#[test]
fn typescript_2_older_over_http() {
    check_http(Kit::TypeScript2, Era::Older);
}

#[test]
fn typescript_2_newer_over_stdio() {
    check_stdio(Kit::TypeScript2, Era::Newer);
}

#[test]
fn typescript_2_newer_over_http() {
    check_http(Kit::TypeScript2, Era::Newer);
}

#[test]
fn a_question_reaches_the_user_of_an_older_client() {
    check_question(Era::Older);
}

#[test]
fn a_question_reaches_the_user_of_a_newer_client() {
    check_question(Era::Newer);
}

/// A server asks in the middle of a script, and the script goes on with what the user said: over
/// both transports, with servers of both eras.
fn check_question(era: Era) {
    for upstream in [mcp::Era::Handshake, mcp::Era::Stateless] {
        let stage = Stage::with_server(&mcp::Plan {
            era: upstream,
            ..mcp::Plan::default()
        });
        let serving = stage.serve();
        for serving in [None, Some(&serving)] {
            let name = json!({"name": "Ann"});
            let mut client = Client::connect_with_user(Kit::Python, era, &stage, serving, &name);
            let script = r"
                local before = sdk.fake.calls({})
                local said = json.decode(sdk.fake.ask({}))
                return { said.content.name, sdk.fake.calls({}) - before }";
            let result = client.call("execute_script", &json!({"script": script}));
            let answer = &result["structuredContent"]["result"];
            // Nothing is done twice, but a server of the newer era sees the call that asks again.
            let calls = if upstream == mcp::Era::Handshake {
                2
            } else {
                3
            };
            assert_eq!(answer, &json!(["Ann", calls]), "{upstream:?}: {result}");
            client.finish();
        }
        let mut client = Client::connect(Kit::Python, era, &stage, Some(&serving));
        let script = json!({"script": "return sdk.fake.ask({})"});
        let result = client.call("execute_script", &script);
        assert_eq!(result["isError"], true);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains("nobody can be asked here"),
            "{upstream:?}: {text}"
        );
        client.finish();
        serving.stop();
    }
}

fn check_stdio(kit: Kit, era: Era) {
    let stage = Stage::new();
    let mut client = Client::connect(kit, era, &stage, None);
    scenario(&mut client, era, &stage);
    check_secrets(&client.finish());
}

fn check_http(kit: Kit, era: Era) {
    let stage = Stage::new();
    let serving = stage.serve();
    let mut client = Client::connect(kit, era, &stage, Some(&serving));
    scenario(&mut client, era, &stage);
    check_secrets(&format!("{}{}", client.finish(), serving.stop()));
}

fn scenario(client: &mut Client, era: Era, stage: &Stage) {
    greets(client, era);
    lists_five_tools(client);
    lists_sources(client);
    finds_functions(client);
    lists_functions_by_pages(client);
    documents_several_functions_at_once(client);
    chains_three_calls(client, stage);
    tells_of_progress(client);
    places_a_failed_call(client);
    places_a_syntax_error(client);
    names_a_wrong_parameter(client, stage);
    gives_up_a_cancelled_script(client, stage);
    ends_a_slow_script_in_time(client);
    refuses_what_is_not_there(client);
    reads_resources(client, era);
    reads_a_large_result(client, era);
    carries_credentials(client, stage);
    refuses_malformed_credentials(client, stage);
}

fn greets(client: &Client, era: Era) {
    let connected = &client.connected;
    let version = if era == Era::Older {
        "2025-11-25"
    } else {
        "2026-07-28"
    };
    assert_eq!(connected["protocol_version"], version);
    assert_eq!(connected["server"]["name"], "toolscript");
    assert_eq!(connected["server"]["version"], env!("CARGO_PKG_VERSION"));
    let instructions = connected["instructions"].as_str().unwrap();
    assert!(instructions.chars().count() < 2_000, "{instructions}");
    for name in ["shop", "dead", "search_docs", "execute_script"] {
        assert!(instructions.contains(name), "{instructions}");
    }
}

fn lists_five_tools(client: &mut Client) {
    let listed = result(client.ask(json!({"do": "list_tools"})));
    let tools = listed["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    let expected = [
        "list_apis",
        "list_functions",
        "search_docs",
        "get_function_docs",
        "execute_script",
    ];
    assert_eq!(names, expected);
    for tool in tools {
        assert!(
            tool["title"].is_string() && tool["description"].is_string(),
            "{tool:#}"
        );
        for hint in [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ] {
            assert!(tool["annotations"][hint].is_boolean(), "{hint}: {tool:#}");
        }
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool:#}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool:#}");
    }
}

fn lists_sources(client: &mut Client) {
    let answer = client.call("list_apis", &json!({}));
    let page = structured(&answer);
    let items = page["items"].as_array().unwrap();
    let shop = items
        .iter()
        .find(|item| item["name"] == "shop")
        .expect("the shop is listed");
    assert_eq!(shop["kind"], "openapi", "{shop:#}");
    assert_eq!(shop["about"], "Sample Pets", "{shop:#}");
    assert_eq!(shop["groups"]["secure"], 7, "{shop:#}");
    assert!(text(&answer).contains("Sample Pets"), "{}", text(&answer));
}

fn finds_functions(client: &mut Client) {
    let arguments = json!({"query": "add a new pet", "source": "shop", "limit": 3});
    let answer = client.call("search_docs", &arguments);
    let found = structured(&answer);
    assert_eq!(found["items"][0]["name"], "shop.create_pet", "{found:#}");
    assert!(found["items"].as_array().unwrap().len() <= 3, "{found:#}");
    assert!(
        text(&answer).contains("shop.create_pet(body: NewPet): Pet"),
        "{}",
        text(&answer)
    );
}

fn lists_functions_by_pages(client: &mut Client) {
    let mut names = BTreeSet::new();
    let mut cursor = Value::Null;
    loop {
        let mut arguments = json!({"source": "shop", "limit": 10});
        if cursor.is_string() {
            arguments["cursor"] = cursor;
        }
        let answer = client.call("list_functions", &arguments);
        let page = structured(&answer);
        let items = page["items"].as_array().unwrap();
        assert!(!items.is_empty() && items.len() <= 10, "{page:#}");
        for item in items {
            assert!(
                names.insert(item["name"].as_str().unwrap().to_owned()),
                "twice: {item}"
            );
        }
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            assert_eq!(page["total"], names.len(), "{names:?}");
            break;
        }
    }
    assert!(20 < names.len(), "{names:?}");
    for name in [
        "shop.list_pets",
        "shop.create_pet",
        "shop.get_friend",
        "shop.secure_public",
    ] {
        assert!(names.contains(name), "{name} is missing in {names:?}");
    }
}

fn documents_several_functions_at_once(client: &mut Client) {
    let names = json!({"names": ["shop.create_pet", "shop.get_pet"]});
    let answer = client.call("get_function_docs", &names);
    let docs = structured(&answer)["docs"].as_str().unwrap();
    assert_eq!(docs, text(&answer));
    for part in [
        "function sdk.shop.create_pet(body: NewPet): Pet",
        "function sdk.shop.get_pet(",
    ] {
        assert!(docs.contains(part), "{docs}");
    }
    assert_eq!(
        docs.matches("export type Pet ").count(),
        1,
        "each type once:\n{docs}"
    );
}

fn chains_three_calls(client: &mut Client, stage: &Stage) {
    let answer = client.call(
        "execute_script",
        &json!({"script": "
            local made = sdk.shop.create_pet({ name = 'Pixel', kind = 'cat', tags = { 'new', 'shy' } })
            local read = sdk.shop.get_pet({ id = made.id })
            local all = sdk.shop.list_pets({ limit = 50 })
            return { id = made.id, name = read.name, tags = read.tags, count = #all }"}),
    );
    assert_ne!(answer["isError"], true, "{answer:#}");
    let id = Sample::PETS + 1;
    let expected = json!({"id": id, "name": "Pixel", "tags": ["new", "shy"], "count": id});
    let run = structured(&answer);
    assert_eq!(run["result"], expected);
    assert_eq!(run["stats"]["calls"], 3);
    assert!(run["stats"]["duration_ms"].is_number(), "{run:#}");
    assert_eq!(
        serde_json::from_str::<Value>(text(&answer)).unwrap(),
        expected
    );
    assert_eq!(stage.sample.count("POST", "/pets"), 1);
    assert_eq!(stage.sample.count("GET", &format!("/pets/{id}")), 1);
}

fn tells_of_progress(client: &mut Client) {
    // The script goes on for a while: a client that reads the notification and the answer at once
    // forgets whom to tell.
    let mut request =
        script("for id = 1, 3 do sdk.shop.get_pet({ id = id }) end sleep(0.4) return 'done'");
    request["progress"] = json!(true);
    let answer = client.ask(request);
    let told = answer["progress"].as_array().unwrap();
    assert!(!told.is_empty(), "{answer:#}");
    let steps: Vec<f64> = told
        .iter()
        .map(|step| step["progress"].as_f64().unwrap())
        .collect();
    assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
    assert_eq!(structured(&answer["result"])["result"], "done");
}

fn places_a_failed_call(client: &mut Client) {
    let answer = client.call(
        "execute_script",
        &json!({"script": "local first = sdk.shop.get_pet({ id = 1 })\nprint(first.name)\nreturn sdk.shop.get_pet({ id = 4711 })"}),
    );
    let error = error_of(&answer, "api_call");
    assert_eq!(error["line"], 3, "{error:#}");
    assert_eq!(error["api_status"], 404, "{error:#}");
    assert_eq!(error["function"], "shop.get_pet", "{error:#}");
    assert!(error["hint"].is_string(), "{error:#}");
    let run = structured(&answer);
    assert_eq!(run["logs"][0]["text"], "Rex", "{run:#}");
    assert_eq!(run["stats"]["calls"], 2, "{run:#}");
    for word in ["line 3", "404"] {
        assert!(text(&answer).contains(word), "{}", text(&answer));
    }
}

fn places_a_syntax_error(client: &mut Client) {
    let script = "local pets = sdk.shop.list_pets()\nlocal = 1\nreturn pets";
    let answer = client.call("execute_script", &json!({"script": script}));
    assert_eq!(error_of(&answer, "parse")["line"], 2, "{answer:#}");
}

fn names_a_wrong_parameter(client: &mut Client, stage: &Stage) {
    let before = stage.sample.requests().len();
    for (call, named) in [
        ("get_pet({ id = 'seven' })", "id"),
        ("get_pet({})", "id"),
        ("get_pet({ id = 1, colour = 'red' })", "colour"),
        ("create_pet({ name = 'Bo', kind = 'fish' })", "kind"),
    ] {
        let script = format!("local x = 1\nreturn sdk.shop.{call}");
        let answer = client.call("execute_script", &json!({"script": script}));
        let error = error_of(&answer, "validation");
        assert_eq!(error["line"], 2, "{call}: {error:#}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains(named),
            "{call}: `{message}` names `{named}`"
        );
    }
    assert_eq!(
        stage.sample.requests().len(),
        before,
        "a call that does not fit is not sent"
    );
}

fn gives_up_a_cancelled_script(client: &mut Client, stage: &Stage) {
    let id = client.send(script("return sdk.shop.slow({ delay_ms = 60000 })"));
    stage.wait_until("the slow call", |sample| sample.count("GET", "/slow") == 1);
    client.cancel(id);
    assert_eq!(client.answer(id)["cancelled"], true);
    stage.wait_until_abandoned();
}

fn ends_a_slow_script_in_time(client: &mut Client) {
    let mut request = script("local x = 1\nreturn sdk.shop.slow({ delay_ms = 5000 })");
    request["arguments"]["timeout_ms"] = json!(1_000);
    let answer = client.ask(request);
    let elapsed = answer["elapsed_ms"].as_f64().unwrap();
    assert!((900.0..3_000.0).contains(&elapsed), "{answer:#}");
    error_of(&answer["result"], "timeout");
}

fn refuses_what_is_not_there(client: &mut Client) {
    let refused = failure(client.ask(json!({"do": "call_tool", "name": "no_such_tool"})));
    assert_eq!(refused["code"], -32_602, "{refused:?}");
    let answer = client.call("get_function_docs", &json!({"names": ["shop.get_pets"]}));
    assert_eq!(answer["isError"], true, "{answer:#}");
    assert!(text(&answer).contains("get_pet"), "{}", text(&answer));
    let answer = client.call("list_functions", &json!({"source": "shpo"}));
    assert_eq!(answer["isError"], true, "{answer:#}");
    assert!(text(&answer).contains("shop"), "{}", text(&answer));
}

fn reads_resources(client: &mut Client, era: Era) {
    let listed = result(client.ask(json!({"do": "list_resources"})));
    let resources = listed["resources"].as_array().unwrap();
    let addresses: Vec<&str> = resources
        .iter()
        .filter_map(|one| one["uri"].as_str())
        .collect();
    for (uri, part) in [
        ("sdk://shop/overview", "Sample Pets"),
        ("sdk://shop/functions", "create_pet"),
        ("sdk://shop/schemas", "NewPet"),
        ("sdk://shop/functions/get_pet", "function sdk.shop.get_pet("),
        ("sdk://shop/schemas/NewPet", "export type NewPet"),
    ] {
        let is_listed = addresses.contains(&uri);
        assert_eq!(
            is_listed,
            uri.matches('/').count() == 3,
            "{uri} in {addresses:?}"
        );
        let read = result(client.ask(json!({"do": "read_resource", "uri": uri})));
        let content = &read["contents"][0];
        assert_eq!(content["uri"], uri);
        assert!(
            content["text"].as_str().unwrap().contains(part),
            "{uri}: {read:#}"
        );
    }
    let missing = json!({"do": "read_resource", "uri": "sdk://shop/functions/nothing"});
    let refused = failure(client.ask(missing));
    let code = if era == Era::Older { -32_002 } else { -32_602 };
    assert_eq!(refused["code"], code, "{refused:?}");
    assert!(
        refused["message"].as_str().unwrap().contains("nothing"),
        "{refused:?}"
    );
}

fn reads_a_large_result(client: &mut Client, era: Era) {
    let text = "local rows = {} for id = 1, 30000 do rows[id] = { id = id, name = 'row ' .. id } end return rows";
    let answer = result(client.ask(script(text)));
    let kept = &structured(&answer)["kept"];
    assert_eq!(kept["shape"], "[30000 x { id: number, name: string }]");
    let uri = kept["uri"].as_str().unwrap();
    let link = &answer["content"][1];
    assert_eq!(
        (&link["type"], &link["uri"]),
        (&json!("resource_link"), &kept["uri"])
    );

    let listed = result(client.ask(json!({"do": "list_resources"})));
    let resources = listed["resources"].as_array().unwrap();
    assert!(resources.iter().any(|one| one["uri"] == uri), "{listed:#}");

    let mut whole = String::new();
    let mut next = uri.to_owned();
    loop {
        let read = result(client.ask(json!({"do": "read_resource", "uri": next})));
        let contents = read["contents"].as_array().unwrap();
        whole.push_str(contents[0]["text"].as_str().unwrap());
        let Some(more) = contents.get(1) else { break };
        assert!(
            more["text"].as_str().unwrap().contains("It goes on at"),
            "{more:#}"
        );
        more["uri"].as_str().unwrap().clone_into(&mut next);
    }
    let rows: Vec<Value> = serde_json::from_str(&whole).unwrap();
    assert_eq!(rows.len(), 30_000);
    assert_eq!(rows[29_999], json!({"id": 30_000, "name": "row 30000"}));

    let missing = json!({"do": "read_resource", "uri": "result://res_0"});
    let refused = failure(client.ask(missing));
    let code = if era == Era::Older { -32_002 } else { -32_602 };
    assert_eq!(refused["code"], code, "{refused:?}");
}

fn carries_credentials(client: &mut Client, stage: &Stage) {
    let bearer = json!({"type": "bearer", "token": Sample::TOKEN});
    let basic = json!({"type": "basic", "username": Sample::USER, "password": Sample::PASSWORD});
    let key = json!({"type": "api_key", "key": Sample::KEY});
    for (function, credential) in [
        ("secure_bearer", &bearer),
        ("secure_basic", &basic),
        ("secure_key_header", &key),
        ("secure_key_query", &key),
        ("secure_key_cookie", &key),
        ("secure_public", &bearer),
    ] {
        let call = format!("return sdk.shop.{function}()");
        let answer = with_auth(client, &call, &json!({"shop": credential}));
        assert_eq!(
            structured(&answer)["result"]["welcome"],
            true,
            "{function}: {answer:#}"
        );
    }
    // A credential belongs to the request that brought it and to the source it names.
    let call = "\nreturn sdk.shop.secure_bearer()";
    for auth in [
        json!({}),
        json!({"dead": bearer}),
        json!({"shop": {"type": "bearer", "token": WRONG_TOKEN}}),
    ] {
        let answer = with_auth(client, call, &auth);
        let error = error_of(&answer, "api_call");
        assert_eq!(
            (&error["api_status"], &error["line"]),
            (&json!(401), &json!(2)),
            "{error:#}"
        );
    }
    let undelivered = json!({"dead": {"type": "api_key", "key": UNDELIVERED_KEY}});
    let answer = with_auth(client, "return sdk.dead.secure_key_query()", &undelivered);
    error_of(&answer, "api_call");
    assert_eq!(stage.sample.count("GET", "/secure/bearer"), 4);
}

fn refuses_malformed_credentials(client: &mut Client, stage: &Stage) {
    let before = stage.sample.requests().len();
    for auth in [
        json!(MISPLACED_TOKEN),
        json!({"shop": MISPLACED_TOKEN}),
        json!({"shop": {"type": "bearer", "tokne": MISPLACED_TOKEN}}),
        json!({"shop": {"type": MISPLACED_TOKEN}}),
        json!({"shop": {"token": MISPLACED_TOKEN}}),
        json!({"shop": {"type": "bearer", "token": [MISPLACED_TOKEN]}}),
    ] {
        let answer = with_auth(client, "return sdk.shop.secure_bearer()", &auth);
        assert_eq!(answer["isError"], true, "{auth}: {answer:#}");
        assert!(text(&answer).contains("_meta.auth"), "{}", text(&answer));
    }
    assert_eq!(
        stage.sample.requests().len(),
        before,
        "nothing is called on a malformed credential"
    );
}

/// Nothing anybody wrote down or read holds a credential, whatever became of the call.
#[track_caller]
fn check_secrets(heard: &str) {
    let is_logged = |line: &str| line.contains(" DEBUG ") && line.contains("shop.secure_key_query");
    assert!(
        heard.lines().any(is_logged),
        "the log tells of the calls:\n{heard}"
    );
    let has_script = heard.contains("local made = sdk.shop.create_pet(");
    assert!(!has_script, "a script is nobody else's business:\n{heard}");
    // `ann:sample-password-91c0` as it travels.
    let basic = "YW5uOnNhbXBsZS1wYXNzd29yZC05MWMw";
    let secrets = [Sample::TOKEN, Sample::PASSWORD, Sample::KEY, basic];
    for secret in secrets
        .into_iter()
        .chain([WRONG_TOKEN, MISPLACED_TOKEN, UNDELIVERED_KEY])
    {
        let leaks: Vec<&str> = heard.lines().filter(|line| line.contains(secret)).collect();
        assert!(
            leaks.is_empty(),
            "`{secret}` can be read in:\n{}",
            leaks.join("\n")
        );
    }
}

fn script(text: &str) -> Value {
    json!({"do": "call_tool", "name": "execute_script", "arguments": {"script": text}})
}

fn with_auth(client: &mut Client, text: &str, auth: &Value) -> Value {
    let mut request = script(text);
    request["meta"] = json!({"auth": auth});
    result(client.ask(request))
}

/// The structured part of a tool's answer.
#[track_caller]
fn structured(answer: &Value) -> &Value {
    let structured = &answer["structuredContent"];
    assert!(structured.is_object(), "{answer:#}");
    structured
}

/// The text part of a tool's answer.
#[track_caller]
fn text(answer: &Value) -> &str {
    answer["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer:#}"))
}

/// The error of a failed script, which has to be of this phase.
#[track_caller]
fn error_of<'a>(answer: &'a Value, phase: &str) -> &'a Value {
    assert_eq!(answer["isError"], true, "{answer:#}");
    let error = &structured(answer)["error"];
    assert_eq!(error["phase"], phase, "{answer:#}");
    let message = error["message"].as_str().unwrap();
    assert!(
        text(answer).contains(message),
        "the text says it too: {answer:#}"
    );
    error
}
