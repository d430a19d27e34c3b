//! `[mcp_servers.<name>]`: what a person may say about one MCP server.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use toolscript_catalog::{Rate, Secret};

use crate::settings::Approve;

use super::oauth::ServerAuth;

/// One MCP server and how it is reached.
///
/// Exactly one of `command` and `url` says where it is.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The program to start; it speaks MCP on its standard input and output. A name is looked for
    /// in `PATH`, a path with a slash starts from the folder of the configuration file.
    pub command: Option<String>,
    /// The arguments of `command`.
    pub args: Option<Vec<String>>,
    /// Environment variables of `command`, besides `PATH` and `HOME`.
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub env: Option<BTreeMap<String, Secret>>,
    /// Give `command` the whole environment instead of `PATH` and `HOME` alone.
    pub inherit_env: bool,
    /// The folder `command` works in; relative to the folder of the configuration file.
    pub cwd: Option<String>,
    /// The address of a remote server.
    pub url: Option<String>,
    /// How the remote server speaks; found out where left out.
    pub transport: Option<Transport>,
    /// Headers sent with every request to `url`.
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub headers: Option<BTreeMap<String, Secret>>,
    /// How the remote server is logged in to; not needed where a header says it all, or where
    /// `toolscript server login` finds out by itself.
    pub auth: Option<ServerAuth>,
    /// Speak plain `http://` to a host that is not this machine. Without it such an address is
    /// used as `https://`.
    pub allow_http: bool,
    /// Whether the server is used at all.
    pub enabled: bool,
    /// How long a call may take, in seconds. Each sign of progress from the server starts it anew.
    pub timeout: f64,
    /// How long the server may take to start and to answer its first request, in seconds.
    pub start_timeout: f64,
    /// What the server is for, in words for the agent; instead of what the server says of itself.
    pub description: Option<String>,
    /// How the server is best used, in words for the agent; instead of the server's own.
    pub instructions: Option<String>,
    /// Which of its tools are offered.
    pub tools: ToolFilter,
    /// Which calls need a person's yes.
    pub approve: Option<Approve>,
    /// How often each caller may use each of its tools, such as `10/minute`.
    #[schemars(with = "Option<String>")]
    pub rate_limit: Option<Rate>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            command: None,
            args: None,
            env: None,
            inherit_env: false,
            cwd: None,
            url: None,
            transport: None,
            headers: None,
            auth: None,
            allow_http: false,
            enabled: true,
            timeout: 60.0,
            start_timeout: 60.0,
            description: None,
            instructions: None,
            tools: ToolFilter::default(),
            approve: None,
            rate_limit: None,
        }
    }
}

/// How a remote server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// One address for everything; what servers speak since 2025.
    StreamableHttp,
    /// A stream of events beside posted messages; what servers spoke before.
    Sse,
}

/// Which tools are offered: patterns over their names, in which `*` stands for anything.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolFilter {
    /// Only these tools; all where left out.
    pub include: Vec<String>,
    /// Not these tools; applied after `include`.
    pub exclude: Vec<String>,
}
