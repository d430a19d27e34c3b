//! Documents that give no source: each message names the place and the remedy.

use std::fmt::Write as _;

use toolscript_sources::openapi::compile;

use crate::{
    fixtures::{block_on, context, folder, settings},
    references::serve,
};

#[test]
fn messages_name_the_place_and_the_remedy() {
    let deep = format!("openapi: 3.0.0\nx: {}", "[".repeat(300));
    let files: Vec<(&str, &str)> = vec![
        ("empty.yaml", "\n"),
        (
            "broken.json",
            "{\"openapi\": \"3.0.0\",\n  \"paths\": {]\n}",
        ),
        ("cut.json", "{\"openapi\": \"3.0.0\", \"paths\": {\"/a\": "),
        (
            "broken.yaml",
            "openapi: 3.0.0\npaths:\n  /a: [1, 2\n  /b: x\n",
        ),
        (
            "page.yaml",
            "<!doctype html>\n<html><body>Sign in</body></html>",
        ),
        ("version.yaml", "openapi: 4.0.0\npaths: {}"),
        ("old.json", "{\"swaggerVersion\": \"1.2\"}"),
        ("events.yaml", "asyncapi: 2.0.0"),
        ("list.yaml", "- a\n- b"),
        ("text.yaml", "hello"),
        (
            "nothing.yaml",
            "openapi: 3.0.0\ninfo: {title: T, version: '1'}\npaths: {}",
        ),
        (
            "skipped.yaml",
            "openapi: 3.0.0\ninfo: {title: T, version: '1'}\npaths: {/a: {get: 7}}",
        ),
        ("deep.yaml", &deep),
        ("folder/x", ""),
    ];
    let folder = folder(&files);
    std::fs::File::create(folder.path().join("large.json"))
        .unwrap()
        .set_len(100 << 20)
        .unwrap();
    let address = serve(vec![("/page".into(), "<html>Sign in</html>".into())]);
    let specs = files
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .filter(|name| name != "folder/x")
        .chain([
            "folder".to_owned(),
            "missing.yaml".to_owned(),
            "large.json".to_owned(),
            format!("http://{address}/missing.json?token=hunter2"),
            format!("http://{address}/page"),
            "http://127.0.0.1:1/api.json".to_owned(),
        ]);
    let mut table = String::new();
    for spec in specs {
        let error = block_on(compile(&context(folder.path()), None, &settings(spec)))
            .unwrap_err()
            .to_string();
        assert!(!error.contains("hunter2"), "{error}");
        let error = error
            .replace(&address, "HOST")
            .replace(&folder.path().display().to_string(), "FOLDER");
        writeln!(table, "{error}\n").unwrap();
    }
    insta::assert_snapshot!(table);
}
