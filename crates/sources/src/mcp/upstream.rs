//! `Upstream`: the settings of one server after every rule has been checked.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use toolscript_catalog::{Rate, Secret, SourceName};
use url::{Host, Url};

use super::{
    oauth::{self, CheckedAuth},
    settings::{Settings, ToolFilter, Transport},
};
use crate::{SettingsError, settings::seconds};

/// Headers the protocol sets itself.
const RESERVED: &[&str] = &[
    "accept",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
];

/// One server, ready to be connected to.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) name: SourceName,
    pub(super) way: Way,
    pub(super) enabled: bool,
    pub(super) timeout: Duration,
    pub(super) start_timeout: Duration,
    pub(super) description: Option<String>,
    pub(super) instructions: Option<String>,
    pub(super) filter: ToolFilter,
    pub(super) rate: Option<Rate>,
}

/// Where the server is.
#[derive(Debug)]
pub(super) enum Way {
    Child(Program),
    Remote(Remote),
}

/// A server that is a program of this machine.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) command: OsString,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, Secret>,
    pub(super) inherit_env: bool,
    pub(super) cwd: Option<PathBuf>,
}

/// A server behind an address.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    /// How it is logged in to; `None` where a header says who we are.
    pub(super) auth: Option<CheckedAuth>,
    /// `None` finds out.
    pub(super) transport: Option<Transport>,
}

impl Upstream {
    /// Checks what a person wrote; relative paths start from `folder`.
    pub(super) fn check(
        name: SourceName,
        settings: Settings,
        folder: &Path,
    ) -> Result<Self, SettingsError> {
        let timeout = seconds("timeout", settings.timeout)?;
        let start_timeout = seconds("start_timeout", settings.start_timeout)?;
        Ok(Self {
            name,
            enabled: settings.enabled,
            timeout,
            start_timeout,
            description: settings.description.clone(),
            instructions: settings.instructions.clone(),
            filter: settings.tools.clone(),
            rate: settings.rate_limit,
            way: way(settings, folder)?,
        })
    }

    /// Tells this server from another that had the same name before.
    pub(super) fn fingerprint(&self) -> String {
        let mut hash = blake3::Hasher::new();
        let mut word = |word: &[u8]| {
            hash.update(&word.len().to_le_bytes());
            hash.update(word);
        };
        match &self.way {
            Way::Child(program) => {
                word(program.command.as_encoded_bytes());
                program.args.iter().for_each(|arg| word(arg.as_bytes()));
            }
            Way::Remote(remote) => word(remote.url.as_str().as_bytes()),
        }
        hash.finalize().to_hex()[..16].to_owned()
    }

    /// Where the server is, in words that hold no secret: arguments and queries may.
    pub(super) fn address(&self) -> String {
        match &self.way {
            Way::Child(program) => program.command.to_string_lossy().into_owned(),
            Way::Remote(remote) => {
                let mut url = remote.url.clone();
                url.set_query(None);
                url.set_fragment(None);
                // Only addresses that cannot have a user refuse, and they have none.
                let _kept = (url.set_username(""), url.set_password(None));
                url.to_string()
            }
        }
    }
}

fn way(settings: Settings, folder: &Path) -> Result<Way, SettingsError> {
    match (&settings.command, &settings.url) {
        (Some(_), Some(_)) => Err(bad("url", "set either `command` or `url`, not both")),
        (None, None) => Err(bad(
            "command",
            "is missing: the program to start, or `url` for a remote server",
        )),
        (Some(_), None) => program(settings, folder).map(Way::Child),
        (None, Some(_)) => remote(settings, folder).map(Way::Remote),
    }
}

fn program(settings: Settings, folder: &Path) -> Result<Program, SettingsError> {
    let for_remote = [
        ("transport", settings.transport.is_some()),
        ("headers", settings.headers.is_some()),
        ("auth", settings.auth.is_some()),
        ("allow_http", settings.allow_http),
    ];
    refuse(
        for_remote,
        "belongs to a server with `url`; this one has `command`",
    )?;
    let command = settings.command.unwrap_or_default();
    if command.trim().is_empty() {
        return Err(bad(
            "command",
            "is empty; write the program to start, such as `npx`",
        ));
    }
    let env = settings.env.unwrap_or_default();
    for (name, value) in &env {
        check_variable(name, value)?;
    }
    // A path is the configuration's, a plain name is found by `PATH`.
    let command = if command.contains('/') {
        folder.join(command).into_os_string()
    } else {
        command.into()
    };
    Ok(Program {
        command,
        args: settings.args.unwrap_or_default(),
        env,
        inherit_env: settings.inherit_env,
        cwd: settings.cwd.map(|cwd| folder.join(cwd)),
    })
}

fn check_variable(name: &str, value: &Secret) -> Result<(), SettingsError> {
    let key = || format!("env.{name}");
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(bad(key(), "is not the name of an environment variable"));
    }
    if value.reveal().contains('\0') {
        return Err(bad(
            key(),
            "has a value with a zero byte in it; take it out",
        ));
    }
    Ok(())
}

fn remote(settings: Settings, folder: &Path) -> Result<Remote, SettingsError> {
    let for_program = [
        ("args", settings.args.is_some()),
        ("env", settings.env.is_some()),
        ("inherit_env", settings.inherit_env),
        ("cwd", settings.cwd.is_some()),
    ];
    refuse(
        for_program,
        "belongs to a server with `command`; this one has `url`",
    )?;
    let url = address(&settings.url.unwrap_or_default(), settings.allow_http)?;
    let mut headers = HeaderMap::new();
    for (name, value) in settings.headers.unwrap_or_default() {
        let (name, value) = header(&name, &value)?;
        headers.insert(name, value);
    }
    let auth = match (headers.contains_key(AUTHORIZATION), settings.auth) {
        (true, Some(_)) => {
            let problem = "set either it or `headers.Authorization`, not both";
            return Err(bad("auth", problem));
        }
        (true, None) => None,
        (false, auth) => Some(oauth::check(auth, folder)?),
    };
    Ok(Remote {
        url,
        headers,
        auth,
        transport: settings.transport,
    })
}

/// Reads an address; plain http to another machine becomes https unless it is allowed.
fn address(text: &str, allow_http: bool) -> Result<Url, SettingsError> {
    // The address may hold a key, so it is not shown.
    let wrong = || {
        bad(
            "url",
            "is not a whole http(s) URL, such as `https://mcp.example.com/mcp`",
        )
    };
    let mut url = Url::parse(text.trim()).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong());
    }
    if url.scheme() == "http" && !allow_http && !is_this_machine(&url) {
        url.set_scheme("https").map_err(|()| wrong())?;
    }
    Ok(url)
}

/// Whether the address is a loopback one, which nobody on the way can read.
pub(super) fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => IpAddr::V4(ip).is_loopback(),
        Some(Host::Ipv6(ip)) => IpAddr::V6(ip).is_loopback(),
        None => false,
    }
}

fn header(name: &str, value: &Secret) -> Result<(HeaderName, HeaderValue), SettingsError> {
    let key = || format!("headers.{name}");
    let Ok(parsed) = HeaderName::try_from(name) else {
        return Err(bad(
            key(),
            "is not the name of a header; use letters, digits and `-`",
        ));
    };
    if RESERVED.contains(&parsed.as_str()) {
        return Err(bad(key(), "is set by the protocol itself; leave it out"));
    }
    let Ok(mut value) = HeaderValue::try_from(value.reveal()) else {
        let problem = "has a value no header can hold; take out line breaks and control characters";
        return Err(bad(key(), problem));
    };
    value.set_sensitive(true);
    Ok((parsed, value))
}

fn refuse<const N: usize>(keys: [(&str, bool); N], problem: &str) -> Result<(), SettingsError> {
    match keys.iter().find(|(_, is_set)| *is_set) {
        Some((key, _)) => Err(bad(*key, problem)),
        None => Ok(()),
    }
}

fn bad(key: impl Into<String>, problem: impl Into<String>) -> SettingsError {
    SettingsError {
        key: key.into(),
        problem: problem.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn check(settings: Value) -> Result<Upstream, SettingsError> {
        let settings: Settings = serde_json::from_value(settings).unwrap();
        let name = SourceName::parse("files").unwrap();
        Upstream::check(name, settings, Path::new("/etc/toolscript"))
    }

    #[track_caller]
    fn refused(settings: Value, key: &str) {
        assert_eq!(check(settings).unwrap_err().key, key);
    }

    #[track_caller]
    fn goes_to(settings: Value, address: &str) {
        assert_eq!(check(settings).unwrap().address(), address);
    }

    #[test]
    fn a_server_is_a_program_or_an_address() {
        refused(json!({}), "command");
        refused(json!({"command": "npx", "url": "https://x.test"}), "url");
        refused(json!({"command": " "}), "command");
        refused(json!({"command": "npx", "transport": "sse"}), "transport");
        refused(json!({"command": "npx", "headers": {}}), "headers");
        refused(json!({"command": "npx", "auth": {"type": "oauth"}}), "auth");
        refused(json!({"url": "https://x.test", "args": []}), "args");
        refused(json!({"url": "https://x.test", "env": {}}), "env");
        refused(json!({"url": "https://x.test", "cwd": "."}), "cwd");
        refused(json!({"url": "ftp://x.test"}), "url");
        refused(json!({"url": "x.test/mcp"}), "url");
    }

    #[test]
    fn values_are_checked_by_their_key() {
        refused(json!({"command": "npx", "timeout": 0}), "timeout");
        refused(
            json!({"command": "npx", "start_timeout": 1e9}),
            "start_timeout",
        );
        refused(json!({"command": "npx", "env": {"A=B": ""}}), "env.A=B");
        refused(
            json!({"url": "https://x.test", "headers": {"a b": ""}}),
            "headers.a b",
        );
        refused(
            json!({"url": "https://x.test", "headers": {"Accept": ""}}),
            "headers.Accept",
        );
        refused(
            json!({
                "url": "https://x.test",
                "headers": {"Authorization": "Bearer x"},
                "auth": {"type": "oauth"},
            }),
            "auth",
        );
        refused(
            json!({"url": "https://x.test", "headers": {"X": "a\nb"}}),
            "headers.X",
        );
    }

    #[test]
    fn plain_http_is_for_this_machine() {
        goes_to(json!({"url": "http://x.test/mcp"}), "https://x.test/mcp");
        goes_to(json!({"url": "http://x.test:80/mcp"}), "https://x.test/mcp");
        goes_to(
            json!({"url": "http://10.0.0.1/mcp"}),
            "https://10.0.0.1/mcp",
        );
        goes_to(json!({"url": "http://localhost:1/"}), "http://localhost:1/");
        goes_to(json!({"url": "http://127.0.0.9/"}), "http://127.0.0.9/");
        goes_to(json!({"url": "http://[::1]/"}), "http://[::1]/");
        goes_to(
            json!({"url": "http://x.test/", "allow_http": true}),
            "http://x.test/",
        );
        goes_to(
            json!({"url": "https://ann:pw@x.test/mcp?key=1#2"}),
            "https://x.test/mcp",
        );
    }

    #[test]
    fn relative_programs_start_from_the_configuration() {
        goes_to(json!({"command": "npx"}), "npx");
        goes_to(json!({"command": "./serve"}), "/etc/toolscript/./serve");
        goes_to(json!({"command": "/bin/serve"}), "/bin/serve");
    }

    #[test]
    fn the_fingerprint_changes_with_the_command_line() {
        let print = |args: Value| {
            check(json!({"command": "npx", "args": args}))
                .unwrap()
                .fingerprint()
        };
        assert_eq!(print(json!(["a"])), print(json!(["a"])));
        assert_ne!(print(json!(["a", "b"])), print(json!(["ab"])));
    }
}
