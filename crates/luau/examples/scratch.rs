//! x
#[path = "../tests/fake/mod.rs"]
mod fake;
use std::time::*;
use toolscript_luau::*;
fn expand(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("$repeat(").into_iter().chain(rest.find("$byte(")).min() {
        out.push_str(&rest[..at]);
        let (arguments, after) = rest[at..].split_once('(').unwrap().1.split_once(")$").unwrap();
        match arguments.split_once(", ") {
            Some((count, text)) => out.push_str(&text.replace("\\n", "\n").repeat(count.parse().unwrap())),
            None => out.push(char::from(arguments.parse::<u8>().unwrap())),
        }
        rest = after;
    }
    out + rest
}
fn main() {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(async {
        tokio::spawn(go()).await.unwrap()
    })
}
async fn go() {
    let rt = Runtime::default();
    let cat = fake::catalog();
    for s in std::env::args().skip(1).collect::<Vec<_>>() {
        let text = if s.ends_with(".luau") { expand(&std::fs::read_to_string(&s).unwrap()) } else { s.clone() };
        let expect = text.lines().find_map(|l| l.strip_prefix("--! expect: ")).unwrap_or("").to_owned();
        let mut limits = serde_json::to_value(Limits { timeout_ms: 300, memory_mb: 16, ..Limits::default() }).unwrap();
        for l in text.lines().filter_map(|l| l.strip_prefix("--! limits: ")) {
            limits.as_object_mut().unwrap().extend(serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(l).unwrap());
        }
        let t = Instant::now();
        let o = rt.run(Run { limits: serde_json::from_value(limits).unwrap(), ..Run::new(text, cat.clone(), fake::Zoo::new()) }).await;
        let phase = match &o.result { Ok(_) => "ok", Err(e) => e.phase.word() };
        let mut shown = serde_json::to_string(&o).unwrap();
        shown.truncate(shown.floor_char_boundary(400));
        println!("{} {} {:.0}ms {s} {}", if expect.is_empty() || phase == expect { "    " } else { "BAD " }, phase, t.elapsed().as_secs_f64()*1e3, if phase == expect && std::env::var("V").is_err() { "" } else { &shown });
    }
}
