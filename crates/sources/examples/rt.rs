//! tmp
use std::path::PathBuf;
use toolscript_sources::{Context, openapi::*, outbound::Outbound};
fn main() {
    let rt = tokio::runtime::Runtime::new().unwrap();
    let cx = Context {
        outbound: Outbound::new(),
        cache: None,
        folder: PathBuf::new(),
    };
    let spec = std::env::args().nth(1).unwrap();
    let one = rt
        .block_on(compile(
            &cx,
            None,
            &Settings {
                spec: Some(spec),
                timeout: 1.0,
                ..Settings::default()
            },
        ))
        .unwrap();
    let d = PathBuf::from("/tmp/load/rt");
    write_generated(&d, std::slice::from_ref(&one)).unwrap();
    let two = read_generated(&d).unwrap().remove(0);
    std::fs::write(
        "/tmp/load/a.json",
        serde_json::to_string_pretty(&one.listing).unwrap(),
    )
    .unwrap();
    std::fs::write(
        "/tmp/load/b.json",
        serde_json::to_string_pretty(&two.listing).unwrap(),
    )
    .unwrap();
    for w in &one.listing.warnings {
        println!("{}: {}", w.place, w.reason);
    }
}
