//! Our side of the MCP conformance suite in client mode: connects to the server whose address is
//! the last argument the way toolscript does, logs in where it is asked to, and calls its tools.
//!
//! `tests/conformance/client` runs the suite with it.

#![expect(clippy::print_stderr, reason = "the suite keeps what a client says")]

use std::{env, error::Error, path::Path, process::ExitCode, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use toolscript_catalog::{
    Answer, Call, CallContext, CallError, Form, Function, FunctionId, FunctionName, Listing,
    Person, Question, Source as _, SourceName, Type, Unreachable,
};
use toolscript_sources::{
    Changed, Context,
    mcp::{self, Server, Settings},
    outbound::Outbound,
};
use url::Url;

/// The document the suite takes for a description of its client.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// How often a person would log in before they give up.
const MOST_LOGINS: usize = 3;

/// One scenario of the suite.
struct Trial {
    cx: Context,
    name: SourceName,
    settings: Settings,
    server: Arc<Server>,
    logins: usize,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let address = env::args().next_back().unwrap_or_default();
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let given = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let given: Value = serde_json::from_str(&given).unwrap_or_default();
    let state = tempfile::tempdir()?;
    let mut trial = Trial::new(state.path(), settings(&address, &scenario, &given)?)?;
    let listing = trial.list().await?;
    for (tool, params) in calls(&listing, &given) {
        match trial.call(&tool, params).await? {
            Ok(value) => eprintln!("{tool}: {}", excerpt(&value)),
            Err(error) => eprintln!("{tool}: {error}"),
        }
    }
    trial.server.close().await;
    Ok(())
}

/// What somebody who uses this server would have written into `toolscript.toml`.
fn settings(address: &str, scenario: &str, given: &Value) -> Result<Settings, Box<dyn Error>> {
    let kind = if scenario.starts_with("auth/client-credentials") {
        json!({"type": "client_credentials"})
    } else {
        json!({"type": "oauth", "client_metadata_url": CLIENT_DOCUMENT})
    };
    let mut auth: Map<String, Value> = serde_json::from_value(kind)?;
    for (theirs, ours) in [
        ("client_id", "client_id"),
        ("client_secret", "client_secret"),
        ("private_key_pem", "private_key"),
        ("issuer", "issuer"),
    ] {
        if let Some(value) = given.get(theirs) {
            auth.insert(ours.to_owned(), value.clone());
        }
    }
    Ok(serde_json::from_value(json!({
        "url": address,
        "auth": auth,
        "timeout": 20,
        "start_timeout": 20,
    }))?)
}

/// The calls the suite wants, else one of every tool.
fn calls(listing: &Listing, given: &Value) -> Vec<(String, Map<String, Value>)> {
    if let Some(calls) = given["toolCalls"].as_array() {
        let call = |call: &Value| {
            let tool = call["name"].as_str()?.to_owned();
            let params = call["arguments"].as_object().cloned();
            Some((tool, params.unwrap_or_default()))
        };
        return calls.iter().filter_map(call).collect();
    }
    let call = |function: &Function| (function.name.to_string(), arguments(function));
    listing.functions.iter().map(call).collect()
}

/// Arguments that fit.
fn arguments(function: &Function) -> Map<String, Value> {
    let fields = function.params.fields.iter().filter_map(|field| {
        let value = match &field.ty {
            Type::Number(_) => json!(5),
            Type::Boolean => json!(true),
            Type::String(_) => json!("x"),
            _ => return None,
        };
        Some((field.name.to_string(), value))
    });
    fields.collect()
}

impl Trial {
    fn new(state: &Path, settings: Settings) -> Result<Self, Box<dyn Error>> {
        let cx = Context {
            outbound: Outbound::new(),
            cache: None,
            folder: state.to_owned(),
            changed: Changed::ignored(),
            state: Some(state.to_owned()),
            ..Context::default()
        };
        let name = SourceName::parse("suite")?;
        Ok(Self {
            server: mcp::open(&cx, name.clone(), settings.clone())?,
            cx,
            name,
            settings,
            logins: 0,
        })
    }

    async fn list(&mut self) -> Result<Listing, Box<dyn Error>> {
        loop {
            match self.server.list().await {
                Err(_) if self.may_log_in() => self.log_in().await?,
                listed => return Ok(listed?),
            }
        }
    }

    async fn call(
        &mut self,
        tool: &str,
        params: Map<String, Value>,
    ) -> Result<Result<Value, CallError>, Box<dyn Error>> {
        let cx = CallContext {
            person: Some(Arc::new(Agreeable)),
            ..CallContext::default()
        };
        let function = FunctionId {
            source: self.name.clone(),
            name: FunctionName::clean(tool),
        };
        let call = Call {
            function,
            params,
            body: None,
        };
        loop {
            match self.server.call(&cx, call.clone()).await {
                Err(_) if self.may_log_in() => self.log_in().await?,
                outcome => return Ok(outcome.map(|reply| reply.value)),
            }
        }
    }

    fn may_log_in(&self) -> bool {
        self.server.wants_login() && self.logins < MOST_LOGINS
    }

    /// `toolscript server login`, with a browser that agrees to everything.
    async fn log_in(&mut self) -> Result<(), Box<dyn Error>> {
        self.logins += 1;
        let login = mcp::login(&self.cx, self.name.clone(), self.settings.clone(), None).await?;
        let url = Url::parse(login.url())?;
        let browser = self
            .cx
            .outbound
            .fetch(&url, 1 << 20, Duration::from_secs(20));
        tokio::select! {
            finished = login.finish() => Ok(finished?),
            Err(error) = browser => Err(error.into()),
        }
    }
}

/// Somebody who takes every form as it comes.
struct Agreeable;

#[async_trait]
impl Person for Agreeable {
    async fn ask(&self, question: Question) -> Result<Answer, Unreachable> {
        let Form::Fields(schema) = question.form else {
            return Ok(Answer::Declined);
        };
        let fields = schema.get("properties").and_then(Value::as_object);
        let defaults = fields.into_iter().flatten().filter_map(|(name, field)| {
            let value = field.get("default")?;
            Some((name.clone(), value.clone()))
        });
        Ok(Answer::Accepted(defaults.collect()))
    }
}

fn excerpt(value: &Value) -> String {
    value.to_string().chars().take(200).collect()
}
