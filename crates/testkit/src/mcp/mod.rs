//! A fake MCP server that does what its plan says, well or badly: as a program on pipes
//! ([`program`]) or behind an address ([`Remote`]).

mod fake;
mod remote;
mod stdio;
mod tools;

pub use fake::Fake;
pub use remote::Remote;
pub use stdio::serve;

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use serde::{Deserialize, Serialize};

use crate::built::{Target, built};

/// What a fake server does. The default is a well-behaved server of the old era.
#[expect(
    clippy::struct_excessive_bools,
    reason = "vices are independent of one another"
)]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// Which era it speaks.
    pub era: Era,
    /// How long it takes to begin, in milliseconds.
    pub start_after_ms: u64,
    /// It reads and says nothing.
    pub is_silent: bool,
    /// It does not answer questions it does not know.
    pub ignores_unknown: bool,
    /// What it prints before anything else.
    pub banner: Vec<String>,
    /// It answers everything with this line.
    pub garbage: Option<String>,
    /// It ends at once with this code.
    pub exits_with: Option<i32>,
    /// It ends with this code when it is asked for its tools.
    pub exits_when_listed: Option<i32>,
    /// How many lines it writes to stderr when it begins.
    pub stderr_lines: usize,
    /// It stays although its input has closed.
    pub ignores_the_end: bool,
    /// It starts another process, which would run for a long time.
    pub starts_another: bool,
    /// How many numbered tools it has besides its own.
    pub more_tools: usize,
    /// How many tools go on a page; zero puts all on one.
    pub page: usize,
    /// Its pages lead back to the first.
    pub goes_in_circles: bool,
    /// For how long it says its listing holds; zero does not say.
    pub ttl_ms: u64,
}

/// Which era a fake speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Era {
    /// `initialize` first.
    #[default]
    Handshake,
    /// Every request alone.
    Stateless,
    /// Whichever the first message asks for.
    Both,
}

impl Plan {
    /// The arguments that make [`program`] follow this plan.
    pub fn arguments(&self) -> Vec<String> {
        vec![serde_json::to_string(self).expect("a plan is plain data")]
    }
}

/// The path of the fake server as a program, built if need be.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built(Target::Binary("fake-mcp")))
}
