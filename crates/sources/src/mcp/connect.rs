//! How a connection comes about, by each of the three transports.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rmcp::{
    RoleClient,
    model::{ServerPeerInfo, SubscriptionFilter},
    service::{ServiceError, serve_directly_with_ct},
    transport::{
        StreamableHttpClientTransport, Transport as Wireable,
        common::client_side_sse::ExponentialBackoff,
        streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError},
    },
};
use tokio::{sync::oneshot, time::timeout};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use tracing::{Instrument as _, Span, debug, field::Empty, info_span};

use super::{
    backoff::Backoff,
    child::Child,
    connection::{Connection, Limit, STDIO},
    era::{Era, Memory},
    failure::{Failure, words},
    greeting::{GreetError, Greeting, Opening, greet},
    handler::{Handler, News, Progress, introduction},
    introspect::Trouble,
    listing,
    oauth::Access,
    settings::Transport,
    sse::{LegacySse, SseProblem},
    stdio::{Noise, Stdio},
    tail::Tail,
    upstream::{Program, Remote, Upstream, Way},
    wire::{Wire, WireError},
};

/// How many requests to one remote server may be under way at once; more wait their turn.
const MOST_REQUESTS: usize = 256;

/// Makes connections to one server.
#[derive(Debug)]
pub(super) struct Connector {
    upstream: Upstream,
    memory: Memory,
    /// Whether the remembered era may be relied on: not after a failure.
    trusts_memory: AtomicBool,
    news: Arc<News>,
    wire: OnceLock<Wire>,
    /// The way into a remote server.
    access: Option<Arc<Access>>,
    /// The children that have not ended yet.
    children: TaskTracker,
    /// The stderr of the newest child.
    tail: Mutex<Option<Tail>>,
}

/// A connection and what has to be cleared away after it.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) connection: Arc<Connection>,
    stop: DropGuard,
    is_over: CancellationToken,
    child: Option<(Child, Noise)>,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    /// The program is not there or may not be run.
    #[error("cannot start `{command}`: {cause}{}", missing(.cause))]
    Start {
        command: String,
        #[source]
        cause: io::Error,
    },
    /// The program ended, or the server closed the line.
    #[error("{problem} before it answered{details}")]
    Ended { problem: String, details: String },
    /// Nothing came.
    #[error(
        "no answer within {} s; is it an MCP server? A slow one needs a larger `start_timeout`{details}",
        .after.as_secs_f64()
    )]
    Timeout { after: Duration, details: String },
    /// What came was no MCP.
    #[error("no answer of an MCP server within {} s{details}", .after.as_secs_f64())]
    Gibberish { after: Duration, details: String },
    /// There is no common protocol.
    #[error("{problem}{details}")]
    Protocol { problem: String, details: String },
    /// The remote server cannot be reached or does not answer as one.
    #[error("{problem}")]
    Remote { problem: String, trouble: Trouble },
    /// The server is there but its tools are not.
    #[error("its tools cannot be listed: {0}")]
    Listing(#[source] Failure),
}

impl ConnectError {
    /// Whether another way to begin might do better.
    fn is_disagreement(&self) -> bool {
        match self {
            Self::Protocol { .. } | Self::Ended { .. } => true,
            Self::Remote { trouble, .. } => *trouble != Trouble::Login,
            _ => false,
        }
    }

    /// What it comes down to.
    pub(super) fn trouble(&self) -> Trouble {
        match self {
            Self::Start { .. } | Self::Ended { .. } => Trouble::CouldNotStart,
            Self::Timeout { .. } => Trouble::TimedOut,
            Self::Gibberish { .. } => Trouble::Malformed,
            Self::Protocol { .. } => Trouble::Protocol,
            Self::Remote { trouble, .. } => *trouble,
            Self::Listing(failure) => match failure {
                Failure::Timeout(_) => Trouble::TimedOut,
                Failure::Senseless(_) => Trouble::Malformed,
                Failure::Unavailable(_) => Trouble::CouldNotStart,
                Failure::Denied(_) => Trouble::Login,
                _ => Trouble::Protocol,
            },
        }
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "it stands where an error is mapped"
    )]
    fn disagreement(problem: impl ToString) -> Self {
        Self::Remote {
            problem: problem.to_string(),
            trouble: Trouble::Protocol,
        }
    }

    fn over_http(error: &StreamableHttpError<WireError>) -> Self {
        Self::Remote {
            problem: words(error),
            trouble: Trouble::over_http(error),
        }
    }
}

fn missing(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::NotFound => {
            "; is it installed and in `PATH`? Its arguments belong into `args`"
        }
        _ => "",
    }
}

impl Connector {
    pub(super) fn new(upstream: Upstream, memory: Memory, access: Option<Arc<Access>>) -> Self {
        Self {
            upstream,
            memory,
            trusts_memory: AtomicBool::new(true),
            news: Arc::new(News::new()),
            wire: OnceLock::new(),
            access,
            children: TaskTracker::new(),
            tail: Mutex::default(),
        }
    }

    pub(super) fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    pub(super) fn news(&self) -> &News {
        &self.news
    }

    /// The way into a remote server.
    pub(super) fn access(&self) -> Option<&Arc<Access>> {
        self.access.as_ref()
    }

    /// Waits until no child is left; nobody connects any more.
    pub(super) async fn childless(&self) {
        self.children.close();
        self.children.wait().await;
    }

    /// The stderr of the newest child, if the server is one.
    pub(super) fn tail(&self) -> Option<Tail> {
        self.tail
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Connects, agrees on a protocol and fetches the tools.
    pub(super) async fn connect(&self) -> Result<Line, ConnectError> {
        let span = info_span!(
            "proxy.connect",
            server = %self.upstream.name,
            "type" = self.kind(),
            toolCount = Empty,
            status = Empty,
        );
        let outcome = Box::pin(self.establish()).instrument(span.clone()).await;
        self.trusts_memory.store(outcome.is_ok(), Ordering::SeqCst);
        span.record("status", if outcome.is_ok() { "ok" } else { "error" });
        outcome
    }

    /// How the server is spoken to, as far as that is known.
    pub(super) fn kind(&self) -> &'static str {
        match &self.upstream.way {
            Way::Child(_) => STDIO,
            Way::Remote(remote) if remote.transport == Some(Transport::Sse) => "sse",
            Way::Remote(_) => "http",
        }
    }

    async fn establish(&self) -> Result<Line, ConnectError> {
        let mut line = self.line().await?;
        let connection = Arc::clone(&line.connection);
        let limit = Limit::for_series(self.upstream.start_timeout);
        let fetched = tokio::select! {
            fetched = listing::fetch(&connection, limit) => fetched,
            // Knows better than the listing why there will be none.
            fate = line.ended() => Err(Failure::Unavailable(fate)),
        };
        match fetched {
            Ok(fetched) => {
                Span::current().record("toolCount", fetched.tools.len());
                connection.keep(fetched);
                Ok(line)
            }
            Err(failure) => {
                line.close().await;
                Err(ConnectError::Listing(failure))
            }
        }
    }

    async fn line(&self) -> Result<Line, ConnectError> {
        let known = if self.trusts_memory.load(Ordering::SeqCst) {
            self.memory.recall().await
        } else {
            None
        };
        match self.attempt(known).await {
            Err(error) if known.is_some() && error.is_disagreement() => {
                debug!(server = %self.upstream.name, %error, "remembered era does not hold");
                self.attempt(None).await
            }
            outcome => outcome,
        }
    }

    async fn attempt(&self, known: Option<Era>) -> Result<Line, ConnectError> {
        match &self.upstream.way {
            Way::Child(program) => self.child(program, known).await,
            Way::Remote(remote) => self.remote(remote, known).await,
        }
    }

    async fn child(&self, program: &Program, known: Option<Era>) -> Result<Line, ConnectError> {
        let start = |cause| ConnectError::Start {
            command: program.command.to_string_lossy().into_owned(),
            cause,
        };
        let (mut child, pipes) = Child::start(program, &self.children).map_err(start)?;
        *self.tail.lock().unwrap_or_else(PoisonError::into_inner) = Some(child.tail());
        let mut stdio = Stdio::new(pipes);
        let noise = stdio.noise();
        let opening = Opening {
            known,
            patience: Some(self.upstream.start_timeout / 6),
        };
        let us = introduction();
        let greeting = timeout(self.upstream.start_timeout, greet(&mut stdio, &us, opening));
        let greeted = tokio::select! {
            greeted = greeting => greeted,
            // Somebody else may hold its pipes open, who will never answer.
            () = child.gone() => Ok(Err(GreetError::Closed)),
        };
        let problem = match greeted {
            Ok(Ok(greeting)) => {
                let mut line = self.serve(stdio, greeting, STDIO).await?;
                line.child = Some((child, noise));
                return Ok(line);
            }
            Ok(Err(error)) => Some(error),
            Err(_) => None,
        };
        let problem = match problem {
            // Its end is nearer to the cause than what its end did to us.
            Some(GreetError::Closed | GreetError::Send(_)) => {
                Misstart::Ended(fate(&mut child, &noise).await)
            }
            Some(error) => Misstart::Disagreed(error.to_string()),
            None if noise.describe().is_empty() => Misstart::Silent(self.upstream.start_timeout),
            None => Misstart::Babbled(self.upstream.start_timeout),
        };
        let details = format!("{}{}", noise.describe(), child.tail().last_words().await);
        Err(problem.with(details))
    }

    async fn remote(&self, remote: &Remote, known: Option<Era>) -> Result<Line, ConnectError> {
        let wire = self.wire()?;
        let after = self.upstream.start_timeout;
        let connecting = async {
            match remote.transport {
                Some(Transport::Sse) => self.sse(wire, remote).await,
                Some(Transport::StreamableHttp) => {
                    let line = self.http(wire, remote, known).await;
                    line.map_err(|refusal| refusal.error)
                }
                None => match self.http(wire.clone(), remote, known).await {
                    Err(refusal) if refusal.suggests_sse => {
                        // What the first transport said is nearer to what was asked for.
                        self.sse(wire, remote).await.map_err(|_| refusal.error)
                    }
                    line => line.map_err(|refusal| refusal.error),
                },
            }
        };
        let silence = |_| Misstart::Silent(after).with(String::new());
        timeout(after, connecting).await.map_err(silence)?
    }

    async fn http(&self, wire: Wire, remote: &Remote, known: Option<Era>) -> Result<Line, Refusal> {
        if known.is_none() {
            // A server of the old era may take a question it does not know for one to ponder.
            let asking = self.http_once(wire.clone(), remote, None);
            if let Ok(line) = timeout(self.upstream.start_timeout / 3, asking).await {
                return line;
            }
        }
        self.http_once(wire, remote, known.or(Some(Era::Handshake)))
            .await
    }

    async fn http_once(
        &self,
        wire: Wire,
        remote: &Remote,
        known: Option<Era>,
    ) -> Result<Line, Refusal> {
        let mut transport = streamable(wire, remote);
        let opening = Opening {
            known,
            patience: None,
        };
        let greeting = greet(&mut transport, &introduction(), opening).await;
        let greeting = greeting.map_err(|error| Refusal::from(&error))?;
        let line = self.serve(transport, greeting, "http").await;
        line.map_err(|error| Refusal {
            error,
            suggests_sse: false,
        })
    }

    async fn sse(&self, wire: Wire, remote: &Remote) -> Result<Line, ConnectError> {
        let opened = LegacySse::open(wire, remote).await;
        let mut transport = opened.map_err(|problem| match problem {
            SseProblem::Listen(error) => ConnectError::over_http(&error),
            other => ConnectError::disagreement(other),
        })?;
        // This transport is older than the new era.
        let opening = Opening {
            known: Some(Era::Handshake),
            patience: None,
        };
        let greeting = greet(&mut transport, &introduction(), opening).await;
        let greeting = greeting.map_err(ConnectError::disagreement)?;
        self.serve(transport, greeting, "sse").await
    }

    fn wire(&self) -> Result<Wire, ConnectError> {
        if let Some(wire) = self.wire.get() {
            return Ok(wire.clone());
        }
        let wire = Wire::new(self.access.clone()).map_err(ConnectError::disagreement)?;
        Ok(self.wire.get_or_init(|| wire).clone())
    }

    /// Hands the line over to the protocol library, which runs it in a task of its own.
    async fn serve(
        &self,
        transport: impl Wireable<RoleClient> + 'static,
        greeting: Greeting,
        kind: &'static str,
    ) -> Result<Line, ConnectError> {
        let Greeting { era, info } = greeting;
        if kind != "sse" {
            self.memory.keep(era).await;
        }
        let handler = Handler {
            source: self.upstream.name.clone(),
            people: Arc::default(),
            progress: Arc::new(Progress::default()),
            news: Arc::clone(&self.news),
        };
        let (stop, is_over) = (CancellationToken::new(), CancellationToken::new());
        let (told, peer) = oneshot::channel();
        let service = {
            let (handler, info, stop) = (handler.clone(), info.clone(), stop.clone());
            let is_over = is_over.clone().drop_guard();
            // In a task, so that the span of this attempt ends with the attempt.
            async move {
                let running = serve_directly_with_ct(handler, transport, Some(info), stop);
                drop(told.send(running.peer().clone()));
                drop(running.waiting().await);
                drop(is_over);
            }
        };
        tokio::spawn(service);
        let gone = |_| ConnectError::disagreement("the connection closed at once");
        let peer = peer.await.map_err(gone)?;
        let connection = Arc::new(Connection::new(peer, handler, info, kind));
        if era == Era::Stateless && reports_changes(&connection.info) {
            let (connection, news) = (Arc::clone(&connection), Arc::clone(&self.news));
            let listening = async move { listen(&connection, &news).await };
            let stop = stop.clone();
            tokio::spawn(async move { stop.run_until_cancelled(listening).await });
        }
        Ok(Line {
            connection,
            stop: stop.drop_guard(),
            is_over,
            child: None,
        })
    }
}

/// What went wrong with a child, before the details are known.
enum Misstart {
    Ended(String),
    Disagreed(String),
    Silent(Duration),
    Babbled(Duration),
}

impl Misstart {
    fn with(self, details: String) -> ConnectError {
        match self {
            Self::Ended(problem) => ConnectError::Ended { problem, details },
            Self::Disagreed(problem) => ConnectError::Protocol { problem, details },
            Self::Silent(after) => ConnectError::Timeout { after, details },
            Self::Babbled(after) => ConnectError::Gibberish { after, details },
        }
    }
}

/// A streamable HTTP connection that did not come about.
struct Refusal {
    error: ConnectError,
    /// The server answered as one that speaks the older transport would.
    suggests_sse: bool,
}

impl From<&GreetError<StreamableHttpError<WireError>>> for Refusal {
    fn from(error: &GreetError<StreamableHttpError<WireError>>) -> Self {
        match error {
            GreetError::Send(error) => Self {
                suggests_sse: matches!(
                    error,
                    StreamableHttpError::Client(WireError::Status { status, .. })
                        if matches!(status.as_u16(), 400 | 404 | 405)
                ),
                error: ConnectError::over_http(error),
            },
            other => Self {
                error: Misstart::Disagreed(other.to_string()).with(String::new()),
                suggests_sse: false,
            },
        }
    }
}

fn streamable(wire: Wire, remote: &Remote) -> StreamableHttpClientTransport<Wire> {
    let headers: HashMap<_, _> = remote
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut again = ExponentialBackoff::default();
    again.max_delay = Some(Duration::from_mins(1));
    let mut config = StreamableHttpClientTransportConfig::with_uri(remote.url.as_str())
        .custom_headers(headers)
        .max_concurrent_requests(MOST_REQUESTS);
    config.retry_config = Arc::new(again);
    StreamableHttpClientTransport::with_client(wire, config)
}

fn reports_changes(info: &ServerPeerInfo) -> bool {
    let tools = info.capabilities.tools.as_ref();
    tools.is_some_and(|tools| tools.list_changed == Some(true))
}

/// Listens, in the new era, for word that the tools have changed.
async fn listen(connection: &Connection, news: &News) {
    let mut backoff = Backoff::new();
    loop {
        let wanted = SubscriptionFilter::builder().tools_list_changed().build();
        match connection.peer().listen(wanted).await {
            Ok(mut subscription) => {
                while let Ok(Some(_)) = subscription.next().await {
                    news.tools_changed();
                }
                // What happened from here until we listen again would be missed.
                news.tools_changed();
            }
            // The server will not have it, or is gone.
            Err(ServiceError::McpError(_) | ServiceError::TransportClosed) => return,
            Err(error) => debug!(%error, "not listening for changes"),
        }
        tokio::time::sleep(backoff.next()).await;
    }
}

impl Line {
    /// Waits for the end of the connection and says why it came.
    pub(super) async fn ended(&mut self) -> String {
        let gone = async {
            match &mut self.child {
                Some((child, _)) => child.gone().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.is_over.cancelled() => {}
            () = self.connection.given_up() => {}
            // Somebody else may hold its pipes open, who will never answer.
            () = gone => {}
        }
        match &mut self.child {
            None => "the connection to the server was lost".to_owned(),
            Some((child, noise)) => {
                let fate = fate(child, noise).await;
                format!("{fate}{}", child.tail().last_words().await)
            }
        }
    }

    /// Lets go of the connection and ends the child.
    pub(super) async fn close(self) {
        const PATIENCE: Duration = Duration::from_secs(5);
        let Self {
            connection,
            stop,
            is_over,
            child,
        } = self;
        connection.give_up();
        drop(stop);
        drop(timeout(PATIENCE, is_over.cancelled()).await);
        if let Some((child, _)) = child {
            child.end().await;
        }
    }
}

/// How a child ended that does not speak any more.
async fn fate(child: &mut Child, noise: &Noise) -> String {
    const MOMENT: Duration = Duration::from_secs(1);
    if let Some(fault) = noise.fault() {
        return fault;
    }
    match timeout(MOMENT, child.ended()).await {
        Ok(exit) => exit.describe(),
        Err(_) => "the server closed its output".to_owned(),
    }
}
