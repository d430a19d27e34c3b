//! Progress notifications while a run makes calls, for clients that asked for them.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use tokio::task::JoinSet;
use toolscript_catalog::FunctionId;
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

impl RunProgress for Reporter {
    fn started(&self, _function: &FunctionId, _number: u64) {}

    fn finished(&self, function: &FunctionId, _number: u64, _took: Duration, succeeded: bool) {
        let finished = self.finished.fetch_add(1, Relaxed) + 1;
        if !self.is_due() {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of calls")]
        let progress = finished as f64;
        let outcome = if succeeded { "" } else { " failed" };
        let message = format!("{finished} calls; last {function}{outcome}");
        let notification =
            ProgressNotificationParam::new(self.token.clone(), progress).with_message(message);
        let peer = self.peer.clone();
        // The run does not wait for the client to read; one that is gone is told nothing.
        self.sending().spawn(async move {
            drop(peer.notify_progress(notification).await);
        });
    }
}
