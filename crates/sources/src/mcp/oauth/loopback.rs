//! `Loopback`: waits on this machine for the browser to come back from the authorization server.

use std::{net::Ipv4Addr, time::Duration};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use toolscript_catalog::Secret;
use url::Url;

use super::{OAuthError, client::Client, pkce::is_equal};

/// The path the browser comes back to.
const PATH: &str = "/callback";

/// The largest request that is read.
const LARGEST: usize = 16 << 10;

/// How many connections are open at once; browsers open some they do not use.
const MOST: usize = 32;

/// How long a connection may take to say what it wants, or to take its page.
const MOMENT: Duration = Duration::from_secs(10);

/// The page a browser is left with.
const PAGE: &str = include_str!("page.html");

/// A port of this machine, listening for one browser.
#[derive(Debug)]
pub(super) struct Loopback {
    listener: TcpListener,
    port: u16,
}

/// A browser that has come back with the right word, and waits for its page.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) redirected: Redirected,
    stream: TcpStream,
}

/// What the authorization server gave the browser along.
#[derive(Debug)]
pub(super) struct Redirected {
    /// Whom the answer is from, where it says so.
    pub(super) issuer: Option<String>,
    /// The code, or why there is none.
    pub(super) outcome: Result<Secret, Refusal>,
}

/// Why an authorization server gives no code, in its own words.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) description: String,
}

impl Loopback {
    /// Listens on the port that is wanted; else on the one a known client was registered with, if
    /// it is free; else on any.
    pub(super) async fn bind(
        wanted: Option<u16>,
        known: Option<&Client>,
    ) -> Result<Self, OAuthError> {
        let registered = known.and_then(|client| client.redirect_uri.as_deref());
        let registered = registered.and_then(|uri| Url::parse(uri).ok()?.port());
        let listener = match (wanted, registered) {
            (Some(port), _) => listen(port).await?,
            (None, Some(port)) => match listen(port).await {
                Ok(listener) => listener,
                Err(_) => listen(0).await?,
            },
            (None, None) => listen(0).await?,
        };
        let port = listener.local_addr();
        let port = port.map_err(|cause| OAuthError::Port { port: 0, cause })?;
        Ok(Self {
            listener,
            port: port.port(),
        })
    }

    /// The address the browser is sent back to.
    pub(super) fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the browser. Whoever comes without the right word is turned away, and the
    /// waiting goes on: no page of somebody else's can end a login.
    pub(super) async fn wait(&self, state: &Secret) -> Result<Visit, OAuthError> {
        let mut visits = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if visits.len() < MOST => {
                    let port = self.port;
                    let (stream, _) = accepted.map_err(|cause| OAuthError::Port { port, cause })?;
                    visits.push(receive(stream, state));
                }
                Some(visit) = visits.next(), if !visits.is_empty() => {
                    if let Some(visit) = visit {
                        return Ok(visit);
                    }
                }
            }
        }
    }
}

impl Visit {
    /// Shows the browser how it went.
    pub(super) async fn reply(mut self, is_good: bool) {
        let (status, title, words) = if is_good {
            ("200 OK", "Logged in", "You can close this page.")
        } else {
            (
                "400 Bad Request",
                "Not logged in",
                "The terminal says why. You can close this page.",
            )
        };
        answer(&mut self.stream, status, title, words).await;
    }
}

async fn listen(port: u16) -> Result<TcpListener, OAuthError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    listener.map_err(|cause| OAuthError::Port { port, cause })
}

/// Reads what a connection wants; `None` where it is not what we wait for.
async fn receive(mut stream: TcpStream, state: &Secret) -> Option<Visit> {
    let target = timeout(MOMENT, target(&mut stream)).await.ok()??;
    let url = Url::parse("http://127.0.0.1").ok()?.join(&target).ok()?;
    if url.path() != PATH {
        answer(&mut stream, "404 Not Found", "Nothing here", "").await;
        return None;
    }
    let field = |name: &str| {
        let mut pairs = url.query_pairs();
        pairs.find_map(|(key, value)| (key == name).then(|| value.into_owned()))
    };
    if !field("state").is_some_and(|found| is_equal(&found, state.reveal())) {
        let words = "This page was not opened by the login that is under way.";
        answer(&mut stream, "400 Bad Request", "Not logged in", words).await;
        return None;
    }
    let outcome = match (field("error"), field("code")) {
        (None, Some(code)) => Ok(Secret::new(code)),
        (code, _) => Err(Refusal {
            code: code.unwrap_or_else(|| "no code came back".to_owned()),
            description: field("error_description").unwrap_or_default(),
        }),
    };
    let issuer = field("iss");
    let redirected = Redirected { issuer, outcome };
    Some(Visit { redirected, stream })
}

/// The target of a GET request, once all of its head is there.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read_buf(&mut head).await.ok()?;
        if read == 0 || LARGEST < head.len() {
            return None;
        }
    }
    let head = String::from_utf8(head).ok()?;
    let mut words = head.lines().next()?.split(' ');
    let is_get = words.next() == Some("GET");
    // An address with a host in it would be somebody else's.
    words
        .next()
        .filter(|target| is_get && target.starts_with('/') && !target.starts_with("//"))
        .map(str::to_owned)
}

async fn answer(stream: &mut TcpStream, status: &str, title: &str, words: &str) {
    let page = PAGE.replace("{title}", title).replace("{words}", words);
    let response = format!(
        "HTTP/1.1 {status}\r\n\
         content-type: text/html; charset=utf-8\r\n\
         content-length: {}\r\n\
         content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n\
         cache-control: no-store\r\n\
         referrer-policy: no-referrer\r\n\
         connection: close\r\n\r\n{page}",
        page.len()
    );
    let sending = async {
        stream.write_all(response.as_bytes()).await?;
        stream.shutdown().await
    };
    // A browser that has gone has nothing to read the page with.
    drop(timeout(MOMENT, sending).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends one request and reads the whole answer.
    async fn visit(port: u16, request: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    fn get(target: &str) -> String {
        format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n")
    }

    #[tokio::test]
    async fn only_the_right_word_ends_the_waiting() {
        let loopback = Loopback::bind(None, None).await.unwrap();
        let port = loopback.port;
        let visitors = async {
            // One that says nothing, as browsers open in advance.
            let _silent = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
            for (request, status) in [
                (get("/favicon.ico"), "404"),
                (get("/callback?code=evil"), "400"),
                (get("/callback?code=evil&state=wrong"), "400"),
            ] {
                let answer = visit(port, &request).await;
                assert!(
                    answer.starts_with(&format!("HTTP/1.1 {status}")),
                    "{answer}"
                );
                assert!(!answer.contains("evil"), "{answer}");
            }
            assert_eq!(visit(port, "POST /callback HTTP/1.1\r\n\r\n").await, "");
            let target = "/callback?state=right&code=c%2B1&iss=https%3A%2F%2Fas.test";
            visit(port, &get(target)).await
        };
        let state = Secret::new("right");
        let waiting = async {
            let visit = loopback.wait(&state).await.unwrap();
            let code = visit.redirected.outcome.as_ref().unwrap().clone();
            let issuer = visit.redirected.issuer.clone();
            visit.reply(true).await;
            (code, issuer)
        };
        let (page, (code, issuer)) = tokio::join!(visitors, waiting);
        assert!(page.contains("Logged in"), "{page}");
        assert_eq!(code.reveal(), "c+1");
        assert_eq!(issuer.as_deref(), Some("https://as.test"));
    }

    #[tokio::test]
    async fn a_registered_port_is_used_again_if_it_is_free() {
        let first = Loopback::bind(None, None).await.unwrap();
        let uri = first.redirect_uri();
        let client = Client {
            id: "a".into(),
            secret: None,
            method: crate::mcp::oauth::client::Method::None,
            redirect_uri: Some(uri.clone()),
            secret_ends_at: None,
        };
        let second = Loopback::bind(None, Some(&client)).await.unwrap();
        assert_ne!(second.redirect_uri(), uri);
        assert!(Loopback::bind(Some(first.port), None).await.is_err());
        drop(first);
        let third = Loopback::bind(None, Some(&client)).await.unwrap();
        assert_eq!(third.redirect_uri(), uri);
    }
}
