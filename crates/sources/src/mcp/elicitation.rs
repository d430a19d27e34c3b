//! Questions a server has for a person. The one place where an answer could come from.
//!
//! Servers of the old era ask in the middle of a call, those of the new era end the call with
//! their questions and want it repeated with the answers. Both lead here. As long as there is
//! nobody to ask we do not offer to (see [`super::handler::introduction`]), and whoever asks all
//! the same is told so.

use rmcp::model::{ElicitRequestParams, ElicitResult, InputRequest, InputRequests, InputResponses};
use serde_json::json;

use super::text;

/// Nobody is there to answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unanswered {
    /// The server wants a person.
    #[error("the server has a question for a person (`{question}`), and nobody can be asked here")]
    Person { question: String },
    /// The server wants a model.
    #[error("the server wants a language model to answer for it (sampling), which is refused")]
    Model,
}

/// Asks a person what the server wants to know.
#[expect(clippy::unused_async, reason = "whoever can answer will take time")]
pub(super) async fn ask(request: &ElicitRequestParams) -> Result<ElicitResult, Unanswered> {
    let question = match request {
        ElicitRequestParams::FormElicitationParams { message, .. }
        | ElicitRequestParams::UrlElicitationParams { message, .. } => message.as_str(),
        _ => "",
    };
    Err(Unanswered::Person {
        question: text::line(question, 200),
    })
}

/// Answers all a server wants to know before it goes on with a call.
pub(super) async fn answer(requests: InputRequests) -> Result<InputResponses, Unanswered> {
    let mut answers = InputResponses::new();
    for (key, request) in requests {
        let answer = match request {
            InputRequest::Elicitation(request) => json!(ask(&request.params).await?),
            InputRequest::ListRoots(_) => json!({"roots": []}),
            _ => return Err(Unanswered::Model),
        };
        answers.insert(key, answer);
    }
    Ok(answers)
}
