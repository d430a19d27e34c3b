//! The seam between the program and the outside: one trait per direction.

use async_trait::async_trait;

use crate::{Call, CallContext, CallError, Listing, Reply};

/// Something that offers functions: an API, an MCP server, a folder of scripts.
///
/// A source describes and performs. It never decides whether a call may
/// happen; that is the dispatcher's work.
#[async_trait]
pub trait Source: Send + Sync {
    /// Asks the outside what it offers right now.
    async fn list(&self) -> Result<Listing, CallError>;

    /// Performs a call that has already been checked and allowed.
    ///
    /// Dropping the future cancels the call.
    async fn call(&self, cx: &CallContext, call: Call) -> Result<Reply, CallError>;

    /// Lets go of processes and connections.
    async fn close(&self) {}
}

/// The one door through which a script may reach a source.
#[async_trait]
pub trait Caller: Send + Sync {
    /// Checks, counts, records and performs a call.
    async fn call(&self, call: Call) -> Result<Reply, CallError>;
}
