//! A run on behalf of a client: followed to its end, or parked while a person makes up their mind.
//!
//! A client of the newer era cannot be asked in the middle of a call. Its call ends with the
//! question, the run waits here under a key nobody can guess, and the client calls again with the
//! key and the answer. The run goes on where it was; nothing is done twice.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleServer,
    model::{
        CallToolResponse, CallToolResult, InputRequests, InputRequiredResult, InputResponses,
        ProtocolVersion,
    },
    service::RequestContext,
};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolscript_catalog::{Answer, Unreachable};
use toolscript_engine::{Engine, Outcome, Script};

use super::{
    answer,
    person::{self, Asked, Modes, Way},
    progress::{self, Relay},
};

/// How long a person may take.
const PATIENCE: Duration = Duration::from_mins(10);
/// How many runs may wait for a person at once.
const MOST_PARKED: usize = 1_000;

/// A run that is under way.
pub(super) struct Running {
    script: String,
    outcome: JoinHandle<Outcome>,
    questions: mpsc::Receiver<Asked>,
    relay: Arc<Relay>,
    _ends_with_us: DropGuard,
}

/// The runs that wait for a person.
#[derive(Default)]
pub(super) struct Parked(Mutex<HashMap<String, Waiting>>);

struct Waiting {
    running: Running,
    asked: Vec<(String, oneshot::Sender<Result<Answer, Unreachable>>)>,
}

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotParked {
    #[error("no run waits for this answer: it took longer than ten minutes, or was given before")]
    Unknown,
    #[error("the answer came with another script than the question; send the same call again")]
    Other,
}

impl Running {
    /// Starts a script; what it asks and reports goes to whoever follows it.
    pub(super) fn start(engine: Arc<Engine>, script: Script, way: Way) -> Self {
        let end = CancellationToken::new();
        let (sender, questions) = person::channel();
        let relay = Arc::new(Relay::default());
        let text = script.text.clone();
        let script = Script {
            cancel: end.clone(),
            progress: Some(relay.clone()),
            observer: Some(relay.clone()),
            person: match way {
                Way::None => None,
                Way::MidCall(_) | Way::ByRetry(_) => Some(Arc::new(sender)),
            },
            ..script
        };
        Self {
            script: text,
            outcome: tokio::spawn(async move { engine.execute(script).await }),
            questions,
            relay,
            _ends_with_us: end.drop_guard(),
        }
    }

    /// Waits for the outcome, and puts the run's questions to the client on the way.
    pub(super) async fn follow(
        mut self,
        cx: &RequestContext<RoleServer>,
        parked: &Arc<Parked>,
    ) -> CallToolResponse {
        let way = Way::of(cx);
        let reporter = progress::reporter(cx);
        self.relay.tell(reporter.clone());
        loop {
            tokio::select! {
                biased;
                outcome = &mut self.outcome => {
                    if let Some(reporter) = reporter {
                        reporter.flush().await;
                    }
                    return finished(cx, outcome).into();
                }
                () = cx.ct.cancelled() => {
                    return answer::problem("the call was cancelled").into();
                }
                Some(asked) = self.questions.recv() => match way {
                    Way::MidCall(modes) => {
                        let said = modes.ask(&cx.peer, &asked.question).await;
                        asked.answer.send(said).ok();
                    }
                    Way::ByRetry(modes) => {
                        if let Some(question) = self.questions_for(modes, asked) {
                            return parked.park(self, question);
                        }
                    }
                    Way::None => {
                        asked.answer.send(Err(Unreachable::NoWay)).ok();
                    }
                },
            }
        }
    }

    /// All questions there are, put as the protocol wants; those that cannot be put are answered.
    fn questions_for(&mut self, modes: Modes, first: Asked) -> Option<Questionnaire> {
        let mut questionnaire = Questionnaire::default();
        let mut next = Some(first);
        while let Some(Asked { question, answer }) = next {
            match modes.request(&question) {
                Err(problem) => {
                    answer.send(Err(problem)).ok();
                }
                Ok(request) => {
                    let key = format!("question_{}", questionnaire.asked.len() + 1);
                    questionnaire.requests.insert(key.clone(), request);
                    questionnaire.asked.push((key, answer));
                }
            }
            next = self.questions.try_recv().ok();
        }
        (!questionnaire.asked.is_empty()).then_some(questionnaire)
    }
}

fn finished(
    cx: &RequestContext<RoleServer>,
    outcome: Result<Outcome, tokio::task::JoinError>,
) -> CallToolResult {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return answer::problem(&format!("the run broke off: {error}")),
    };
    let mut result = answer::outcome(&outcome);
    // Clients of the revisions before refuse an answer with a kind of content they do not know.
    let knows_links = cx
        .protocol_version()
        .is_none_or(|version| ProtocolVersion::V_2025_06_18 <= version);
    if knows_links {
        result.content.extend(answer::link(&outcome));
    }
    result
}

/// Questions, and where their answers go.
#[derive(Default)]
struct Questionnaire {
    requests: InputRequests,
    asked: Vec<(String, oneshot::Sender<Result<Answer, Unreachable>>)>,
}

impl Parked {
    /// Keeps a run until the client comes back with the answers.
    fn park(self: &Arc<Self>, running: Running, questions: Questionnaire) -> CallToolResponse {
        let Some(key) = key() else {
            return answer::problem("there is no randomness to keep the run safe with").into();
        };
        running.relay.tell(None);
        let mut parked = self.lock();
        if MOST_PARKED <= parked.len() {
            return answer::problem("too many runs wait for a person; try again later").into();
        }
        let asked = questions.asked;
        parked.insert(key.clone(), Waiting { running, asked });
        drop(parked);
        let (all, mine) = (Arc::downgrade(self), key.clone());
        tokio::spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            if let Some(all) = all.upgrade() {
                all.lock().remove(&mine);
            }
        });
        let result = InputRequiredResult::new(Some(questions.requests), Some(key));
        CallToolResponse::InputRequired(result)
    }

    /// Gives a run the answers it waits for and takes it out.
    pub(super) fn resume(
        &self,
        key: &str,
        script: &str,
        mut answers: InputResponses,
    ) -> Result<Running, NotParked> {
        let mut parked = self.lock();
        let waiting = parked.get(key).ok_or(NotParked::Unknown)?;
        if waiting.running.script != script {
            return Err(NotParked::Other);
        }
        let Waiting { running, asked } = parked.remove(key).ok_or(NotParked::Unknown)?;
        for (question, answer) in asked {
            answer.send(person::read(answers.remove(&question))).ok();
        }
        Ok(running)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A key nobody can guess.
fn key() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_le_bytes(bytes)))
}

impl std::fmt::Debug for Parked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parked")
            .field("runs", &self.lock().len())
            .finish()
    }
}
