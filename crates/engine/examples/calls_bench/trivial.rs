//! A trivial script over stdio, with catalogs of three sizes.

use std::{fs, path::Path, time::Instant};

use serde_json::{Map, Value, json};

use crate::{
    pipe::Pipe,
    samples::{Samples, cpu_of, microseconds},
};

const TIMES: usize = 3_000;

pub(crate) fn over_stdio(program: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let mut walls = Vec::new();
    for functions in [3, 1_000, 20_000] {
        let file = folder.path().join(format!("api{functions}.json"));
        fs::write(&file, document(functions).to_string()).unwrap();
        let arguments = [
            "run".to_owned(),
            "--quiet".to_owned(),
            format!("api={}", file.display()),
        ];
        let mut samples = measure(program, &arguments);
        samples.line(&format!("trivial script over stdio, {functions} functions"));
        walls.push(samples.wall());
    }
    let most = walls.iter().copied().fold(f64::MIN, f64::max);
    let least = walls.iter().copied().fold(f64::MAX, f64::min);
    println!(
        "  p50 {least:.0} to {most:.0} us wall (wanted <= 200), {:.0} % apart from 3 to 20,000 functions (wanted <= 20)",
        (most / least - 1.0) * 100.0
    );
}

fn measure(program: &Path, arguments: &[String]) -> Samples {
    let mut server = Pipe::start(program, arguments);
    let script = json!({"script": "return 1 + 1"});
    for _ in 0..TIMES / 10 {
        server.call("execute_script", &script);
    }
    let mut samples = Samples::default();
    for _ in 0..TIMES {
        let before = cpu_of(server.process());
        let begun = Instant::now();
        let answer = server.call("execute_script", &script);
        let wall = microseconds(begun);
        samples.add(wall, cpu_of(server.process()) - before);
        assert_eq!(answer["structuredContent"]["result"], 2, "{answer}");
    }
    samples
}

/// An API with this many operations.
fn document(operations: usize) -> Value {
    let operation = |number: usize| {
        let operation = json!({
            "operationId": format!("getThing{number}"),
            "tags": [format!("group{}", number % 50)],
            "summary": format!("Gives thing number {number}"),
            "parameters": [
                {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}},
                {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 100}},
            ],
            "responses": {"200": {"description": "It", "content": {"application/json": {
                "schema": {"$ref": "#/components/schemas/Thing"},
            }}}},
        });
        (format!("/things{number}/{{id}}"), json!({"get": operation}))
    };
    let paths: Map<String, Value> = (0..operations).map(operation).collect();
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Things", "version": "1"},
        "servers": [{"url": "http://127.0.0.1:9"}],
        "paths": paths,
        "components": {"schemas": {"Thing": {"type": "object", "properties": {
            "id": {"type": "integer"}, "name": {"type": "string"},
        }}}},
    })
}
