//! OpenAPI sources as their users meet them: documents in, functions, messages and files out.

mod bad_input;
mod cached;
mod documents;
mod fixtures;
mod functions;
mod generated;
mod references;
mod source;
