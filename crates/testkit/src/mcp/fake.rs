//! The protocol side of the fake: both eras, tools with pages, news about them.

use std::{
    collections::HashMap,
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::{Era, Plan, tools};

/// Where what the server says goes.
pub(super) type Out = Arc<dyn Fn(Value) + Send + Sync>;

/// A server that follows a plan.
#[derive(Debug)]
pub struct Fake {
    pub(super) plan: Plan,
    era: OnceLock<Era>,
    state: Mutex<State>,
    changed: Condvar,
}

/// What happens while it runs.
#[derive(Default)]
pub(super) struct State {
    /// Whether the tool that comes and goes is there.
    pub(super) has_extra_tool: bool,
    /// The ids of requests the client does not want answered any more.
    pub(super) cancelled: Vec<Value>,
    /// How many calls came.
    pub(super) calls: usize,
    /// Everything the client said, in order.
    pub(super) heard: Vec<Value>,
    /// Answers to questions of ours.
    pub(super) answers: HashMap<String, Value>,
    /// The lines of calls that are never answered.
    pub(super) unanswered: Vec<Out>,
    /// Who wants to hear about changes: the id of the subscription where there is one.
    listeners: Vec<(Value, Out)>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

impl Fake {
    /// A server that follows the plan.
    pub fn new(plan: Plan) -> Arc<Self> {
        Arc::new(Self {
            plan,
            era: OnceLock::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything the client said so far.
    pub fn heard(&self) -> Vec<Value> {
        self.state().heard.clone()
    }

    /// How many calls came so far.
    pub fn calls(&self) -> usize {
        self.state().calls
    }

    /// Waits until the state is as wanted, ten seconds at most.
    pub(super) fn wait_for(&self, is_as_wanted: impl Fn(&State) -> bool) -> bool {
        let wait = Duration::from_secs(10);
        let waiting = |state: &mut State| !is_as_wanted(state);
        let outcome = self.changed.wait_timeout_while(self.state(), wait, waiting);
        !outcome
            .unwrap_or_else(PoisonError::into_inner)
            .1
            .timed_out()
    }

    /// Makes a tool come or go, and tells whoever listens.
    pub fn change_tools(&self) {
        let listeners = {
            let mut state = self.state();
            state.has_extra_tool = !state.has_extra_tool;
            state.listeners.clone()
        };
        for (id, out) in listeners {
            let mut params = json!({});
            if !id.is_null() {
                params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": id});
            }
            out(json!({
                "jsonrpc": "2.0",
                "method": "notifications/tools/list_changed",
                "params": params,
            }));
        }
    }

    /// Takes whoever holds `out` for a listener of the old era.
    pub(super) fn add_listener(&self, out: Out) {
        self.state().listeners.push((Value::Null, out));
    }

    /// Whether it speaks the new era on this connection.
    pub(super) fn is_stateless(&self) -> bool {
        let era = if self.plan.era == Era::Both {
            self.era.get().copied()
        } else {
            Some(self.plan.era)
        };
        era == Some(Era::Stateless)
    }

    /// Takes one message of the client.
    pub(super) fn hear(self: &Arc<Self>, message: &Value, out: &Out) {
        self.state().heard.push(message.clone());
        self.changed.notify_all();
        if self.plan.is_silent {
            return;
        }
        let (method, id) = (message["method"].as_str(), message.get("id"));
        match (method, id) {
            (Some(method), Some(id)) => self.request(method, id, &message["params"], out),
            (Some("notifications/cancelled"), None) => {
                self.state()
                    .cancelled
                    .push(message["params"]["requestId"].clone());
                self.changed.notify_all();
            }
            (None, Some(id)) => {
                let id = id.as_str().unwrap_or_default().to_owned();
                self.state().answers.insert(id, message.clone());
                self.changed.notify_all();
            }
            _ => {}
        }
    }

    fn request(self: &Arc<Self>, method: &str, id: &Value, params: &Value, out: &Out) {
        if self.plan.era == Era::Both {
            let asked = if method == "initialize" {
                Era::Handshake
            } else {
                Era::Stateless
            };
            let _first = self.era.set(asked);
        }
        let outcome = match (self.is_stateless(), method) {
            (false, "initialize") => {
                self.add_listener(Arc::clone(out));
                Ok(initialized(params))
            }
            (true, "server/discover") => Ok(discovered()),
            (true, "subscriptions/listen") => return self.subscribe(id, params, out),
            (_, "ping") => Ok(json!({})),
            (is_stateless, "tools/list" | "tools/call")
                if is_stateless
                    && params["_meta"]["io.modelcontextprotocol/protocolVersion"]
                        != "2026-07-28" =>
            {
                Err((
                    -32602,
                    "every request names its protocol version".to_owned(),
                ))
            }
            (_, "tools/list") => tools::page(self, params["cursor"].as_str()),
            (_, "tools/call") => return self.call(id.clone(), params.clone(), out),
            _ if self.plan.ignores_unknown => return,
            (_, method) => Err((-32601, format!("no method {method}"))),
        };
        self.answer(id, outcome, out);
    }

    pub(super) fn answer(&self, id: &Value, outcome: Result<Value, (i64, String)>, out: &Out) {
        out(match outcome {
            Ok(mut result) => {
                if self.is_stateless() && result.get("resultType").is_none() {
                    result["resultType"] = json!("complete");
                }
                json!({"jsonrpc": "2.0", "id": id, "result": result})
            }
            Err((code, message)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        });
    }

    fn subscribe(&self, id: &Value, params: &Value, out: &Out) {
        out(json!({
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {
                "notifications": params["notifications"],
                "_meta": {"io.modelcontextprotocol/subscriptionId": id},
            },
        }));
        self.state().listeners.push((id.clone(), Arc::clone(out)));
    }

    /// Every call runs by itself, so that slow ones do not hold up the others.
    fn call(self: &Arc<Self>, id: Value, params: Value, out: &Out) {
        self.state().calls += 1;
        let (fake, out) = (Arc::clone(self), Arc::clone(out));
        thread::spawn(move || {
            let call = tools::Call {
                fake: &fake,
                id: &id,
                params: &params,
                out: &out,
            };
            if let Some(outcome) = tools::call(&call) {
                fake.answer(&id, outcome, &out);
            }
        });
    }
}

fn initialized(params: &Value) -> Value {
    let asked = params["protocolVersion"].as_str().unwrap_or_default();
    let version = if asked < "2026-07-28" {
        asked
    } else {
        "2025-11-25"
    };
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "fake", "title": "Fake server", "version": "1.0.0"},
        "instructions": "Use echo.",
    })
}

fn discovered() -> Value {
    json!({
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": true}},
        "instructions": "Use echo.",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "1.0.0"}},
    })
}
