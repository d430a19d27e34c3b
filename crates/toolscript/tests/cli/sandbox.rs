//! `Sandbox`: a folder of its own in which the program runs, and what it printed there.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use tempfile::TempDir;
use tokio::runtime::Runtime;
use toolscript_testkit::Sample;

/// A working folder with nothing in it and nothing of the user around it.
pub(crate) struct Sandbox {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

/// What one run of the program left behind, with the folder shown as `$DIR`.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for inner in ["work", "cache", "config", "home"] {
            fs::create_dir(folder.path().join(inner)).unwrap();
        }
        Self {
            folder,
            variables: Vec::new(),
        }
    }

    /// One with `pets.yaml` configured as the source `pets`.
    pub(crate) fn with_pets() -> Self {
        let sandbox = Self::new();
        fs::copy(data("pets.yaml"), sandbox.path("pets.yaml")).unwrap();
        sandbox.write("toolscript.toml", "[apis.pets]\nspec = \"pets.yaml\"\n");
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Sets an environment variable for the program.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolscript"));
        let folder = |name| self.folder.path().join(name);
        command
            .args(arguments)
            .current_dir(folder("work"))
            .env_clear()
            .env("HOME", folder("home"))
            .env("XDG_CACHE_HOME", folder("cache"))
            .env("XDG_CONFIG_HOME", folder("config"))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.ran(&self.command(arguments).output().unwrap())
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        self.ran(&child.wait_with_output().unwrap())
    }

    /// Waits for the end of the program.
    pub(crate) fn ended(&self, child: Child) -> Ran {
        self.ran(&child.wait_with_output().unwrap())
    }

    fn ran(&self, output: &Output) -> Ran {
        let folder = self.folder.path().display().to_string();
        let text = |bytes: &[u8]| {
            let text = std::str::from_utf8(bytes).expect("the program writes UTF-8");
            text.replace(&folder, "$DIR").replace("$DIR/work", "$WORK")
        };
        Ran {
            code: output.status.code().expect("the program ended by itself"),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

impl Ran {
    /// The standard output of a run that went well and had nothing to complain about.
    #[track_caller]
    pub(crate) fn out(&self) -> &str {
        assert_eq!(
            (self.code, self.stderr.as_str()),
            (0, ""),
            "{}",
            self.stdout
        );
        &self.stdout
    }

    /// The standard output of a run that went well, as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(self.out()).expect("JSON on standard output")
    }

    /// Everything, for a snapshot; times vary and are left out.
    pub(crate) fn shown(&self) -> String {
        let mut text = format!("exit code: {}\n", self.code);
        for (name, part) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !part.is_empty() {
                write!(text, "----- {name} -----\n{part}").unwrap();
            }
        }
        without_times(&text)
    }
}

/// `12.3 ms` becomes `… ms`.
fn without_times(text: &str) -> String {
    let mut parts = text.split(" ms");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let kept = whole
            .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
            .len();
        if kept < whole.len() {
            whole.truncate(kept);
            whole.push('…');
        }
        whole.push_str(" ms");
        whole.push_str(part);
    }
    whole
}

/// A file under `tests/data`.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// A file of the repository.
pub(crate) fn repository(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

/// The testkit's pet shop, served while the test runs the program in the foreground.
pub(crate) struct Shop {
    pub(crate) sample: Sample,
    _runtime: Runtime,
}

impl Shop {
    pub(crate) fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let sample = runtime.block_on(Sample::start());
        Self {
            sample,
            _runtime: runtime,
        }
    }

    /// A sandbox whose configuration names this shop as the source `shop`.
    pub(crate) fn sandbox(&self) -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.write("shop.json", &self.sample.document());
        sandbox.write("toolscript.toml", "[apis.shop]\nspec = \"shop.json\"\n");
        sandbox
    }
}

/// A program in the background; it ends when this is dropped.
pub(crate) struct Background(pub(crate) Child);

impl Drop for Background {
    fn drop(&mut self) {
        // It may have ended by itself, which is fine.
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}
