//! `Server`: one MCP server as a source.

use std::{collections::HashMap, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderValue;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use serde_json::{Map, Value};
use tokio::time::Instant;
use toolscript_catalog::{
    Call, CallContext, CallError, Credential, FunctionId, FunctionName, Listing, Person, Reply,
    Source, SourceInfo, SourceName, Status, binary,
};
use tracing::{Instrument as _, Span, field::Empty, info_span};

use super::{
    connect::Connector,
    connection::{Connection, Limit},
    content::{self, Answer},
    elicitation,
    failure::{Failure, tool_error},
    handler::Hearing,
    link::{Link, State, Wish},
    listing,
    tool::{Callable, Compiled, compile},
    upstream::{Upstream, Way},
    wire::CallAuthorization,
};
use crate::Changed;

/// How often a server may ask for more before it answers a call.
const MOST_ROUNDS: u32 = 10;

/// One MCP server: lists its tools as functions and calls them.
#[derive(Debug)]
pub struct Server {
    connector: Arc<Connector>,
    link: Link,
    /// The tools of the last listing by the names of their functions.
    callables: ArcSwap<HashMap<FunctionName, Callable>>,
}

impl Server {
    pub(super) fn new(connector: Connector, changed: Changed) -> Self {
        let connector = Arc::new(connector);
        Self {
            link: Link::new(Arc::clone(&connector), changed),
            connector,
            callables: ArcSwap::default(),
        }
    }

    /// The last lines the server wrote to stderr, oldest first; none for a remote server.
    pub fn stderr(&self) -> Vec<String> {
        self.connector
            .tail()
            .map(|tail| tail.lines())
            .unwrap_or_default()
    }

    /// Whether somebody has to log in before the server works, or works as wished.
    pub fn wants_login(&self) -> bool {
        let access = self.connector.access();
        access.is_some_and(|access| access.wants_login())
    }

    fn upstream(&self) -> &Upstream {
        self.connector.upstream()
    }

    fn unavailable(&self, problem: impl Into<String>) -> CallError {
        CallError::Unavailable {
            source_name: self.upstream().name.to_string(),
            problem: problem.into(),
        }
    }

    async fn fetch(&self) -> Result<Listing, Failure> {
        let connection = self.link.connection(Wish::Insist, None).await?;
        let fetched = if let Some(fetched) = connection.take_fetched() {
            fetched
        } else {
            let limit = Limit::for_series(self.upstream().start_timeout);
            listing::fetch(&connection, limit).await?
        };
        let expiry = fetched.holds_for.map(|time| Instant::now() + bounded(time));
        self.connector.news().expires(expiry);
        let connector = Arc::clone(&self.connector);
        let compiling = tokio::task::spawn_blocking(move || {
            compile(connector.upstream(), &connection.info, fetched)
        });
        let senseless = |error: tokio::task::JoinError| Failure::Senseless(error.to_string());
        let Compiled { listing, callables } = compiling.await.map_err(senseless)?;
        self.callables.store(Arc::new(callables));
        Ok(listing)
    }

    /// What it takes to call a function, or why it cannot be called.
    fn callable(&self, function: &FunctionId) -> Result<Callable, CallError> {
        if !self.upstream().enabled {
            return Err(self.unavailable("it is switched off; set `enabled = true`"));
        }
        if let Some(callable) = self.callables.load().get(&function.name) {
            return Ok(callable.clone());
        }
        match self.link.state().problem() {
            Some(problem) => Err(self.unavailable(&*problem)),
            None => Err(CallError::NotFound {
                function: function.to_string(),
                hint: format!("`{}` does not list it any more", self.upstream().name),
            }),
        }
    }

    async fn perform(
        &self,
        cx: &CallContext,
        callable: &Callable,
        call: Call,
    ) -> Result<Reply, CallError> {
        let function = call.function.clone();
        let request = self.request(cx, callable, call)?;
        let limit = Limit::new(self.upstream().timeout, cx.deadline);
        let aside = Aside {
            source: &self.upstream().name,
            person: cx.person.as_ref(),
            hearing: cx.observer.clone().map(|observer| Hearing {
                function: function.clone(),
                observer,
            }),
        };
        let mut outcome = self.attempt(&request, limit, &aside).await;
        if let Err(failure) = &outcome
            && failure.may_be_repeated(callable.is_repeatable)
        {
            outcome = self.attempt(&request, limit, &aside).await;
        }
        match outcome.map_err(|failure| failure.of(&function))? {
            Answer::Value(value) => Ok(Reply::value(value)),
            Answer::Error { words, body } => Err(tool_error(&function, &words, body)),
        }
    }

    fn request(
        &self,
        cx: &CallContext,
        callable: &Callable,
        call: Call,
    ) -> Result<CallToolRequest, CallError> {
        let params = CallToolRequestParams::new(callable.tool.clone());
        let mut request = CallToolRequest::new(params.with_arguments(plain(call.params)));
        if let Some(credential) = &cx.credential {
            request
                .extensions
                .insert(self.authorization(credential, &call.function)?);
        }
        Ok(request)
    }

    /// A credential the caller brought, for a server that has a place for it.
    fn authorization(
        &self,
        credential: &Credential,
        function: &FunctionId,
    ) -> Result<CallAuthorization, CallError> {
        let denied = |rule: &str| CallError::Denied {
            function: function.clone(),
            rule: rule.to_owned(),
        };
        if let Way::Child(_) = self.upstream().way {
            let rule = "a server that is a program takes its credentials from `env`, not by call";
            return Err(denied(rule));
        }
        let value = match credential {
            Credential::Bearer { token } | Credential::Plain(token) => {
                format!("Bearer {}", token.reveal())
            }
            Credential::Basic { username, password } => {
                let pair = format!("{username}:{}", password.reveal());
                format!("Basic {}", STANDARD.encode(pair))
            }
            Credential::ApiKey { .. } => {
                return Err(denied(
                    "MCP has no place for an API key; bring a bearer token",
                ));
            }
        };
        let value = HeaderValue::try_from(value);
        let mut value = value.map_err(|_| denied("the credential does not fit into a header"))?;
        value.set_sensitive(true);
        Ok(CallAuthorization(value))
    }

    async fn attempt(
        &self,
        request: &CallToolRequest,
        limit: Limit,
        aside: &Aside<'_>,
    ) -> Result<Answer, Failure> {
        let connection = self
            .link
            .connection(Wish::Accept, Some(limit.latest))
            .await?;
        let answer = converse(&connection, request, limit, aside).await;
        if answer.as_ref().is_err_and(Failure::is_down) {
            connection.give_up();
        }
        answer
    }
}

/// Who is there besides the caller while a call lasts.
struct Aside<'a> {
    source: &'a SourceName,
    person: Option<&'a Arc<dyn Person>>,
    hearing: Option<Hearing>,
}

/// Makes a call and answers what the server wants to know before it can finish.
async fn converse(
    connection: &Connection,
    request: &CallToolRequest,
    limit: Limit,
    aside: &Aside<'_>,
) -> Result<Answer, Failure> {
    let _present = connection.people().present(aside.person);
    let person = aside.person.map(AsRef::as_ref);
    let mut asked = request.clone();
    for round in 0..MOST_ROUNDS {
        let asking = ClientRequest::CallToolRequest(asked);
        let answering = connection.request_heard(asking, limit, aside.hearing.clone());
        match answering.await? {
            ServerResult::CallToolResult(result) => return Ok(content::read(result)),
            ServerResult::InputRequiredResult(more) => {
                let questions = more.input_requests.unwrap_or_default();
                if questions.is_empty() {
                    // Only a state to bring back: the server is not ready yet.
                    tokio::time::sleep(Duration::from_millis(50) * 2_u32.pow(round)).await;
                }
                let answers = elicitation::answer(person, aside.source, questions).await?;
                asked = request.clone();
                asked.params.input_responses = (!answers.is_empty()).then_some(answers);
                asked.params.request_state = more.request_state;
            }
            ServerResult::CustomResult(result) => {
                return content::read_unknown(&result.0).ok_or_else(senseless);
            }
            ServerResult::EmptyResult(_) => return Ok(Answer::Value(Value::Null)),
            _ => return Err(senseless()),
        }
    }
    let problem = format!("the server asked {MOST_ROUNDS} times for more and did not finish");
    Err(Failure::Senseless(problem))
}

fn senseless() -> Failure {
    Failure::Senseless("the answer is not the result of a tool".to_owned())
}

/// The parameters as MCP takes them: bytes travel as base64 text.
fn plain(mut params: Map<String, Value>) -> Map<String, Value> {
    params.values_mut().for_each(without_buffers);
    params
}

fn without_buffers(value: &mut Value) {
    if binary::decode(value).is_some() {
        *value = value[binary::KEY].take();
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_buffers),
        Value::Object(fields) => fields.values_mut().for_each(without_buffers),
        _ => {}
    }
}

/// A time to list again that is neither all the time nor never.
fn bounded(time: Duration) -> Duration {
    time.clamp(Duration::from_secs(5), Duration::from_hours(24))
}

#[async_trait]
impl Source for Server {
    async fn list(&self) -> Result<Listing, CallError> {
        if !self.upstream().enabled {
            return Ok(Listing {
                info: SourceInfo {
                    kind: "mcp".to_owned(),
                    address: self.upstream().address(),
                    ..SourceInfo::default()
                },
                ..Listing::default()
            });
        }
        self.fetch()
            .await
            .map_err(|failure| self.unavailable(failure.to_string()))
    }

    async fn call(&self, cx: &CallContext, call: Call) -> Result<Reply, CallError> {
        let callable = self.callable(&call.function)?;
        let span = info_span!(
            "proxy.tool.call",
            server = %self.upstream().name,
            tool = callable.tool,
            resultLength = Empty,
            duration = Empty,
            status = Empty,
            errorType = Empty,
            errorMessage = Empty,
        );
        let started = Instant::now();
        let outcome = self
            .perform(cx, &callable, call)
            .instrument(span.clone())
            .await;
        record(&span, started, &outcome);
        outcome
    }

    async fn close(&self) {
        self.link.close().await;
    }

    fn status(&self) -> Option<Status> {
        let (connection, error) = match self.link.state() {
            State::Up(connection) if connection.is_alive() => (Some(connection), None),
            state => (None, state.problem().map(|problem| problem.to_string())),
        };
        let transport = connection
            .as_ref()
            .map_or(self.connector.kind(), |line| line.transport);
        Some(Status {
            transport: transport.to_owned(),
            enabled: self.upstream().enabled,
            connected: connection.is_some(),
            error,
        })
    }

    fn comes_back(&self) -> bool {
        self.upstream().enabled
    }
}

/// Sets down how a call went.
fn record(span: &Span, started: Instant, outcome: &Result<Reply, CallError>) {
    if span.is_disabled() {
        return;
    }
    let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    span.record("duration", millis);
    match outcome {
        Ok(reply) => {
            span.record("status", "ok");
            span.record("resultLength", length(&reply.value));
        }
        Err(error) => {
            span.record("status", "error");
            span.record("errorType", error.code().word());
            span.record("errorMessage", tracing::field::display(error));
        }
    }
}

/// How many bytes a value takes as JSON, without writing it down.
fn length(value: &Value) -> u64 {
    struct Count(u64);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting does not fail.
    drop(serde_json::to_writer(&mut count, value));
    count.0
}
