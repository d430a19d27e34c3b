//! Questions a server has for a person, and who can be asked.
//!
//! Servers of the old era ask in the middle of a call, those of the new era end the call with
//! their questions and want it repeated with the answers. Both lead here, and from here to the
//! person behind the call. An old server does not say which of its calls a question belongs to;
//! so it is put to somebody only where there is no doubt who that is.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequests,
    InputResponses,
};
use serde_json::{Map, Value, json};
use toolscript_catalog::{Answer, Form, Person, Question, SourceName, Unreachable};

use super::text;

/// How much of a question is shown.
const LONGEST_QUESTION: usize = 4_000;

/// Nobody is there to answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unanswered {
    /// The server wants a person, and there is none.
    #[error("the server has a question for a person (`{question}`), and nobody can be asked here")]
    Nobody { question: String },
    /// The server wants a person, and it is not known which.
    #[error(
        "the server has a question for a person (`{question}`), and does not say for which of several calls"
    )]
    Several { question: String },
    /// The person could not be asked.
    #[error("the server has a question for a person (`{question}`): {cause}")]
    Unreachable {
        question: String,
        #[source]
        cause: Unreachable,
    },
    /// The server wants a model.
    #[error("the server wants a language model to answer for it (sampling), which is refused")]
    Model,
}

/// Asks a person what the server wants to know.
pub(super) async fn ask(
    person: Option<&dyn Person>,
    source: &SourceName,
    request: &ElicitRequestParams,
) -> Result<ElicitResult, Unanswered> {
    let question = question(source, request);
    let shown = text::line(&question.message, 200);
    let Some(person) = person else {
        return Err(Unanswered::Nobody { question: shown });
    };
    match person.ask(question).await {
        Ok(answer) => Ok(result(answer)),
        Err(cause) => Err(Unanswered::Unreachable {
            question: shown,
            cause,
        }),
    }
}

/// Answers all a server wants to know before it goes on with a call.
pub(super) async fn answer(
    person: Option<&dyn Person>,
    source: &SourceName,
    requests: InputRequests,
) -> Result<InputResponses, Unanswered> {
    let mut answers = InputResponses::new();
    for (key, request) in requests {
        let answer = match request {
            InputRequest::Elicitation(request) => {
                json!(ask(person, source, &request.params).await?)
            }
            InputRequest::ListRoots(_) => json!({"roots": []}),
            _ => return Err(Unanswered::Model),
        };
        answers.insert(key, answer);
    }
    Ok(answers)
}

fn question(source: &SourceName, request: &ElicitRequestParams) -> Question {
    let (message, form) = match request {
        ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } => (message.as_str(), Form::Fields(fields(requested_schema))),
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            (message.as_str(), Form::Page { url: url.clone() })
        }
        _ => ("", Form::Fields(Map::new())),
    };
    Question {
        source: source.clone(),
        message: text::clean(message, LONGEST_QUESTION),
        form,
    }
}

fn fields(schema: &rmcp::model::ElicitationSchema) -> Map<String, Value> {
    match serde_json::to_value(schema) {
        Ok(Value::Object(schema)) => schema,
        // A schema that came as JSON goes as JSON.
        _ => Map::new(),
    }
}

fn result(answer: Answer) -> ElicitResult {
    match answer {
        Answer::Accepted(fields) => {
            ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(fields))
        }
        Answer::Declined => ElicitResult::new(ElicitationAction::Decline),
        Answer::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
    }
}

/// The people behind the calls that are under way on a connection.
#[derive(Default)]
pub(super) struct People(Mutex<Vec<Arc<dyn Person>>>);

/// Somebody whose call is under way.
pub(super) struct Present<'a> {
    people: &'a People,
    person: Option<Arc<dyn Person>>,
}

impl People {
    /// Notes who is behind a call, until what this gives back is dropped.
    pub(super) fn present(&self, person: Option<&Arc<dyn Person>>) -> Present<'_> {
        if let Some(person) = person {
            let mut people = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            people.push(Arc::clone(person));
        }
        Present {
            people: self,
            person: person.cloned(),
        }
    }

    /// The one person a question can only be for.
    pub(super) fn only_one(
        &self,
        request: &ElicitRequestParams,
        source: &SourceName,
    ) -> Result<Option<Arc<dyn Person>>, Unanswered> {
        let people = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(first) = people.first() else {
            return Ok(None);
        };
        if people.iter().all(|other| Arc::ptr_eq(first, other)) {
            return Ok(Some(Arc::clone(first)));
        }
        let question = text::line(&question(source, request).message, 200);
        Err(Unanswered::Several { question })
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        let Some(person) = &self.person else { return };
        let mut people = self.people.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = people.iter().position(|other| Arc::ptr_eq(person, other)) {
            people.swap_remove(at);
        }
    }
}

impl fmt::Debug for People {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("People")
    }
}
