//! `Connection`: an agreed line to a server, for any number of requests at once.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    Peer, RoleClient,
    model::{CancelledNotificationParam, ClientRequest, RequestId, ServerPeerInfo, ServerResult},
    service::PeerRequestOptions,
};
use tokio::{
    runtime::Handle,
    sync::watch,
    time::{Instant, sleep_until, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    delivery::Delivery,
    elicitation::People,
    failure::{Failure, Loss},
    handler::{Handler, Hearing},
    listing::Fetched,
};

/// A request that keeps reporting progress still ends.
const LONGEST: Duration = Duration::from_hours(1);

/// The word for a server that is a child process.
pub(super) const STDIO: &str = "stdio";

/// A line to a server.
#[derive(Debug)]
pub(super) struct Connection {
    peer: Peer<RoleClient>,
    handler: Handler,
    pub(super) info: ServerPeerInfo,
    /// How the server is spoken to: `stdio`, `http` or `sse`.
    pub(super) transport: &'static str,
    /// The tools as they were found while connecting; the first listing takes them.
    fetched: Mutex<Option<Fetched>>,
    /// Set by whoever finds that the line is of no more use.
    given_up: CancellationToken,
    /// Why it is over.
    fate: watch::Sender<Option<String>>,
}

/// There will be no answer.
struct Silence;

/// How long an answer may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    /// Without a sign of progress.
    pub(super) quiet: Duration,
    /// In any case.
    pub(super) latest: Instant,
}

impl Limit {
    /// As long as there is progress, but not beyond the caller's own end.
    pub(super) fn new(quiet: Duration, deadline: Option<std::time::Instant>) -> Self {
        let latest = Instant::now() + LONGEST;
        let deadline = deadline.map(Instant::from_std);
        Self {
            quiet,
            latest: deadline.map_or(latest, |deadline| deadline.min(latest)),
        }
    }

    /// For a series of requests that should take about as long as one may.
    pub(super) fn for_series(quiet: Duration) -> Self {
        Self {
            quiet,
            latest: Instant::now() + 2 * quiet,
        }
    }

    fn end(self) -> Instant {
        (Instant::now() + self.quiet).min(self.latest)
    }
}

impl Connection {
    pub(super) fn new(
        peer: Peer<RoleClient>,
        handler: Handler,
        info: ServerPeerInfo,
        transport: &'static str,
    ) -> Self {
        Self {
            peer,
            handler,
            info,
            transport,
            fetched: Mutex::default(),
            given_up: CancellationToken::new(),
            fate: watch::Sender::new(None),
        }
    }

    /// The other side, for what is not a request with an answer.
    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    /// Keeps the tools for the first listing.
    pub(super) fn keep(&self, fetched: Fetched) {
        *self.fetched.lock().unwrap_or_else(PoisonError::into_inner) = Some(fetched);
    }

    /// The tools found while connecting, once, and only if nothing has changed since.
    pub(super) fn take_fetched(&self) -> Option<Fetched> {
        let fetched = self
            .fetched
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()?;
        (fetched.changes == self.changes()).then_some(fetched)
    }

    /// How often the server has said that its tools changed.
    pub(super) fn changes(&self) -> u64 {
        self.handler.news.changes()
    }

    /// Whether a request has a chance.
    pub(super) fn is_alive(&self) -> bool {
        !self.peer.is_transport_closed() && !self.given_up.is_cancelled()
    }

    /// Says that the line is of no more use; a new one will be made.
    pub(super) fn give_up(&self) {
        self.given_up.cancel();
    }

    /// Waits until somebody gives the line up.
    pub(super) async fn given_up(&self) {
        self.given_up.cancelled().await;
    }

    /// Sets down why it is over.
    pub(super) fn bury(&self, fate: String) {
        self.fate.send_replace(Some(fate));
    }

    /// Why it is over; `None` where that does not become known in a moment.
    async fn fate(&self, limit: Limit) -> Option<String> {
        const MOMENT: Duration = Duration::from_secs(3);
        let end = (Instant::now() + MOMENT).min(limit.latest);
        let mut fate = self.fate.subscribe();
        let fate = timeout_at(end, fate.wait_for(Option::is_some)).await;
        fate.ok()?.ok()?.clone()
    }

    /// Waits until it is over.
    async fn over(&self) {
        let mut fate = self.fate.subscribe();
        // Cannot fail: we hold the sender.
        drop(fate.wait_for(Option::is_some).await);
    }

    /// The people whose calls are under way here.
    pub(super) fn people(&self) -> &People {
        &self.handler.people
    }

    /// Asks something and waits for the answer. Dropping the future tells the server to stop.
    pub(super) async fn request(
        &self,
        request: ClientRequest,
        limit: Limit,
    ) -> Result<ServerResult, Failure> {
        self.request_heard(request, limit, None).await
    }

    /// Like `request`, with somebody who hears of its progress.
    pub(super) async fn request_heard(
        &self,
        mut request: ClientRequest,
        limit: Limit,
        hearing: Option<Hearing>,
    ) -> Result<ServerResult, Failure> {
        let delivery = Delivery::watch(&mut request);
        let started = Instant::now();
        let late = |_| Failure::Timeout(started.elapsed());
        let sending = self
            .peer
            .send_request_with_option(request, PeerRequestOptions::no_options());
        let sent = timeout_at(limit.end(), sending).await.map_err(late)?;
        let Ok(mut handle) = sent else {
            return Err(self.lost(Loss::Unsent, limit).await);
        };
        let mut cancel = CancelOnDrop::new(&self.peer, handle.id.clone());
        let signs = self
            .handler
            .progress
            .watch(handle.progress_token.clone(), hearing);
        let mut end = limit.end();
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => break answer.map_err(|_| Silence),
                () = signs.next() => end = limit.end(),
                // A request that was queued while the line was closing is never let go of: its
                // queue stays as long as anybody could still write into it.
                () = self.over() => break handle.rx.try_recv().map_err(|_| Silence),
                () = sleep_until(end) => return Err(Failure::Timeout(started.elapsed())),
            }
        };
        cancel.disarm();
        let failure = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => Failure::from(error),
            Err(Silence) if delivery.has_begun() => {
                return Err(self.lost(Loss::Unknown, limit).await);
            }
            Err(Silence) => return Err(self.lost(Loss::Unsent, limit).await),
        };
        match failure {
            // A child that takes nothing any more is about to be found dead.
            Failure::Lost { loss, .. } if self.transport == STDIO => {
                Err(self.lost(loss, limit).await)
            }
            failure => Err(failure),
        }
    }

    /// The failure of a request on a line that is gone, with the reason.
    async fn lost(&self, loss: Loss, limit: Limit) -> Failure {
        let fate = self.fate(limit).await;
        let problem = fate.unwrap_or_else(|| "the connection closed".to_owned());
        Failure::Lost { problem, loss }
    }
}

/// Tells the server that nobody waits for an answer any more.
struct CancelOnDrop<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl<'a> CancelOnDrop<'a> {
    fn new(peer: &'a Peer<RoleClient>, id: RequestId) -> Self {
        Self { peer, id: Some(id) }
    }

    fn disarm(&mut self) {
        self.id = None;
    }
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        const PATIENCE: Duration = Duration::from_secs(5);
        let (Some(id), Ok(runtime)) = (self.id.take(), Handle::try_current()) else {
            return;
        };
        let peer = self.peer.clone();
        let reason = Some("nobody waits for the answer any more".to_owned());
        runtime.spawn(async move {
            let param = CancelledNotificationParam::new(Some(id), reason);
            // A server that cannot be told will find out by itself.
            drop(timeout(PATIENCE, peer.notify_cancelled(param)).await);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rmcp::{
        model::{PingRequest, ProtocolVersion, ServerCapabilities},
        service::serve_directly_with_ct,
    };
    use toolscript_catalog::SourceName;

    use super::{
        super::handler::{News, Progress},
        *,
    };

    #[tokio::test]
    async fn a_request_does_not_outlive_its_line() {
        let handler = Handler {
            source: SourceName::parse("pets").unwrap(),
            progress: Arc::new(Progress::default()),
            people: Arc::default(),
            news: Arc::new(News::new()),
        };
        // Nobody ever answers, and nobody closes anything.
        let (ours, _theirs) = tokio::io::duplex(1024);
        let end = CancellationToken::new();
        let running = serve_directly_with_ct(handler.clone(), ours, None, end);
        let info = ServerPeerInfo::new(ProtocolVersion::default(), ServerCapabilities::default());
        let connection = Connection::new(running.peer().clone(), handler, info, STDIO);
        let limit = Limit::new(Duration::from_secs(20), None);
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let (answer, ()) = tokio::join!(connection.request(ping, limit), async {
            tokio::task::yield_now().await;
            connection.bury("the server stopped".to_owned());
        });
        let Err(Failure::Lost { problem, .. }) = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(problem, "the server stopped");
    }
}
