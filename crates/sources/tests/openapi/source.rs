//! The source itself: settings are checked when it is opened, documents are read when it is listed.

use std::path::Path;

use serde_json::{Value, json};
use toolscript_sources::{
    Kind as _,
    openapi::{OpenApi, compile},
};

use crate::fixtures::{block_on, context, folder, settings, source_name, with_paths};

const ONE: &str = "paths: {/a: {get: {operationId: one, responses: {}}}}";

#[track_caller]
fn refuses(settings: impl Into<Value>, message: &str) {
    let settings = settings.into();
    let error = OpenApi
        .open(
            &context(Path::new("")),
            source_name("api"),
            settings.clone(),
        )
        .err();
    assert_eq!(
        error.map(|error| error.to_string()).unwrap_or_default(),
        message,
        "{settings}"
    );
}

#[test]
fn settings_are_checked_when_it_is_opened() {
    refuses(json!({"spec": "a.yaml"}), "");
    refuses(
        json!({}),
        "spec: is missing: the path or URL of an OpenAPI document",
    );
    refuses(
        json!({"spec": "a", "generated": "b"}),
        "generated: set either `spec` or `generated`, not both",
    );
    refuses(
        json!({"spec": "a", "timeout": 0}),
        "timeout: must be a number of seconds above 0 and at most 86400",
    );
    refuses(
        json!({"spec": "a", "base_url": "example.com"}),
        "base_url: must be a whole address, such as `https://api.example.com/v1`",
    );
    refuses(
        json!({"spec": "a", "headers": {"a b": "c"}}),
        "headers.a b: is not a header name",
    );
    refuses(
        json!({"spec": "a", "headers": {"a": "hunter2\n"}}),
        "headers.a: must be plain text without line breaks",
    );
    refuses(
        json!({"spec": "a", "retries": "x"}),
        "retries: invalid type: string \"x\", expected u32",
    );
}

#[test]
fn a_source_lists_what_its_document_says() {
    let folder = folder(&[("api.yaml", &with_paths(ONE))]);
    let source = OpenApi
        .open(
            &context(folder.path()),
            source_name("api"),
            json!({"spec": "api.yaml"}),
        )
        .unwrap();
    let listing = block_on(source.list()).unwrap();
    assert_eq!(listing.functions[0].name.as_str(), "one");
    std::fs::write(
        folder.path().join("api.yaml"),
        with_paths(&ONE.replace("one", "two")),
    )
    .unwrap();
    let listing = block_on(source.list()).unwrap();
    assert_eq!(listing.functions[0].name.as_str(), "two");
}

#[test]
fn a_source_that_cannot_be_read_says_why() {
    let folder = folder(&[]);
    let source = OpenApi
        .open(
            &context(folder.path()),
            source_name("api"),
            json!({"spec": "none.yaml"}),
        )
        .unwrap();
    let error = block_on(source.list()).unwrap_err().to_string();
    assert!(
        error.starts_with("source `api` is not available: there is no file `none.yaml`"),
        "{error}"
    );
}

#[test]
fn the_name_may_come_from_the_title() {
    let folder = folder(&[
        ("api.yaml", &with_paths(ONE)),
        ("no-title.yaml", &format!("openapi: 3.0.0\n{ONE}")),
    ]);
    let cx = context(folder.path());
    let name = |spec: &str| {
        block_on(compile(&cx, None, &settings(spec)))
            .unwrap()
            .name
            .to_string()
    };
    assert_eq!(name("api.yaml"), "test");
    assert_eq!(name("no-title.yaml"), "no_title");
    let (name, source) = block_on(OpenApi.open_unnamed(&cx, json!({"spec": "api.yaml"}))).unwrap();
    assert_eq!(name.as_str(), "test");
    // The first listing is the one already made: the document may be gone.
    std::fs::remove_file(folder.path().join("api.yaml")).unwrap();
    assert_eq!(block_on(source.list()).unwrap().functions.len(), 1);
    assert!(block_on(source.list()).is_err());
}
