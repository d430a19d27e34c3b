//! The leanest MCP client there is: lines on the pipes of a child, one thread, no checks.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

pub(crate) struct Pipe {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
    number: u64,
}

impl Pipe {
    /// Starts a server and greets it.
    pub(crate) fn start(program: &Path, arguments: &[String]) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            line: String::new(),
            number: 0,
        };
        pipe.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            }),
        );
        pipe.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        pipe
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Calls a tool and waits for its answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool many times without waiting in between.
    pub(crate) fn pipeline(&mut self, times: usize, tool: &str, arguments: &Value) {
        // More would fill the pipes, and then both sides wait for the other to read.
        const MOST_IN_FLIGHT: usize = 100;
        let params = json!({"name": tool, "arguments": arguments});
        for sent in 0..times + MOST_IN_FLIGHT {
            if sent < times {
                self.send("tools/call", &params);
            }
            if MOST_IN_FLIGHT <= sent {
                self.answer();
            }
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.send(method, params);
        self.answer()
    }

    fn send(&mut self, method: &str, params: &Value) {
        self.number += 1;
        let id = self.number;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    fn write(&mut self, message: &Value) {
        let mut line = serde_json::to_vec(message).unwrap();
        line.push(b'\n');
        self.input.write_all(&line).unwrap();
    }

    /// The next answer; notifications are skipped.
    fn answer(&mut self) -> Value {
        loop {
            self.line.clear();
            self.output.read_line(&mut self.line).unwrap();
            let mut message: Value = serde_json::from_str(&self.line).unwrap();
            if message.get("id").is_some() {
                assert!(message.get("error").is_none(), "{message}");
                return message["result"].take();
            }
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // Both fail only where the process is gone already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
