//! The first words with a server: which era it speaks, which revision, and what it can do.
//!
//! A server of the new era answers `server/discover`; one of the old era refuses it and wants
//! `initialize`. Some refuse by saying nothing, and some are only slow to start, so after a while
//! both questions stand and the first answer that makes sense decides. Nothing is asked twice and
//! nothing has to be started again, however long the server takes.

use std::time::Duration;

use rmcp::{
    RoleClient,
    model::{
        ClientConfig, ClientJsonRpcMessage, ClientNotification, ClientRequest, ClientResult,
        DiscoverRequest, DiscoverRequestParams, ErrorCode, ErrorData, InitializeRequest,
        InitializedNotification, ProtocolVersion, RequestId, RequestMetaObject,
        ServerJsonRpcMessage, ServerPeerInfo, ServerRequest, ServerResult,
    },
    transport::Transport,
};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::era::Era;

/// The revision of the new era.
const STATELESS: ProtocolVersion = ProtocolVersion::V_2026_07_28;
/// The revision asked for in the old era; the server may answer with an older one.
const HANDSHAKE: ProtocolVersion = ProtocolVersion::V_2025_11_25;

/// The ids of the two questions, far from those of the requests that follow.
const DISCOVERY: i64 = 2_000_000_001;
const INITIALIZATION: i64 = 2_000_000_002;

/// How to begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opening {
    /// The era the server spoke last time.
    pub(super) known: Option<Era>,
    /// When to stop relying on an answer to `server/discover` alone.
    pub(super) patience: Option<Duration>,
}

/// What came out.
#[derive(Debug)]
pub(super) struct Greeting {
    pub(super) era: Era,
    pub(super) info: ServerPeerInfo,
}

/// Why there is no common ground.
#[derive(Debug, thiserror::Error)]
pub(super) enum GreetError<E: std::error::Error> {
    /// The message did not get through.
    #[error("{0}")]
    Send(E),
    /// The other side went away.
    #[error("the connection closed before the server answered")]
    Closed,
    /// The server said no.
    #[error("the server refused to begin: {}", .0.message)]
    Refused(ErrorData),
    /// The server speaks revisions we do not know.
    #[error("the server speaks protocol revision {found}; 2024-11-05 to 2026-07-28 are understood")]
    Revision { found: String },
}

/// Finds out how the server speaks and agrees on a revision.
pub(super) async fn greet<T: Transport<RoleClient>>(
    transport: &mut T,
    us: &ClientConfig,
    opening: Opening,
) -> Result<Greeting, GreetError<T::Error>> {
    let mut talk = Talk {
        transport,
        us,
        first: DISCOVERY,
        asked_twice: false,
        asked_to_initialize: false,
    };
    if opening.known == Some(Era::Handshake) {
        talk.first = INITIALIZATION;
        talk.initialize(HANDSHAKE).await?;
    } else {
        talk.discover().await?;
    }
    let patience = opening.patience.map(|patience| Instant::now() + patience);
    loop {
        let message = tokio::select! {
            message = talk.transport.receive() => message.ok_or(GreetError::Closed)?,
            () = sleep_until(patience.unwrap_or_else(Instant::now)),
                if patience.is_some() && !talk.asked_to_initialize =>
            {
                talk.initialize(HANDSHAKE).await?;
                continue;
            }
        };
        if let Some(greeting) = talk.hear(message).await? {
            return Ok(greeting);
        }
    }
}

struct Talk<'a, T> {
    transport: &'a mut T,
    us: &'a ClientConfig,
    /// The id of the question that was asked first.
    first: i64,
    asked_twice: bool,
    asked_to_initialize: bool,
}

impl<T: Transport<RoleClient>> Talk<'_, T> {
    async fn discover(&mut self) -> Result<(), GreetError<T::Error>> {
        let mut request = DiscoverRequest::new(DiscoverRequestParams {});
        request
            .extensions
            .insert(RequestMetaObject::with_client_context(
                STATELESS,
                self.us.client_info.clone(),
                self.us.capabilities.clone(),
            ));
        let request = ClientRequest::DiscoverRequest(request);
        self.send(ClientJsonRpcMessage::request(
            request,
            RequestId::Number(DISCOVERY),
        ))
        .await
    }

    async fn initialize(&mut self, version: ProtocolVersion) -> Result<(), GreetError<T::Error>> {
        self.asked_to_initialize = true;
        let params = self.us.clone().with_protocol_version(version);
        let request = ClientRequest::InitializeRequest(InitializeRequest::new(params));
        self.send(ClientJsonRpcMessage::request(
            request,
            RequestId::Number(INITIALIZATION),
        ))
        .await
    }

    async fn send(&mut self, message: ClientJsonRpcMessage) -> Result<(), GreetError<T::Error>> {
        self.transport.send(message).await.map_err(GreetError::Send)
    }

    /// Takes one message; gives the greeting when it is complete.
    async fn hear(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> Result<Option<Greeting>, GreetError<T::Error>> {
        match message {
            ServerJsonRpcMessage::Response(answer) if is(&answer.id, DISCOVERY) => {
                self.discovered(answer.result).await
            }
            ServerJsonRpcMessage::Response(answer) if is(&answer.id, INITIALIZATION) => {
                self.initialized(answer.result).await.map(Some)
            }
            ServerJsonRpcMessage::Error(error) => {
                // Who cannot read a question may not know its id: then it is the first one.
                let id = error.id.unwrap_or(RequestId::Number(self.first));
                match id {
                    id if is(&id, DISCOVERY) => self.not_discovered(error.error).await?,
                    id if is(&id, INITIALIZATION) => return Err(GreetError::Refused(error.error)),
                    _ => {}
                }
                Ok(None)
            }
            ServerJsonRpcMessage::Request(request)
                if matches!(request.request, ServerRequest::PingRequest(_)) =>
            {
                let pong = ClientJsonRpcMessage::response(ClientResult::empty(()), request.id);
                self.send(pong).await.map(|()| None)
            }
            // Servers like to log before they are ready.
            _ => Ok(None),
        }
    }

    async fn discovered(
        &mut self,
        result: ServerResult,
    ) -> Result<Option<Greeting>, GreetError<T::Error>> {
        let Some(found) = Discovered::read(result) else {
            // Some answer every question with an empty object.
            return self.initialize_once().await.map(|()| None);
        };
        if found.versions.contains(&STATELESS) {
            let mut info = found.info;
            info.protocol_version = STATELESS;
            let era = Era::Stateless;
            return Ok(Some(Greeting { era, info }));
        }
        self.settle_for(&found.versions).await.map(|()| None)
    }

    /// An error to `server/discover` means the old era, but for those only the new one knows.
    async fn not_discovered(&mut self, error: ErrorData) -> Result<(), GreetError<T::Error>> {
        match error.code {
            ErrorCode::UNSUPPORTED_PROTOCOL_VERSION => {
                let versions = supported(&error);
                if versions.contains(&STATELESS) && !self.asked_twice {
                    // It wants the revision we named; perhaps it was not ready for it yet.
                    self.asked_twice = true;
                    return self.discover().await;
                }
                self.settle_for(&versions).await
            }
            ErrorCode::HEADER_MISMATCH | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => {
                Err(GreetError::Refused(error))
            }
            _ => self.initialize_once().await,
        }
    }

    async fn initialize_once(&mut self) -> Result<(), GreetError<T::Error>> {
        if self.asked_to_initialize {
            return Ok(());
        }
        self.initialize(HANDSHAKE).await
    }

    /// Takes the newest revision of the old era the server offers.
    async fn settle_for(
        &mut self,
        offered: &[ProtocolVersion],
    ) -> Result<(), GreetError<T::Error>> {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter().rev();
        let mut common =
            known.filter(|version| version.has_initialize() && offered.contains(version));
        match common.next() {
            Some(_) if self.asked_to_initialize => Ok(()),
            Some(version) => self.initialize(version.clone()).await,
            None => Err(GreetError::Revision {
                found: list(offered),
            }),
        }
    }

    async fn initialized(
        &mut self,
        result: ServerResult,
    ) -> Result<Greeting, GreetError<T::Error>> {
        let info = match result {
            ServerResult::InitializeResult(result) => Some(result.into()),
            ServerResult::CustomResult(result) => peer_info(&result.0),
            _ => None,
        };
        let Some(info) = info else {
            let found = "nothing about itself".to_owned();
            return Err(GreetError::Revision { found });
        };
        if !ProtocolVersion::KNOWN_VERSIONS.contains(&info.protocol_version) {
            let found = info.protocol_version.to_string();
            return Err(GreetError::Revision { found });
        }
        let initialized = InitializedNotification::default();
        let initialized = ClientNotification::InitializedNotification(initialized);
        self.send(ClientJsonRpcMessage::notification(initialized))
            .await?;
        let era = Era::Handshake;
        Ok(Greeting { era, info })
    }
}

/// The revisions an error offers instead.
fn supported(error: &ErrorData) -> Vec<ProtocolVersion> {
    let list = error.data.as_ref().and_then(|data| data.get("supported"));
    list.and_then(|list| serde_json::from_value(list.clone()).ok())
        .unwrap_or_default()
}

/// What an answer to `server/discover` says.
struct Discovered {
    versions: Vec<ProtocolVersion>,
    info: ServerPeerInfo,
}

impl Discovered {
    fn read(result: ServerResult) -> Option<Self> {
        match result {
            ServerResult::DiscoverResult(result) => {
                let versions = result.supported_versions.clone();
                let info = ServerPeerInfo::from_discover_result(STATELESS, result);
                Some(Self { versions, info })
            }
            // One that leaves out what is required can still be understood.
            ServerResult::CustomResult(result) => {
                let versions = result.0.get("supportedVersions")?.clone();
                Some(Self {
                    versions: serde_json::from_value(versions).ok()?,
                    info: peer_info(&result.0)?,
                })
            }
            _ => None,
        }
    }
}

/// What a server says of itself, as far as it can be read.
fn peer_info(result: &Value) -> Option<ServerPeerInfo> {
    fn read<V: serde::de::DeserializeOwned>(result: &Value, key: &str) -> Option<V> {
        serde_json::from_value(result.get(key)?.clone()).ok()
    }
    let version = read(result, "protocolVersion").unwrap_or(STATELESS);
    let capabilities = read(result, "capabilities")?;
    let mut info = ServerPeerInfo::new(version, capabilities);
    info.server_info = read(result, "serverInfo");
    info.instructions = read(result, "instructions");
    Some(info)
}

/// Whether an answer has the id of a question; some servers send numbers back as words.
fn is(id: &RequestId, question: i64) -> bool {
    match id {
        RequestId::Number(number) => *number == question,
        RequestId::String(word) => **word == question.to_string(),
    }
}

fn list(versions: &[ProtocolVersion]) -> String {
    let words: Vec<&str> = versions.iter().map(ProtocolVersion::as_str).collect();
    if words.is_empty() {
        "unknown".to_owned()
    } else {
        words.join(", ")
    }
}

#[cfg(test)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "`result(ID, json!(…))` reads best"
)]
mod tests {
    use super::*;
    use crate::mcp::handler::introduction;
    use serde_json::json;
    use std::{collections::VecDeque, convert::Infallible};

    /// A server that answers the n-th question with the n-th list of messages.
    #[derive(Default)]
    struct Script {
        asked: Vec<Value>,
        turns: VecDeque<Vec<Value>>,
        ready: VecDeque<Value>,
    }

    impl Transport<RoleClient> for Script {
        type Error = Infallible;

        fn send(
            &mut self,
            message: ClientJsonRpcMessage,
        ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
            self.asked.push(json!(message));
            self.ready
                .extend(self.turns.pop_front().unwrap_or_default());
            std::future::ready(Ok(()))
        }

        async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
            match self.ready.pop_front() {
                Some(message) => Some(serde_json::from_value(message).unwrap()),
                None => std::future::pending().await,
            }
        }

        async fn close(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    fn result(id: i64, result: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    }

    fn error(id: i64, code: i32, data: Value) -> Value {
        let error = json!({"code": code, "message": "no", "data": data});
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }

    fn discovered(versions: &[&str]) -> Value {
        result(
            DISCOVERY,
            json!({"supportedVersions": versions, "capabilities": {}}),
        )
    }

    fn initialized(version: &str) -> Value {
        let server = json!({"name": "s", "version": "1"});
        let answer = json!({"protocolVersion": version, "capabilities": {}, "serverInfo": server});
        result(INITIALIZATION, answer)
    }

    /// What comes out of a talk, and which methods it took.
    async fn talk(
        turns: Vec<Vec<Value>>,
        known: Option<Era>,
    ) -> (Result<Greeting, String>, Vec<String>) {
        let mut script = Script {
            turns: turns.into(),
            ..Script::default()
        };
        let opening = Opening {
            known,
            patience: Some(Duration::from_secs(10)),
        };
        let greeting = greet(&mut script, &introduction(), opening).await;
        let methods = script
            .asked
            .iter()
            .filter_map(|message| message["method"].as_str());
        let methods = methods.map(str::to_owned).collect();
        (greeting.map_err(|error| error.to_string()), methods)
    }

    #[track_caller]
    fn agreed(
        outcome: (Result<Greeting, String>, Vec<String>),
        era: Era,
        version: &str,
        methods: &[&str],
    ) {
        let greeting = outcome.0.unwrap();
        assert_eq!(
            (greeting.era, greeting.info.protocol_version.as_str()),
            (era, version)
        );
        assert_eq!(outcome.1, methods);
    }

    const BOTH: [&str; 2] = ["server/discover", "initialize"];
    const ALL: [&str; 3] = ["server/discover", "initialize", "notifications/initialized"];

    #[tokio::test(start_paused = true)]
    async fn the_new_era_takes_one_question() {
        let outcome = talk(vec![vec![discovered(&["2026-07-28"])]], None).await;
        agreed(outcome, Era::Stateless, "2026-07-28", &BOTH[..1]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_old_era_is_found_by_refusal_or_silence() {
        let refused = vec![
            vec![error(DISCOVERY, -32601, json!(null))],
            vec![initialized("2025-06-18")],
        ];
        agreed(
            talk(refused, None).await,
            Era::Handshake,
            "2025-06-18",
            &ALL,
        );
        let ignored = vec![vec![], vec![initialized("2024-11-05")]];
        agreed(
            talk(ignored, None).await,
            Era::Handshake,
            "2024-11-05",
            &ALL,
        );
        let empty = vec![
            vec![result(DISCOVERY, json!({}))],
            vec![initialized("2025-11-25")],
        ];
        agreed(talk(empty, None).await, Era::Handshake, "2025-11-25", &ALL);
    }

    #[tokio::test(start_paused = true)]
    async fn late_answers_do_no_harm() {
        let old = vec![
            vec![],
            vec![
                error(DISCOVERY, -32601, json!(null)),
                initialized("2025-11-25"),
            ],
        ];
        agreed(talk(old, None).await, Era::Handshake, "2025-11-25", &ALL);
        let new = vec![
            vec![],
            vec![
                discovered(&["2026-07-28"]),
                error(INITIALIZATION, -32601, json!(null)),
            ],
        ];
        agreed(talk(new, None).await, Era::Stateless, "2026-07-28", &BOTH);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_known_saves_a_question() {
        let turns = vec![vec![initialized("2025-11-25")]];
        let outcome = talk(turns, Some(Era::Handshake)).await;
        agreed(outcome, Era::Handshake, "2025-11-25", &ALL[1..]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_common_revision_is_looked_for() {
        let offer = json!({"supported": ["2025-03-26", "2025-06-18", "1999-01-01"]});
        let turns = vec![
            vec![error(DISCOVERY, -32022, offer)],
            vec![initialized("2025-06-18")],
        ];
        agreed(talk(turns, None).await, Era::Handshake, "2025-06-18", &ALL);
        let turns = vec![
            vec![error(
                DISCOVERY,
                -32022,
                json!({"supported": ["2026-07-28"]}),
            )],
            vec![discovered(&["2026-07-28"])],
        ];
        agreed(
            talk(turns, None).await,
            Era::Stateless,
            "2026-07-28",
            &["server/discover"; 2],
        );
        let (outcome, _) = talk(vec![vec![discovered(&["2031-01-01"])]], None).await;
        assert!(outcome.unwrap_err().contains("2031-01-01"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_ping_before_the_greeting_is_answered() {
        let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
        let log = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
        let turns = vec![vec![log, ping], vec![discovered(&["2026-07-28"])]];
        agreed(
            talk(turns, None).await,
            Era::Stateless,
            "2026-07-28",
            &BOTH[..1],
        );
    }
}
