//! `generate` and back: the same catalog, stable files, valid Luau.

use std::{fs, path::Path};

use toolscript_sources::openapi::{Compiled, Settings, compile, read_generated, write_generated};

use crate::fixtures::{
    block_on, compile_files, context, document, folder, settings, shared_documents, shared_folder,
    source_name, with_paths,
};

#[track_caller]
fn same(first: &Compiled, second: &Compiled) {
    assert_eq!(first.name, second.name);
    assert_eq!(first.api, second.api);
    let json = |compiled: &Compiled| serde_json::to_string(&compiled.listing).unwrap();
    // Comparing texts keeps a failure from printing megabytes.
    assert!(
        json(first) == json(second),
        "{}: the listing changed on the way",
        first.name
    );
}

#[test]
fn real_documents_survive_the_round_trip() {
    let folder = tempfile::tempdir().unwrap();
    for (name, path) in shared_documents(folder.path()) {
        let cx = context(path.parent().unwrap());
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let compiled = block_on(compile(&cx, None, &settings(file))).unwrap();
        let target = folder.path().join(format!("{name}.generated"));
        let files = write_generated(&target, std::slice::from_ref(&compiled)).unwrap();
        for file in files.iter().filter(|file| file.starts_with("sdk/")) {
            let text = fs::read(target.join(file)).unwrap();
            let parsed = mlua::chunk::Compiler::new().compile(text);
            assert!(parsed.is_ok(), "{name}: {file}: {}", parsed.unwrap_err());
        }
        let read = read_generated(&target).unwrap();
        assert_eq!(read.len(), 1);
        same(&compiled, &read[0]);
    }
}

#[test]
fn several_documents_share_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let api = |name: &str, ty: &str| {
        let mut compiled = document(&with_paths(&format!(
            "paths: {{/a: {{get: {{tags: [Things], operationId: get, responses: {{'200': {{content: {{application/json: {{schema: {{$ref: '#/components/schemas/T'}}}}}}}}}}}}}}}}\ncomponents: {{schemas: {{T: {{type: {ty}}}}}}}"
        )));
        compiled.name = source_name(name);
        compiled
    };
    let both = [api("one", "string"), api("two", "integer")];
    let files = write_generated(folder.path(), &both).unwrap();
    assert_eq!(
        files,
        [
            "manifest.json",
            "sdk/_meta.luau",
            "sdk/one_things.luau",
            "sdk/two_things.luau"
        ]
    );
    let read = read_generated(folder.path()).unwrap();
    same(&both[0], &read[0]);
    same(&both[1], &read[1]);
    let settings = Settings {
        generated: Some(".".into()),
        timeout: 1.0,
        ..Settings::default()
    };
    let load = |name: Option<&str>| {
        block_on(compile(
            &context(folder.path()),
            name.map(source_name),
            &settings,
        ))
    };
    same(&both[1], &load(Some("two")).unwrap());
    let message = |name| load(name).unwrap_err().to_string();
    assert_eq!(
        message(Some("three")),
        "`.` holds `one`, `two`; `three` is not among them"
    );
    assert_eq!(
        message(None),
        "`.` holds `one`, `two`; name the one to serve"
    );
}

#[test]
fn what_is_written_is_stable() {
    let shared = shared_folder();
    let write = |target: &Path| {
        let cx = context(&shared);
        let compiled = block_on(compile(
            &cx,
            Some(source_name("petstore")),
            &settings("petstore.yaml"),
        ))
        .unwrap();
        write_generated(target, &[compiled]).unwrap()
    };
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let files = write(first.path());
    write(second.path());
    write(second.path());
    for file in &files {
        let text = |folder: &Path| fs::read_to_string(folder.join(file)).unwrap();
        assert_eq!(text(first.path()), text(second.path()), "{file}");
        insta::with_settings!({ snapshot_suffix => file.replace('/', "_") }, {
            insta::assert_snapshot!(text(first.path()));
        });
    }
}

#[test]
fn files_of_an_earlier_run_go_and_others_stay() {
    let target = tempfile::tempdir().unwrap();
    let tagged = |tag: &str| {
        document(&with_paths(&format!(
            "paths: {{/a: {{get: {{tags: [{tag}], responses: {{}}}}}}}}"
        )))
    };
    write_generated(target.path(), &[tagged("old")]).unwrap();
    fs::write(target.path().join("sdk/mine.luau"), "-- mine").unwrap();
    write_generated(target.path(), &[tagged("new")]).unwrap();
    let mut names: Vec<String> = fs::read_dir(target.path().join("sdk"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["_meta.luau", "mine.luau", "new.luau"]);
}

#[test]
fn edits_in_the_manifest_count() {
    let target = tempfile::tempdir().unwrap();
    let compiled = compile_files(&[(
        "api.yaml",
        &with_paths(
            "paths: {/a: {get: {operationId: f, summary: before, parameters: [{name: p, in: query, schema: {enum: [a, b]}}], responses: {}}}}",
        ),
    )]);
    write_generated(target.path(), &[compiled.unwrap()]).unwrap();
    let path = target.path().join("manifest.json");
    let mut manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["functions"][0]["docs"]["summary"] = "after".into();
    manifest["functions"][0]["parameters"][0]["enum"] = serde_json::json!(["a"]);
    fs::write(&path, manifest.to_string()).unwrap();
    let read = read_generated(target.path()).unwrap();
    let function = &read[0].listing.functions[0];
    assert_eq!(function.summary, "after");
    let one = toolscript_catalog::Type::Literal {
        values: vec!["a".into()],
    };
    assert_eq!(function.params.fields[0].ty, one);
}

#[test]
fn a_broken_directory_says_so() {
    let message = |files: &[(&str, &str)]| {
        let folder = folder(files);
        let error = read_generated(folder.path()).unwrap_err().to_string();
        error.replace(&folder.path().display().to_string(), "FOLDER")
    };
    insta::assert_snapshot!(message(&[("x", "")]), @"cannot read the generated directory `FOLDER`: `manifest.json`: No such file or directory (os error 2); write it again with `toolscript generate`");
    insta::assert_snapshot!(message(&[("manifest.json", "{")]), @"cannot read the generated directory `FOLDER`: `manifest.json`: EOF while parsing an object at line 1 column 1; write it again with `toolscript generate`");
    insta::assert_snapshot!(message(&[("manifest.json", r#"{"format": 99, "apis": [], "functions": [], "schemas": []}"#)]), @"cannot read the generated directory `FOLDER`: `manifest.json` has format 99 and this version reads 1; write it again with `toolscript generate`");
}
