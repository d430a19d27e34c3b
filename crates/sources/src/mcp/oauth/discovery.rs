//! Finds out where to log in to a server: its own description first, then its authorization
//! server's.

use serde::de::DeserializeOwned;
use url::Url;

use super::{
    OAuthError,
    challenge::Challenge,
    metadata::{IssuerMetadata, ResourceMetadata},
    web::Web,
};
use crate::outbound::host_of;

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const ISSUER: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// What was found out about the login to one server.
#[derive(Debug)]
pub(super) struct Found {
    /// Who the server is, in the words tokens are asked for with.
    pub(super) resource: String,
    /// The scopes it knows.
    pub(super) scopes: Option<Vec<String>>,
    /// Who issues tokens for it.
    pub(super) issuer: IssuerMetadata,
}

/// Finds out where to log in to a server. Of several authorization servers the wanted one is
/// taken, else the first.
pub(super) async fn discover(
    web: &Web,
    server: &Url,
    challenge: &Challenge,
    wanted: Option<&str>,
) -> Result<Found, OAuthError> {
    let described = describe_resource(web, server, challenge).await?;
    let named = described.as_ref().and_then(|resource| {
        let servers = &resource.authorization_servers;
        let wanted = servers
            .iter()
            .find(|server| wanted.is_some_and(|wanted| is_same(wanted, server)));
        wanted.or(servers.first()).cloned()
    });
    let issuer = match named {
        Some(issuer) => describe_issuer(web, &issuer)
            .await?
            .ok_or(OAuthError::NoMetadata { issuer })?,
        // Before 2025-06-18 a server was its own authorization server.
        None => describe_issuer(web, &server.origin().ascii_serialization())
            .await?
            .ok_or_else(|| OAuthError::NowhereToLogIn {
                host: host_of(server),
            })?,
    };
    let (resource, scopes) = match described {
        Some(described) => (described.resource, described.scopes_supported),
        None => (None, None),
    };
    Ok(Found {
        resource: resource.unwrap_or_else(|| canonical(server)),
        scopes,
        issuer,
    })
}

async fn describe_resource(
    web: &Web,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<ResourceMetadata>, OAuthError> {
    let mut places = Vec::new();
    if let Some(named) = &challenge.resource_metadata {
        places.push(web.address(named, "metadata address")?);
    }
    places.extend(well_known(server, RESOURCE));
    let found: Option<ResourceMetadata> =
        first(web, &places, "a description of the server").await?;
    let resource = found.as_ref().and_then(|found| found.resource.as_deref());
    match resource {
        Some(resource) if !covers(resource, server) => Err(OAuthError::OtherResource {
            found: crate::mcp::text::line(resource, 200),
        }),
        _ => Ok(found),
    }
}

/// What an authorization server says about itself; only what it says under its own name counts.
pub(super) async fn describe_issuer(
    web: &Web,
    issuer: &str,
) -> Result<Option<IssuerMetadata>, OAuthError> {
    let url = web.address(issuer, "address")?;
    let what = "a description of the authorization server";
    let Some(found) = first::<IssuerMetadata>(web, &issuer_places(&url), what).await? else {
        return Ok(None);
    };
    if is_same(&found.issuer, issuer) {
        return Ok(Some(found));
    }
    Err(OAuthError::OtherIssuer {
        expected: issuer.to_owned(),
        found: crate::mcp::text::line(&found.issuer, 200),
    })
}

/// Whether two names mean the same authorization server. Many programs put a slash behind a bare
/// host without being asked, so that much difference is none.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

async fn first<T: DeserializeOwned>(
    web: &Web,
    places: &[Url],
    what: &'static str,
) -> Result<Option<T>, OAuthError> {
    for place in places {
        if let Some(found) = web.document(place, what).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The well-known places for an address: with its path behind, then without.
fn well_known(url: &Url, place: &str) -> Vec<Url> {
    let path = url.path().trim_end_matches('/');
    let mut places = vec![at(url, &format!("{place}{path}"))];
    if !path.is_empty() {
        places.push(at(url, place));
    }
    places
}

fn issuer_places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut places = vec![
        at(issuer, &format!("{ISSUER}{path}")),
        at(issuer, &format!("{OPENID}{path}")),
    ];
    if !path.is_empty() {
        places.push(at(issuer, &format!("{path}{OPENID}")));
    }
    places
}

fn at(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Whether a name covers a server: the same origin, and its path or one above it.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let above = resource.path().trim_end_matches('/');
    let below = server.path().strip_prefix(above);
    resource.origin() == server.origin()
        && resource.fragment().is_none()
        && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The name of a server that does not name itself: its address without what may be a secret.
pub(super) fn canonical(server: &Url) -> String {
    let bare = at(server, server.path());
    bare.as_str().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[track_caller]
    fn places(found: &[Url], expected: &[&str]) {
        let found: Vec<&str> = found.iter().map(Url::as_str).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn well_known_places_keep_the_path() {
        let server = url("https://x.test/a/mcp?key=1");
        let with_path = "https://x.test/.well-known/oauth-protected-resource/a/mcp";
        let without = "https://x.test/.well-known/oauth-protected-resource";
        places(&well_known(&server, RESOURCE), &[with_path, without]);
        places(&well_known(&url("https://x.test/"), RESOURCE), &[without]);
        places(
            &issuer_places(&url("https://x.test/t1")),
            &[
                "https://x.test/.well-known/oauth-authorization-server/t1",
                "https://x.test/.well-known/openid-configuration/t1",
                "https://x.test/t1/.well-known/openid-configuration",
            ],
        );
    }

    #[test]
    fn a_resource_covers_what_is_below_it() {
        let server = url("https://x.test/a/mcp");
        for good in [
            "https://x.test",
            "https://x.test/",
            "https://x.test/a",
            "https://x.test/a/mcp",
        ] {
            assert!(covers(good, &server), "{good}");
        }
        for bad in [
            "https://y.test/a/mcp",
            "http://x.test/a/mcp",
            "https://x.test/b",
            "https://x.test/a/mc",
            "https://x.test/a/mcp/deeper",
            "https://x.test/a#b",
            "mcp",
        ] {
            assert!(!covers(bad, &server), "{bad}");
        }
    }

    #[test]
    fn a_server_without_a_name_is_called_by_its_address() {
        assert_eq!(canonical(&url("https://x.test/")), "https://x.test");
        assert_eq!(
            canonical(&url("https://x.test/mcp?key=1#2")),
            "https://x.test/mcp"
        );
    }
}
