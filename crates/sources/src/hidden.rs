//! `Hidden`: takes the values of a configuration out of texts that others will see.

use std::{borrow::Cow, fmt};

use serde_json::Value;

/// Shorter values are words like any other, and hiding them would make texts unreadable.
const SHORTEST: usize = 8;

/// Values nobody is to see, each with the words that stand in for it.
#[derive(Clone, Default)]
pub(crate) struct Hidden {
    /// Longest first: one value may be part of another.
    values: Vec<(String, String)>,
}

impl Hidden {
    /// Hides every text in a value, under the path that leads to it.
    pub(crate) fn add(&mut self, path: &str, value: &Value) {
        match value {
            Value::String(text) if SHORTEST <= text.len() => {
                self.values.push((text.clone(), format!("[{path}]")));
            }
            Value::Array(items) => items.iter().for_each(|item| self.add(path, item)),
            Value::Object(fields) => {
                for (key, field) in fields {
                    self.add(&format!("{path}.{key}"), field);
                }
            }
            _ => {}
        }
        self.values
            .sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    }

    /// A text without the hidden values.
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut shown = Cow::Borrowed(text);
        for (value, words) in &self.values {
            if shown.contains(value.as_str()) {
                shown = Cow::Owned(shown.replace(value.as_str(), words));
            }
        }
        shown
    }

    /// A value without the hidden ones.
    pub(crate) fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text).into_owned(),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.value(field)),
            _ => {}
        }
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hidden")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_give_way_to_their_names() {
        let mut hidden = Hidden::default();
        hidden.add(
            "config",
            &json!({"url": "https://x.test/hook", "token": "s3cret-token", "short": "abc",
                    "deep": {"list": ["https://x.test/hook/long"]}}),
        );
        assert_eq!(
            hidden.text("POST https://x.test/hook with s3cret-token, abc"),
            "POST [config.url] with [config.token], abc"
        );
        assert_eq!(
            hidden.text("https://x.test/hook/long"),
            "[config.deep.list]"
        );
        let mut value = json!({"a": ["s3cret-token!"]});
        hidden.value(&mut value);
        assert_eq!(value, json!({"a": ["[config.token]!"]}));
        assert_eq!(format!("{hidden:?}"), "Hidden");
    }
}
