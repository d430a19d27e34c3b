//! The tools of the fake: each shows one behaviour.

use std::{io::Write as _, path::Path, sync::Arc, thread, time::Duration};

use serde_json::{Value, json};

use super::fake::{Fake, Out};

/// One call under way.
pub(super) struct Call<'a> {
    pub(super) fake: &'a Fake,
    pub(super) id: &'a Value,
    pub(super) params: &'a Value,
    pub(super) out: &'a Out,
}

type Outcome = Result<Value, (i64, String)>;

/// One page of the listing.
pub(super) fn page(fake: &Fake, cursor: Option<&str>) -> Outcome {
    if let Some(code) = fake.plan.exits_when_listed {
        die(code.into());
    }
    let tools = all(fake);
    let start: usize = cursor
        .map_or(Ok(0), str::parse)
        .map_err(|_| (-32602, "bad cursor".to_owned()))?;
    let size = if fake.plan.page == 0 {
        tools.len()
    } else {
        fake.plan.page
    };
    let end = (start + size).min(tools.len());
    let mut page = json!({"tools": tools[start..end]});
    if end < tools.len() {
        page["nextCursor"] = json!(end.to_string());
    } else if fake.plan.goes_in_circles {
        page["nextCursor"] = json!("0");
    }
    if fake.is_stateless() || fake.plan.ttl_ms != 0 {
        page["ttlMs"] = json!(fake.plan.ttl_ms);
        page["cacheScope"] = json!("private");
    }
    Ok(page)
}

fn all(fake: &Fake) -> Vec<Value> {
    let mut tools = own();
    if fake.state().has_extra_tool {
        tools.push(tool("extra", &json!({})));
    }
    let more = (0..fake.plan.more_tools).map(|number| {
        let properties =
            json!({"value": {"type": "string", "description": format!("Value {number}")}});
        tool(&format!("tool_{number:04}"), &properties)
    });
    tools.extend(more);
    tools
}

fn tool(name: &str, properties: &Value) -> Value {
    json!({
        "name": name,
        "description": format!("Does {name}.\nAnd nothing else."),
        "inputSchema": {"type": "object", "properties": properties},
    })
}

fn own() -> Vec<Value> {
    let text = json!({"text": {"type": "string", "description": "What to say"}});
    let mut echo = tool("echo", &text);
    echo["inputSchema"]["required"] = json!(["text"]);
    echo["annotations"] = json!({"readOnlyHint": true, "title": "Echo"});
    let number = json!({"type": "number"});
    let mut add = tool("add", &json!({"a": number, "b": number}));
    add["inputSchema"]["required"] = json!(["a", "b"]);
    add["outputSchema"] = json!({
        "type": "object",
        "properties": {"sum": {"$ref": "#/$defs/Sum"}},
        "required": ["sum"],
        "$defs": {"Sum": {"type": "number", "description": "The sum"}},
    });
    let marker = json!({"marker": {"type": "string"}});
    let mut flaky_safe = tool("flaky-safe", &marker);
    flaky_safe["annotations"] = json!({"idempotentHint": true});
    let code = json!({"code": {"type": "integer"}});
    let steps = json!({"steps": {"type": "integer"}, "every_ms": {"type": "integer"}});
    let plain = [
        "pid",
        "fail",
        "image",
        "several",
        "hang",
        "cancelled",
        "calls",
        "toggle",
        "ask",
        "malformed",
        "huge",
        "unknown-item",
        "refuse",
    ];
    let mut tools = vec![
        echo,
        add,
        flaky_safe,
        tool("flaky", &marker),
        tool("die", &code),
        tool("slow", &steps),
        tool("environment", &json!({"name": {"type": "string"}})),
        tool("complain", &json!({"text": {"type": "string"}})),
    ];
    tools.extend(plain.map(|name| tool(name, &json!({}))));
    tools
}

/// What a call gives; `None` where no answer comes, or it has been given.
pub(super) fn call(call: &Call<'_>) -> Option<Outcome> {
    let arguments = &call.params["arguments"];
    let text = |name: &str| arguments[name].as_str().unwrap_or_default();
    let outcome = match call.params["name"].as_str().unwrap_or_default() {
        "echo" => said(text("text")),
        "add" => {
            let number = |name: &str| arguments[name].as_f64().unwrap_or_default();
            let sum = number("a") + number("b");
            Ok(json!({
                "content": [{"type": "text", "text": format!("{{\"sum\":{sum}}}")}],
                "structuredContent": {"sum": sum},
            }))
        }
        "pid" => Ok(json!({"content": [], "structuredContent": {"pid": std::process::id()}})),
        "fail" => {
            Ok(json!({"content": [{"type": "text", "text": "it went wrong"}], "isError": true}))
        }
        "image" => {
            Ok(json!({"content": [{"type": "image", "mimeType": "image/png", "data": "AAEC"}]}))
        }
        "several" => Ok(json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "resource_link", "uri": "file:///two", "name": "two"},
        ]})),
        "unknown-item" => Ok(json!({"content": [{"type": "hologram", "depth": 3}]})),
        "refuse" => Err((-32602, "the arguments are odd".to_owned())),
        "malformed" => {
            (call.out)(json!({"jsonrpc": "2.0", "id": call.id, "error": "oops"}));
            return None;
        }
        "huge" => said(&"x".repeat(20 << 20)),
        "environment" => match std::env::var(text("name")) {
            Ok(value) => said(&value),
            Err(_) => Ok(json!({"content": []})),
        },
        "complain" => {
            drop(writeln!(std::io::stderr(), "{}", text("text")));
            said("done")
        }
        "hang" => {
            // Somebody still has to hold the line.
            call.fake.state().unanswered.push(Arc::clone(call.out));
            return None;
        }
        "cancelled" => {
            let was_cancelled = call.fake.wait_for(|state| !state.cancelled.is_empty());
            said(if was_cancelled { "yes" } else { "no" })
        }
        "calls" => said(&call.fake.calls().to_string()),
        "toggle" => {
            call.fake.change_tools();
            said("done")
        }
        "slow" => slow(call),
        "ask" => ask(call),
        "die" => die(arguments["code"].as_i64().unwrap_or(1)),
        "flaky" | "flaky-safe" => flaky(Path::new(text("marker"))),
        "extra" => said("extra"),
        name if name.starts_with("tool_") => said(name),
        name => Err((-32602, format!("no tool {name}"))),
    };
    Some(outcome)
}

#[expect(clippy::unnecessary_wraps, reason = "it is what most tools end with")]
fn said(text: &str) -> Outcome {
    Ok(json!({"content": [{"type": "text", "text": text}]}))
}

/// Takes its time and says how far it is.
fn slow(call: &Call<'_>) -> Outcome {
    let arguments = &call.params["arguments"];
    let steps = arguments["steps"].as_u64().unwrap_or(3);
    let every = Duration::from_millis(arguments["every_ms"].as_u64().unwrap_or(10));
    for step in 1..=steps {
        thread::sleep(every);
        (call.out)(json!({
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {
                "progressToken": call.params["_meta"]["progressToken"],
                "progress": step,
                "total": steps,
            },
        }));
    }
    said("done")
}

/// Has a question for a person, in the way of its era.
fn ask(call: &Call<'_>) -> Outcome {
    let question = json!({
        "mode": "form",
        "message": "What is your name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    });
    if call.fake.is_stateless() {
        let answer = &call.params["inputResponses"]["name"];
        if answer.is_object() && call.params["requestState"] == "here" {
            return said(&answer.to_string());
        }
        return Ok(json!({
            "resultType": "input_required",
            "inputRequests": {"name": {"method": "elicitation/create", "params": question}},
            "requestState": "here",
        }));
    }
    let id = format!("question-{}", call.id);
    (call.out)(json!({
        "jsonrpc": "2.0",
        "id": id,
        "method": "elicitation/create",
        "params": question,
    }));
    call.fake.wait_for(|state| state.answers.contains_key(&id));
    let answer = call.fake.state().answers.remove(&id).unwrap_or_default();
    match answer["error"]["message"].as_str() {
        Some(problem) => {
            Ok(json!({"content": [{"type": "text", "text": problem}], "isError": true}))
        }
        None => said(&answer["result"].to_string()),
    }
}

/// Ends the whole server in the middle of a call.
fn die(code: i64) -> ! {
    drop(writeln!(std::io::stderr(), "I cannot go on"));
    #[expect(clippy::exit, reason = "dying is what this tool does")]
    std::process::exit(i32::try_from(code).unwrap_or(1))
}

/// Ends the server the first time, and works the second.
fn flaky(marker: &Path) -> Outcome {
    if marker.exists() {
        return said("done");
    }
    std::fs::write(marker, "").expect("the marker can be written");
    die(3)
}
