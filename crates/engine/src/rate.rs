//! Rate limits: one bucket of tokens for each function and caller.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use toolscript_catalog::{CallError, FunctionId, Rate};

/// How many buckets are kept. Full ones say nothing and go first.
const MOST_BUCKETS: usize = 50_000;

/// Who used what how often of late.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    buckets: Mutex<HashMap<(FunctionId, String), Bucket>>,
}

/// What is left at a moment: a full bucket is a whole period's worth.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    rate: Rate,
    tokens: f64,
    at: Instant,
}

impl Rates {
    /// Uses one token of a caller, or says when there will be one.
    pub(crate) fn take(
        &self,
        function: &FunctionId,
        owner: &str,
        rate: Rate,
    ) -> Result<(), CallError> {
        self.take_at(Instant::now(), function, owner, rate)
    }

    fn take_at(
        &self,
        now: Instant,
        function: &FunctionId,
        owner: &str,
        rate: Rate,
    ) -> Result<(), CallError> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if MOST_BUCKETS <= buckets.len() {
            make_room(&mut buckets, now);
        }
        let bucket = buckets
            .entry((function.clone(), owner.to_owned()))
            .or_insert_with(|| Bucket::full(rate, now));
        // A limit that was changed while the program runs counts from now on.
        if bucket.rate != rate {
            *bucket = Bucket::full(rate, now);
        }
        bucket.take(now).map_err(|wait| CallError::RateLimited {
            function: function.clone(),
            rate: rate.to_string(),
            retry_after_s: wait.as_secs() + u64::from(0 < wait.subsec_nanos()),
        })
    }
}

/// Forgets full buckets, and where that is not enough the half that was not used for longest.
fn make_room(buckets: &mut HashMap<(FunctionId, String), Bucket>, now: Instant) {
    buckets.retain(|_, bucket| !bucket.refilled(now).is_full());
    if buckets.len() < MOST_BUCKETS {
        return;
    }
    let mut uses: Vec<Instant> = buckets.values().map(|bucket| bucket.at).collect();
    uses.sort_unstable();
    let middle = uses[uses.len() / 2];
    buckets.retain(|_, bucket| middle < bucket.at);
}

impl Bucket {
    fn full(rate: Rate, at: Instant) -> Self {
        let tokens = f64::from(rate.count.get());
        Self { rate, tokens, at }
    }

    fn is_full(&self) -> bool {
        f64::from(self.rate.count.get()) <= self.tokens
    }

    fn per_second(&self) -> f64 {
        f64::from(self.rate.count.get()) / self.rate.per.duration().as_secs_f64()
    }

    fn refilled(mut self, now: Instant) -> Self {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        let most = f64::from(self.rate.count.get());
        self.tokens = (self.tokens + passed * self.per_second()).min(most);
        self.at = now;
        self
    }

    /// Takes a token; an error says how long there will be none.
    fn take(&mut self, now: Instant) -> Result<(), Duration> {
        *self = self.refilled(now);
        if self.tokens < 1.0 {
            return Err(Duration::from_secs_f64(
                (1.0 - self.tokens) / self.per_second(),
            ));
        }
        self.tokens -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Clock {
        rates: Rates,
        start: Instant,
    }

    impl Clock {
        fn new() -> Self {
            Self {
                rates: Rates::default(),
                start: Instant::now(),
            }
        }

        /// Whether a call at this second is allowed; else how long to wait.
        fn call(&self, second: u64, owner: &str, rate: &str) -> Result<(), u64> {
            let function: FunctionId = "tools.x".parse().unwrap();
            let now = self.start + Duration::from_secs(second);
            let taken = self
                .rates
                .take_at(now, &function, owner, rate.parse().unwrap());
            taken.map_err(|error| match error {
                CallError::RateLimited { retry_after_s, .. } => retry_after_s,
                other => panic!("{other}"),
            })
        }
    }

    #[test]
    fn what_is_used_up_comes_back_bit_by_bit() {
        let clock = Clock::new();
        for _ in 0..3 {
            assert_eq!(clock.call(0, "ann", "3/minute"), Ok(()));
        }
        assert_eq!(clock.call(0, "ann", "3/minute"), Err(20));
        assert_eq!(clock.call(19, "ann", "3/minute"), Err(1));
        assert_eq!(clock.call(20, "ann", "3/minute"), Ok(()));
        assert_eq!(clock.call(20, "ann", "3/minute"), Err(20));
        for _ in 0..3 {
            assert_eq!(clock.call(1_000, "ann", "3/minute"), Ok(()));
        }
        assert_eq!(clock.call(1_000, "ann", "3/minute"), Err(20));
    }

    #[test]
    fn callers_do_not_use_up_each_others() {
        let clock = Clock::new();
        assert_eq!(clock.call(0, "ann", "1/hour"), Ok(()));
        assert_eq!(clock.call(0, "bob", "1/hour"), Ok(()));
        assert_eq!(clock.call(0, "ann", "1/hour"), Err(3_600));
    }

    #[test]
    fn a_new_limit_counts_at_once() {
        let clock = Clock::new();
        assert_eq!(clock.call(0, "ann", "1/day"), Ok(()));
        assert_eq!(clock.call(1, "ann", "2/day"), Ok(()));
        assert_eq!(clock.call(1, "ann", "2/day"), Ok(()));
        assert!(clock.call(1, "ann", "2/day").is_err());
    }

    #[test]
    fn the_memory_of_buckets_is_bounded() {
        let clock = Clock::new();
        for owner in 0..=MOST_BUCKETS {
            let second = u64::try_from(owner).unwrap() / 1_000;
            assert_eq!(clock.call(second, &owner.to_string(), "1/day"), Ok(()));
        }
        let kept = clock.rates.buckets.lock().unwrap().len();
        assert!(kept <= MOST_BUCKETS / 2 + 1_000, "{kept}");
    }
}
