//! The fake MCP server as a program: `fake-mcp '{"era": "Both", "start_after_ms": 100}'`.

use std::process::ExitCode;

use toolscript_testkit::mcp::{Plan, serve};

fn main() -> ExitCode {
    let plan = std::env::args().nth(1);
    let plan = plan.map_or_else(|| Ok(Plan::default()), |plan| serde_json::from_str(&plan));
    match plan {
        Ok(plan) => serve(plan),
        Err(_) => ExitCode::from(2),
    }
}
