//! `Link`: keeps one server connected for as long as its source is open.
//!
//! A task of its own, the keeper, makes the connection, watches it, and makes it again. Everybody
//! else waits for what the keeper reports, so there is never more than one attempt at a time, and
//! a script that gives up does not take an attempt with it that others wait for.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt as _;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, timeout_at},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{info, warn};

use super::{
    backoff::Backoff,
    connect::{Connector, Line},
    connection::Connection,
    failure::Failure,
};
use crate::Changed;

/// The wish for a connection, and what became of it.
#[derive(Debug)]
pub(super) struct Link {
    connector: Arc<Connector>,
    changed: Changed,
    state: watch::Sender<State>,
    wanted: Arc<Notify>,
    is_kept: AtomicBool,
    end: CancellationToken,
    _ends_with_us: DropGuard,
}

/// What the keeper last reported.
#[derive(Debug, Clone)]
pub(super) enum State {
    /// Nobody has asked yet.
    Idle,
    /// On its way; after a failed attempt, with what failed it.
    Connecting(Option<Arc<str>>),
    /// There.
    Up(Arc<Connection>),
    /// It was there, and is gone. Whoever needs it gets a new one at once.
    Lost(Arc<str>),
    /// It could not be made, and will be tried again after a while.
    Failed(Arc<str>),
    /// The source is closed.
    Closed,
}

impl State {
    /// Why there is no connection, where one was tried or had.
    pub(super) fn problem(self) -> Option<Arc<str>> {
        match self {
            Self::Lost(problem) | Self::Failed(problem) => Some(problem),
            Self::Connecting(problem) => problem,
            Self::Idle | Self::Up(_) | Self::Closed => None,
        }
    }
}

/// How much a connection is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Try now, whatever happened before.
    Insist,
    /// Take the last failure for an answer: a call should not wait for a server that is away.
    Accept,
}

impl Link {
    pub(super) fn new(connector: Arc<Connector>, changed: Changed) -> Self {
        let end = CancellationToken::new();
        Self {
            connector,
            changed,
            state: watch::Sender::new(State::Idle),
            wanted: Arc::new(Notify::new()),
            is_kept: AtomicBool::new(false),
            _ends_with_us: end.clone().drop_guard(),
            end,
        }
    }

    /// What was last reported.
    pub(super) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// A connection, made if need be.
    pub(super) async fn connection(
        &self,
        wish: Wish,
        latest: Option<Instant>,
    ) -> Result<Arc<Connection>, Failure> {
        if let State::Up(connection) = &*self.state.borrow()
            && connection.is_alive()
        {
            return Ok(Arc::clone(connection));
        }
        self.keep();
        let Some(latest) = latest else {
            return self.settled(wish).await;
        };
        let started = Instant::now();
        let settled = timeout_at(latest, self.settled(wish)).await;
        settled.unwrap_or_else(|_| Err(Failure::Timeout(started.elapsed())))
    }

    async fn settled(&self, wish: Wish) -> Result<Arc<Connection>, Failure> {
        let unavailable = |problem: &str| Err(Failure::Unavailable(problem.to_owned()));
        let mut states = self.state.subscribe();
        let mut has_asked = false;
        loop {
            let state = states.borrow_and_update().clone();
            match state {
                State::Up(connection) if connection.is_alive() => return Ok(connection),
                State::Closed => return unavailable("the source is closed"),
                State::Failed(problem) if has_asked || wish == Wish::Accept => {
                    return unavailable(&problem);
                }
                State::Connecting(Some(problem)) if wish == Wish::Accept => {
                    return unavailable(&problem);
                }
                State::Lost(problem) if has_asked => return unavailable(&problem),
                State::Idle | State::Failed(_) | State::Lost(_) => {
                    has_asked = true;
                    self.wanted.notify_one();
                }
                State::Connecting(_) => has_asked = true,
                // Dead, and about to be reported lost.
                State::Up(_) => {}
            }
            if states.changed().await.is_err() {
                return unavailable("the source is closed");
            }
        }
    }

    /// Ends the connection and whatever was started for it, and waits for that.
    pub(super) async fn close(&self) {
        self.end.cancel();
        if !self.is_kept.swap(true, Ordering::SeqCst) {
            self.state.send_replace(State::Closed);
        }
        let mut states = self.state.subscribe();
        // Cannot fail: we hold the sender.
        drop(
            states
                .wait_for(|state| matches!(state, State::Closed))
                .await,
        );
        self.connector.childless().await;
    }

    /// Starts the keeper where there is none.
    fn keep(&self) {
        if self.is_kept.swap(true, Ordering::SeqCst) {
            return;
        }
        let keeper = Keeper {
            connector: Arc::clone(&self.connector),
            state: self.state.clone(),
            wanted: Arc::clone(&self.wanted),
        };
        let end = self.end.clone();
        tokio::spawn(async move {
            keeper.keep(&end).await;
            keeper.state.send_replace(State::Closed);
        });
        let (connector, changed) = (Arc::clone(&self.connector), self.changed.clone());
        let spread = async move { spread_news(&connector, &changed).await };
        let end = self.end.clone();
        tokio::spawn(async move { end.run_until_cancelled(spread).await });
    }
}

/// Passes on that there is something new to list; many changes in a short time are one.
async fn spread_news(connector: &Connector, changed: &Changed) {
    const QUIET: Duration = Duration::from_millis(500);
    loop {
        connector.news().next().await;
        changed.tell(&connector.upstream().name);
        sleep(QUIET).await;
    }
}

struct Keeper {
    connector: Arc<Connector>,
    state: watch::Sender<State>,
    wanted: Arc<Notify>,
}

impl Keeper {
    /// Connects, and connects again, until the end.
    async fn keep(&self, end: &CancellationToken) {
        let mut backoff = Backoff::new();
        let mut is_first = true;
        let mut failed = None;
        loop {
            self.state.send_replace(State::Connecting(failed.take()));
            let Some(outcome) = end.run_until_cancelled(self.connector.connect()).await else {
                return;
            };
            // Whoever asked meanwhile is answered by this outcome.
            while self.wanted.notified().now_or_never().is_some() {}
            match outcome {
                Err(error) => failed = Some(self.report_failure(&error.to_string())),
                Ok(line) => {
                    self.state
                        .send_replace(State::Up(Arc::clone(&line.connection)));
                    // The first connection is made for a listing; later ones bring news.
                    if !is_first {
                        self.connector.news().reconnected();
                    }
                    let since = Instant::now();
                    let Some(fate) = self.watch(line, end).await else {
                        return;
                    };
                    backoff.held_for(since.elapsed());
                    self.report_loss(&fate);
                }
            }
            is_first = false;
            let wait = backoff.next();
            tokio::select! {
                () = sleep(wait) => {}
                () = self.wanted.notified() => {}
                () = end.cancelled() => return,
            }
        }
    }

    /// Waits for the end of a line and gives the reason; `None` when the source is closed.
    async fn watch(&self, mut line: Line, end: &CancellationToken) -> Option<String> {
        let Some(fate) = end.run_until_cancelled(line.ended()).await else {
            line.close().await;
            return None;
        };
        line.connection.bury(fate.clone());
        // The rest of the clearing away holds nobody up.
        tokio::spawn(line.close());
        Some(fate)
    }

    fn report_failure(&self, problem: &str) -> Arc<str> {
        let server = &self.connector.upstream().name;
        warn!(%server, problem, "server is not available");
        let problem: Arc<str> = problem.into();
        self.state.send_replace(State::Failed(Arc::clone(&problem)));
        problem
    }

    fn report_loss(&self, fate: &str) {
        let server = &self.connector.upstream().name;
        info!(%server, problem = fate, "connection lost");
        self.state.send_replace(State::Lost(fate.into()));
    }
}
