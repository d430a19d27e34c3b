//! What surrounds a script: time, cancellation, other runs, results that are kept, host modules.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolscript_catalog::{Catalog, Entry, FunctionId, Level, SourceName};
use toolscript_luau::{
    Argument, EntryPoint, Guide, HostError, HostKind, HostMember, HostModule, Limits, NoServer,
    Outcome, Phase, Progress, ResultSettings, Run, Runtime, RuntimeSettings, ScriptResult,
};

use crate::fake::{self, Zoo};

/// A run with time enough for a busy machine.
fn run(script: &str) -> Run {
    let limits = Limits {
        timeout_ms: 60_000,
        ..Limits::default()
    };
    Run {
        limits,
        owner: "ann".to_owned(),
        ..Run::new(script, fake::catalog(), Zoo::new())
    }
}

#[track_caller]
fn value(outcome: &Outcome) -> &Value {
    match &outcome.result {
        Ok(ScriptResult::Value(value)) => value,
        other => panic!("{other:?}"),
    }
}

async fn until(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it never happened"
        );
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn cancelling_ends_the_run_and_its_calls() {
    let (zoo, cancel) = (Zoo::new(), CancellationToken::new());
    let script = "parallel.map({ 1, 2, 3 }, function() return pets.slow({ ms = 1000000 }) end)";
    let run = Run {
        cancel: cancel.clone(),
        caller: zoo.clone(),
        ..run(script)
    };
    let under_way = tokio::spawn(async move { Runtime::default().run(run).await });
    until(|| zoo.under_way() == 3).await;
    cancel.cancel();
    let error = under_way.await.unwrap().result.unwrap_err();
    assert!(
        error.cancelled && error.phase == Phase::Execution,
        "{error:?}"
    );
    assert_eq!((zoo.under_way(), zoo.dropped()), (0, 3));
}

#[tokio::test]
async fn cancelling_ends_a_script_that_computes() {
    let cancel = CancellationToken::new();
    let run = Run {
        cancel: cancel.clone(),
        ..run("while true do end")
    };
    let under_way = tokio::spawn(async move { Runtime::default().run(run).await });
    tokio::task::yield_now().await;
    cancel.cancel();
    assert!(under_way.await.unwrap().result.unwrap_err().cancelled);
}

#[tokio::test]
async fn dropping_the_run_drops_its_calls() {
    let (runtime, zoo) = (Runtime::default(), Zoo::new());
    let run = Run {
        caller: zoo.clone(),
        ..run("return pets.slow({ ms = 1000000 })")
    };
    let spawned = tokio::spawn({
        let runtime = runtime.clone();
        async move { runtime.run(run).await }
    });
    until(|| zoo.under_way() == 1).await;
    spawned.abort();
    assert!(spawned.await.is_err());
    assert_eq!((zoo.under_way(), zoo.dropped()), (0, 1));
}

#[tokio::test]
async fn a_failure_in_parallel_gives_up_the_other_calls() {
    let zoo = Zoo::new();
    let script = r"
        pcall(parallel, {
            function() return pets.slow({ ms = 1000000 }) end,
            function() return parallel({ function() return pets.slow({ ms = 1000000 }) end }) end,
            function() sleep(0.001) error('no') end,
        })
        sleep(0.001)
        return pets.ping()
    ";
    let outcome = Runtime::default()
        .run(Run {
            caller: zoo.clone(),
            ..run(script)
        })
        .await;
    assert_eq!(value(&outcome), "pong");
    assert_eq!((zoo.under_way(), zoo.dropped()), (0, 2));
}

#[tokio::test]
async fn calls_at_once_stay_within_the_limit() {
    let zoo = Zoo::new();
    let script = r"
        local function many() return parallel.map(table.create(10, 5), function(ms) return pets.slow({ ms = ms }) end) end
        return #parallel({ many, many, many })
    ";
    let limits = Limits {
        max_parallel: 4,
        timeout_ms: 60_000,
        ..Limits::default()
    };
    let outcome = Runtime::default()
        .run(Run {
            caller: zoo.clone(),
            limits,
            ..run(script)
        })
        .await;
    assert_eq!(value(&outcome), 3);
    assert_eq!((zoo.most_at_once(), outcome.stats.calls), (4, 30));
}

/// Scripts that compute where they can and where they cannot be paused.
const SPINNERS: [&str; 4] = [
    "while true do end",
    "coroutine.wrap(function() while true do end end)()",
    "table.sort({ 3, 2, 1 }, function() while true do end end)",
    "return setmetatable({}, { __index = function() while true do end end }).x",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_that_compute_do_not_stop_the_others() {
    let (runtime, cancel) = (Runtime::default(), CancellationToken::new());
    let spinning: Vec<_> = SPINNERS
        .iter()
        .map(|script| {
            let (runtime, run) = (
                runtime.clone(),
                Run {
                    cancel: cancel.clone(),
                    ..run(script)
                },
            );
            tokio::spawn(async move { runtime.run(run).await })
        })
        .collect();
    for _ in 0..50 {
        let waiting = {
            let (runtime, run) = (runtime.clone(), run("return pets.slow({ ms = 1 })"));
            tokio::spawn(async move { runtime.run(run).await })
        };
        assert_eq!(value(&waiting.await.unwrap()), 1);
    }
    assert!(spinning.iter().all(|spinner| !spinner.is_finished()));
    cancel.cancel();
    for spinner in spinning {
        assert!(spinner.await.unwrap().result.unwrap_err().cancelled);
    }
}

#[tokio::test]
async fn a_script_of_many_short_steps_lets_others_run_on_one_thread() {
    let (runtime, cancel) = (Runtime::default(), CancellationToken::new());
    let spinning = Run {
        cancel: cancel.clone(),
        modules: vec![Arc::new(Kit)],
        ..run("while true do kit.at_once() end")
    };
    let spinner = tokio::spawn({
        let runtime = runtime.clone();
        async move { runtime.run(spinning).await }
    });
    for _ in 0..20 {
        assert_eq!(
            value(&runtime.run(run("return pets.slow({ ms = 1 })")).await),
            1
        );
    }
    cancel.cancel();
    assert!(spinner.await.unwrap().result.unwrap_err().cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_scripts_that_cannot_be_paused_are_ended() {
    let runtime = Runtime::new(RuntimeSettings {
        max_stuck: 2,
        ..RuntimeSettings::default()
    });
    let cancel = CancellationToken::new();
    let spinning: Vec<_> = (0..5)
        .map(|_| {
            let (runtime, run) = (
                runtime.clone(),
                Run {
                    cancel: cancel.clone(),
                    ..run(SPINNERS[2])
                },
            );
            tokio::spawn(async move { runtime.run(run).await })
        })
        .collect();
    until(|| spinning.iter().any(tokio::task::JoinHandle::is_finished)).await;
    cancel.cancel();
    let mut stuck = 0;
    for spinner in spinning {
        let error = spinner.await.unwrap().result.unwrap_err();
        assert!(
            error.cancelled || error.limit.as_deref() == Some("max_stuck"),
            "{error:?}"
        );
        stuck += usize::from(!error.cancelled);
    }
    assert!(0 < stuck, "nobody was ended");
}

#[tokio::test]
async fn runs_in_one_vm_know_nothing_of_each_other() {
    let runtime = Runtime::new(RuntimeSettings {
        max_idle_vms: 1,
        ..RuntimeSettings::default()
    });
    let first =
        "leak = 1; math.randomseed(7); return { math.random(1, 2^30), math.random(1, 2^30) }";
    let second = "return { leak == nil, math.random(1, 2^30) }";
    let seeded = runtime.run(run(first)).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        runtime.run(run(first)).await;
        let outcome = runtime.run(run(second)).await;
        assert_eq!(value(&outcome)[0], true);
        seen.push(value(&outcome)[1].clone());
    }
    assert_ne!(
        seen[0], seen[1],
        "the random state of one run is seen by the next"
    );
    assert_eq!(
        runtime.run(run(first)).await.result,
        seeded.result,
        "a seed is a seed"
    );
}

#[tokio::test]
async fn a_new_catalog_does_not_disturb_a_running_script() {
    let runtime = Runtime::new(RuntimeSettings {
        max_idle_vms: 1,
        ..RuntimeSettings::default()
    });
    let script =
        "local ping = pets.ping; sleep(0.002); return { ping(), pets.get_pet({ id = 1 }).id }";
    let old = runtime.run(run(script));
    let empty = Entry::new(
        SourceName::parse("other").unwrap(),
        toolscript_catalog::Listing::default(),
    );
    let new = Run {
        catalog: Arc::new(Catalog::new([Arc::new(empty)])),
        ..run("return sdk.pets")
    };
    let (old, new) = tokio::join!(old, runtime.run(new));
    assert_eq!(value(&old), &json!(["pong", 1]));
    assert!(
        new.result
            .unwrap_err()
            .message
            .contains("the sources are `other`")
    );
}

#[tokio::test]
async fn more_runs_than_allowed_wait_for_their_turn() {
    let runtime = Runtime::new(RuntimeSettings {
        max_runs: 1,
        ..RuntimeSettings::default()
    });
    let zoo = Zoo::new();
    let script = "return pets.slow({ ms = 2 })";
    let runs = (0..5).map(|_| {
        runtime.run(Run {
            caller: zoo.clone(),
            ..run(script)
        })
    });
    for outcome in futures_util::future::join_all(runs).await {
        assert_eq!(value(&outcome), 2);
    }
    assert_eq!(zoo.most_at_once(), 1);
}

#[tokio::test]
async fn errors_tell_line_function_and_way() {
    let script = "local function inner()\n  return pets.fail()\nend\nlocal function outer()\n  inner()\nend\nouter()";
    let error = Runtime::default()
        .run(run(script))
        .await
        .result
        .unwrap_err();
    let way: Vec<u32> = error.traceback.iter().map(|step| step.line).collect();
    assert_eq!(
        (error.phase, error.line, way),
        (Phase::ApiCall, Some(2), vec![2, 5, 7])
    );
    assert_eq!(
        (error.function.as_deref(), error.api_status),
        (Some("pets.fail"), Some(404))
    );
    assert_eq!(error.traceback[0].function.as_deref(), Some("inner"));
    assert_eq!(error.details.unwrap()["body"]["code"], 17);
}

#[tokio::test]
async fn a_caught_and_raised_again_error_keeps_its_line() {
    let script = "local ok, err = pcall(function()\n  return pets.fail()\nend)\n\nerror(err)";
    let error = Runtime::default()
        .run(run(script))
        .await
        .result
        .unwrap_err();
    assert_eq!((error.phase, error.line), (Phase::ApiCall, Some(2)));
}

#[tokio::test]
async fn thrown_tables_keep_their_fields() {
    let script = "\nerror({ code = 'E7', message = 'no', list = { 1 } })";
    let error = Runtime::default()
        .run(run(script))
        .await
        .result
        .unwrap_err();
    assert_eq!(
        (error.phase, error.line, error.message.as_str()),
        (Phase::Execution, Some(2), "no")
    );
    assert_eq!(
        error.details,
        Some(json!({"code": "E7", "message": "no", "list": [1]}))
    );
}

#[tokio::test]
async fn an_error_in_parallel_has_the_line_it_happened_on() {
    let script = "parallel({\n  function()\n    error('boom')\n  end,\n})";
    let error = Runtime::default()
        .run(run(script))
        .await
        .result
        .unwrap_err();
    assert_eq!((error.line, error.message.as_str()), (Some(3), "boom"));
}

#[tokio::test]
async fn what_is_printed_comes_back_with_level_and_line() {
    let outcome = Runtime::default()
        .run(run("print('a', 1)\n\nwarn({ 1, x = nil })\nerror('x')"))
        .await;
    let shown: Vec<_> = outcome
        .logs
        .iter()
        .map(|line| (line.level, line.line, line.text.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            (Level::Info, Some(1), "a\t1"),
            (Level::Warn, Some(3), "[1]")
        ]
    );
    assert!(outcome.result.is_err(), "logs come with errors too");
}

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Progress for Notes {
    fn started(&self, function: &FunctionId, number: u64) {
        self.0.lock().unwrap().push(format!("{number} {function}"));
    }

    fn finished(&self, _: &FunctionId, number: u64, _: Duration, succeeded: bool) {
        self.0.lock().unwrap().push(format!("{number} {succeeded}"));
    }
}

#[tokio::test]
async fn progress_is_told_of_every_call() {
    let notes = Arc::new(Notes::default());
    let run = Run {
        progress: Some(notes.clone()),
        ..run("pets.ping() pcall(pets.fail)")
    };
    let outcome = Runtime::default().run(run).await;
    assert_eq!(
        *notes.0.lock().unwrap(),
        ["1 pets.ping", "1 true", "2 pets.fail", "2 false"]
    );
    assert_eq!((outcome.stats.calls, outcome.stats.failed_calls), (2, 1));
}

#[tokio::test]
async fn large_results_are_kept_and_read_piece_by_piece() {
    let runtime = Runtime::default();
    let made = runtime
        .run(run(
            "return { rows = pets.rows({ count = 2000 }), total = 2000 }",
        ))
        .await;
    let Ok(ScriptResult::Kept(kept)) = made.result else {
        panic!("{made:?}")
    };
    assert_eq!(kept.bytes, made.stats.result_bytes);
    assert_eq!(
        kept.shape,
        "{ rows: [2000 x { id: number, name: string, tags: [2 x string] }], total: number }"
    );
    assert!(
        kept.preview.starts_with(r#"{"rows":[{"id":0,"#),
        "{}",
        kept.preview
    );

    let script = format!(
        r#"
        local r = result("{}")
        return {{
            r.bytes, r:path("total"), r:path("rows[2].name"), r:path("rows[2].none") == nil,
            #r:value().rows, #r:slice(-2, -1, "rows"), r:slice(3, 3, "rows")[1].id,
            r:grep("row 1999")[1].path, #r:grep("row 19", {{ limit = 5 }}),
        }}"#,
        kept.handle
    );
    let read = runtime.run(run(&script)).await;
    assert_eq!(
        value(&read),
        &json!([
            kept.bytes,
            2000,
            "row 1",
            true,
            2000,
            2,
            2,
            "rows[2000].name",
            5
        ])
    );

    let other = Run {
        owner: "bob".to_owned(),
        ..run(&script)
    };
    let refused = runtime.run(other).await.result.unwrap_err();
    assert!(
        refused.message.contains("there is no result"),
        "{refused:?}"
    );
    let own = runtime.results().of("ann");
    assert_eq!((own.len(), &own[0].0), (1, &kept.handle));
    assert_eq!(own[0].1.shape, kept.shape);
    assert_eq!(
        runtime.results().get("ann", &kept.handle).unwrap().value["total"],
        2000
    );
}

#[tokio::test]
async fn a_result_that_cannot_be_kept_is_an_error() {
    let results = ResultSettings {
        max_total_mb: 0,
        ..ResultSettings::default()
    };
    let runtime = Runtime::new(RuntimeSettings {
        results,
        ..RuntimeSettings::default()
    });
    let outcome = runtime.run(run("return pets.rows({ count = 2000 })")).await;
    assert_eq!(outcome.result.unwrap_err().phase, Phase::Limit);
}

struct Answers;

impl Guide for Answers {
    fn help(&self) -> String {
        "helped".to_owned()
    }
    fn search(&self, text: &str) -> String {
        format!("searched {text}")
    }
    fn docs(&self, name: &str) -> String {
        format!("docs of {name}")
    }
    fn servers(&self) -> Value {
        json!([{"name": "files", "connected": false, "error": "gone"}])
    }
    fn tools(&self, server: Option<&str>) -> Result<Value, NoServer> {
        match server {
            None | Some("files") => Ok(json!([{"name": "read-file"}])),
            Some(other) => Err(NoServer {
                name: other.to_owned(),
                known: vec!["files".to_owned()],
            }),
        }
    }
}

#[tokio::test]
async fn scripts_can_ask_about_servers() {
    let script = r#"
        local ok, unknown = pcall(proxy.list_tools, { server = "nope" })
        local _, wrong = pcall(proxy.list_tools, { server = 7 })
        local named = proxy.list_tools({ server = "files" })[1].name
        return { proxy.list_servers()[1].error, #proxy.list_tools(), named, ok,
            unknown.message, wrong.message }"#;
    let asked = Run {
        guide: Some(Arc::new(Answers)),
        ..run(script)
    };
    let outcome = Runtime::default().run(asked).await;
    assert_eq!(
        value(&outcome),
        &json!([
            "gone",
            1,
            "read-file",
            false,
            "there is no server `nope`; the servers are `files`",
            "`server` must be a string, the name of a server"
        ])
    );
}

#[tokio::test]
async fn a_source_that_is_not_there_says_why() {
    let absent = BTreeMap::from([(SourceName::parse("files").unwrap(), "it died".to_owned())]);
    let catalog = Arc::new(Catalog::new([]).with_absent(absent));
    let asked = |script: &str| Run {
        catalog: catalog.clone(),
        ..run(script)
    };
    let outcome = Runtime::default()
        .run(asked("return sdk.files.read()"))
        .await;
    let error = outcome.result.unwrap_err();
    assert_eq!(error.phase, Phase::ApiCall);
    assert_eq!(error.message, "source `files` is not available: it died");
    let outcome = Runtime::default().run(asked("return files.read()")).await;
    let hint = outcome.result.unwrap_err().hint.unwrap();
    assert_eq!(hint, "source `files` is not available: it died");
}

#[tokio::test]
async fn scripts_can_ask_the_guide() {
    let script = r#"return { help(), search("pets"), docs("pets.ping") }"#;
    let asked = Run {
        guide: Some(Arc::new(Answers)),
        ..run(script)
    };
    let outcome = Runtime::default().run(asked).await;
    assert_eq!(
        value(&outcome),
        &json!(["helped", "searched pets", "docs of pets.ping"])
    );
    let alone = Runtime::default().run(run("return help()")).await;
    assert!(
        alone
            .result
            .unwrap_err()
            .message
            .contains("no documentation")
    );
}

/// A module as a source of tool scripts would make it.
struct Kit;

impl HostModule for Kit {
    fn name(&self) -> &'static str {
        "kit"
    }

    fn members(&self) -> Vec<HostMember> {
        let member = |name: &str, kind| HostMember {
            name: name.to_owned(),
            kind,
        };
        vec![
            member("version", HostKind::Value(json!({"major": 1}))),
            member(
                "add",
                HostKind::Function(Arc::new(|call| {
                    call.log(Level::Debug, "adding")?;
                    let numbers: Option<Vec<i64>> =
                        call.arguments.iter().map(Value::as_i64).collect();
                    let numbers =
                        numbers.ok_or_else(|| HostError::invalid("only whole numbers"))?;
                    Ok(json!(numbers.iter().sum::<i64>()))
                })),
            ),
            member(
                "at_once",
                HostKind::Async(Arc::new(|_| Box::pin(async { Ok(Value::Null) }))),
            ),
            member(
                "later",
                HostKind::Async(Arc::new(|arguments| {
                    Box::pin(async move {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                        match arguments.first() {
                            Some(value) => Ok(value.clone()),
                            None => {
                                Err(HostError::failed("nothing came").with_hint("give a value"))
                            }
                        }
                    })
                })),
            ),
        ]
    }
}

const TOOL: &str = r#"
tool = {
    name = "greet", version = "1.0", parameters = { { name = "who", type = "string", required = true } },
    execute = function(params, context)
        return { "hello " .. params.who, context.add(1, 2), kit.later("x") }
    end,
}
"#;

#[tokio::test]
async fn trusted_scripts_get_modules_and_agents_do_not() {
    let script = r#"
        local results = parallel({ function() return kit.later(1) end, function() return kit.add(1, 2) end })
        local _, invalid = pcall(kit.add, "x")
        local _, failed = pcall(kit.later)
        return { results, kit.version.major, invalid.phase, failed.message, failed.hint, pcall(function() kit.x = 1 end) }
    "#;
    let trusted = Run {
        modules: vec![Arc::new(Kit)],
        ..run(script)
    };
    let outcome = Runtime::default().run(trusted).await;
    assert_eq!(
        value(&outcome).as_array().unwrap()[..5],
        [
            json!([1, 3]),
            json!(1),
            json!("validation"),
            json!("nothing came"),
            json!("give a value"),
        ]
    );
    assert_eq!(value(&outcome)[5], false);
    assert_eq!(outcome.logs[0].level, Level::Debug);
    let agent = Runtime::default().run(run("return kit == nil")).await;
    assert_eq!(value(&agent), true);
}

#[tokio::test]
async fn a_tool_is_described_without_being_called() {
    let entry = EntryPoint::Describe {
        global: "tool".to_owned(),
    };
    let outcome = Runtime::default()
        .run(Run {
            entry: entry.clone(),
            ..run(TOOL)
        })
        .await;
    assert_eq!(value(&outcome)["name"], "greet");
    assert_eq!(value(&outcome)["parameters"][0]["required"], true);
    assert_eq!(value(&outcome)["functions"], json!(["execute"]));
    let none = Runtime::default()
        .run(Run {
            entry,
            ..run("return 1")
        })
        .await;
    assert!(
        none.result
            .unwrap_err()
            .message
            .contains("no global table `tool`")
    );
}

#[tokio::test]
async fn a_tool_is_called_with_params_and_context() {
    let entry = |function: &str| EntryPoint::Call {
        global: "tool".to_owned(),
        function: function.to_owned(),
        arguments: vec![
            Argument::Value(json!({"who": "ann"})),
            Argument::Module(Arc::new(Kit)),
        ],
    };
    let tool = |function| Run {
        entry: entry(function),
        modules: vec![Arc::new(Kit)],
        ..run(TOOL)
    };
    let outcome = Runtime::default().run(tool("execute")).await;
    assert_eq!(value(&outcome), &json!(["hello ann", 3, "x"]));
    let none = Runtime::default().run(tool("undo")).await;
    assert!(
        none.result
            .unwrap_err()
            .message
            .contains("no function `tool.undo`")
    );
}

#[tokio::test]
async fn a_long_script_compiles_and_runs() {
    let script = format!(
        "local t = {{}}\n{}return #t",
        "t[#t + 1] = 'some text'\n".repeat(3_000)
    );
    assert_eq!(value(&Runtime::default().run(run(&script)).await), 3_000);
}
