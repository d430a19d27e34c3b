//! Arguments that fit their types and still cannot travel.

use toolscript_catalog::{
    CallError, FunctionId,
    validate::{Invalid, Problem},
};

/// An argument that cannot be sent as it is.
#[derive(Debug, PartialEq)]
pub(super) struct Refusal {
    path: String,
    problem: Problem,
}

impl Refusal {
    /// A parameter that has to be there, and is not or is empty.
    pub(super) fn missing(key: &str) -> Self {
        let expected = "a text that is not empty".to_owned();
        Self {
            path: format!("params.{key}"),
            problem: Problem::Missing { expected },
        }
    }

    /// A parameter that breaks a rule of the place it goes to.
    pub(super) fn parameter(key: &str, rule: &str, found: &str) -> Self {
        Self::at(format!("params.{key}"), rule, found)
    }

    /// A body, or a field of it, that its content type cannot carry.
    pub(super) fn body(field: &str, rule: &str, found: &str) -> Self {
        let path = if field.is_empty() {
            "body".to_owned()
        } else {
            format!("body.{field}")
        };
        Self::at(path, rule, found)
    }

    fn at(path: String, rule: &str, found: &str) -> Self {
        let found = shown(found);
        Self {
            path,
            problem: Problem::Bound {
                rule: rule.to_owned(),
                found,
            },
        }
    }

    /// The error a caller sees.
    pub(super) fn of(self, function: &FunctionId) -> CallError {
        let (function, path, problem) = (function.to_string(), self.path, self.problem);
        CallError::Invalid(Invalid {
            function,
            path,
            problem,
        })
    }
}

/// The start of a value, control characters made visible.
fn shown(found: &str) -> String {
    const LONGEST: usize = 80;
    let start: String = found.chars().take(LONGEST).collect();
    let dots = if start.len() < found.len() { "…" } else { "" };
    format!("{start:?}{dots}")
}
