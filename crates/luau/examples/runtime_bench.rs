//! Measures the sandbox: a trivial script at three catalog sizes, the bridge beside `serde_json`,
//! and ten thousand scripts that wait at once. Prints plain lines; run it with `--release`.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]
#![expect(clippy::unwrap_used, reason = "a measurement that fails may say so")]

use std::{
    fs,
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolscript_catalog::{
    Call, CallError, Caller, Catalog, Entry, Field, Function, FunctionName, Listing, Reply,
    SourceName, Type,
};
use toolscript_luau::{Limits, Outcome, Run, Runtime, RuntimeSettings};

/// Answers at once with rows, or, for `slow`, when it is let go.
struct Upstream {
    rows: Value,
    gate: Semaphore,
    arrived: AtomicUsize,
}

#[async_trait]
impl Caller for Upstream {
    async fn call(&self, call: Call) -> Result<Reply, CallError> {
        if call.function.name.as_str() == "slow" {
            self.arrived.fetch_add(1, Relaxed);
            drop(self.gate.acquire().await);
            return Ok(Reply::value(json!(1)));
        }
        Ok(Reply::value(self.rows.clone()))
    }
}

fn upstream(rows: usize) -> Arc<Upstream> {
    let row = |id| {
        json!({
            "id": id, "name": format!("customer {id}"), "email": format!("c{id}@example.com"),
            "active": id % 3 == 0, "balance": 12.5, "tags": ["new", "paying"],
            "address": {"street": "Main Street 5", "city": "Springfield", "zip": "12345"},
        })
    };
    let rows = (0..rows).map(row).collect();
    Arc::new(Upstream {
        rows,
        gate: Semaphore::new(0),
        arrived: AtomicUsize::new(0),
    })
}

fn catalog(functions: usize) -> Arc<Catalog> {
    let function = |name: String| {
        let mut function = Function {
            name: FunctionName::clean(&name),
            ..Function::default()
        };
        function.params.fields = vec![Field::optional("limit", Type::integer())];
        function
    };
    let names = ["rows".to_owned(), "slow".to_owned()];
    let more = (names.len()..functions).map(|number| format!("function_{number}"));
    let functions = names.into_iter().chain(more).map(function).collect();
    let listing = Listing {
        functions,
        ..Listing::default()
    };
    let name = SourceName::parse("api").unwrap();
    Arc::new(Catalog::new([Arc::new(Entry::new(name, listing))]))
}

/// CPU time of this thread so far, in microseconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "a program that runs for minutes"
)]
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// Resident memory of the process.
fn resident() -> usize {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Wall and CPU time of single executions, in microseconds.
#[derive(Default)]
struct Samples {
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

impl Samples {
    fn line(mut self, what: &str) {
        let mut percentile = |samples: fn(&mut Self) -> &mut Vec<f64>, part: f64| {
            let samples = samples(&mut self);
            samples.sort_by(f64::total_cmp);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "an index"
            )]
            let at = (samples.len() as f64 * part) as usize;
            samples[at.min(samples.len() - 1)]
        };
        let (wall_50, wall_99) = (
            percentile(|s| &mut s.wall, 0.5),
            percentile(|s| &mut s.wall, 0.99),
        );
        let (cpu_50, cpu_99) = (
            percentile(|s| &mut s.cpu, 0.5),
            percentile(|s| &mut s.cpu, 0.99),
        );
        println!(
            "{what:<44} cpu p50 {cpu_50:>8.1} us  p99 {cpu_99:>8.1} us   wall p50 {wall_50:>8.1} us  p99 {wall_99:>8.1} us"
        );
    }
}

/// Runs a script many times.
async fn measure(runtime: &Runtime, run: &Run) -> Samples {
    let mut samples = Samples::default();
    for number in 0..6_000 {
        let run = run.clone();
        let (begun, before) = (Instant::now(), cpu());
        check(&runtime.run(run).await);
        let (spent, took) = (cpu() - before, begun.elapsed());
        // The first ones warm up.
        if 1_000 <= number {
            samples.cpu.push(spent);
            samples.wall.push(took.as_secs_f64() * 1e6);
        }
    }
    samples
}

fn check(outcome: &Outcome) {
    assert!(outcome.result.is_ok(), "{outcome:?}");
}

async fn trivial() {
    let caller = upstream(0);
    for functions in [3, 1_000, 20_000] {
        let (runtime, catalog) = (Runtime::default(), catalog(functions));
        for (name, script) in [
            ("trivial script", "return 1 + 1"),
            ("script with one call", "return #api.rows()"),
        ] {
            let run = Run::new(script, catalog.clone(), caller.clone());
            let samples = measure(&runtime, &run).await;
            samples.line(&format!("{name}, {functions} functions"));
        }
    }
}

/// CPU times of one thing, taken in turn with those of others so that all see the same machine.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    fn take<T>(&mut self, body: impl FnOnce() -> T) {
        let before = cpu();
        drop(black_box(body()));
        self.0.push(cpu() - before);
    }

    /// The first quarter: what it takes when nobody is in the way.
    fn typical(&mut self) -> f64 {
        self.0.sort_by(f64::total_cmp);
        self.0[self.0.len() / 4]
    }
}

async fn bridge() {
    const SCRIPTS: [&str; 3] = [
        "return 1",
        "api.rows()",
        "local rows = api.rows() return rows",
    ];
    let caller = upstream(1_000);
    let text = caller.rows.to_string();
    let (runtime, catalog) = (Runtime::default(), catalog(3));
    let limits = Limits {
        max_inline_bytes: usize::MAX,
        ..Limits::default()
    };
    let runs = SCRIPTS.map(|script| Run {
        limits: limits.clone(),
        ..Run::new(script, catalog.clone(), caller.clone())
    });
    let mut scripts: [Times; 3] = Default::default();
    let (mut copy, mut parse, mut print) = (Times::default(), Times::default(), Times::default());
    for _ in 0..400 {
        for (run, times) in runs.iter().zip(&mut scripts) {
            let (run, before) = (run.clone(), cpu());
            check(&runtime.run(run).await);
            times.0.push(cpu() - before);
        }
        copy.take(|| caller.rows.clone());
        parse.take(|| serde_json::from_str::<Value>(&text).unwrap());
        print.take(|| serde_json::to_string(&caller.rows).unwrap());
    }
    let [nothing, inward, both] = scripts.map(|mut times| times.typical());
    let (copy, parse, print) = (copy.typical(), parse.typical(), print.typical());
    // A call copies the rows, and a result is measured by printing it to nowhere.
    let (inward, outward) = (inward - nothing - copy, both - inward - print);
    println!(
        "1,000 rows, {} bytes: serde_json parses {parse:.0} us, prints {print:.0} us; \
         JSON to Luau {inward:.0} us ({:.2}x parsing), Luau to JSON {outward:.0} us ({:.2}x parsing)",
        text.len(),
        inward / parse,
        outward / parse,
    );
}

async fn waiting(scripts: usize) {
    let (caller, catalog) = (upstream(0), catalog(3));
    let settings = RuntimeSettings {
        max_idle_vms: 0,
        ..RuntimeSettings::default()
    };
    let runtime = Runtime::new(settings);
    let limits = Limits {
        timeout_ms: 300_000,
        ..Limits::default()
    };
    let (memory, begun) = (resident(), Instant::now());
    let runs: Vec<_> = (0..scripts)
        .map(|_| {
            let run = Run {
                limits: limits.clone(),
                ..Run::new("return api.slow()", catalog.clone(), caller.clone())
            };
            let runtime = runtime.clone();
            tokio::spawn(async move { runtime.run(run).await })
        })
        .collect();
    while caller.arrived.load(Relaxed) < scripts {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let each = resident().saturating_sub(memory) / scripts;
    let started = begun.elapsed();
    let spinner = {
        let run = Run {
            limits: Limits {
                timeout_ms: 500,
                ..limits.clone()
            },
            ..Run::new(
                "table.sort({ 2, 1 }, function() while true do end end)",
                catalog.clone(),
                caller.clone(),
            )
        };
        let runtime = runtime.clone();
        tokio::spawn(async move { runtime.run(run).await })
    };
    let released = Instant::now();
    caller.gate.add_permits(scripts);
    for run in runs {
        check(&run.await.unwrap());
    }
    let finished = released.elapsed();
    assert!(spinner.await.unwrap().result.is_err());
    println!(
        "{scripts} scripts waiting at once: {} KiB each, started in {:.2} s, all finished {:.2} s after the answer beside a spinning script",
        each / 1024,
        started.as_secs_f64(),
        finished.as_secs_f64(),
    );
}

fn main() {
    let one = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    one.block_on(async {
        trivial().await;
        bridge().await;
    });
    let several = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    several.block_on(async { tokio::spawn(waiting(10_000)).await.unwrap() });
}
