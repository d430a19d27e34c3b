//! The cache: a second start takes what the first one made, unless something changed.

use std::{fs, path::Path};

use toolscript_sources::{
    Context,
    openapi::{Compiled, compile},
};

use crate::fixtures::{block_on, context, folder, settings};

const ROOT: &str =
    "openapi: 3.0.0\ninfo: {title: T, version: '1'}\npaths: {/a: {$ref: part.yaml}}\n";

fn load(folder: &Path, cache: &Path) -> Compiled {
    let cx = Context {
        cache: Some(cache.to_owned()),
        ..context(folder)
    };
    block_on(compile(&cx, None, &settings("api.yaml"))).unwrap()
}

fn same(first: &Compiled, second: &Compiled) -> bool {
    let json = |compiled: &Compiled| serde_json::to_value(&compiled.listing).unwrap();
    json(first) == json(second) && first.api == second.api && first.name == second.name
}

#[test]
fn a_second_start_reads_the_entry() {
    let folder = folder(&[
        ("api.yaml", ROOT),
        ("part.yaml", "get: {operationId: one, responses: {}}"),
    ]);
    let cache = folder.path().join("cache");
    let first = load(folder.path(), &cache);
    let entries: Vec<_> = fs::read_dir(&cache)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert!(same(&first, &load(folder.path(), &cache)));
    // What the second start gives comes out of the entry: a mark left there shows.
    let entry = fs::read_to_string(&entries[0]).unwrap();
    fs::write(
        &entries[0],
        entry.replace("\"title\":\"T\"", "\"title\":\"Marked\""),
    )
    .unwrap();
    assert_eq!(load(folder.path(), &cache).listing.info.title, "Marked");
}

#[test]
fn a_change_anywhere_counts() {
    let folder = folder(&[
        ("api.yaml", ROOT),
        ("part.yaml", "get: {operationId: one, responses: {}}"),
    ]);
    let cache = folder.path().join("cache");
    let name = || {
        load(folder.path(), &cache).listing.functions[0]
            .name
            .to_string()
    };
    assert_eq!(name(), "one");
    fs::write(
        folder.path().join("part.yaml"),
        "get: {operationId: two, responses: {}}",
    )
    .unwrap();
    assert_eq!(name(), "two");
    fs::write(folder.path().join("api.yaml"), format!("{ROOT}x-more: 1\n")).unwrap();
    assert_eq!(name(), "two");
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 2);
}

#[test]
fn a_document_that_appears_later_counts() {
    let root = format!("{ROOT}x: 1\n").replace(
        "paths: {",
        "paths: {/b: {get: {operationId: b, responses: {}}}, ",
    );
    let folder = folder(&[("api.yaml", &root)]);
    let cache = folder.path().join("cache");
    assert_eq!(load(folder.path(), &cache).listing.functions.len(), 1);
    fs::write(
        folder.path().join("part.yaml"),
        "get: {operationId: one, responses: {}}",
    )
    .unwrap();
    assert_eq!(load(folder.path(), &cache).listing.functions.len(), 2);
}

#[test]
fn a_broken_entry_or_folder_costs_nothing_but_time() {
    let folder = folder(&[
        ("api.yaml", ROOT),
        ("part.yaml", "get: {operationId: one, responses: {}}"),
        ("file", ""),
    ]);
    let cache = folder.path().join("cache");
    let first = load(folder.path(), &cache);
    for entry in fs::read_dir(&cache).unwrap() {
        fs::write(entry.unwrap().path(), "{\"others\":[]}\nhalf").unwrap();
    }
    assert!(same(&first, &load(folder.path(), &cache)));
    assert!(same(
        &first,
        &load(folder.path(), &folder.path().join("file"))
    ));
}

#[test]
fn the_folder_does_not_grow_for_ever() {
    let folder = folder(&[
        ("api.yaml", ROOT),
        ("part.yaml", "get: {operationId: one, responses: {}}"),
    ]);
    let cache = folder.path().join("cache");
    fs::create_dir(&cache).unwrap();
    for number in 0..250 {
        fs::write(cache.join(format!("{number}.openapi.json")), "old").unwrap();
    }
    fs::write(cache.join("mine.txt"), "not an entry").unwrap();
    load(folder.path(), &cache);
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 201);
}
