//! What scripts hand to the modules: text, bytes and options, with errors that show the right call.

use serde_json::{Map, Value};
use toolscript_catalog::{binary, suggest};
use toolscript_luau::HostError;

/// The arguments of one function.
pub(super) struct Arguments<'a> {
    /// How it is called: `fs.read(path)`.
    pub(super) usage: &'static str,
    pub(super) values: &'a [Value],
}

impl<'a> Arguments<'a> {
    fn get(&self, at: usize) -> Option<&'a Value> {
        self.values.get(at).filter(|value| !value.is_null())
    }

    fn wrong(&self, at: usize, wanted: &str) -> HostError {
        let found = match self.get(at) {
            None => "nothing",
            Some(Value::Bool(_)) => "a boolean",
            Some(Value::Number(_)) => "a number",
            Some(Value::String(_)) => "text",
            Some(Value::Array(_)) => "a list",
            Some(Value::Object(_)) => "a table",
            Some(Value::Null) => "nil",
        };
        HostError::invalid(format!(
            "argument {} of `{}` must be {wanted}, not {found}",
            at + 1,
            self.usage
        ))
    }

    /// Text that has to be there.
    pub(super) fn text(&self, at: usize) -> Result<&'a str, HostError> {
        self.get(at)
            .and_then(Value::as_str)
            .ok_or_else(|| self.wrong(at, "text"))
    }

    /// Text that may be left out.
    pub(super) fn optional_text(&self, at: usize) -> Result<Option<&'a str>, HostError> {
        match self.get(at) {
            None => Ok(None),
            Some(_) => self.text(at).map(Some),
        }
    }

    /// Text or a buffer.
    pub(super) fn bytes(&self, at: usize) -> Result<Vec<u8>, HostError> {
        self.get(at)
            .and_then(bytes)
            .ok_or_else(|| self.wrong(at, "text or a buffer"))
    }

    /// A table of options that may be left out; keys nobody knows are errors.
    pub(super) fn options(
        &self,
        at: usize,
        known: &[&str],
    ) -> Result<Option<&'a Map<String, Value>>, HostError> {
        let options = match self.get(at) {
            None => return Ok(None),
            Some(Value::Object(options)) => options,
            // An empty table is a list as well.
            Some(Value::Array(items)) if items.is_empty() => return Ok(None),
            Some(_) => return Err(self.wrong(at, "a table of options")),
        };
        let Some(unknown) = options.keys().find(|key| !known.contains(&key.as_str())) else {
            return Ok(Some(options));
        };
        let near = suggest::nearest(unknown, known.iter().copied(), 1);
        let advice = match near.first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known: {}", known.join(", ")),
        };
        Err(HostError::invalid(format!(
            "`{}` has no option `{unknown}`; {advice}",
            self.usage
        )))
    }

    /// Any value, where there is one.
    pub(super) fn value(&self, at: usize) -> Option<&'a Value> {
        self.get(at)
    }
}

/// The bytes of a text or a buffer.
pub(super) fn bytes(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.as_bytes().to_vec()),
        other => binary::decode(other),
    }
}

/// Bytes for a script: text where they are text, else a buffer.
pub(super) fn value_of(bytes: Vec<u8>) -> Value {
    match String::from_utf8(bytes) {
        Ok(text) => Value::String(text),
        Err(error) => binary::encode(error.as_bytes()),
    }
}
