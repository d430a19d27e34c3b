//! Input nobody can use: each a message that names the place and the remedy, and an exit code.

use std::fs::File;

use crate::sandbox::{Sandbox, Shop};

/// Lists a document that cannot be loaded.
#[track_caller]
fn check(name: &str, file: &str, text: &str) {
    let sandbox = Sandbox::new();
    sandbox.write(file, text);
    check_in(&sandbox, name, file);
}

#[track_caller]
fn check_in(sandbox: &Sandbox, name: &str, spec: &str) {
    for command in [&["run", spec][..], &["list", "--spec", spec]] {
        let ran = sandbox.run(command);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (3, ""),
            "{command:?}: {}",
            ran.stderr
        );
    }
    insta::assert_snapshot!(name, sandbox.run(&["run", spec]).shown());
}

#[track_caller]
fn check_config(name: &str, text: &str) {
    let sandbox = Sandbox::with_pets();
    sandbox.write("toolscript.toml", text);
    let ran = sandbox.run(&["run"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{}", ran.stderr);
    insta::assert_snapshot!(name, ran.shown());
}

#[test]
fn documents_that_are_not_documents() {
    check(
        "bad_json",
        "bad.json",
        "{\n  \"openapi\": \"3.1.0\",\n  \"paths\": {,}\n}",
    );
    check(
        "bad_yaml",
        "bad.yaml",
        "openapi: 3.1.0\ninfo:\n  title: [unclosed\npaths: {}\n",
    );
    check(
        "bad_html",
        "page.html",
        "<!DOCTYPE html>\n<html><body>Not found</body></html>\n",
    );
    check("bad_empty", "empty.yaml", "\n");
    check(
        "bad_version",
        "old.json",
        "{\"openapi\": \"9.9.9\", \"paths\": {}}",
    );
    check(
        "bad_swagger_version",
        "old.json",
        "{\"swagger\": \"1.2\", \"apis\": []}",
    );
    check(
        "bad_no_version",
        "other.json",
        "{\"name\": \"package\", \"version\": \"1.0.0\"}",
    );
    check("bad_scalar", "text.txt", "just some words\n");
}

#[test]
fn documents_that_are_not_there() {
    let sandbox = Sandbox::new();
    check_in(&sandbox, "bad_missing_file", "gone.yaml");
    check_in(&sandbox, "bad_named_missing_file", "pets=gone.yaml");
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    check_in(&sandbox, "bad_folder", "folder");
}

#[test]
fn an_address_that_answers_404() {
    let shop = Shop::start();
    let sandbox = Sandbox::new();
    let url = format!("{}/gone.json", shop.sample.url());
    let ran = sandbox.run(&["run", &url]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    let shown = ran.shown();
    let host = shop.sample.url().trim_start_matches("http://");
    insta::assert_snapshot!("bad_url", shown.replace(host, "$SHOP"));
}

#[test]
fn a_document_of_100_megabytes_is_refused_without_reading_it() {
    let sandbox = Sandbox::new();
    let file = File::create(sandbox.path("large.json")).unwrap();
    file.set_len(100 << 20).unwrap();
    check_in(&sandbox, "bad_large", "large.json");
}

#[test]
fn references_that_lead_nowhere_cost_one_operation() {
    let sandbox = Sandbox::new();
    let document = r##"{"openapi": "3.1.0", "info": {"title": "Odd", "version": "1"},
        "servers": [{"url": "http://127.0.0.1:9"}],
        "paths": {
            "/fine": {"get": {"operationId": "fine", "responses": {"200": {"description": "ok"}}}},
            "/lost": {"get": {"operationId": "lost", "parameters": [{"$ref": "#/components/parameters/gone"}],
                "responses": {"200": {"description": "ok"}}}},
            "/odd": {"get": {"operationId": "odd", "responses": {"200": {"description": "ok",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Gone"}}}}}}}}}"##;
    sandbox.write("odd.json", document);
    insta::assert_snapshot!(
        "odd_lost",
        sandbox
            .run(&["list", "odd", "--spec", "odd=odd.json"])
            .shown()
    );
}

#[test]
fn references_in_a_circle_are_types_like_others() {
    let sandbox = Sandbox::new();
    let document = r##"{"openapi": "3.1.0", "info": {"title": "Tree", "version": "1"},
        "servers": [{"url": "http://127.0.0.1:9"}],
        "paths": {"/tree": {"get": {"operationId": "tree", "responses": {"200": {"description": "ok",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}}}}},
            "/loop": {"get": {"operationId": "loop", "responses": {"200": {"description": "ok",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}}}}},
        "components": {"schemas": {
            "Node": {"type": "object", "properties": {"children": {"type": "array",
                "items": {"$ref": "#/components/schemas/Node"}}}},
            "A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}}}"##;
    sandbox.write("tree.json", document);
    insta::assert_snapshot!(
        "odd_circle",
        sandbox
            .run(&["docs", "tree.tree", "tree.loop", "--spec", "tree=tree.json"])
            .shown()
    );
}

#[test]
fn configurations_that_cannot_be_used() {
    check_config("config_not_toml", "[apis.pets\nspec = 1\n");
    check_config(
        "config_unknown_section",
        "[apix.pets]\nspec = \"pets.yaml\"\n",
    );
    check_config(
        "config_unknown_key",
        "[apis.pets]\nspec = \"pets.yaml\"\n\n[limits]\ntimeout = 3\n",
    );
    check_config(
        "config_unknown_source_key",
        "[apis.pets]\nspeck = \"pets.yaml\"\n",
    );
    check_config("config_wrong_type", "[limits]\ntimeout_ms = \"soon\"\n");
    check_config(
        "config_wrong_source_type",
        "[apis.pets]\nspec = \"pets.yaml\"\nretries = \"often\"\n",
    );
    check_config(
        "config_bad_name",
        "[apis.\"pet-store\"]\nspec = \"pets.yaml\"\n",
    );
    check_config(
        "config_unset_variable",
        "[apis.pets]\nspec = \"pets.yaml\"\nheaders = { X-Key = \"${NO_SUCH}\" }\n",
    );
    check_config(
        "config_no_spec",
        "[apis.pets]\nbase_url = \"http://127.0.0.1:9\"\n",
    );
    check_config("config_empty", "");
}

#[test]
fn a_configuration_that_is_not_there() {
    let ran = Sandbox::new().run(&["run", "--config", "gone.toml"]);
    assert_eq!(ran.code, 3);
    insta::assert_snapshot!("config_missing", ran.shown());
}

#[test]
fn nothing_to_serve() {
    let ran = Sandbox::new().run(&["run"]);
    assert_eq!(ran.code, 3);
    insta::assert_snapshot!("nothing_to_serve", ran.shown());
}

#[test]
fn two_sources_of_one_name() {
    let sandbox = Sandbox::with_pets();
    let ran = sandbox.run(&["run", "pets.yaml", "--quiet"]);
    assert_eq!(ran.code, 3);
    insta::assert_snapshot!("bad_same_name", ran.shown());
}

#[test]
fn one_bad_source_does_not_stop_the_others() {
    let sandbox = Sandbox::with_pets();
    let ran = sandbox.run(&["list", "--spec", "gone=gone.yaml"]);
    insta::assert_snapshot!("one_bad_source", ran.shown());
}
