//! Development only: fake peers the tests of all crates share.
//!
//! Every peer listens on a free loopback port, remembers the requests it saw and goes away
//! when it is dropped.

#![expect(
    clippy::expect_used,
    reason = "a peer that cannot start must stop the test that needs it"
)]

pub mod built;
pub mod canned;
pub mod echo;
pub mod mcp;
pub mod oauth;
pub mod recorded;
pub mod rude;
pub mod sample;
pub mod server;

pub use canned::Canned;
pub use oauth::Guarded;
pub use recorded::Recorded;
pub use sample::Sample;
pub use server::Server;
