//! Logging in to a server and out again, on behalf of a person.

use std::sync::Arc;

use toolscript_catalog::SourceName;

use super::{
    connect::Connector,
    era::Memory,
    oauth::{
        self, Access, Challenge, CheckedAuth, Grant, Login, OAuthError, PersonSettings, Vault, Wish,
    },
    settings::Settings,
    upstream::{Remote, Upstream, Way},
};
use crate::Context;

/// How the tokens for a server come about; `None` where it needs none.
pub(super) fn access(cx: &Context, upstream: &Upstream) -> Option<Arc<Access>> {
    let Way::Remote(remote) = &upstream.way else {
        return None;
    };
    let grant = match remote.auth.as_ref()? {
        CheckedAuth::Person(_) => Grant::Person(vault(cx, upstream)),
        CheckedAuth::Machine(settings) => Grant::Machine(Arc::clone(settings)),
    };
    Some(enter(cx, upstream, remote, grant))
}

fn enter(cx: &Context, upstream: &Upstream, remote: &Remote, grant: Grant) -> Arc<Access> {
    let (name, url) = (upstream.name.clone(), remote.url.clone());
    Access::new(name, url, cx.outbound.clone(), grant)
}

fn vault(cx: &Context, upstream: &Upstream) -> Option<Vault> {
    let state = cx.state.as_deref()?;
    let (name, fingerprint) = (upstream.name.as_str(), upstream.fingerprint());
    Some(Vault::new(state, name, &fingerprint))
}

/// Prepares a login to a server. The browser comes back to `port` of this machine, to a free one
/// where that is left out.
pub async fn login(
    cx: &Context,
    name: SourceName,
    settings: Settings,
    port: Option<u16>,
) -> Result<Login, OAuthError> {
    let upstream = Upstream::check(name, settings, &cx.folder)?;
    let (remote, person) = for_a_person(&upstream)?;
    let vault = vault(cx, &upstream).ok_or(OAuthError::NoFolder)?;
    let (server, person) = (remote.url.clone(), Arc::clone(person));
    let stranger = enter(cx, &upstream, remote, Grant::Nobody);
    let challenge = knock(upstream, stranger).await?;
    let wish = Wish {
        server: &server,
        settings: &person,
        challenge,
        port,
    };
    oauth::begin(cx.outbound.clone(), vault, wish).await
}

/// Forgets the login to a server; says whether there was one.
pub async fn logout(
    cx: &Context,
    name: SourceName,
    settings: Settings,
) -> Result<bool, OAuthError> {
    let upstream = Upstream::check(name, settings, &cx.folder)?;
    let (remote, _) = for_a_person(&upstream)?;
    let vault = vault(cx, &upstream).ok_or(OAuthError::NoFolder)?;
    oauth::forget(cx.outbound.clone(), &vault, &remote.url).await
}

fn for_a_person(upstream: &Upstream) -> Result<(&Remote, &Arc<PersonSettings>), OAuthError> {
    let no = |reason| Err(OAuthError::NotNeeded { reason });
    let Way::Remote(remote) = &upstream.way else {
        return no("the server is a program of this machine");
    };
    match &remote.auth {
        Some(CheckedAuth::Person(settings)) => Ok((remote, settings)),
        Some(CheckedAuth::Machine(_)) => no("`auth` lets the machine log in by itself"),
        None => no("`headers.Authorization` says who we are"),
    }
}

/// Asks a server for its tools as a stranger, to hear what it wants of one.
async fn knock(upstream: Upstream, stranger: Arc<Access>) -> Result<Challenge, OAuthError> {
    let memory = Memory::new(None, &upstream);
    let connector = Connector::new(upstream, memory, Some(Arc::clone(&stranger)));
    match connector.connect().await {
        // It lets strangers in; perhaps not everywhere.
        Ok(line) => {
            line.close().await;
            Ok(Challenge::default())
        }
        Err(error) => stranger.challenge().ok_or_else(|| OAuthError::Unreachable {
            problem: error.to_string(),
        }),
    }
}
