//! Credentials on their way to a source, in a type that cannot be printed.

use std::{collections::BTreeMap, fmt};

use serde::Deserialize;

use crate::SourceName;

/// Text that must never be seen: its `Debug` shows nothing and it has no `Display`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Takes the text out of sight.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// How a call proves who it is for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Credential {
    /// `Authorization: Bearer …`.
    Bearer {
        /// The token, without the word `Bearer`.
        token: Secret,
    },
    /// `Authorization: Basic …`.
    Basic {
        /// The user name.
        username: String,
        /// The password.
        password: Secret,
    },
    /// A key that goes where the document says: header, query or cookie.
    ApiKey {
        /// The key.
        key: Secret,
    },
    /// A value whose use the document decides: the token of a bearer scheme, the
    /// key of a key scheme, `user:password` of a basic scheme.
    #[serde(skip)]
    Plain(Secret),
}

/// The credentials a caller brought along, by source.
pub type Credentials = BTreeMap<SourceName, Credential>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let credential = Credential::Basic {
            username: "ann".into(),
            password: Secret::new("hunter2"),
        };
        let shown = format!("{credential:?}");
        assert!(
            shown.contains("ann") && !shown.contains("hunter2"),
            "{shown}"
        );
    }

    #[test]
    fn unknown_kinds_and_fields_are_refused() {
        for bad in [
            r#"{"type":"magic"}"#,
            r#"{"type":"bearer"}"#,
            r#"{"type":"bearer","token":"x","extra":1}"#,
        ] {
            assert!(serde_json::from_str::<Credential>(bad).is_err(), "{bad}");
        }
    }
}
