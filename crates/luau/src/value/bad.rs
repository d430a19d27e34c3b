//! What is wrong with a value, and where.

use crate::{
    limits::Exceeded,
    outcome::{Failure, Phase},
};

/// What is wrong with a value, and where.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{}` {problem}", self.place())]
pub(crate) struct BadValue {
    pub(super) problem: Problem,
    root: &'static str,
    /// The way from the root, innermost step first.
    way: Vec<Step>,
}

/// What is wrong with a value: the end of a sentence that starts with its place.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum Problem {
    #[error("is a {0}, which has no form in JSON")]
    NoForm(&'static str),
    #[error("contains itself; a cycle has no form in JSON")]
    Cycle,
    #[error(
        "has both the index {index} and the key `{key}`; a table is a list or an object, not both"
    )]
    Mixed { index: i64, key: String },
    #[error("has the index {found} but not {missing}; fill the gaps of a list with `json.null`")]
    Sparse { missing: i64, found: i64 },
    #[error(
        "has a key that is {0}; keys are strings: use `tostring`, or `json.object` for whole numbers"
    )]
    Key(String),
    #[error("is {0}, which JSON does not have")]
    NotFinite(f64),
    #[error("is not UTF-8 text; use a buffer for bytes")]
    NotText,
    #[error("is nested more than {0} deep; flatten it, or raise `limits.max_depth`")]
    Depth(usize),
    #[error("makes more than {0} values; use less of them, or raise `limits.max_result_nodes`")]
    Nodes(usize),
    #[error(
        "makes more than {0} bytes of JSON; use less of them, or raise `limits.max_result_bytes`"
    )]
    Bytes(usize),
    #[error("does not fit: {0}")]
    Limit(Exceeded),
    #[error("cannot be read: {0}")]
    Lua(String),
}

/// One step into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(i64),
}

impl BadValue {
    pub(super) fn new(problem: Problem) -> Self {
        Self {
            problem,
            way: Vec::new(),
            root: "value",
        }
    }

    pub(super) fn under(self, root: &'static str) -> Self {
        Self { root, ..self }
    }

    pub(super) fn inside(mut self, step: Step) -> Self {
        self.way.push(step);
        self
    }

    /// The place in the words of a script: `result.items[3]`.
    fn place(&self) -> String {
        let mut place = self.root.to_owned();
        for step in self.way.iter().rev() {
            match step {
                Step::Index(index) => place = format!("{place}[{index}]"),
                Step::Key(key) if toolscript_catalog::name::is_identifier(key) => {
                    place.push('.');
                    place.push_str(key);
                }
                Step::Key(key) => place = format!("{place}[{key:?}]"),
            }
        }
        place
    }
}

impl From<mlua::Error> for BadValue {
    fn from(error: mlua::Error) -> Self {
        Self::new(Problem::Lua(error.to_string()))
    }
}

impl From<BadValue> for Failure {
    fn from(bad: BadValue) -> Self {
        let limit = match bad.problem {
            Problem::Depth(_) => "max_depth",
            Problem::Nodes(_) => "max_result_nodes",
            Problem::Bytes(_) => "max_result_bytes",
            Problem::Limit(exceeded) => return exceeded.into(),
            _ => return Failure::validation(bad.to_string()),
        };
        Failure {
            limit: Some(limit),
            ..Failure::new(Phase::Limit, bad.to_string())
        }
    }
}
