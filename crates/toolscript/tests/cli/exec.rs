//! `exec`: results, logs, errors and exit codes of scripts.

use serde_json::json;
use toolscript_testkit::Sample;

use crate::sandbox::{Sandbox, Shop};

#[track_caller]
fn check(name: &str, code: i32, script: &str) {
    let ran = Sandbox::with_pets().run(&["exec", "-e", script]);
    assert_eq!(ran.code, code, "{}", ran.stderr);
    insta::assert_snapshot!(name, ran.shown());
}

#[test]
fn results_are_json_and_text_is_bare() {
    check(
        "exec_table",
        0,
        "return { sum = 1 + 2, list = { 1, 2 }, none = nil }",
    );
    check("exec_text", 0, "return 'two\\nlines'");
    check("exec_nothing", 0, "local x = 1");
    check("exec_logs", 0, "print('hello', { a = 1 })\nreturn true");
}

#[test]
fn json_is_the_answer_an_agent_gets() {
    let sandbox = Sandbox::with_pets();
    let mut answer = sandbox
        .run(&["exec", "-e", "print('hi') return 'x'", "--json"])
        .json();
    assert!(answer["stats"]["duration_ms"].as_f64().is_some());
    answer["stats"] = json!("…");
    insta::assert_snapshot!("exec_json", serde_json::to_string_pretty(&answer).unwrap());

    let failed = sandbox.run(&["exec", "-e", "error('no')", "--json"]);
    assert_eq!((failed.code, failed.stderr.as_str()), (13, ""));
    let failed: serde_json::Value = serde_json::from_str(&failed.stdout).unwrap();
    assert_eq!(failed["error"]["phase"], json!("execution"));
    assert_eq!(failed["error"]["line"], json!(1));
}

#[test]
fn errors_show_the_line_and_what_to_do() {
    check("exec_parse_error", 12, "local x = 1\nreturn x +");
    check(
        "exec_raised_error",
        13,
        "local function f()\n\terror('out of cats')\nend\nf()",
    );
    check(
        "exec_validation_error",
        5,
        "-- asks wrongly\nreturn sdk.pets.get_pet({ idd = 1 })",
    );
    check(
        "exec_unknown_function",
        5,
        "return sdk.pets.get_pat({ id = 1 })",
    );
    check(
        "exec_unknown_source",
        5,
        "return sdk.petz.get_pet({ id = 1 })",
    );
}

#[test]
fn scripts_come_from_a_file_or_standard_input() {
    let sandbox = Sandbox::with_pets();
    sandbox.write("answer.luau", "return 42");
    assert_eq!(sandbox.run(&["exec", "answer.luau"]).out(), "42\n");
    assert_eq!(
        sandbox.run_with_input(&["exec", "-"], "return 43").out(),
        "43\n"
    );
    insta::assert_snapshot!(
        "exec_missing_file",
        sandbox.run(&["exec", "gone.luau"]).shown()
    );
    sandbox.write("broken.luau", "return 1\nerror('here')");
    let ran = sandbox.run(&["exec", "broken.luau"]);
    assert!(
        ran.stderr.contains("broken.luau:1") || ran.stderr.contains("broken.luau:2"),
        "{}",
        ran.stderr
    );
}

#[test]
fn limits_have_flags() {
    let sandbox = Sandbox::with_pets();
    let run = |flag: &str, value: &str, script: &str| {
        let ran = sandbox.run(&["exec", "-e", script, flag, value]);
        (ran.code, ran.stderr)
    };
    let (code, message) = run("--timeout", "0.2", "while true do end");
    assert_eq!(code, 8, "{message}");
    let (code, message) = run(
        "--memory-limit",
        "4",
        "local t = {} while true do t[#t + 1] = {} end",
    );
    assert_eq!(code, 7, "{message}");
    let (code, message) = run("--max-calls", "0", "return sdk.pets.health()");
    assert_eq!(code, 7, "{message}");
    let long = format!("return 1 --{}", "x".repeat(1 << 20));
    sandbox.write("long.luau", &long);
    assert_eq!(sandbox.run(&["exec", "long.luau"]).code, 7);
}

#[test]
fn large_results_are_printed_whole() {
    let script = "return string.rep('x', 100000)";
    let ran = Sandbox::with_pets().run(&["exec", "-e", script]);
    assert_eq!(ran.out().trim_end().len(), 100_000);
}

#[test]
fn calls_reach_the_api() {
    let shop = Shop::start();
    let sandbox = shop.sandbox();
    let script = "local pet = sdk.shop.create_pet({ name = 'Otto', kind = 'dog' })\n\
                  local again = shop.get_pet({ id = pet.id })\n\
                  shop.delete_pet({ id = pet.id })\n\
                  return again.name";
    assert_eq!(sandbox.run(&["exec", "-e", script]).out(), "Otto\n");
    assert_eq!(shop.sample.requests().len(), 3);

    let missing = sandbox.run(&["exec", "-e", "\n\nreturn shop.get_pet({ id = 999 })"]);
    assert_eq!(missing.code, 9);
    insta::assert_snapshot!("exec_api_error", missing.shown());
}

#[test]
fn credentials_come_from_the_environment() {
    let shop = Shop::start();
    let calls = [
        ("secure_bearer", Sample::TOKEN.to_owned()),
        ("secure_key_header", Sample::KEY.to_owned()),
        ("secure_key_query", Sample::KEY.to_owned()),
        (
            "secure_basic",
            format!("{}:{}", Sample::USER, Sample::PASSWORD),
        ),
    ];
    for (function, secret) in calls {
        let mut sandbox = shop.sandbox();
        sandbox.set("SHOP_SECRET", &secret);
        let script = format!("return shop.{function}() ~= nil");
        for auth in ["SHOP_SECRET", "shop:SHOP_SECRET"] {
            let ran = sandbox.run(&["exec", "-e", &script, "--auth", auth]);
            assert_eq!(ran.code, 0, "{function}: {}", ran.stderr);
        }
        let without = sandbox.run(&["exec", "-e", &script]);
        assert_eq!(without.code, 9, "{function}: {}", without.stdout);
        let shown = sandbox.run(&["exec", "-vv", "-e", &script, "--auth", "SHOP_SECRET"]);
        assert!(
            !shown.stderr.contains(&secret),
            "{function} shows its secret"
        );
    }
}

#[test]
fn a_credential_needs_to_know_its_source() {
    let mut sandbox = Sandbox::with_pets();
    sandbox.set("TOKEN", "secret");
    let two = "[apis.pets]\nspec = \"pets.yaml\"\n[apis.zoo]\nspec = \"pets.yaml\"\n";
    sandbox.write("toolscript.toml", two);
    let run = |auth| {
        sandbox
            .run(&["exec", "-e", "return 1", "--auth", auth])
            .shown()
    };
    insta::assert_snapshot!("exec_auth_of_several", run("TOKEN"));
    insta::assert_snapshot!("exec_auth_unknown_source", run("zoos:TOKEN"));
    insta::assert_snapshot!("exec_auth_unset", run("pets:TOKENS"));
}
