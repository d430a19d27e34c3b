//! What we say when a server speaks without being asked.

use std::{
    collections::HashMap,
    fmt,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability,
        ErrorData, FormElicitationCapability, Implementation, ProgressNotificationParam,
        ProgressToken,
    },
    service::{NotificationContext, RequestContext},
};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, interval},
};
use toolscript_catalog::{FunctionId, Observer, Sign, SourceName};

use super::{
    elicitation::{self, People, Unanswered},
    text,
};

/// How much of what a server says about its progress is passed on.
const LONGEST_MESSAGE: usize = 200;

/// Who we are and what a server may ask of us: a question to the person behind a call, as a form.
/// Whether there is somebody turns out when it asks. Sampling is refused, and there are no roots.
pub(super) fn introduction() -> ClientConfig {
    let us = Implementation::new("toolscript", env!("CARGO_PKG_VERSION"));
    let mut capabilities = ClientCapabilities::default();
    let form = FormElicitationCapability::default();
    capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
    ClientConfig::new(capabilities, us)
}

/// Our side of one connection.
#[derive(Debug, Clone)]
pub(super) struct Handler {
    pub(super) source: SourceName,
    pub(super) progress: Arc<Progress>,
    pub(super) people: Arc<People>,
    pub(super) news: Arc<News>,
}

impl Handler {
    /// Puts a question to the person behind the calls, whose time does not run out meanwhile.
    async fn ask(&self, request: &ElicitRequestParams) -> Result<ElicitResult, Unanswered> {
        const SIGN: Duration = Duration::from_secs(1);
        let person = self.people.only_one(request, &self.source)?;
        let mut asking = pin!(elicitation::ask(person.as_deref(), &self.source, request));
        let mut signs = interval(SIGN);
        loop {
            tokio::select! {
                answer = &mut asking => return answer,
                _ = signs.tick() => self.progress.everywhere(),
            }
        }
    }
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
        let answer = self.ask(&request).await;
        answer.map_err(|nobody| ErrorData::invalid_request(nobody.to_string(), None))
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _cx: NotificationContext<RoleClient>,
    ) {
        self.progress.arrived(&progress);
    }

    async fn on_tool_list_changed(&self, _cx: NotificationContext<RoleClient>) {
        self.news.tools_changed();
    }
}

/// Which calls wait for signs of progress.
#[derive(Debug, Default)]
pub(super) struct Progress(Mutex<HashMap<ProgressToken, Waiting>>);

/// A call that waits.
#[derive(Debug)]
struct Waiting {
    sign: Arc<Notify>,
    hearing: Option<Hearing>,
}

/// Who wants to hear of the progress of which function.
#[derive(Clone)]
pub(super) struct Hearing {
    pub(super) function: FunctionId,
    pub(super) observer: Arc<dyn Observer>,
}

/// The signs of progress of one call.
#[derive(Debug)]
pub(super) struct Signs<'a> {
    progress: &'a Progress,
    token: ProgressToken,
    sign: Arc<Notify>,
}

impl Progress {
    /// Watches out for the call with this token until the signs are dropped.
    pub(super) fn watch(&self, token: ProgressToken, hearing: Option<Hearing>) -> Signs<'_> {
        let sign = Arc::new(Notify::new());
        let waiting = Waiting {
            sign: Arc::clone(&sign),
            hearing,
        };
        self.lock().insert(token.clone(), waiting);
        Signs {
            progress: self,
            token,
            sign,
        }
    }

    fn arrived(&self, progress: &ProgressNotificationParam) {
        let hearing = {
            let waiting = self.lock();
            let Some(waiting) = waiting.get(&progress.progress_token) else {
                return;
            };
            waiting.sign.notify_one();
            waiting.hearing.clone()
        };
        if let Some(hearing) = hearing {
            let message = progress.message.as_deref();
            let sign = Sign {
                done: progress.progress,
                total: progress.total,
                message: message.map(|message| text::line(message, LONGEST_MESSAGE)),
            };
            hearing.observer.progress(&hearing.function, &sign);
        }
    }

    /// Counts as a sign for every call.
    fn everywhere(&self) {
        for waiting in self.lock().values() {
            waiting.sign.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProgressToken, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Hearing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hearing")
            .field("function", &self.function)
            .finish_non_exhaustive()
    }
}

impl Signs<'_> {
    pub(super) async fn next(&self) {
        self.sign.notified().await;
    }
}

impl Drop for Signs<'_> {
    fn drop(&mut self) {
        self.progress.lock().remove(&self.token);
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

    #[tokio::test]
    async fn progress_finds_its_call_and_leaves_nothing_behind() {
        let progress = Progress::default();
        let token = |number| ProgressToken(NumberOrString::Number(number));
        let signs = progress.watch(token(1), None);
        progress.arrived(&ProgressNotificationParam::new(token(2), 1.0));
        progress.arrived(&ProgressNotificationParam::new(token(1), 1.0));
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
