//! Large results, kept for the next script of whoever made them.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{outcome::Kept, shape, watch::lock};

/// How long and how much is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResultSettings {
    /// How long a result is kept.
    pub keep_seconds: u64,
    /// How much all kept results together may take.
    pub max_total_mb: usize,
    /// How many results one owner may have; the oldest go first.
    pub max_per_owner: usize,
}

impl Default for ResultSettings {
    fn default() -> Self {
        Self {
            keep_seconds: 3_600,
            max_total_mb: 256,
            max_per_owner: 50,
        }
    }
}

/// The kept results of everybody. Each is seen by its owner only.
#[derive(Debug)]
pub struct Results {
    settings: ResultSettings,
    random: RandomState,
    count: AtomicU64,
    kept: Mutex<Store>,
}

#[derive(Debug, Default)]
struct Store {
    by_handle: HashMap<String, Entry>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    owner: String,
    number: u64,
    made: Instant,
    result: Arc<KeptResult>,
}

/// A result that was too large to hand over at once.
#[derive(Debug)]
pub struct KeptResult {
    /// The whole value.
    pub value: Value,
    /// Its size as JSON.
    pub bytes: usize,
    /// What it is made of, in a few lines.
    pub shape: String,
}

impl Results {
    pub(crate) fn new(settings: ResultSettings) -> Self {
        Self {
            settings,
            random: RandomState::new(),
            count: AtomicU64::new(0),
            kept: Mutex::default(),
        }
    }

    /// The result behind a handle, where it exists, is not too old and belongs to the owner.
    pub fn get(&self, owner: &str, handle: &str) -> Option<Arc<KeptResult>> {
        let mut store = lock(&self.kept);
        store.drop_older_than(Duration::from_secs(self.settings.keep_seconds));
        let entry = store
            .by_handle
            .get(handle)
            .filter(|entry| entry.owner == owner)?;
        Some(entry.result.clone())
    }

    /// The results of an owner by their handles, newest first.
    pub fn of(&self, owner: &str) -> Vec<(String, Arc<KeptResult>)> {
        let mut store = lock(&self.kept);
        store.drop_older_than(Duration::from_secs(self.settings.keep_seconds));
        let own = store
            .by_handle
            .iter()
            .filter(|(_, entry)| entry.owner == owner);
        let mut own: Vec<_> = own
            .map(|(handle, entry)| (entry.number, (handle.clone(), entry.result.clone())))
            .collect();
        own.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
        own.into_iter().map(|(_, result)| result).collect()
    }

    /// Keeps a value and says where. `None` where it is larger than all that may be kept.
    pub(crate) fn keep(&self, owner: &str, value: Value, bytes: usize) -> Option<Kept> {
        let room = self.settings.max_total_mb << 20;
        if room < bytes {
            return None;
        }
        let number = self.count.fetch_add(1, Relaxed);
        let kept = Kept {
            handle: self.handle(number),
            bytes,
            shape: shape::shape(&value),
            preview: shape::preview(&value),
            expires_in_seconds: self.settings.keep_seconds,
        };
        let shape = kept.shape.clone();
        let result = Arc::new(KeptResult {
            value,
            bytes,
            shape,
        });
        let entry = Entry {
            owner: owner.to_owned(),
            number,
            made: Instant::now(),
            result,
        };
        let mut store = lock(&self.kept);
        store.drop_older_than(Duration::from_secs(self.settings.keep_seconds));
        store.drop_most_of(owner, self.settings.max_per_owner.saturating_sub(1));
        while room - bytes < store.bytes && store.drop_oldest(|_| true) {}
        store.bytes += bytes;
        store.by_handle.insert(kept.handle.clone(), entry);
        Some(kept)
    }

    /// A name nobody can guess; that it also belongs to an owner is checked on its own.
    fn handle(&self, number: u64) -> String {
        let (high, low) = (
            self.random.hash_one((number, 0)),
            self.random.hash_one((number, 1)),
        );
        format!("res_{high:016x}{low:016x}")
    }
}

impl Store {
    fn drop_older_than(&mut self, age: Duration) {
        let old = |entry: &Entry| age <= entry.made.elapsed();
        while self.drop_oldest(old) {}
    }

    /// Leaves an owner no more than `most` results.
    fn drop_most_of(&mut self, owner: &str, most: usize) {
        let own = |entry: &Entry| entry.owner == owner;
        while most < self.by_handle.values().filter(|entry| own(entry)).count() {
            self.drop_oldest(own);
        }
    }

    /// Drops the oldest of those that fit; says whether there was one.
    fn drop_oldest(&mut self, fits: impl Fn(&Entry) -> bool) -> bool {
        let fitting = self.by_handle.iter().filter(|(_, entry)| fits(entry));
        let oldest = fitting
            .min_by_key(|(_, entry)| entry.number)
            .map(|(handle, _)| handle.clone());
        let Some(entry) = oldest.and_then(|handle| self.by_handle.remove(&handle)) else {
            return false;
        };
        self.bytes -= entry.result.bytes;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn results(settings: ResultSettings) -> Results {
        Results::new(settings)
    }

    fn keep(results: &Results, owner: &str, bytes: usize) -> String {
        results.keep(owner, json!([bytes]), bytes).unwrap().handle
    }

    #[test]
    fn a_result_is_seen_by_its_owner_only() {
        let results = results(ResultSettings::default());
        let handle = keep(&results, "ann", 10);
        assert_eq!(results.get("ann", &handle).unwrap().value, json!([10]));
        assert!(results.get("bob", &handle).is_none());
        assert!(results.get("ann", "res_1").is_none());
        let own = results.of("ann");
        assert_eq!((own.len(), &own[0].0), (1, &handle));
        assert!(results.of("bob").is_empty());
    }

    #[test]
    fn old_results_go() {
        let results = results(ResultSettings {
            keep_seconds: 0,
            ..ResultSettings::default()
        });
        let handle = keep(&results, "ann", 10);
        assert!(results.get("ann", &handle).is_none());
    }

    #[test]
    fn the_oldest_make_room() {
        let results = results(ResultSettings {
            max_total_mb: 1,
            ..ResultSettings::default()
        });
        let first = keep(&results, "ann", 600 << 10);
        let second = keep(&results, "bob", 600 << 10);
        assert!(results.get("ann", &first).is_none());
        assert!(results.get("bob", &second).is_some());
        assert!(
            results.keep("ann", json!(1), 2 << 20).is_none(),
            "larger than everything"
        );
    }

    #[test]
    fn one_owner_cannot_push_out_the_others() {
        let results = results(ResultSettings {
            max_per_owner: 2,
            ..ResultSettings::default()
        });
        let other = keep(&results, "bob", 1);
        let handles: Vec<String> = (0..3).map(|_| keep(&results, "ann", 1)).collect();
        assert!(results.get("ann", &handles[0]).is_none());
        assert!(results.get("ann", &handles[1]).is_some() && results.get("bob", &other).is_some());
    }
}
