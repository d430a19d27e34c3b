//! What a conversion may use up.

use std::time::Instant;

use super::bad::{BadValue, Problem};
use crate::{limits::Exceeded, run::State};

/// What a conversion may still use up.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    nodes: usize,
    bytes: usize,
    allowed_nodes: usize,
    allowed_bytes: usize,
    pub(super) depth: usize,
    time: Time,
}

impl Budget {
    pub(crate) fn of(state: &State) -> Self {
        let limits = &state.limits;
        Self::new(state, limits.max_result_nodes, limits.max_result_bytes)
    }

    pub(crate) fn new(state: &State, nodes: usize, bytes: usize) -> Self {
        Self {
            nodes,
            bytes,
            allowed_nodes: nodes,
            allowed_bytes: bytes,
            depth: state.limits.depth(),
            time: Time::of(state),
        }
    }

    pub(super) fn node(&mut self) -> Result<(), BadValue> {
        self.nodes = self
            .nodes
            .checked_sub(1)
            .ok_or_else(|| BadValue::new(Problem::Nodes(self.allowed_nodes)))?;
        self.time.spend()?;
        self.bytes(2)
    }

    pub(super) fn bytes(&mut self, bytes: usize) -> Result<(), BadValue> {
        self.bytes = self
            .bytes
            .checked_sub(bytes)
            .ok_or_else(|| BadValue::new(Problem::Bytes(self.allowed_bytes)))?;
        Ok(())
    }
}

/// The time of the run: a conversion asks no interrupt, so it looks at the clock now and then.
#[derive(Debug, Clone)]
pub(super) struct Time {
    deadline: Instant,
    timeout_ms: u64,
    spent: u32,
}

impl Time {
    /// How many values are converted between two looks at the clock.
    const LOOK: u32 = 4096;

    pub(super) fn of(state: &State) -> Self {
        Self {
            deadline: state.deadline,
            timeout_ms: state.limits.timeout_ms,
            spent: 0,
        }
    }

    pub(super) fn spend(&mut self) -> Result<(), BadValue> {
        self.spent += 1;
        if self.spent.is_multiple_of(Self::LOOK) && self.deadline <= Instant::now() {
            return Err(BadValue::new(Problem::Limit(Exceeded::Timeout(
                self.timeout_ms,
            ))));
        }
        Ok(())
    }
}
