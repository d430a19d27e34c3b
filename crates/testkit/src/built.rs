//! Programs of this workspace that a test starts.

use std::{path::PathBuf, process::Command};

/// A program of this workspace.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// A binary of the test kit.
    Binary(&'static str),
    /// An example of any crate.
    Example(&'static str),
}

/// The path of a program, built if need be.
///
/// Cargo gives tests the binaries of their own package only, so this one asks cargo itself.
pub fn built(target: Target) -> PathBuf {
    let test = std::env::current_exe().expect("a test is a program");
    // target/<profile>/deps/<test>
    let folder = test
        .ancestors()
        .nth(2)
        .expect("tests run from the target folder");
    let all = folder
        .parent()
        .expect("the profile is inside the target folder");
    let profile = folder.file_name().and_then(std::ffi::OsStr::to_str);
    let profile = match profile.expect("profiles have plain names") {
        "debug" => "dev",
        other => other,
    };
    // Where the whole workspace is built for its tests, an example is there already: asked for
    // in the same way it has the same dependencies.
    let (selected, name, place): (&[&str], _, _) = match target {
        Target::Binary(name) => (
            &["--package", "toolscript-testkit", "--bin"],
            name,
            folder.to_owned(),
        ),
        Target::Example(name) => (&["--workspace", "--example"], name, folder.join("examples")),
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet"])
        .args(selected)
        .arg(name)
        .args(["--profile", profile])
        .arg("--target-dir")
        .arg(all)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo starts");
    assert!(status.success(), "`{name}` does not build");
    place
        .join(name)
        .with_extension(std::env::consts::EXE_EXTENSION)
}
