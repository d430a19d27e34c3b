//! What we say when a server speaks without being asked.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ErrorData,
        Implementation, ProgressNotificationParam, ProgressToken,
    },
    service::{NotificationContext, RequestContext},
};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use super::elicitation;

/// Who we are and what a server may ask of us: nothing. Sampling is refused, there are no roots,
/// and a person to ask is not reachable (see [`elicitation`]).
pub(super) fn introduction() -> ClientConfig {
    let us = Implementation::new("toolscript", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), us)
}

/// Our side of one connection.
#[derive(Debug, Clone)]
pub(super) struct Handler {
    pub(super) progress: Arc<Progress>,
    pub(super) news: Arc<News>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        introduction()
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _cx: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answer = elicitation::ask(&request).await;
        answer.map_err(|nobody| ErrorData::invalid_request(nobody.to_string(), None))
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _cx: NotificationContext<RoleClient>,
    ) {
        self.progress.arrived(&progress.progress_token);
    }

    async fn on_tool_list_changed(&self, _cx: NotificationContext<RoleClient>) {
        self.news.tools_changed();
    }
}

/// Which calls wait for signs of progress.
#[derive(Debug, Default)]
pub(super) struct Progress(Mutex<HashMap<ProgressToken, Arc<Notify>>>);

/// The signs of progress of one call.
#[derive(Debug)]
pub(super) struct Signs<'a> {
    progress: &'a Progress,
    token: ProgressToken,
    sign: Arc<Notify>,
}

impl Progress {
    /// Watches out for the call with this token until the signs are dropped.
    pub(super) fn watch(&self, token: ProgressToken) -> Signs<'_> {
        let sign = Arc::new(Notify::new());
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.insert(token.clone(), Arc::clone(&sign));
        Signs {
            progress: self,
            token,
            sign,
        }
    }

    fn arrived(&self, token: &ProgressToken) {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sign) = waiting.get(token) {
            sign.notify_one();
        }
    }
}

impl Signs<'_> {
    pub(super) async fn next(&self) {
        self.sign.notified().await;
    }
}

impl Drop for Signs<'_> {
    fn drop(&mut self) {
        let mut waiting = self
            .progress
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        waiting.remove(&self.token);
    }
}

/// Whether what was listed still holds.
#[derive(Debug)]
pub(super) struct News {
    is_fresh: Notify,
    /// Counts the changes, so that what was fetched before one is known to be old.
    changes: AtomicU64,
    /// When what was listed grows old.
    expiry: watch::Sender<Option<Instant>>,
}

impl News {
    pub(super) fn new() -> Self {
        Self {
            is_fresh: Notify::new(),
            changes: AtomicU64::new(0),
            expiry: watch::Sender::new(None),
        }
    }

    /// The server says that its tools have changed.
    pub(super) fn tools_changed(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
        self.is_fresh.notify_one();
    }

    /// The server is back, perhaps with other tools.
    pub(super) fn reconnected(&self) {
        self.is_fresh.notify_one();
    }

    /// How many changes there were so far.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// What was just listed holds until then.
    pub(super) fn expires(&self, at: Option<Instant>) {
        self.expiry.send_replace(at);
    }

    /// Waits for something new. Several changes at once are one.
    pub(super) async fn next(&self) {
        let mut expiry = self.expiry.subscribe();
        loop {
            let at = *expiry.borrow_and_update();
            tokio::select! {
                () = self.is_fresh.notified() => return,
                () = tokio::time::sleep_until(at.unwrap_or_else(Instant::now)), if at.is_some() => {
                    self.expiry.send_replace(None);
                    return;
                }
                _ = expiry.changed() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::NumberOrString;
    use std::time::Duration;

    #[tokio::test]
    async fn progress_finds_its_call_and_leaves_nothing_behind() {
        let progress = Progress::default();
        let token = |number| ProgressToken(NumberOrString::Number(number));
        let signs = progress.watch(token(1));
        progress.arrived(&token(2));
        progress.arrived(&token(1));
        signs.next().await;
        drop(signs);
        assert!(progress.0.lock().unwrap().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_listed_grows_old_once() {
        let news = News::new();
        let start = Instant::now();
        news.expires(Some(start + Duration::from_secs(7)));
        news.next().await;
        assert_eq!(start.elapsed().as_secs(), 7);
        news.tools_changed();
        news.tools_changed();
        news.next().await;
        assert_eq!((start.elapsed().as_secs(), news.changes()), (7, 2));
        let quiet = tokio::time::timeout(Duration::from_secs(99), news.next()).await;
        assert!(quiet.is_err(), "two changes at once are one piece of news");
    }
}
