//! The seam between the program and the outside: one trait per direction.

use std::path::PathBuf;

use async_trait::async_trait;

use crate::{Call, CallContext, CallError, FunctionId, Listing, Reply};

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

    /// How it is connected, for a source that is something one connects to.
    fn status(&self) -> Option<Status> {
        None
    }

    /// The files its listing was made from; when one of them changes it is listed again.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// What its calls will be missing, such as a credential nobody has set.
    fn lacks(&self) -> Option<String> {
        None
    }

    /// How each of its functions stands, for a source whose functions an operator writes one by
    /// one; as of the last listing.
    fn states(&self) -> Vec<FunctionState> {
        Vec::new()
    }

    /// Whether it tries again by itself after it could not list, and says when it has succeeded.
    fn comes_back(&self) -> bool {
        false
    }
}

/// How a source is connected at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// How it is spoken to: `stdio`, `http` or `sse`.
    pub transport: String,
    /// Whether it is used at all.
    pub enabled: bool,
    /// Whether there is a connection.
    pub connected: bool,
    /// Why there is none, where one was tried.
    pub error: Option<String>,
}

/// How one function of a source stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionState {
    /// What the function is called, or would be.
    pub name: String,
    /// The file it comes from.
    pub path: PathBuf,
    /// Whether it can be called.
    pub condition: Condition,
    /// The function that does its work, where it is only another name for one.
    pub refers_to: Option<FunctionId>,
}

/// Whether a function can be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// It can.
    Good,
    /// It can, but its latest version is broken: the one before is used.
    Kept {
        /// What is wrong with the latest version, and where.
        problem: String,
    },
    /// It cannot.
    Broken {
        /// What is wrong with it, and where.
        problem: String,
    },
}

/// The one door through which a script may reach a source.
#[async_trait]
pub trait Caller: Send + Sync {
    /// Checks, counts, records and performs a call.
    async fn call(&self, call: Call) -> Result<Reply, CallError>;
}
