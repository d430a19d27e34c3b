//! Tool scripts and toolkits from the outside: what they list, what they do, how they fail.

#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a step that fails must stop the test, and `with(json!(…))` reads best"
)]

mod contract;
mod examples;
mod hosts;
mod stage;
mod toolkits;
