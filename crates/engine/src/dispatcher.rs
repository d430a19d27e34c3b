//! The one door: every call passes here, is checked, and leaves a record.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use async_trait::async_trait;
use toolscript_catalog::{
    Call, CallContext, CallError, Caller, Catalog, Credentials, Doorway, FunctionId, Observer,
    Person, Reply, Source, SourceName, validate,
};

use crate::rate::Rates;

/// How many records are kept.
const MOST_RECORDS: usize = 1_000;

/// The sources open at one moment and what they listed. Never changed, only replaced whole.
#[derive(Default)]
pub(crate) struct Snapshot {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) sources: BTreeMap<SourceName, Arc<dyn Source>>,
}

/// One call that was made.
#[derive(Debug, Clone)]
pub struct CallRecord {
    /// Which function.
    pub function: FunctionId,
    /// When it began.
    pub started: SystemTime,
    /// How long it took.
    pub duration: Duration,
    /// The stable word of its failure, or `None`.
    pub error: Option<&'static str>,
}

/// What all runs share.
#[derive(Default)]
pub(crate) struct Dispatcher {
    records: Mutex<VecDeque<CallRecord>>,
    rates: Rates,
}

/// How many scripts may stand between an agent's script and a call: a tool that calls itself
/// would never come to an end.
const DEEPEST: u8 = 8;

/// The door as one run sees it, and how many tools it has already gone through.
#[derive(Clone)]
pub(crate) struct Door {
    visit: Arc<Visit>,
    depth: u8,
}

/// What a run brings to the door: the snapshot it began with, its credentials and its deadline.
pub(crate) struct Visit {
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) owner: String,
    pub(crate) credentials: Credentials,
    pub(crate) deadline: Instant,
    pub(crate) person: Option<Arc<dyn Person>>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
}

impl Dispatcher {
    fn record(&self, record: CallRecord) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() == MOST_RECORDS {
            records.pop_front();
        }
        records.push_back(record);
    }

    /// The latest calls, oldest first.
    pub(crate) fn records(&self) -> Vec<CallRecord> {
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.iter().cloned().collect()
    }
}

impl Door {
    pub(crate) fn new(visit: Visit) -> Self {
        Self {
            visit: Arc::new(visit),
            depth: 0,
        }
    }

    /// What the source is told besides the call.
    fn context(&self, source: &SourceName) -> CallContext {
        let further = Self {
            visit: self.visit.clone(),
            depth: self.depth + 1,
        };
        CallContext {
            owner: self.visit.owner.clone(),
            credential: self.visit.credentials.get(source).cloned(),
            deadline: Some(self.visit.deadline),
            person: self.visit.person.clone(),
            observer: self.visit.observer.clone(),
            doorway: Some(Doorway {
                catalog: self.visit.snapshot.catalog.clone(),
                caller: Arc::new(further),
            }),
        }
    }

    async fn pass(&self, call: Call) -> Result<Reply, CallError> {
        if DEEPEST < self.depth {
            return Err(CallError::Denied {
                function: call.function,
                rule: format!("tools call each other at most {DEEPEST} deep"),
            });
        }
        let snapshot = &self.visit.snapshot;
        let (entry, function) = snapshot
            .catalog
            .by_id(&call.function)
            .map_err(|unknown| CallError::unknown(&call.function, unknown))?;
        let types = &entry.listing.types;
        validate::arguments(
            &call.function,
            function,
            types,
            &call.params,
            call.body.as_ref(),
        )?;
        let Some(source) = snapshot.sources.get(&call.function.source) else {
            return Err(CallError::Unavailable {
                source_name: call.function.source.to_string(),
                problem: "it is documented but not open".to_owned(),
            });
        };
        if let Some(rate) = function.rate {
            let rates = &self.visit.dispatcher.rates;
            rates.take(&call.function, &self.visit.owner, rate)?;
        }
        let cx = self.context(&call.function.source);
        let mut reply = source.call(&cx, call).await?;
        if let Some(next) = &mut reply.next {
            validate::fit_text(&function.params, types, next);
        }
        Ok(reply)
    }
}

#[async_trait]
impl Caller for Door {
    async fn call(&self, call: Call) -> Result<Reply, CallError> {
        let function = call.function.clone();
        let (started, clock) = (SystemTime::now(), Instant::now());
        let result = self.pass(call).await;
        let duration = clock.elapsed();
        let error = result.as_ref().err().map(|error| error.code().word());
        let elapsed_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(%function, elapsed_us, error, "call");
        self.visit.dispatcher.record(CallRecord {
            function,
            started,
            duration,
            error,
        });
        result
    }
}
