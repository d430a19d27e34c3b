//! The help of every command, word for word, and the flags that end the program at once.

use crate::sandbox::Sandbox;

#[track_caller]
fn check(name: &str, arguments: &[&str]) {
    let ran = Sandbox::new().run(arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    insta::assert_snapshot!(name, ran.shown());
}

#[test]
fn whole_program() {
    check("help_short", &["-h"]);
    check("help", &["--help"]);
}

#[test]
fn every_command() {
    let commands = [
        "run",
        "generate",
        "serve",
        "exec",
        "list",
        "search",
        "docs",
        "server",
        "tool",
        "demo",
        "doctor",
        "config",
        "completions",
    ];
    for command in commands {
        check(&format!("help_{command}"), &[command, "--help"]);
    }
    for command in [
        "add",
        "import",
        "list",
        "remove",
        "introspect",
        "login",
        "logout",
    ] {
        check(
            &format!("help_server_{command}"),
            &["server", command, "--help"],
        );
    }
}

#[test]
fn version_says_name_and_number() {
    let version = format!("toolscript {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(Sandbox::new().run(&["--version"]).out(), version);
}

#[test]
fn no_command_shows_the_help_and_fails() {
    let ran = Sandbox::new().run(&[]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("Usage: toolscript"), "{}", ran.stderr);
}

#[test]
fn flags_that_make_no_sense_are_usage_errors() {
    let conflicts: &[&[&str]] = &[
        &["run", "--transport", "stdio", "--port", "1"],
        &["run", "--transport", "carrier-pigeon"],
        &["exec"],
        &["exec", "a.luau", "-e", "return 1"],
        &["exec", "-e", "return 1", "--timeout", "soon"],
        &["list", "--all", "--limit", "3"],
        &["serch", "pets"],
    ];
    for arguments in conflicts {
        let ran = Sandbox::new().run(arguments);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (2, ""),
            "{arguments:?}: {}",
            ran.stderr
        );
        assert!(
            ran.stderr.starts_with("error: "),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
}

#[test]
fn completions_exist_for_common_shells() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = Sandbox::new().run(&["completions", shell]);
        assert!(ran.out().contains("toolscript"), "{shell}");
    }
}
