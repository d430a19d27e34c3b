//! The person behind a client: how questions reach them, in each era of the protocol.

use async_trait::async_trait;
use rmcp::{
    Peer, RoleServer,
    model::{
        ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
        InputRequest, ProtocolVersion,
    },
    service::RequestContext,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use toolscript_catalog::{Answer, Form, Person, Question, Unreachable};

/// How many questions of one run may wait at once.
const MOST_QUESTIONS: usize = 16;

/// A question on its way to the client.
pub(super) struct Asked {
    pub(super) question: Question,
    /// Where the answer goes. Whoever asked may have gone.
    pub(super) answer: oneshot::Sender<Result<Answer, Unreachable>>,
}

/// Takes questions out of a run to whoever follows it.
pub(super) struct Questions(mpsc::Sender<Asked>);

/// A way for questions out of a run, and where they come out.
pub(super) fn channel() -> (Questions, mpsc::Receiver<Asked>) {
    let (sender, receiver) = mpsc::channel(MOST_QUESTIONS);
    (Questions(sender), receiver)
}

#[async_trait]
impl Person for Questions {
    async fn ask(&self, question: Question) -> Result<Answer, Unreachable> {
        let gone = || Unreachable::NoAnswer("it has gone away".to_owned());
        let (answer, answered) = oneshot::channel();
        let sent = self.0.send(Asked { question, answer }).await;
        sent.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

/// How a client can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Not at all.
    None,
    /// By a request in the middle of the call.
    MidCall(Modes),
    /// By an answer that asks, and the call once more with what the person said.
    ByRetry(Modes),
}

/// What a client can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Modes {
    forms: bool,
    pages: bool,
}

impl Way {
    /// The way the client of a request offers.
    pub(super) fn of(cx: &RequestContext<RoleServer>) -> Self {
        let capabilities = cx.client_capabilities();
        let Some(offered) = capabilities.and_then(|capabilities| capabilities.elicitation) else {
            return Self::None;
        };
        let is_stateless = cx
            .protocol_version()
            .is_some_and(|version| ProtocolVersion::V_2026_07_28 <= version);
        let modes = Modes {
            // Before there was a choice, forms were the only way and went without saying.
            forms: offered.form.is_some() || offered.url.is_none(),
            pages: offered.url.is_some() && !is_stateless,
        };
        if is_stateless {
            Self::ByRetry(modes)
        } else {
            Self::MidCall(modes)
        }
    }
}

impl Modes {
    /// The question as the protocol puts it, or why it cannot be put.
    pub(super) fn put(self, question: &Question) -> Result<ElicitRequestParams, Unreachable> {
        let message = format!("{}: {}", question.source, question.message);
        match &question.form {
            Form::Fields(_) if !self.forms => Err(Unreachable::NoWay),
            Form::Page { .. } if !self.pages => Err(Unreachable::NoPages),
            Form::Fields(schema) => {
                let schema = ElicitationSchema::from_json_schema(schema.clone());
                let requested_schema = schema.map_err(|error| {
                    Unreachable::NoAnswer(format!("the form cannot be shown: {error}"))
                })?;
                Ok(ElicitRequestParams::FormElicitationParams {
                    meta: None,
                    message,
                    requested_schema,
                })
            }
            Form::Page { url } => Ok(ElicitRequestParams::UrlElicitationParams {
                meta: None,
                message,
                url: url.clone(),
                elicitation_id: format!("{}-page", question.source),
            }),
        }
    }

    /// The question as part of an answer that asks.
    pub(super) fn request(self, question: &Question) -> Result<InputRequest, Unreachable> {
        let params = self.put(question)?;
        Ok(InputRequest::Elicitation(ElicitRequest::new(params)))
    }

    /// Puts a question in the middle of a call and waits for what the person says.
    pub(super) async fn ask(
        self,
        peer: &Peer<RoleServer>,
        question: &Question,
    ) -> Result<Answer, Unreachable> {
        let params = self.put(question)?;
        let result = peer.create_elicitation(params).await;
        let result = result.map_err(|error| Unreachable::NoAnswer(error.to_string()))?;
        Ok(answer(result))
    }
}

/// What a client brought back, as an answer.
pub(super) fn read(response: Option<Value>) -> Result<Answer, Unreachable> {
    let no_answer = || Unreachable::NoAnswer("the call came back without it".to_owned());
    let result = serde_json::from_value(response.ok_or_else(no_answer)?);
    let result: ElicitResult =
        result.map_err(|error| Unreachable::NoAnswer(format!("it makes no sense: {error}")))?;
    Ok(answer(result))
}

fn answer(result: ElicitResult) -> Answer {
    match (result.action, result.content) {
        (ElicitationAction::Accept, Some(Value::Object(fields))) => Answer::Accepted(fields),
        (ElicitationAction::Accept, _) => Answer::Accepted(serde_json::Map::new()),
        (ElicitationAction::Decline, _) => Answer::Declined,
        _ => Answer::Cancelled,
    }
}
