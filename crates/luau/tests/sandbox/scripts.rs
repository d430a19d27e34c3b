//! Runs every script in `behaviour/` and `hostile/` and compares with what its first lines say.
//!
//! ```text
//! --! expect: limit              the phase of the error, or `ok`
//! --! message: memory            a part of the error's message
//! --! result: [1, 2]             the result, where it is `ok`
//! --! limits: {"max_calls": 3}   limits other than those of the directory
//! ```
//!
//! `$repeat(1000, text)` in a script stands for a thousand times the text, and `$byte(7)` for a
//! character with that number.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use toolscript_catalog::Catalog;
use toolscript_luau::{Limits, Outcome, Run, Runtime, ScriptResult};

use crate::fake::{self, Zoo};

/// A script and what its first lines say about it.
struct Case {
    path: PathBuf,
    script: String,
    expect: String,
    messages: Vec<String>,
    result: Option<Value>,
    limits: Limits,
}

impl Case {
    fn read(path: PathBuf, limits: &Limits) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        let said = |key: &str| -> Vec<String> {
            let prefix = format!("--! {key}: ");
            text.lines()
                .filter_map(|line| line.strip_prefix(&prefix))
                .map(str::to_owned)
                .collect()
        };
        let expect = said("expect")
            .first()
            .unwrap_or_else(|| panic!("{} expects nothing", path.display()))
            .clone();
        let mut limits = serde_json::to_value(limits).unwrap();
        if expect == "limit" {
            // The limit shall end it, not the time.
            limits["timeout_ms"] = json!(20_000);
        }
        for line in said("limits") {
            let Value::Object(own) = serde_json::from_str(&line).unwrap() else {
                panic!("{line}")
            };
            limits.as_object_mut().unwrap().extend(own);
        }
        Self {
            expect: said("expect")
                .first()
                .unwrap_or_else(|| panic!("{} expects nothing", path.display()))
                .clone(),
            messages: said("message"),
            result: said("result")
                .first()
                .map(|text| serde_json::from_str(text).unwrap()),
            limits: serde_json::from_value(limits).unwrap(),
            script: expand(&text),
            path,
        }
    }

    /// What is not as the first lines say.
    fn complaints(&self, outcome: &Outcome) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut wanted = |fine: bool, what: &str| {
            if !fine {
                complaints.push(what.to_owned());
            }
        };
        match &outcome.result {
            Ok(ScriptResult::Value(value)) => {
                wanted(self.expect == "ok", "should have failed");
                let fits = self.result.as_ref().is_none_or(|result| result == value);
                wanted(fits, "has another result");
            }
            Ok(ScriptResult::Kept(_)) => wanted(self.expect == "kept", "should not be kept"),
            Err(error) => {
                wanted(self.expect == error.phase.word(), "failed in another phase");
                let said = format!(
                    "{} {}",
                    error.message,
                    error.hint.as_deref().unwrap_or_default()
                );
                for message in &self.messages {
                    wanted(
                        said.contains(message.as_str()),
                        &format!("does not say `{message}`"),
                    );
                }
            }
        }
        let shown = serde_json::to_string(outcome).unwrap();
        wanted(!shown.contains(fake::SECRET), "has seen the secret");
        wanted(
            !shown.contains(".rs:") && !shown.contains("mlua"),
            "shows our insides",
        );
        let start: String = shown.chars().take(600).collect();
        let place = self.path.file_name().unwrap().to_string_lossy();
        complaints
            .iter()
            .map(|complaint| format!("{place} {complaint}: {start}"))
            .collect()
    }
}

/// Replaces `$repeat(count, text)` and `$byte(number)`.
fn expand(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest
        .find("$repeat(")
        .into_iter()
        .chain(rest.find("$byte("))
        .min()
    {
        out.push_str(&rest[..at]);
        let (arguments, after) = rest[at..]
            .split_once('(')
            .unwrap()
            .1
            .split_once(")$")
            .unwrap();
        match arguments.split_once(", ") {
            Some((count, text)) => {
                out.push_str(&text.replace("\\n", "\n").repeat(count.parse().unwrap()));
            }
            None => out.push(char::from(arguments.parse::<u8>().unwrap())),
        }
        rest = after;
    }
    out + rest
}

fn cases(directory: &str, limits: &Limits) -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(directory);
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| Case::read(path, limits))
        .collect()
}

struct Bench {
    runtime: Runtime,
    catalog: Arc<Catalog>,
    zoo: Arc<Zoo>,
}

impl Bench {
    fn new() -> Self {
        Self {
            runtime: Runtime::default(),
            catalog: fake::catalog(),
            zoo: Zoo::new(),
        }
    }

    async fn run(&self, script: &str, limits: &Limits) -> Outcome {
        let run = Run::new(script, self.catalog.clone(), self.zoo.clone());
        self.runtime
            .run(Run {
                limits: limits.clone(),
                owner: "ann".to_owned(),
                ..run
            })
            .await
    }

    /// Whatever happened before, a run must find everything as it should be.
    async fn complaints_after(&self, case: &Case) -> Vec<String> {
        let script = r#"
            assert(leak == nil and string.leak == nil and not pcall(function() string.x = 1 end))
            assert(("x"):rep(3) == "xxx" and tostring(json.null) == "null")
            assert(math.floor(2.5) == 2 and table.concat({ "a", "b" }, "-") == "a-b")
            local wrapped = coroutine.wrap(function() coroutine.yield(pets.get_pet({ id = 7 }).id) end)
            return { wrapped(), sdk.pets.ping(), parallel.map({ 1, 2 }, function(x) return x * 2 end) }
        "#;
        let outcome = self
            .run(
                script,
                &Limits {
                    timeout_ms: 20_000,
                    ..Limits::default()
                },
            )
            .await;
        let expected = Ok(ScriptResult::Value(json!([7, "pong", [2, 4]])));
        if outcome.result == expected && outcome.logs.is_empty() {
            return Vec::new();
        }
        vec![format!("after {}: {outcome:?}", case.path.display())]
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behaviour() {
    let bench = Bench::new();
    let limits = Limits {
        timeout_ms: 20_000,
        ..Limits::default()
    };
    let mut complaints = Vec::new();
    for case in cases("behaviour", &limits) {
        let outcome = bench.run(&case.script, &case.limits).await;
        complaints.extend(case.complaints(&outcome));
        complaints.extend(bench.complaints_after(&case).await);
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile() {
    let bench = Bench::new();
    let limits = Limits {
        timeout_ms: 300,
        memory_mb: 16,
        ..Limits::default()
    };
    let cases = cases("hostile", &limits);
    assert!(60 <= cases.len(), "{} hostile scripts", cases.len());
    let mut complaints = Vec::new();
    for case in cases {
        let most = Duration::from_millis(case.limits.timeout_ms) + Duration::from_secs(1);
        // A machine that is busy with other things may need another attempt.
        let mut times = Vec::new();
        while times.len() < 3 && times.iter().all(|time| most < *time) {
            let begun = Instant::now();
            let outcome = bench.run(&case.script, &case.limits).await;
            times.push(begun.elapsed());
            complaints.extend(case.complaints(&outcome));
            complaints.extend(bench.complaints_after(&case).await);
        }
        if times.iter().all(|time| most < *time) {
            complaints.push(format!("{} took {times:?}", case.path.display()));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
