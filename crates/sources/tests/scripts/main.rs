//! Tool scripts and toolkits from the outside: what they list, what they do, how they fail.

#![expect(clippy::unwrap_used, reason = "a step that fails must stop the test")]

mod contract;
mod examples;
mod hosts;
mod stage;
mod toolkits;
