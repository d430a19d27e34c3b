//! The host modules as scripts see them.

use std::time::Duration;

use serde_json::{Value, json};
use toolscript_testkit::{Canned, canned, echo};

use crate::stage::Stage;

/// Runs the body of `execute` with `params.url`.
async fn run(body: &str, settings: Value, url: &str) -> Result<Value, String> {
    let script = format!(
        "tool = {{ parameters = {{ {{ name = 'url', type = 'string' }} }}, execute = function(params, context)\n{body}\nend }}"
    );
    let stage = Stage::with_settings(&script, settings);
    stage.write("notes.txt", "some notes");
    std::fs::create_dir(stage.folder.path().join("docs")).unwrap();
    stage.write("docs/a.md", "# A");
    stage.write("docs/b.txt", "b");
    std::fs::write(stage.folder.path().join("image"), [0xff, 0x00]).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/passwd", stage.folder.path().join("link")).unwrap();
    let outcome = stage.run(json!({"url": url})).await;
    outcome.map_err(|error| error.to_string())
}

#[track_caller]
fn fails(outcome: Result<Value, String>, words: &str) {
    let error = outcome.unwrap_err();
    assert!(error.contains(words), "{error}");
}

fn loopback() -> Value {
    json!({"allow_hosts": ["127.0.0.1"]})
}

#[tokio::test]
async fn requests_say_what_was_asked() {
    let server = echo::start().await;
    let body = r#"
        local answer = http.post(params.url .. "/x?a=1", { list = { 1, 2 } },
            { headers = { ["X-Team"] = "core", n = 7 }, params = { q = "a b&c", many = { 1, 2 } } })
        local seen = answer.json
        return { answer.status, answer.ok, answer.headers["content-type"], type(answer.body),
            seen.method, seen.path, seen.query, seen.headers["x-team"], seen.headers.n,
            seen.headers["content-type"], seen.json.list[2] }
    "#;
    let seen = run(body, loopback(), server.url()).await.unwrap();
    assert_eq!(
        seen,
        json!([
            200,
            true,
            "application/json",
            "string",
            "POST",
            "/x",
            "a=1&many=1&many=2&q=a+b%26c",
            "core",
            "7",
            "application/json",
            2
        ])
    );
    let body = r#"
        local verbs = {}
        for _, verb in { "put", "patch" } do
            table.insert(verbs, http[verb](params.url, "text").json.method)
        end
        table.insert(verbs, http.get(params.url, { params = { x = 1 } }).json.query)
        table.insert(verbs, http.delete(params.url).json.method)
        table.insert(verbs, http.request(params.url, nil, { method = "options" }).json.method)
        table.insert(verbs, http.request(params.url, "x").json.method)
        table.insert(verbs, http.post(params.url, buffer.fromstring("raw")).json.headers["content-type"])
        return verbs
    "#;
    let seen = run(body, loopback(), server.url()).await.unwrap();
    assert_eq!(
        seen,
        json!([
            "PUT",
            "PATCH",
            "x=1",
            "DELETE",
            "OPTIONS",
            "POST",
            "application/octet-stream"
        ])
    );
}

#[tokio::test]
async fn every_status_is_an_answer() {
    let server = canned::start([
        Canned::json(404, &json!({"message": "gone"})),
        Canned::body(200, "application/octet-stream", vec![0xff, 0xfe]),
        Canned::body(200, "application/json", "not json"),
    ])
    .await;
    let body = "local missing = http.get(params.url)
        local bytes = http.get(params.url)
        local broken = http.get(params.url)
        return { missing.status, missing.ok, missing.json.message, type(bytes.body), broken.json == nil, broken.body }";
    assert_eq!(
        run(body, loopback(), server.url()).await.unwrap(),
        json!([404, false, "gone", "buffer", true, "not json"])
    );
}

#[tokio::test]
async fn the_inside_is_out_of_reach_unless_allowed() {
    let server = echo::start().await;
    let get = "return http.get(params.url)";
    fails(
        run(get, json!({}), server.url()).await,
        "`127.0.0.1` is this machine",
    );
    fails(
        run(get, json!({}), "http://169.254.169.254/").await,
        "the local link",
    );
    fails(
        run(get, json!({}), "file:///etc/passwd").await,
        "`file:` is not something to connect to",
    );
    fails(
        run(get, json!({}), "not a url").await,
        "the url is not an address",
    );
    fails(
        run(get, json!({}), "https://u:s3cret@x.test").await,
        "user or password",
    );
    let script = "local ok, err = pcall(http.get, params.url) return { ok, err.phase }";
    assert_eq!(
        run(script, json!({}), server.url()).await.unwrap(),
        json!([false, "execution"])
    );
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn wrong_requests_show_the_right_call() {
    for (call, words) in [
        (
            "http.get()",
            "argument 1 of `http.get(url, options)` must be text, not nothing",
        ),
        (
            "http.get(params.url, { header = {} })",
            "did you mean `headers`?",
        ),
        (
            "http.get(params.url, { headers = { Host = 'x' } })",
            "`host` belongs to the connection",
        ),
        (
            "http.get(params.url, { headers = { a = 'x\\r\\ny' } })",
            "line ends",
        ),
        (
            "http.get(params.url, { headers = { ['a b'] = 'x' } })",
            "cannot be the name of a header",
        ),
        (
            "http.get(params.url, { timeout = -1 })",
            "`timeout` must be",
        ),
        ("http.post(params.url, 7)", "the body must be text"),
        (
            "http.request(params.url, nil, { method = 'CONNECT' })",
            "`method` must be",
        ),
    ] {
        fails(
            run(&format!("return {call}"), loopback(), "http://127.0.0.1:1").await,
            words,
        );
    }
}

#[tokio::test]
async fn a_request_ends_with_its_tool() {
    let server = canned::start([Canned::status(200).after(Duration::from_mins(1))]).await;
    let settings = json!({"allow_hosts": ["127.0.0.1"], "timeout": 0.3});
    fails(
        run("return http.get(params.url)", settings, server.url()).await,
        "did not answer within 300 ms",
    );
    tokio::time::timeout(Duration::from_secs(10), server.abandoned())
        .await
        .unwrap();
    let body = "return http.get(params.url, { timeout = 0.05 })";
    fails(
        run(body, loopback(), server.url()).await,
        "did not answer within 50 ms",
    );
}

#[tokio::test]
async fn files_are_those_beside_the_script() {
    let body = "return { fs.read('notes.txt'), fs.list(), fs.list('docs'), fs.list('docs', '*.md'),
        fs.list('.', '**/*.md'), type(fs.read('image')) }";
    assert_eq!(
        run(body, json!({}), "").await.unwrap(),
        json!([
            "some notes",
            ["image", "notes.txt", "t.luau"],
            ["docs/a.md", "docs/b.txt"],
            ["docs/a.md"],
            ["docs/a.md"],
            "buffer"
        ])
    );
    for (call, words) in [
        ("fs.read('../secret')", "leads out of the folder"),
        ("fs.read('docs/../../secret')", "leads out of the folder"),
        ("fs.read('/etc/passwd')", "leads out of the folder"),
        ("fs.read('link')", "links are not followed"),
        ("fs.read('docs')", "not an ordinary file"),
        ("fs.read('gone')", "there is no `gone`"),
        ("fs.list('..')", "leads out of the folder"),
        ("fs.list('/')", "leads out of the folder"),
        ("fs.read()", "argument 1 of `fs.read(path)`"),
    ] {
        fails(run(&format!("return {call}"), json!({}), "").await, words);
    }
}

#[tokio::test]
async fn hashes_and_base64_are_the_known_ones() {
    let body = "return { crypto.sha256('abc'), crypto.hmac_sha256('key', 'The quick brown fox jumps over the lazy dog'),
        base64.encode('hello'), base64.decode('aGVsbG8='), base64.decode('aGVsbG8'), base64.encode(buffer.fromstring('hi')),
        type(base64.decode('_w')) }";
    assert_eq!(
        run(body, json!({}), "").await.unwrap(),
        json!([
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8",
            "aGVsbG8=",
            "hello",
            "hello",
            "aGk=",
            "buffer"
        ])
    );
    fails(
        run("return base64.decode('!')", json!({}), "").await,
        "this is not base64",
    );
    fails(
        run("return crypto.sha256({})", json!({}), "").await,
        "must be text or a buffer",
    );
}

#[tokio::test]
async fn only_listed_variables_are_seen() {
    let settings = json!({"allow_env": ["PATH", "TOOLSCRIPT_NOT_SET"]});
    let body = "return { env.get('PATH') ~= nil, env.get('TOOLSCRIPT_NOT_SET') == nil }";
    assert_eq!(run(body, settings, "").await.unwrap(), json!([true, true]));
    fails(
        run("return env.get('HOME')", json!({}), "").await,
        "`HOME` is not for this tool",
    );
    let shown = "error(env.get('PATH'))";
    fails(
        run(shown, json!({"allow_env": ["PATH"]}), "").await,
        "[env.PATH]",
    );
}

#[tokio::test]
async fn an_empty_knowledge_base_finds_nothing() {
    let body =
        "return { context.search('x', { mode = 'hybrid', limit = 3 }), context.get('1') == nil,
        context.sources(), context.config.name, json.parse('[1]')[1] }";
    assert_eq!(
        run(body, json!({"name": "n"}), "").await.unwrap(),
        json!([[], true, [], "n", 1])
    );
    fails(
        run("return context.search()", json!({}), "").await,
        "argument 1 of `context.search",
    );
    fails(
        run("return context.search('x', { limit = 0 })", json!({}), "").await,
        "`limit`",
    );
    fails(
        run(
            "return context.search('x', { mode = 'deep' })",
            json!({}),
            "",
        )
        .await,
        "`mode`",
    );
}
