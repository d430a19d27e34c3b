//! The program from outside: what it prints, and the code it ends with.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a step that fails must stop the test that needs it"
)]

mod bad_input;
mod demo;
mod discover;
mod exec;
mod generate;
mod help;
mod login;
mod sandbox;
mod serve;
mod server;
mod stdio;
mod tool;
