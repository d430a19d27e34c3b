//! `Server`: an HTTP server on a free loopback port that remembers what it was asked.

use std::{
    collections::HashSet,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request, State},
    middleware::{self, Next},
    response::Response,
};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

use crate::Recorded;

/// The largest request body a peer takes.
const LARGEST_BODY: usize = 64 * 1024 * 1024;

/// A running server; it ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    url: String,
    log: Arc<Log>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Log {
    seen: Mutex<Vec<Recorded>>,
    peers: Mutex<HashSet<SocketAddr>>,
    arrived: watch::Sender<usize>,
    abandoned: watch::Sender<usize>,
}

impl Server {
    /// Serves a router on a free loopback port.
    pub async fn start(router: Router) -> Self {
        Self::start_at(|_url| router).await
    }

    /// Serves a router that has to know its own address.
    pub async fn start_at(router: impl FnOnce(&str) -> Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("the port just taken");
        let url = format!("http://{address}");
        let log = Arc::<Log>::default();
        let remember = middleware::from_fn_with_state(Arc::clone(&log), remember);
        let router = router(&url).layer(remember);
        let task = tokio::spawn(async move {
            axum::serve(
                listener,
                router.into_make_service_with_connect_info::<SocketAddr>(),
            )
            .await
            .expect("serving does not fail");
        });
        Self { url, log, task }
    }

    /// Where it listens: `http://127.0.0.1:<port>`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The requests so far, in the order they arrived.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.log.seen).clone()
    }

    /// How many connections these requests came over.
    pub fn connections(&self) -> usize {
        lock(&self.log.peers).len()
    }

    /// The only request so far.
    #[track_caller]
    pub fn only_request(&self) -> Recorded {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1, "one request was expected: {requests:#?}");
        requests.remove(0)
    }

    /// Waits until this many requests have arrived.
    pub async fn arrived(&self, many: usize) {
        let mut count = self.log.arrived.subscribe();
        count
            .wait_for(|count| *count >= many)
            .await
            .expect("the log lives as long as the server");
    }

    /// Waits until a client went away before it had its answer.
    pub async fn abandoned(&self) {
        let mut count = self.log.abandoned.subscribe();
        count
            .wait_for(|count| *count > 0)
            .await
            .expect("the log lives as long as the server");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn remember(
    State(log): State<Arc<Log>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let mut waiting = Waiting {
        log: &log,
        answered: false,
    };
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, LARGEST_BODY)
        .await
        .unwrap_or_default();
    let recorded = Recorded::new(&parts, body.clone());
    lock(&log.peers).insert(peer);
    lock(&log.seen).push(recorded.clone());
    log.arrived.send_modify(|count| *count += 1);
    let mut request = Request::from_parts(parts, Body::from(body));
    request.extensions_mut().insert(recorded);
    let response = next.run(request).await;
    waiting.answered = true;
    response
}

/// Notices when a request is dropped before its answer is ready.
struct Waiting<'a> {
    log: &'a Log,
    answered: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.log.abandoned.send_modify(|count| *count += 1);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
