//! What a run may use, and what a caller may ask for.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::outcome::{Failure, Phase};

/// What one run may use. Each limit has an error of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// How long a run may take, calls and sleeping included.
    pub timeout_ms: u64,
    /// How much memory a script may hold.
    pub memory_mb: u64,
    /// How many calls a run may make.
    pub max_calls: u64,
    /// How many calls of a run may be under way at once.
    pub max_parallel: usize,
    /// How long a script may be.
    pub max_script_bytes: usize,
    /// How much a script may print.
    pub max_log_bytes: usize,
    /// How large a result, or a value handed to a function, may be as JSON.
    pub max_result_bytes: usize,
    /// How many values a result, or a value handed to a function, may hold.
    pub max_result_nodes: usize,
    /// How deep values may be nested; at most 200.
    pub max_depth: usize,
    /// How large a result may be before it is kept and a handle is given instead.
    pub max_inline_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout_ms: 30_000,
            memory_mb: 64,
            max_calls: 100,
            max_parallel: 16,
            max_script_bytes: 256 << 10,
            max_log_bytes: 256 << 10,
            max_result_bytes: 16 << 20,
            max_result_nodes: 1_000_000,
            max_depth: 100,
            max_inline_bytes: 32 << 10,
        }
    }
}

/// What a caller would like to have instead of the configured limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Asked {
    /// Another timeout.
    pub timeout_ms: Option<u64>,
    /// Another amount of memory.
    pub memory_mb: Option<u64>,
    /// Another number of calls.
    pub max_calls: Option<u64>,
    /// Another number of calls at once.
    pub max_parallel: Option<usize>,
    /// Another size above which a result is kept.
    pub max_inline_bytes: Option<usize>,
}

impl Limits {
    /// The most a caller may ask for, unless the configuration says otherwise.
    pub fn ceiling() -> Self {
        Self {
            timeout_ms: 300_000,
            memory_mb: 256,
            max_calls: 1_000,
            max_parallel: 64,
            max_inline_bytes: 1 << 20,
            ..Self::default()
        }
    }

    /// These limits with what a caller asked for, no further than `ceiling` (or than these
    /// limits themselves, where the configuration gives more than the ceiling).
    #[must_use]
    pub fn asked(&self, asked: &Asked, ceiling: &Limits) -> Limits {
        fn pick<N: Ord + Copy>(own: N, asked: Option<N>, ceiling: N) -> N {
            asked.map_or(own, |asked| asked.min(own.max(ceiling)))
        }
        Limits {
            timeout_ms: pick(self.timeout_ms, asked.timeout_ms, ceiling.timeout_ms),
            memory_mb: pick(self.memory_mb, asked.memory_mb, ceiling.memory_mb),
            max_calls: pick(self.max_calls, asked.max_calls, ceiling.max_calls),
            max_parallel: pick(self.max_parallel, asked.max_parallel, ceiling.max_parallel),
            max_inline_bytes: pick(
                self.max_inline_bytes,
                asked.max_inline_bytes,
                ceiling.max_inline_bytes,
            ),
            ..self.clone()
        }
    }

    /// When a run that starts now must be over.
    pub(crate) fn deadline(&self) -> Instant {
        // What comes after a year need not be told apart, and clocks have an end.
        const LONGEST: Duration = Duration::from_hours(365 * 24);
        Instant::now() + Duration::from_millis(self.timeout_ms).min(LONGEST)
    }

    /// How deep a conversion goes: the stack of a thread has an end.
    pub(crate) fn depth(&self) -> usize {
        const DEEPEST: usize = 200;
        self.max_depth.min(DEEPEST)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        usize::try_from(self.memory_mb.max(1))
            .unwrap_or(usize::MAX >> 20)
            .saturating_mul(1 << 20)
    }
}

/// A limit that was reached: the words are made here and only here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Exceeded {
    #[error(
        "the script did not finish within {0} ms; do less per script, or ask for a longer `timeout_ms`"
    )]
    Timeout(u64),
    #[error(
        "the script needs more than {0} MB of memory; handle the data in smaller pieces, or raise `limits.memory_mb`"
    )]
    Memory(u64),
    #[error(
        "the run may make {0} calls and this would be one more; do more per call, or raise `limits.max_calls`"
    )]
    Calls(u64),
    #[error(
        "the script has {found} bytes and may have {allowed}; split it, or raise `limits.max_script_bytes`"
    )]
    Script { found: usize, allowed: usize },
    #[error("the script prints more than {0} bytes; print less, or raise `limits.max_log_bytes`")]
    Log(usize),
    #[error(
        "too many scripts are busy where they cannot be paused; try again, without long loops in sort comparators, gsub callbacks and metamethods"
    )]
    Stuck,
    #[error("too many scripts are running; try again later")]
    Runs,
}

impl Exceeded {
    /// The key in the configuration; what scripts and programs tell limits apart by.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Timeout(_) => "timeout_ms",
            Self::Memory(_) => "memory_mb",
            Self::Calls(_) => "max_calls",
            Self::Script { .. } => "max_script_bytes",
            Self::Log(_) => "max_log_bytes",
            Self::Stuck => "max_stuck",
            Self::Runs => "max_runs",
        }
    }
}

impl From<Exceeded> for Failure {
    fn from(exceeded: Exceeded) -> Self {
        let phase = match exceeded {
            Exceeded::Timeout(_) => Phase::Timeout,
            _ => Phase::Limit,
        };
        Failure {
            limit: Some(exceeded.key()),
            ..Failure::new(phase, exceeded.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_gets_what_it_asks_up_to_the_ceiling() {
        let own = Limits::default();
        let ceiling = Limits {
            timeout_ms: 60_000,
            max_calls: 10,
            ..Limits::ceiling()
        };
        let asked = Asked {
            timeout_ms: Some(90_000),
            max_calls: Some(500),
            ..Asked::default()
        };
        let given = own.asked(&asked, &ceiling);
        assert_eq!(given.timeout_ms, 60_000);
        assert_eq!(given.max_calls, 100, "never less than what everybody has");
        assert_eq!(given.memory_mb, own.memory_mb);

        let less = Asked {
            timeout_ms: Some(5),
            ..Asked::default()
        };
        assert_eq!(own.asked(&less, &ceiling).timeout_ms, 5);
    }

    #[test]
    fn unknown_limits_are_refused() {
        assert!(serde_json::from_str::<Limits>(r#"{"timeout_ms": 5}"#).is_ok());
        assert!(serde_json::from_str::<Limits>(r#"{"timeout": 5}"#).is_err());
    }
}
