//! Calls: one function, one request, one answer.

mod address;
mod body;
mod encode;
mod multipart;
mod oauth;
mod paging;
mod profile;
mod refusal;
mod request;
mod response;
mod retry;
mod security;
mod style;
#[cfg(test)]
mod tests;

pub(crate) use profile::Profile;

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use toolscript_catalog::{Call, CallContext, CallError, FunctionId, Reply, SourceName};
use tracing::debug;
use url::Url;

use super::{
    Settings,
    operation::{Api, Operation},
};
use crate::{
    SettingsError,
    outbound::{Answer, Limits, Outbound, OutboundError, Request, host_of},
};
use address::NoServer;
use request::Draft;
use retry::Retry;
use security::{Means, Proof, ProofError, Security};

/// The largest answer a call takes, after decompression.
const LARGEST_ANSWER: usize = 32 * 1024 * 1024;

/// Calls the operations of one API.
#[derive(Debug)]
pub(crate) struct Client {
    name: SourceName,
    api: Arc<Api>,
    profile: Profile,
    security: Security,
    outbound: Outbound,
    retry: Retry,
    largest_answer: usize,
    /// The server of most operations.
    server: OnceLock<Result<Url, NoServer>>,
}

impl Client {
    /// A client for one API, with the settings of its source.
    pub(crate) fn new(
        name: SourceName,
        api: Arc<Api>,
        settings: &Settings,
        outbound: Outbound,
    ) -> Result<Self, SettingsError> {
        let profile = Profile::new(settings)?;
        Ok(Self {
            security: Security::new(Arc::clone(&api)),
            retry: Retry::new(profile.retries),
            largest_answer: LARGEST_ANSWER,
            server: OnceLock::new(),
            name,
            api,
            profile,
            outbound,
        })
    }

    /// Performs a call whose arguments have been judged and whose frozen parameters are filled in.
    pub(crate) async fn call(
        &self,
        cx: &CallContext,
        operation: &Operation,
        call: Call,
    ) -> Result<Reply, CallError> {
        let attempt = Attempt {
            client: self,
            operation,
            function: &call.function,
            brought: cx.credential.as_ref().map(Means::from_call),
            started: Instant::now(),
            deadline: cx.deadline,
        };
        let performing = attempt.perform(&call);
        let Some(deadline) = cx.deadline else {
            return performing.await;
        };
        match tokio::time::timeout_at(deadline.into(), performing).await {
            Ok(result) => result,
            Err(_) => Err(attempt.timed_out()),
        }
    }

    /// Where an operation is called: the settings first, then the document.
    fn server(&self, operation: &Operation) -> Result<Cow<'_, Url>, NoServer> {
        if let Some(url) = &self.profile.base_url {
            return Ok(Cow::Borrowed(url));
        }
        let read = |servers| address::server(servers, &self.profile.variables);
        if !operation.servers.is_empty() {
            return read(&operation.servers).map(Cow::Owned);
        }
        let server = self.server.get_or_init(|| read(&self.api.servers));
        server.as_ref().map(Cow::Borrowed).map_err(Clone::clone)
    }

    fn unavailable(&self, problem: &dyn std::error::Error) -> CallError {
        let (source_name, problem) = (self.name.to_string(), problem.to_string());
        CallError::Unavailable {
            source_name,
            problem,
        }
    }
}

/// One call under way.
struct Attempt<'a> {
    client: &'a Client,
    operation: &'a Operation,
    function: &'a FunctionId,
    brought: Option<Means>,
    started: Instant,
    deadline: Option<Instant>,
}

impl Attempt<'_> {
    async fn perform(&self, call: &Call) -> Result<Reply, CallError> {
        let client = self.client;
        let draft = Draft::new(self.operation, &client.profile.headers, call);
        let draft = draft.map_err(|problem| problem.of(self.function))?;
        let server = client.server(self.operation);
        let server = server.map_err(|problem| client.unavailable(&problem))?;
        let answer = self.exchange(&draft, &server).await?;
        if !answer.status.is_success() {
            return Err(CallError::Status {
                function: self.function.clone(),
                status: answer.status.as_u16(),
                headers: response::failure_headers(&answer.headers),
                body: response::failure_body(&answer),
            });
        }
        let value = response::value(&answer).map_err(|problem| CallError::Upstream {
            function: self.function.clone(),
            problem: problem.to_string(),
            body: Some(response::text_of(&answer.body)),
        })?;
        let mut next = paging::next(self.operation, &call.params, &answer, &value);
        if let Some(next) = &mut next {
            next.retain(|key, _| !client.profile.frozen.contains(key));
        }
        Ok(Reply { value, next })
    }

    /// Sends the request, and once more where a fetched token turns out to be stale.
    async fn exchange(&self, draft: &Draft, server: &Url) -> Result<Answer, CallError> {
        let proof = self.prove().await?;
        let answer = self.send(draft, server, &proof).await?;
        let is_refused = answer.status == http::StatusCode::UNAUTHORIZED;
        if !is_refused || !proof.forget_tokens().await {
            return Ok(answer);
        }
        let proof = self.prove().await?;
        self.send(draft, server, &proof).await
    }

    async fn prove(&self) -> Result<Proof, CallError> {
        let client = self.client;
        let fetching = (&client.outbound, self.time_for_one_request());
        let brought = self.brought.as_ref();
        let proving =
            client
                .security
                .prove(self.operation, &client.profile.keyring, brought, fetching);
        match proving.await {
            Ok(proof) => {
                if proof.is_empty() && !self.operation.security.is_empty() {
                    debug!(function = %self.function, "no credential for a function that wants one");
                }
                Ok(proof)
            }
            Err(ProofError::NoFit(problem)) => Err(CallError::Upstream {
                function: self.function.clone(),
                problem: problem.to_string(),
                body: None,
            }),
            Err(problem) => Err(client.unavailable(&problem)),
        }
    }

    /// Sends a request, again and again where that is right and there is time.
    async fn send(&self, draft: &Draft, server: &Url, proof: &Proof) -> Result<Answer, CallError> {
        let request = draft
            .finish(server, proof)
            .map_err(|problem| problem.of(self.function))?;
        let mut attempt = 0;
        loop {
            let outcome = self.send_once(&request, attempt).await;
            let pause = self.client.retry.pause(attempt, &request.method, &outcome);
            let Some(pause) = pause.filter(|pause| self.has_time_for(*pause)) else {
                return outcome.map_err(|error| self.failed(&error));
            };
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    async fn send_once(&self, request: &Request, attempt: u32) -> Result<Answer, OutboundError> {
        let sent = Instant::now();
        let limits = Limits {
            max_bytes: self.client.largest_answer,
            timeout: self.time_for_one_request(),
        };
        let outcome = self.client.outbound.send(request, limits).await;
        let (function, method, url) = (self.function, &request.method, &request.url);
        let elapsed_ms = sent.elapsed().as_millis();
        match &outcome {
            Ok(answer) => {
                let (status, bytes) = (answer.status.as_u16(), answer.body.len());
                debug!(%function, %method, host = host_of(url), attempt, status, bytes, elapsed_ms, "request answered");
            }
            Err(error) => {
                debug!(%function, %method, host = host_of(url), attempt, elapsed_ms, %error, "request failed");
            }
        }
        outcome
    }

    fn time_for_one_request(&self) -> Duration {
        let allowed = self.client.profile.timeout;
        self.time_left().map_or(allowed, |left| left.min(allowed))
    }

    fn has_time_for(&self, pause: Duration) -> bool {
        self.time_left().is_none_or(|left| pause < left)
    }

    fn time_left(&self) -> Option<Duration> {
        self.deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    fn failed(&self, error: &OutboundError) -> CallError {
        if let OutboundError::Timeout { .. } = error {
            return self.timed_out();
        }
        CallError::Upstream {
            function: self.function.clone(),
            problem: error.to_string(),
            body: None,
        }
    }

    fn timed_out(&self) -> CallError {
        let after_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        CallError::Timeout {
            function: self.function.clone(),
            after_ms,
        }
    }
}
