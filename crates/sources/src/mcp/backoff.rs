//! How long to wait before trying again: 1 s, doubling to 60 s.

use std::time::Duration;

/// The first wait.
const FIRST: Duration = Duration::from_secs(1);
/// The longest wait.
const LONGEST: Duration = Duration::from_mins(1);
/// Whoever held out for this long starts from the beginning.
const STABLE: Duration = Duration::from_mins(5);

/// The waits between attempts.
#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(super) fn new() -> Self {
        Self { next: FIRST }
    }

    /// The wait that is due now; the one after it is twice as long.
    pub(super) fn next(&mut self) -> Duration {
        let wait = self.next;
        self.next = (2 * wait).min(LONGEST);
        wait
    }

    /// What was tried worked for this long.
    pub(super) fn held_for(&mut self, time: Duration) {
        if STABLE <= time {
            self.next = FIRST;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_start_anew_after_stable_minutes() {
        let mut backoff = Backoff::new();
        let waits: Vec<u64> = (0..8).map(|_| backoff.next().as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        backoff.held_for(Duration::from_secs(299));
        assert_eq!(backoff.next().as_secs(), 60);
        backoff.held_for(Duration::from_mins(5));
        assert_eq!(backoff.next().as_secs(), 1);
    }
}
