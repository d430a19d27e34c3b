//! `Gate`: who is let in. Host and Origin against pages that call from a browser, a bearer token
//! where one is configured.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, Uri, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use toolscript_catalog::Secret;
use toolscript_engine::{Engine, config::Server};

use super::failure::Failure;

/// The names of this machine for itself.
const OWN: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// What a request must bring to be let in, by the settings of the moment.
#[derive(Debug)]
pub(super) struct Gate {
    engine: Arc<Engine>,
    port: u16,
}

impl Gate {
    pub(super) fn new(engine: Arc<Engine>, port: u16) -> Self {
        Self { engine, port }
    }

    /// The hosts a request may be for.
    pub(super) fn hosts(&self) -> Vec<String> {
        hosts(&self.engine.settings().server)
    }

    /// The pages a request may come from.
    pub(super) fn origins(&self) -> Vec<String> {
        origins(&self.engine.settings().server, self.port)
    }

    /// Lets a request in, or says why not.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Failure> {
        check(&self.engine.settings().server, self.port, uri, headers)
    }
}

fn hosts(server: &Server) -> Vec<String> {
    let own = OWN.iter().map(|host| (*host).to_owned());
    own.chain(server.allowed_hosts.iter().cloned()).collect()
}

fn origins(server: &Server, port: u16) -> Vec<String> {
    let own = OWN.iter().map(|host| format!("http://{host}:{port}"));
    own.chain(server.allowed_origins.iter().cloned()).collect()
}

fn check(server: &Server, port: u16, uri: &Uri, headers: &HeaderMap) -> Result<(), Failure> {
    check_host(&hosts(server), uri, headers)?;
    check_origin(&origins(server, port), headers)?;
    match &server.auth {
        Some(auth) => check_token(&auth.token, headers),
        None => Ok(()),
    }
}

fn check_host(hosts: &[String], uri: &Uri, headers: &HeaderMap) -> Result<(), Failure> {
    let named = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let named = uri.authority().map(Authority::as_str).or(named);
    let refused = |shown: &str| {
        Failure::Forbidden(format!(
            "requests for the host `{shown}` are not served; add it to `server.allowed_hosts`"
        ))
    };
    let named = named.ok_or_else(|| refused(""))?;
    let authority: Authority = named.parse().map_err(|_| refused("?"))?;
    let fits = |allowed: &String| {
        let is_host = allowed.eq_ignore_ascii_case(authority.host());
        is_host || allowed.eq_ignore_ascii_case(authority.as_str())
    };
    // `user@host` is no host.
    let is_allowed = !named.contains('@') && hosts.iter().any(fits);
    is_allowed.then_some(()).ok_or_else(|| refused(named))
}

fn check_origin(origins: &[String], headers: &HeaderMap) -> Result<(), Failure> {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return Ok(());
    };
    let origin = origin.to_str().unwrap_or("?");
    let fits = |allowed: &String| allowed == "*" || allowed.eq_ignore_ascii_case(origin);
    if origins.iter().any(fits) {
        return Ok(());
    }
    Err(Failure::Forbidden(format!(
        "pages of `{origin}` may not call this server; add it to `server.allowed_origins`"
    )))
}

fn check_token(token: &Secret, headers: &HeaderMap) -> Result<(), Failure> {
    let Some(shown) = headers.get(header::AUTHORIZATION) else {
        return Err(Failure::Unauthorized { is_wrong: false });
    };
    let (scheme, shown) = shown.as_bytes().split_at_checked(7).unwrap_or_default();
    // Hashes are compared in the same time whatever was sent.
    let is_same = blake3::hash(shown.trim_ascii()) == blake3::hash(token.reveal().as_bytes());
    (scheme.eq_ignore_ascii_case(b"bearer ") && is_same)
        .then_some(())
        .ok_or(Failure::Unauthorized { is_wrong: true })
}

/// Stands in front of everything that is not for everybody.
pub(super) async fn guard(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    match gate.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};
    use toolscript_engine::config::Auth;

    #[track_caller]
    fn check(server: &Server, headers: &[(HeaderName, &str)], status: u16) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(name, HeaderValue::from_str(value).unwrap());
        }
        let outcome = super::check(server, 8080, &Uri::from_static("/tools/list"), &map);
        let found = outcome.map_or_else(
            |refused| refused.into_response().status().as_u16(),
            |()| 200,
        );
        assert_eq!(found, status, "{headers:?}");
    }

    #[test]
    fn hosts_are_loopback_or_allowed() {
        let server = Server {
            allowed_hosts: vec![
                "tools.example.com".to_owned(),
                "other.example:81".to_owned(),
            ],
            ..Server::default()
        };
        for (host, status) in [
            ("127.0.0.1:8080", 200),
            ("localhost", 200),
            ("LOCALHOST:1", 200),
            ("[::1]:8080", 200),
            ("tools.example.com", 200),
            ("tools.example.com:443", 200),
            ("other.example:81", 200),
            ("other.example", 403),
            ("evil.example", 403),
            ("127.0.0.1.evil.example", 403),
            ("localhost@evil.example", 403),
            ("", 403),
        ] {
            check(&server, &[(header::HOST, host)], status);
        }
        check(&server, &[], 403);
    }

    #[test]
    fn pages_of_others_are_refused() {
        let server = Server {
            allowed_origins: vec!["https://app.example.com".to_owned()],
            ..Server::default()
        };
        for (origin, status) in [
            ("http://localhost:8080", 200),
            ("https://app.example.com", 200),
            ("https://app.example.com.evil.example", 403),
            ("http://localhost:9", 403),
            ("null", 403),
        ] {
            let host = (header::HOST, "localhost:8080");
            check(&server, &[host, (header::ORIGIN, origin)], status);
        }
    }

    #[test]
    fn a_token_is_asked_for_where_one_is_configured() {
        let server = Server {
            auth: Some(Auth {
                token: Secret::new("s3cret"),
            }),
            ..Server::default()
        };
        let host = (header::HOST, "localhost");
        check(&server, std::slice::from_ref(&host), 401);
        for (shown, status) in [
            ("Bearer s3cret", 200),
            ("bearer s3cret", 200),
            ("Bearer s3cret2", 401),
            ("Bearer s3cre", 401),
            ("Bearer ", 401),
            ("Basic s3cret", 401),
            ("s3cret", 401),
            ("", 401),
        ] {
            check(
                &server,
                &[host.clone(), (header::AUTHORIZATION, shown)],
                status,
            );
        }
    }
}
