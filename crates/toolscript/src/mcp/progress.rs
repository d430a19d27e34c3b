//! Progress notifications while a run makes calls, for clients that asked for them.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use tokio::task::JoinSet;
use toolscript_catalog::{FunctionId, Level, Observer, Sign};
use toolscript_engine::RunProgress;

/// How long to be silent after a notification: a script may make a thousand calls a second.
const QUIET: Duration = Duration::from_millis(250);

pub(super) struct Reporter {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    begun: Instant,
    /// When the last notification left, in milliseconds since `begun`, plus one.
    last: AtomicU64,
    finished: AtomicU64,
    sent: AtomicU64,
    sending: Mutex<JoinSet<()>>,
}

/// Somebody to tell, where the client gave a token.
pub(super) fn reporter(cx: &RequestContext<RoleServer>) -> Option<Arc<Reporter>> {
    Some(Arc::new(Reporter {
        peer: cx.peer.clone(),
        token: cx.meta.get_progress_token()?,
        begun: Instant::now(),
        last: AtomicU64::new(0),
        finished: AtomicU64::new(0),
        sent: AtomicU64::new(0),
        sending: Mutex::default(),
    }))
}

impl Reporter {
    /// Waits until every notification is on its way: none may come after the answer.
    pub(super) async fn flush(&self) {
        let sending = std::mem::take(&mut *self.sending());
        sending.join_all().await;
    }

    fn sending(&self) -> std::sync::MutexGuard<'_, JoinSet<()>> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether enough time has passed since the last notification; claims the turn if so.
    fn is_due(&self) -> bool {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1;
        let last = self.last.load(Relaxed);
        let quiet = u64::try_from(QUIET.as_millis()).unwrap_or(u64::MAX);
        let due = last == 0 || last + quiet <= now;
        due && self
            .last
            .compare_exchange(last, now, Relaxed, Relaxed)
            .is_ok()
    }
}

/// A count of calls or of notifications, as the protocol counts.
#[expect(clippy::cast_precision_loss, reason = "nobody counts to 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}

impl Reporter {
    fn call_finished(&self, function: &FunctionId, succeeded: bool) {
        let finished = self.finished.fetch_add(1, Relaxed) + 1;
        if !self.is_due() {
            return;
        }
        let outcome = if succeeded { "" } else { " failed" };
        let message = format!("{finished} calls; last {function}{outcome}");
        self.send(number(finished), message);
    }

    /// What is reported must grow, so signs from inside a call count as parts of the next.
    fn call_goes_on(&self, function: &FunctionId, sign: &Sign) {
        if !self.is_due() {
            return;
        }
        let finished = self.finished.load(Relaxed);
        let sent = self.sent.load(Relaxed);
        let total = sign.total.map(|total| format!("/{total}"));
        let words = sign.message.as_deref().map(|words| format!(" {words}"));
        let (total, words) = (total.unwrap_or_default(), words.unwrap_or_default());
        let message = format!("{finished} calls; {function}: {}{total}{words}", sign.done);
        self.send(number(finished + 1) - 1.0 / number(sent + 2), message);
    }

    fn send(&self, progress: f64, message: String) {
        self.sent.fetch_add(1, Relaxed);
        let notification =
            ProgressNotificationParam::new(self.token.clone(), progress).with_message(message);
        let peer = self.peer.clone();
        // The run does not wait for the client to read; one that is gone is told nothing.
        self.sending().spawn(async move {
            drop(peer.notify_progress(notification).await);
        });
    }
}

/// Takes what a run reports to whoever follows it at the moment.
#[derive(Default)]
pub(super) struct Relay(ArcSwapOption<Reporter>);

impl Relay {
    /// From now on reports go there.
    pub(super) fn tell(&self, reporter: Option<Arc<Reporter>>) {
        self.0.store(reporter);
    }
}

impl RunProgress for Relay {
    fn started(&self, _function: &FunctionId, _number: u64) {}

    fn finished(&self, function: &FunctionId, _number: u64, _took: Duration, succeeded: bool) {
        if let Some(reporter) = &*self.0.load() {
            reporter.call_finished(function, succeeded);
        }
    }
}

impl Observer for Relay {
    fn progress(&self, function: &FunctionId, sign: &Sign) {
        if let Some(reporter) = &*self.0.load() {
            reporter.call_goes_on(function, sign);
        }
    }

    fn log(&self, _function: &FunctionId, _level: Level, _text: &str) {}
}
