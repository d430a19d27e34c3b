//! OpenAPI sources as their users meet them: documents in, functions, messages and files out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_input;
mod cached;
mod documents;
mod fixtures;
mod functions;
mod generated;
mod pages;
mod references;
mod source;
