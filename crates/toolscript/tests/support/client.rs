//! `Client`: a real MCP client, written by others, under remote control.
//!
//! The programs are in `tests/clients`; `tests/clients/python/client.py` says how to talk to them.

use std::{collections::HashMap, path::PathBuf, process::Command};

use serde_json::{Map, Value, json};

use super::{
    installed::{installed, repository_tests},
    program::Program,
    stage::{Serving, Stage},
};

/// Whose client it is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kit {
    /// `mcp` from `PyPI`.
    Python,
    /// `@modelcontextprotocol/sdk` from npm, the 1.x line.
    TypeScript1,
    /// `@modelcontextprotocol/client` from npm, the 2.x line.
    TypeScript2,
}

/// Which half of the protocol's history it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// With a handshake and sessions.
    Older,
    /// Without either.
    Newer,
}

/// A connected client.
pub(crate) struct Client {
    program: Program,
    /// What the server said of itself.
    pub(crate) connected: Value,
    waiting: HashMap<u64, Value>,
    last: u64,
}

impl Client {
    /// Connects to a server, or starts one on standard input and output where none is given.
    pub(crate) fn connect(kit: Kit, era: Era, stage: &Stage, serving: Option<&Serving>) -> Self {
        Self::start(kit.command(), era, stage, serving)
    }

    /// Connects with a user who gives the same answer to every question.
    pub(crate) fn connect_with_user(
        kit: Kit,
        era: Era,
        stage: &Stage,
        serving: Option<&Serving>,
        answer: &Value,
    ) -> Self {
        let mut command = kit.command();
        command.env("ANSWER", answer.to_string());
        Self::start(command, era, stage, serving)
    }

    fn start(mut command: Command, era: Era, stage: &Stage, serving: Option<&Serving>) -> Self {
        command.arg(if era == Era::Older { "older" } else { "newer" });
        match serving {
            Some(serving) => command.args(["http", &serving.url]),
            None => command.arg("stdio").args(stage.command_line()),
        };
        let mut program = Program::start(stage.at_home(&mut command));
        let Some(line) = program.stdout.next() else {
            let (_, heard) = program.finish();
            panic!("the client did not connect:\n{heard}");
        };
        let connected = parse(&line)["connected"].take();
        Self {
            program,
            connected,
            waiting: HashMap::new(),
            last: 0,
        }
    }

    /// Asks for something and waits for the answer.
    pub(crate) fn ask(&mut self, request: Value) -> Value {
        let id = self.send(request);
        self.answer(id)
    }

    /// Calls a tool and waits for its result.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask(json!({"do": "call_tool", "name": tool, "arguments": arguments}));
        result(answer)
    }

    /// Asks for something; the answer is fetched with [`Self::answer`].
    pub(crate) fn send(&mut self, mut request: Value) -> u64 {
        self.last += 1;
        request["id"] = json!(self.last);
        self.program.say(&request.to_string());
        self.last
    }

    /// Calls a request back.
    pub(crate) fn cancel(&mut self, id: u64) {
        self.program
            .say(&json!({"do": "cancel", "id": id}).to_string());
    }

    /// The answer to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            if let Some(answer) = self.waiting.remove(&id) {
                return answer;
            }
            let line = self
                .program
                .stdout
                .next()
                .expect("the client is still there");
            let answer = parse(&line);
            self.waiting.insert(answer["id"].as_u64().unwrap(), answer);
        }
    }

    /// Disconnects and gives everything the client and a server it started wrote.
    pub(crate) fn finish(self) -> String {
        let (status, heard) = self.program.finish();
        assert!(status.success(), "the client ended with {status}:\n{heard}");
        heard
    }
}

/// The result in an answer.
#[track_caller]
pub(crate) fn result(mut answer: Value) -> Value {
    assert!(answer["result"].is_object(), "{answer:#}");
    answer["result"].take()
}

/// The failure in an answer: `{code, message}`.
#[track_caller]
pub(crate) fn failure(mut answer: Value) -> Map<String, Value> {
    let Value::Object(failure) = answer["failure"].take() else {
        panic!("{answer:#}")
    };
    failure
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"))
}

impl Kit {
    fn command(self) -> Command {
        let home = home();
        let programs = repository_tests("clients");
        match self {
            Self::Python => {
                let mut command = Command::new(home.join("venv/bin/python"));
                command.arg(programs.join("python/client.py"));
                command
            }
            Self::TypeScript1 | Self::TypeScript2 => {
                let mut command = Command::new(home.join("bin/node"));
                command.env("NODE_PATH", home.join("node_modules"));
                command.arg(programs.join("typescript/client.cjs"));
                command.arg(if matches!(self, Self::TypeScript1) {
                    "sdk"
                } else {
                    "client"
                });
                command
            }
        }
    }
}

fn home() -> PathBuf {
    let pins = [
        "clients/setup",
        "clients/python/requirements.txt",
        "clients/typescript/package.json",
    ];
    installed("clients", &pins)
}
