//! The pages an agent reads: every one of them is Luau.

use toolscript_catalog::{
    Entry,
    docs::{self, Subject},
    render::Renderer,
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
