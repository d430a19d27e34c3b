//! `_meta.auth`: credentials a client brings for one request, by source.

use rmcp::model::RequestMetaObject;
use serde_json::Value;
use toolscript_catalog::{Credential, Credentials, SourceName};

/// An entry that is no credential. Shows the key, never the value.
#[derive(Debug, thiserror::Error)]
#[error(
    "`_meta.auth{path}` is malformed; an entry looks like \
     {{\"petstore\": {{\"type\": \"bearer\", \"token\": \"…\"}}}}, or type `api_key` with `key`, or type `basic` with `username` and `password`"
)]
pub(super) struct BadAuth {
    path: String,
}

/// The credentials of a request; none where it brought none.
pub(super) fn credentials(meta: &RequestMetaObject) -> Result<Credentials, BadAuth> {
    let Some(auth) = meta.0.get("auth") else {
        return Ok(Credentials::new());
    };
    let Value::Object(entries) = auth else {
        return Err(BadAuth {
            path: String::new(),
        });
    };
    entries
        .iter()
        .map(|(name, entry)| {
            let bad = || BadAuth {
                path: format!(".{name}"),
            };
            let source = SourceName::parse(name).map_err(|_| bad())?;
            // What serde says of a wrong entry may quote it, and with it the secret.
            let credential: Credential =
                serde_json::from_value(entry.clone()).map_err(|_| bad())?;
            Ok((source, credential))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(auth: Value) -> Result<Credentials, BadAuth> {
        let mut meta = RequestMetaObject::new();
        meta.0.insert("auth".to_owned(), auth);
        credentials(&meta)
    }

    #[test]
    fn every_kind_is_read() {
        let read = read(json!({
            "a": {"type": "bearer", "token": "t"},
            "b": {"type": "api_key", "key": "k"},
            "c": {"type": "basic", "username": "u", "password": "p"},
        }));
        assert_eq!(read.unwrap().len(), 3);
    }

    #[test]
    fn malformed_entries_are_named_and_not_shown() {
        for bad in [
            json!("hunter2"),
            json!({"a": "hunter2"}),
            json!({"a": {"type": "hunter2"}}),
            json!({"A": {}}),
        ] {
            let error = read(bad).unwrap_err().to_string();
            assert!(
                error.contains("_meta.auth") && !error.contains("hunter2"),
                "{error}"
            );
        }
    }
}
