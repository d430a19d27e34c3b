//! MCP servers as sources: their tools become functions.
//!
//! `settings` is what a person writes and `upstream` what is left after the rules were checked.
//! `link` keeps a server connected; `connect` knows the three ways to do it (`child` and `stdio`
//! for programs, `wire` for HTTP, `sse` for the older remote transport) and `greeting` finds out
//! which era of the protocol the server speaks; `oauth` gets us in, and `login` lets a person in.
//! `listing` and `tool` make functions of
//! tools, `server` calls them and `content` reads what they answer.

mod backoff;
mod child;
mod connect;
mod connection;
mod content;
mod delivery;
mod elicitation;
mod era;
mod events;
mod failure;
mod greeting;
pub mod guard;
mod handler;
mod introspect;
mod link;
mod listing;
mod login;
mod oauth;
mod server;
mod settings;
mod sse;
mod stdio;
mod tail;
mod tool;
mod upstream;
mod wire;

pub use introspect::{IntrospectError, Introspection, Trouble, introspect};
pub use login::{login, logout};
pub use oauth::{KeyError, Login, OAuthError, ServerAuth, VaultError};
pub use server::Server;
pub use settings::{Settings, ToolFilter, Transport};

use std::sync::Arc;

use serde_json::Value;
use toolscript_catalog::{Source, SourceName};

use self::{connect::Connector, era::Memory, upstream::Upstream};
use crate::{Context, Kind, SettingsError, text};

/// The largest message a server may send.
const LARGEST_MESSAGE: usize = 16 << 20;

/// The kind `mcp`: sections `[mcp_servers.<name>]`.
#[derive(Debug)]
pub struct Mcp;

impl Kind for Mcp {
    fn name(&self) -> &'static str {
        "mcp"
    }

    fn section(&self) -> &'static str {
        "mcp_servers"
    }

    fn settings_schema(&self) -> schemars::Schema {
        schemars::schema_for!(Settings)
    }

    fn open(
        &self,
        cx: &Context,
        name: SourceName,
        settings: Value,
    ) -> Result<Arc<dyn Source>, SettingsError> {
        Ok(open(cx, name, self::settings(settings)?)?)
    }
}

/// Reads settings as they stand in a configuration.
pub fn settings(settings: Value) -> Result<Settings, SettingsError> {
    crate::settings::read(settings)
}

/// Checks the settings and opens a server, which connects when it is first listed.
pub fn open(
    cx: &Context,
    name: SourceName,
    settings: Settings,
) -> Result<Arc<Server>, SettingsError> {
    let upstream = Upstream::check(name, settings, &cx.folder)?;
    let memory = Memory::new(cx.state.as_deref(), &upstream);
    let access = login::access(cx, &upstream);
    let connector = Connector::new(upstream, memory, access);
    Ok(Arc::new(Server::new(connector, cx.changed.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn open(settings: Value) -> Result<Arc<dyn Source>, SettingsError> {
        let cx = Context {
            folder: ".".into(),
            ..Context::default()
        };
        Mcp.open(&cx, SourceName::parse("fake").unwrap(), settings)
    }

    #[track_caller]
    fn refused(settings: Value, key: &str, words: &str) {
        let error = open(settings).err().unwrap();
        assert_eq!(error.key, key);
        assert!(error.problem.contains(words), "{}", error.problem);
    }

    #[test]
    fn settings_that_do_not_fit_name_their_key() {
        assert!(
            open(json!({"command": "npx", "approve": true, "rate_limit": "10/minute"})).is_ok()
        );
        assert!(open(json!({"url": "https://x.test", "approve": "writes"})).is_ok());
        refused(json!({"comand": "npx"}), "comand", "unknown field");
        refused(json!({"command": 7}), "command", "string");
        refused(
            json!({"command": "npx", "tools": {"only": []}}),
            "tools.only",
            "unknown field",
        );
        refused(
            json!({"url": "https://x.test", "transport": "ws"}),
            "transport",
            "sse",
        );
        refused(json!({"command": "npx", "url": "x"}), "url", "either");
    }

    #[test]
    fn every_setting_is_explained() {
        let schema = Mcp.settings_schema();
        let properties = schema.as_value()["properties"].as_object().unwrap();
        for (key, property) in properties {
            assert!(property["description"].is_string(), "{key}");
        }
    }
}
