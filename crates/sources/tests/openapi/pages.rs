//! What becomes of the types of real documents: pages that are Luau, schemas that say the same.

use serde_json::{Value, json};
use toolscript_catalog::{
    Entry, Node, Type,
    docs::{self, Subject},
    render::Renderer,
    schema::{Lone, Reader, write::Writer},
};
use toolscript_sources::openapi::compile;

use crate::fixtures::{block_on, context, settings, shared_documents};

/// As much of a page as an agent is given at once.
const MOST_BYTES: usize = 32 * 1024;

#[test]
fn every_page_of_every_real_document_is_luau() {
    let folder = tempfile::tempdir().unwrap();
    for (name, path) in shared_documents(folder.path()) {
        let cx = context(path.parent().unwrap());
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let compiled = block_on(compile(&cx, None, &settings(file))).unwrap();
        let entry = Entry::new(compiled.name, compiled.listing);
        for function in &entry.listing.functions {
            let page = docs::pages(&[Subject::Function(&entry, function)], MOST_BYTES).text;
            let parsed = mlua::chunk::Compiler::new().compile(&page);
            assert!(
                parsed.is_ok(),
                "{name}: {}: {}\n{page}",
                function.name,
                parsed.unwrap_err()
            );
        }
        for (ty, definition) in &entry.listing.types {
            let text = Renderer::default().definition(ty, definition);
            let parsed = mlua::chunk::Compiler::new().compile(&text);
            assert!(
                parsed.is_ok(),
                "{name}: {ty}: {}\n{text}",
                parsed.unwrap_err()
            );
        }
    }
}

#[test]
fn every_type_of_every_real_document_is_written_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    for (name, path) in shared_documents(folder.path()) {
        let cx = context(path.parent().unwrap());
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let compiled = block_on(compile(&cx, None, &settings(file))).unwrap();
        let types = compiled.listing.types;
        let roots: Vec<Type> = types.keys().cloned().map(Type::named).collect();
        let writer = Writer::new(&types, "#/$defs/");
        let written = writer.definitions(&roots.iter().collect::<Vec<_>>());
        let references: Vec<Value> = roots.iter().map(|root| writer.schema(root)).collect();
        let whole = json!({"$defs": written, "type": "array", "prefixItems": references});
        let root = Node::from(&whole);
        let lone = Lone {
            root: &root,
            name: "All",
        };
        let mut reader = Reader::new(&lone);
        reader.read(0, &root, "#");
        let (read, warnings) = reader.finish();
        assert_eq!(warnings, [], "{name}");
        for (ty, definition) in &types {
            assert_eq!(read[ty], *definition, "{name}: {ty}: {:#}", written[ty]);
        }
    }
}
