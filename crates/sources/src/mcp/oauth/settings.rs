//! `auth` of `[mcp_servers.<name>]`: what a person may say about logging in.

use std::{path::Path, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;
use toolscript_catalog::Secret;

use super::{assertion::SigningKey, key};
use crate::SettingsError;

/// How a remote server is logged in to. Where it is left out, a person logs in if the server asks
/// for it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ServerAuth {
    /// A person logs in once, in a browser: `toolscript server login NAME`.
    Oauth {
        /// The client id, where one was registered by hand; else we register ourselves.
        #[serde(default)]
        client_id: Option<String>,
        /// The client secret that belongs to `client_id`.
        #[serde(default)]
        #[schemars(with = "Option<String>")]
        client_secret: Option<Secret>,
        /// The address of a client id metadata document that describes this program; it is the
        /// client id where the authorization server takes such documents.
        #[serde(default)]
        client_metadata_url: Option<String>,
        /// The authorization server `client_id` belongs to; another one gets to see nothing.
        #[serde(default)]
        issuer: Option<String>,
        /// The scopes to ask for; what the server wants where left out.
        #[serde(default)]
        scopes: Option<Vec<String>>,
        /// The port of this machine the browser comes back to
        /// (`http://127.0.0.1:<port>/callback`); a free one where left out.
        #[serde(default)]
        redirect_port: Option<u16>,
    },
    /// The machine logs in by itself, with a secret or a key of its own.
    ClientCredentials {
        /// The client id.
        client_id: String,
        /// The client secret; or a key instead.
        #[serde(default)]
        #[schemars(with = "Option<String>")]
        client_secret: Option<Secret>,
        /// A private key that signs for the client, as PEM (PKCS #8: P-256, Ed25519 or RSA).
        #[serde(default)]
        #[schemars(with = "Option<String>")]
        private_key: Option<Secret>,
        /// The file `private_key` is in; relative to the folder of the configuration file.
        #[serde(default)]
        private_key_file: Option<String>,
        /// The name of the key, where the authorization server knows several of this client.
        #[serde(default)]
        key_id: Option<String>,
        /// Where tokens are issued; found out where left out.
        #[serde(default)]
        token_url: Option<String>,
        /// The authorization server the client belongs to; another one gets to see nothing.
        #[serde(default)]
        issuer: Option<String>,
        /// The scopes to ask for; what the server wants where left out.
        #[serde(default)]
        scopes: Option<Vec<String>>,
    },
}

/// The settings after every rule has been checked.
#[derive(Debug)]
pub(in crate::mcp) enum CheckedAuth {
    /// A person logs in.
    Person(Arc<PersonSettings>),
    /// The machine logs in.
    Machine(Arc<MachineSettings>),
}

/// What a login of a person needs to know.
#[derive(Debug, Clone, Default)]
pub(in crate::mcp) struct PersonSettings {
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<Secret>,
    pub(super) client_metadata_url: Option<String>,
    pub(super) issuer: Option<String>,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) redirect_port: Option<u16>,
}

/// What a machine needs to log in.
#[derive(Debug)]
pub(in crate::mcp) struct MachineSettings {
    pub(super) client_id: String,
    pub(super) proof: MachineProof,
    pub(super) token_url: Option<String>,
    pub(super) issuer: Option<String>,
    pub(super) scopes: Option<Vec<String>>,
}

/// How a machine shows that it is the client.
#[derive(Debug)]
pub(super) enum MachineProof {
    Secret(Secret),
    Key(Box<SigningKey>),
}

/// Checks what a person wrote; relative paths start from `folder`.
pub(in crate::mcp) fn check(
    auth: Option<ServerAuth>,
    folder: &Path,
) -> Result<CheckedAuth, SettingsError> {
    match auth {
        None => Ok(CheckedAuth::Person(Arc::default())),
        Some(ServerAuth::Oauth {
            client_id,
            client_secret,
            client_metadata_url,
            issuer,
            scopes,
            redirect_port,
        }) => check_person(PersonSettings {
            client_id,
            client_secret,
            client_metadata_url,
            issuer,
            scopes,
            redirect_port,
        }),
        Some(ServerAuth::ClientCredentials {
            client_id,
            client_secret,
            private_key,
            private_key_file,
            key_id,
            token_url,
            issuer,
            scopes,
        }) => {
            let key = private_key_of(private_key, private_key_file, folder)?;
            let proof = match (client_secret, key) {
                (Some(secret), None) => MachineProof::Secret(secret),
                (None, Some(pem)) => {
                    let key = SigningKey::read(&pem, key_id);
                    let key = key.map_err(|error| bad("private_key", error.to_string()))?;
                    MachineProof::Key(Box::new(key))
                }
                _ => return Err(bad("client_secret", "set one of it and a private key")),
            };
            Ok(CheckedAuth::Machine(Arc::new(MachineSettings {
                client_id,
                proof,
                token_url,
                issuer,
                scopes,
            })))
        }
    }
}

fn check_person(settings: PersonSettings) -> Result<CheckedAuth, SettingsError> {
    if settings.client_secret.is_some() && settings.client_id.is_none() {
        return Err(bad("client_id", "is missing: whose secret is it?"));
    }
    let is_document = |url: &String| {
        let url = url::Url::parse(url);
        url.is_ok_and(|url| url.scheme() == "https" && url.path() != "/")
    };
    let document = settings.client_metadata_url.as_ref();
    if document.is_some_and(|url| !is_document(url)) {
        let problem = "must be an https URL with a path, such as `https://example.com/client.json`";
        return Err(bad("client_metadata_url", problem));
    }
    if settings.redirect_port == Some(0) {
        return Err(bad("redirect_port", "must be 1 to 65535"));
    }
    Ok(CheckedAuth::Person(Arc::new(settings)))
}

fn private_key_of(
    text: Option<Secret>,
    file: Option<String>,
    folder: &Path,
) -> Result<Option<Secret>, SettingsError> {
    match (text, file) {
        (Some(_), Some(_)) => Err(bad(
            "private_key_file",
            "set either it or `private_key`, not both",
        )),
        (text, None) => Ok(text),
        (None, Some(file)) => {
            let path = folder.join(file);
            let read = key::read_small(&path);
            let problem = |error| format!("`{}` cannot be read: {error}", path.display());
            let text = read.map_err(|error| bad("private_key_file", problem(error)))?;
            Ok(Some(Secret::new(text)))
        }
    }
}

fn bad(key: &str, problem: impl Into<String>) -> SettingsError {
    SettingsError {
        key: format!("auth.{key}"),
        problem: problem.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn checked(auth: Value) -> Result<CheckedAuth, SettingsError> {
        check(serde_json::from_value(auth).unwrap(), Path::new("/nowhere"))
    }

    #[track_caller]
    fn refused(auth: Value, key: &str) {
        assert_eq!(checked(auth).unwrap_err().key, key);
    }

    #[test]
    fn a_person_needs_to_say_nothing() {
        assert!(checked(json!(null)).is_ok());
        assert!(checked(json!({"type": "oauth"})).is_ok());
        assert!(checked(json!({"type": "oauth", "client_id": "a", "client_secret": "b"})).is_ok());
        refused(
            json!({"type": "oauth", "client_secret": "b"}),
            "auth.client_id",
        );
        refused(
            json!({"type": "oauth", "client_metadata_url": "https://x.test"}),
            "auth.client_metadata_url",
        );
        refused(
            json!({"type": "oauth", "redirect_port": 0}),
            "auth.redirect_port",
        );
    }

    #[test]
    fn a_machine_has_one_proof() {
        let machine = |more: Value| {
            let mut auth = json!({"type": "client_credentials", "client_id": "a"});
            auth.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            auth
        };
        assert!(checked(machine(json!({"client_secret": "b"}))).is_ok());
        refused(machine(json!({})), "auth.client_secret");
        refused(
            machine(json!({"private_key": "not a key"})),
            "auth.private_key",
        );
        refused(
            machine(json!({"private_key_file": "key.pem"})),
            "auth.private_key_file",
        );
        refused(
            machine(json!({"private_key_file": "key.pem", "private_key": "x"})),
            "auth.private_key_file",
        );
    }

    #[test]
    fn secrets_are_not_shown() {
        let auth = checked(json!({"type": "oauth", "client_id": "a", "client_secret": "hunter2"}));
        assert!(!format!("{auth:?}").contains("hunter2"));
    }
}
