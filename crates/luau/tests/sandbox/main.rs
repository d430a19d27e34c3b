//! The sandbox from outside: scripts in, outcomes out.
#![expect(clippy::unwrap_used, reason = "a test says so when it fails")]

mod fake;
mod runs;
mod scripts;
mod values;
