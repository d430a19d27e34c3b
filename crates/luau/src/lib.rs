//! The sandbox: runs Luau scripts that call the functions of a catalog.
//!
//! This crate knows a [`Catalog`](toolscript_catalog::Catalog) and a
//! [`Caller`](toolscript_catalog::Caller) and nothing else of ours. It does no I/O: whatever
//! leaves the sandbox leaves through the caller.
//!
//! ```
//! # use std::sync::Arc;
//! # use toolscript_catalog::{Call, CallError, Caller, Catalog, Reply};
//! use toolscript_luau::{Limits, Run, Runtime, ScriptResult};
//! # struct Nobody;
//! # #[async_trait::async_trait]
//! # impl Caller for Nobody {
//! #     async fn call(&self, _: Call) -> Result<Reply, CallError> { Ok(Reply::default()) }
//! # }
//! # #[tokio::main]
//! # async fn main() {
//! # let (catalog, caller) = (Arc::new(Catalog::default()), Arc::new(Nobody));
//! let runtime = Runtime::default(); // one per process
//!
//! let run = Run {
//!     limits: Limits { timeout_ms: 5_000, ..Limits::default() },
//!     owner: "ann".to_owned(),
//!     ..Run::new("return { sum = 1 + 2 }", catalog, caller)
//! };
//! let outcome = runtime.run(run).await;
//!
//! assert_eq!(outcome.result, Ok(ScriptResult::Value(serde_json::json!({ "sum": 3 }))));
//! # }
//! ```

mod compile;
mod driver;
mod failure;
mod host;
pub mod library;
mod limits;
mod outcome;
mod pace;
mod parallel;
mod pool;
mod prelude;
mod results;
mod run;
mod runtime;
mod sandbox;
mod sdk;
mod session;
mod shape;
mod text;
mod value;
mod vm;
mod watch;

pub use host::{
    Argument, HostAsync, HostCall, HostError, HostFunction, HostKind, HostMember, HostModule,
};
pub use limits::{Asked, Limits};
pub use outcome::{Kept, LogLine, Outcome, Phase, ScriptError, ScriptResult, Stats, TraceLine};
pub use results::{KeptResult, ResultSettings, Results};
pub use run::{EntryPoint, Guide, NoServer, Progress, Run};
pub use runtime::{Runtime, RuntimeSettings};
