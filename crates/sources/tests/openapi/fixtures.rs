//! Where the documents of the tests come from, and how they are compiled.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use toolscript_catalog::{Function, Warning, render};
use toolscript_sources::{
    Context,
    openapi::{Compiled, LoadError, Settings, compile, operation::Operation},
};

/// The real documents, unpacked: (what it is called in the tests, the file to load).
pub(crate) fn shared_documents(folder: &Path) -> Vec<(String, PathBuf)> {
    let shared = shared_folder();
    let mut documents = Vec::new();
    for entry in std::fs::read_dir(&shared).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".tar.gz") {
            tar::Archive::new(GzDecoder::new(File::open(&path).unwrap()))
                .unpack(folder)
                .unwrap();
            documents.push((
                name.to_owned(),
                folder.join(name).join("DigitalOcean-public.v2.yaml"),
            ));
        } else if let Some(name) = name.strip_suffix(".gz") {
            let target = folder.join(name);
            let mut packed = GzDecoder::new(File::open(&path).unwrap());
            std::io::copy(&mut packed, &mut File::create(&target).unwrap()).unwrap();
            documents.push((name.to_owned(), target));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            documents.push((name, path));
        }
    }
    for (name, file) in [
        (
            "petstore-separate-swagger2",
            "petstore-separate-swagger2/spec/swagger.yaml",
        ),
        (
            "openapi-generator_echo_api.yaml",
            "param-style/openapi-generator_echo_api.yaml",
        ),
    ] {
        documents.push((name.to_owned(), shared.join(file)));
    }
    documents.sort();
    documents
}

/// The folder of real documents beside the workspace.
pub(crate) fn shared_folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/openapi");
    assert!(
        folder.is_dir(),
        "the real OpenAPI documents are missing: {} should hold them",
        folder.display()
    );
    folder
}

/// A context that starts from a folder and keeps nothing.
pub(crate) fn context(folder: &Path) -> Context {
    Context {
        folder: folder.to_owned(),
        ..Context::default()
    }
}

/// Settings that only name a document.
pub(crate) fn settings(spec: impl Into<String>) -> Settings {
    Settings {
        spec: Some(spec.into()),
        timeout: 30.0,
        ..Settings::default()
    }
}

/// A folder with these files in it.
pub(crate) fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// Compiles the first of some files.
pub(crate) fn compile_files(files: &[(&str, &str)]) -> Result<Compiled, LoadError> {
    compile_with(files, |_| {})
}

/// Compiles the first of some files with changed settings.
pub(crate) fn compile_with(
    files: &[(&str, &str)],
    change: impl FnOnce(&mut Settings),
) -> Result<Compiled, LoadError> {
    let folder = folder(files);
    let mut settings = settings(files[0].0);
    change(&mut settings);
    block_on(compile(
        &context(folder.path()),
        Some(source_name("api")),
        &settings,
    ))
}

/// Compiles one document that must load.
#[track_caller]
pub(crate) fn document(text: &str) -> Compiled {
    compile_files(&[("api.yaml", text)]).unwrap()
}

/// A small document around its `paths` and whatever else.
pub(crate) fn with_paths(paths: &str) -> String {
    format!(
        "openapi: 3.1.0\ninfo: {{title: Test, version: '1'}}\nservers: [{{url: 'https://a.test'}}]\n{paths}"
    )
}

/// The function and the plan of a name.
#[track_caller]
pub(crate) fn pick<'a>(compiled: &'a Compiled, name: &str) -> (&'a Function, &'a Operation) {
    let functions = &compiled.listing.functions;
    let names = || {
        functions
            .iter()
            .map(|function| function.name.as_str())
            .collect::<Vec<_>>()
    };
    let at = functions
        .iter()
        .position(|function| function.name.as_str() == name);
    let at = at.unwrap_or_else(|| panic!("no function `{name}` among {:?}", names()));
    (&functions[at], &compiled.api.operations[at])
}

/// The signature of a function, as docs show it.
#[track_caller]
pub(crate) fn signature(compiled: &Compiled, name: &str) -> String {
    render::signature(&compiled.name, pick(compiled, name).0)
}

/// The warnings, one per line, without the folder the test happens to use.
pub(crate) fn warnings(compiled: &Compiled) -> String {
    let line = |warning: &Warning| format!("{}: {}", warning.place, warning.reason);
    let lines = compiled.listing.warnings.iter().map(line);
    let lines = lines.map(|line| {
        line.split("; relative paths")
            .next()
            .unwrap_or_default()
            .to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A name for a source.
pub(crate) fn source_name(text: &str) -> toolscript_catalog::SourceName {
    toolscript_catalog::SourceName::parse(text).unwrap()
}

/// Runs a future to its end.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}
