//! The nouns of toolscript: sources, functions, types, calls and their errors.
//!
//! Everything else depends on this crate and this crate depends on nothing of
//! ours. It does no I/O, so all of it can be tested with plain values.

pub mod binary;
pub mod call;
pub mod catalog;
pub mod credential;
pub mod docs;
pub mod function;
pub mod name;
pub mod node;
pub mod person;
pub mod rate;
pub mod render;
pub mod schema;
pub mod search;
pub mod source;
pub mod suggest;
pub mod ty;
pub mod validate;

pub use call::{Call, CallContext, CallError, Doorway, ErrorCode, Level, Observer, Reply, Sign};
pub use catalog::{Catalog, Entry, Unknown};
pub use credential::{Credential, Credentials, Secret};
pub use function::{Body, Effect, Function, Link, Listing, Outcome, SourceInfo, Warning};
pub use name::{BadName, FunctionId, FunctionName, SourceName, TypeName};
pub use node::Node;
pub use person::{Answer, Form, Person, Question, Unreachable};
pub use rate::{BadRate, Period, Rate};
pub use source::{Caller, Condition, FunctionState, Source, Status};
pub use ty::{Field, Type, Types};
