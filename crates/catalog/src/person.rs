//! `Person`: somebody who can be asked a question while a call waits.

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::SourceName;

/// Somebody who can be asked while a call waits: the user of the client that sent the script.
#[async_trait]
pub trait Person: Send + Sync {
    /// Puts a question to them and waits for what they say.
    ///
    /// Dropping the future takes the question back.
    async fn ask(&self, question: Question) -> Result<Answer, Unreachable>;
}

/// What somebody is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The source that wants to know.
    pub source: SourceName,
    /// The question, in words from outside.
    pub message: String,
    /// What an answer looks like.
    pub form: Form,
}

/// What an answer looks like.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// Fields to fill in, described by the JSON Schema of a flat object.
    Fields(Map<String, Value>),
    /// A page to open; what happens there stays there.
    Page {
        /// Its address.
        url: String,
    },
}

/// What somebody said.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Yes, with the fields of the form; empty for a page.
    Accepted(Map<String, Value>),
    /// No.
    Declined,
    /// Went away without a word.
    Cancelled,
}

/// Why nobody can be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// The client has no way to ask its user.
    #[error("the client that sent this cannot ask its user")]
    NoWay,
    /// The client can ask for fields, but not open pages.
    #[error("the client that sent this cannot open pages for its user")]
    NoPages,
    /// The client was asked and gave no answer.
    #[error("the client gave no answer: {0}")]
    NoAnswer(String),
}
