//! What the setups under `tests/` have installed.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A file or folder below `tests/` of the repository.
pub(crate) fn repository_tests(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests")
        .join(path)
}

/// Where `tests/<folder>/setup` has put its things; fails unless they are of the versions its
/// `pins` name today.
pub(crate) fn installed(folder: &str, pins: &[&str]) -> PathBuf {
    let variable = |name| {
        std::env::var_os(name)
            .filter(|text| !text.is_empty())
            .map(PathBuf::from)
    };
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let home = cache
        .expect("HOME is set")
        .join("toolscript/tests")
        .join(folder);
    let pinned: String = [&["install.bash"], pins]
        .concat()
        .iter()
        .map(|pin| fs::read_to_string(repository_tests(pin)).unwrap())
        .collect();
    let stamp = fs::read_to_string(home.join("stamp")).unwrap_or_default();
    assert!(
        stamp == pinned,
        "the {folder} of the tests are not in {}: run tests/{folder}/setup (make test does)",
        home.display()
    );
    home
}
