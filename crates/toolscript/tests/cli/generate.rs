//! `generate`: the files it writes, and that serving them gives the same catalog.

use std::{collections::BTreeMap, fs, path::Path};

use crate::sandbox::{Sandbox, data};

/// Every file below a folder, by its name.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let inner = files(&path).into_iter();
            found.extend(inner.map(|(below, text)| (format!("{name}/{below}"), text)));
        } else {
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    found
}

#[test]
fn the_files_are_golden() {
    let sandbox = Sandbox::new();
    fs::copy(data("pets.yaml"), sandbox.path("pets.yaml")).unwrap();
    let ran = sandbox.run(&["generate", "pets=pets.yaml", "-o", "out"]);
    insta::assert_snapshot!("generate", ran.shown());
    let first = files(&sandbox.path("out"));
    for (name, text) in &first {
        insta::assert_snapshot!(format!("generated_{}", name.replace('/', "_")), text);
    }
    assert_eq!(
        sandbox
            .run(&["generate", "pets=pets.yaml", "-o", "out"])
            .code,
        0
    );
    assert_eq!(
        files(&sandbox.path("out")),
        first,
        "a second time changes nothing"
    );
}

#[test]
fn the_catalog_of_generated_files_is_that_of_the_document() {
    let sandbox = Sandbox::with_pets();
    assert_eq!(sandbox.run(&["generate", "-o", "out", "--json"]).code, 0);
    let ask = || {
        let names = [
            "docs",
            "pets.list_pets",
            "pets.create_pet",
            "pets.get_pet",
            "pets.health",
        ];
        (
            sandbox.run(&["list", "--all", "--json"]).json(),
            sandbox.run(&names).out().to_owned(),
        )
    };
    let from_document = ask();
    fs::remove_file(sandbox.path("pets.yaml")).unwrap();
    sandbox.write("toolscript.toml", "[apis.pets]\ngenerated = \"out\"\n");
    assert_eq!(ask(), from_document);
}

#[test]
fn nothing_to_generate_is_an_error() {
    insta::assert_snapshot!(
        "generate_nothing",
        Sandbox::new().run(&["generate", "-o", "out"]).shown()
    );
}
