//! Real documents: all load, nothing is lost without a word, names are fit to call.

use std::{
    collections::HashSet,
    fmt::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use toolscript_catalog::name::is_identifier;
use toolscript_sources::openapi::{Compiled, compile};
use yaml_rust2::{Yaml, YamlLoader};

use crate::fixtures::{block_on, context, settings, shared_documents, shared_folder};

const METHODS: &[&str] = &[
    "get", "put", "post", "delete", "options", "head", "patch", "trace", "query",
];

#[test]
fn every_real_document_loads_whole() {
    let folder = tempfile::tempdir().unwrap();
    let documents = shared_documents(folder.path());
    assert!(20 <= documents.len(), "{documents:?}");
    let mut table = format!(
        "{:<40} {:>10} {:>6} {:>8} {:>6}\n",
        "document", "operations", "types", "warnings", "pages"
    );
    for (name, path) in documents {
        let cx = context(path.parent().unwrap());
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let compiled = block_on(compile(&cx, None, &settings(file))).unwrap();
        names_are_fit(&name, &compiled);
        nothing_is_lost(&name, &path, &compiled);
        let listing = &compiled.listing;
        let pages = listing
            .functions
            .iter()
            .filter(|function| function.pages)
            .count();
        let (functions, types, warnings) = (
            listing.functions.len(),
            listing.types.len(),
            listing.warnings.len(),
        );
        writeln!(
            table,
            "{name:<40} {functions:>10} {types:>6} {warnings:>8} {pages:>6}"
        )
        .unwrap();
    }
    insta::assert_snapshot!(table);
}

fn names_are_fit(document: &str, compiled: &Compiled) {
    let mut seen = HashSet::new();
    for (function, operation) in compiled
        .listing
        .functions
        .iter()
        .zip(&compiled.api.operations)
    {
        assert!(
            seen.insert(&function.name),
            "{document}: `{}` twice",
            function.name
        );
        assert!(
            is_identifier(function.name.as_str()),
            "{document}: `{}`",
            function.name
        );
        assert_eq!(
            function.endpoint,
            format!("{} {}", operation.method, operation.path),
            "{document}"
        );
        let mut keys = HashSet::new();
        for parameter in &operation.parameters {
            assert!(
                keys.insert(&parameter.key),
                "{document}: {}: `{}` twice",
                function.name,
                parameter.key
            );
        }
    }
    assert_eq!(
        compiled.listing.functions.len(),
        compiled.api.operations.len()
    );
}

/// Each operation of the raw document is a function, or there is a warning at its place.
fn nothing_is_lost(document: &str, path: &Path, compiled: &Compiled) {
    let endpoints: HashSet<&str> = compiled
        .listing
        .functions
        .iter()
        .map(|function| function.endpoint.as_str())
        .collect();
    let text = std::fs::read_to_string(path).unwrap();
    let roots = YamlLoader::load_from_str(&text).unwrap();
    let paths = roots[0]["paths"].as_hash().unwrap();
    let mut count = 0;
    for (path, item) in paths {
        let path = path.as_str().unwrap();
        for method in METHODS
            .iter()
            .filter(|method| !matches!(item[**method], Yaml::BadValue))
        {
            count += 1;
            let endpoint = format!("{} {path}", method.to_uppercase());
            let pointer = format!(
                "#/paths/{}/{method}",
                path.replace('~', "~0").replace('/', "~1")
            );
            let warned = || {
                compiled
                    .listing
                    .warnings
                    .iter()
                    .any(|warning| warning.place.ends_with(&pointer))
            };
            assert!(
                endpoints.contains(endpoint.as_str()) || warned(),
                "{document}: {endpoint} is lost"
            );
        }
    }
    assert!(0 < count, "{document}");
}

#[test]
fn bombs_are_refused_at_once() {
    let folder = shared_folder().join("adversarial");
    let refusal = |file: &str| {
        let start = Instant::now();
        let error = block_on(compile(&context(&folder), None, &settings(file))).unwrap_err();
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{file} took {:?}",
            start.elapsed()
        );
        error.to_string()
    };
    insta::assert_snapshot!(refusal("laugh.yaml"), @"`laugh.yaml` unfolds into too many values at line 6; use `$ref` instead of YAML aliases there");
    insta::assert_snapshot!(refusal("deep.yaml"), @"`deep.yaml` nests more than 128 levels deep at line 1; flatten it there");
}
