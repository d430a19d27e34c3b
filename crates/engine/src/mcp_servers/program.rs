//! `Program`: the command of a server, whether this machine has it, and how to get it.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// Commands servers are usually started with, and what brings them.
const REMEDIES: &[(&[&str], &str)] = &[
    (
        &["npx", "npm", "node"],
        "install Node.js 20 or newer, which brings `npx`: https://nodejs.org",
    ),
    (
        &["uvx", "uv"],
        "install uv, which brings `uvx`: https://docs.astral.sh/uv",
    ),
    (
        &["docker", "podman"],
        "install Docker and start it: https://docs.docker.com/get-docker",
    ),
    (
        &["python", "python3", "pipx"],
        "install Python 3.10 or newer: https://www.python.org",
    ),
    (&["deno"], "install Deno: https://deno.com"),
    (&["bun", "bunx"], "install Bun: https://bun.sh"),
];

/// The command of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// As the settings name it.
    pub command: String,
    /// Where it is; `None` where it is not.
    pub path: Option<PathBuf>,
}

impl Program {
    /// The command of these settings, looked for as the server would be started.
    pub(super) fn of(settings: &Value, folder: &Path) -> Option<Self> {
        let command = settings["command"].as_str()?.to_owned();
        let own = settings["env"]["PATH"].as_str().map(OsString::from);
        let search = own.or_else(|| env::var_os("PATH")).unwrap_or_default();
        let path = if command.contains('/') {
            Some(folder.join(&command)).filter(|path| is_program(path))
        } else {
            env::split_paths(&search)
                .map(|place| place.join(&command))
                .find(|path| is_program(path))
        };
        Some(Self { command, path })
    }

    /// How to get it, for the commands servers are usually started with.
    pub fn remedy(&self) -> Option<&'static str> {
        let name = Path::new(&self.command).file_name()?.to_str()?;
        let fits = |(names, _): &&(&[&str], &str)| names.contains(&name);
        REMEDIES.iter().find(fits).map(|(_, remedy)| *remedy)
    }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
        || ["exe", "cmd", "bat"]
            .iter()
            .any(|end| path.with_extension(end).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn find(settings: &Value) -> Option<Program> {
        Program::of(settings, Path::new("/"))
    }

    #[test]
    fn commands_are_found_as_they_would_be_started() {
        assert_eq!(find(&json!({"url": "https://x.test"})), None);
        let shell = find(&json!({"command": "sh"})).unwrap();
        assert!(shell.path.is_some());
        let here = find(&json!({"command": "./bin/sh"})).unwrap();
        assert_eq!(here.path, Some(PathBuf::from("/./bin/sh")));
        let elsewhere = find(&json!({"command": "sh", "env": {"PATH": "/nowhere"}})).unwrap();
        assert_eq!(elsewhere.path, None);
        let folder = find(&json!({"command": "/bin"})).unwrap();
        assert_eq!(folder.path, None);
    }

    #[test]
    fn usual_commands_have_a_remedy() {
        let remedy = |command: &str| find(&json!({"command": command})).unwrap().remedy();
        assert!(remedy("npx").unwrap().contains("Node.js"));
        assert!(remedy("/opt/uv/uvx").unwrap().contains("install uv"));
        assert_eq!(remedy("my-server"), None);
    }
}
