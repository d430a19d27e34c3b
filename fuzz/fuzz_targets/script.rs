//! Throws texts at the sandbox: whatever a script says, it ends in time, gives an outcome, and
//! the next script finds everything as it should be.
#![no_main]

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use libfuzzer_sys::fuzz_target;
use serde_json::json;
use toolscript_catalog::{
    Body, Call, CallError, Caller, Catalog, Entry, Function, FunctionName, Listing, Reply,
    SourceName,
};
use toolscript_luau::{Limits, Run, Runtime, ScriptResult};

/// Gives back what it gets, or fails when it is told to.
struct Echo;

#[async_trait]
impl Caller for Echo {
    async fn call(&self, call: Call) -> Result<Reply, CallError> {
        if call.function.name.as_str() == "fail" {
            let (headers, body) = (BTreeMap::new(), json!({"message": "no"}));
            return Err(CallError::Status { function: call.function, status: 500, headers, body });
        }
        Ok(Reply { value: call.body.unwrap_or_default(), next: None })
    }
}

struct Bench {
    tokio: tokio::runtime::Runtime,
    runtime: Runtime,
    catalog: Arc<Catalog>,
}

static BENCH: LazyLock<Bench> = LazyLock::new(|| {
    let named = |name: &str| Function { name: FunctionName::clean(name), ..Function::default() };
    let functions = vec![
        Function { body: Some(Body::default()), pages: true, ..named("echo") },
        named("fail"),
    ];
    let listing = Listing { functions, ..Listing::default() };
    let entry = Entry::new(SourceName::clean("pets"), listing);
    Bench {
        tokio: tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap(),
        runtime: Runtime::default(),
        catalog: Arc::new(Catalog::new([Arc::new(entry)])),
    }
});

fn run(script: &str, limits: Limits) -> Result<ScriptResult, String> {
    let run = Run { limits, ..Run::new(script, BENCH.catalog.clone(), Arc::new(Echo)) };
    let outcome = BENCH.tokio.block_on(BENCH.runtime.run(run));
    // Every outcome has a form in JSON.
    serde_json::to_string(&outcome).unwrap();
    outcome.result.map_err(|error| error.message)
}

fuzz_target!(|script: &str| {
    let limits = Limits { timeout_ms: 100, memory_mb: 8, max_log_bytes: 1 << 14, ..Limits::default() };
    let begun = Instant::now();
    let result = run(script, limits);
    assert!(begun.elapsed() < Duration::from_secs(5), "took {:?}", begun.elapsed());
    if let Err(message) = result {
        assert!(!message.contains("failed inside"), "{message}");
    }
    let next = run("return { leak == nil, ('x'):rep(2), pets.echo(1) }", Limits::default());
    assert_eq!(next, Ok(ScriptResult::Value(json!([true, "xx", 1]))));
});
