//! A fake MCP server that wants a login, and the authorization server that gives one.

mod issue;
mod routes;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::mcp::{Plan, Remote};

/// How the authorization server behaves.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Whom the answers of the authorization server say they are from.
    pub signature: Signature,
    /// For how long tokens are said to hold, in seconds. They hold until they are revoked.
    pub expires_in: u64,
    /// Whether unknown clients may register.
    pub registers: bool,
    /// Whether the person says no.
    pub denies: bool,
    /// The scope a call needs, besides what listing needs.
    pub call_scope: Option<&'static str>,
    /// A client that logs in by itself: its id and its secret.
    pub machine: Option<(&'static str, &'static str)>,
}

/// Whom the answers of the authorization server say they are from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signature {
    /// From itself.
    Right,
    /// They do not say, although they should.
    Missing,
    /// From somebody else.
    Wrong,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            signature: Signature::Right,
            expires_in: 3_600,
            registers: true,
            denies: false,
            call_scope: None,
            machine: None,
        }
    }
}

/// A fake MCP server behind a login. It ends when it is dropped.
#[derive(Debug)]
pub struct Guarded {
    remote: Remote,
    desk: Arc<Desk>,
}

/// The authorization server.
#[derive(Debug)]
struct Desk {
    url: String,
    rules: Mutex<Rules>,
    books: Mutex<Books>,
}

/// What the authorization server remembers.
#[derive(Debug, Default)]
struct Books {
    /// Registered clients and where their answers go.
    clients: HashMap<String, String>,
    codes: HashMap<String, Code>,
    /// Access tokens that hold, and what they allow.
    access: HashMap<String, String>,
    /// Refresh tokens that hold, and what they allow.
    refresh: HashMap<String, String>,
    /// Everything secret that was ever issued.
    secrets: HashSet<String>,
    refreshes: usize,
}

/// A code on its way to a client.
#[derive(Debug)]
struct Code {
    client: String,
    redirect_uri: String,
    challenge: String,
    scope: String,
}

impl Guarded {
    /// Starts both servers, at one address.
    pub async fn start(rules: Rules) -> Self {
        let mut desk = None;
        let remote = Remote::start_behind(Plan::default(), |url, router| {
            let made = Arc::new(Desk {
                url: url.to_owned(),
                rules: Mutex::new(rules),
                books: Mutex::default(),
            });
            desk = Some(Arc::clone(&made));
            routes::around(made, router)
        })
        .await;
        Self {
            remote,
            desk: desk.expect("a server is started once"),
        }
    }

    /// The address of the MCP server.
    pub fn url(&self) -> String {
        self.remote.url()
    }

    /// The MCP server, and what came to either.
    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Changes the rules from here on.
    pub fn change(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut lock(&self.desk.rules));
    }

    /// Ends all access tokens.
    pub fn revoke_access(&self) {
        lock(&self.desk.books).access.clear();
    }

    /// Ends all refresh tokens.
    pub fn revoke_refresh(&self) {
        lock(&self.desk.books).refresh.clear();
    }

    /// How often a login was renewed.
    pub fn refreshes(&self) -> usize {
        lock(&self.desk.books).refreshes
    }

    /// How many clients have registered.
    pub fn registrations(&self) -> usize {
        lock(&self.desk.books).clients.len()
    }

    /// How many refresh tokens hold.
    pub fn logins(&self) -> usize {
        lock(&self.desk.books).refresh.len()
    }

    /// Everything secret that was ever issued.
    pub fn secrets(&self) -> Vec<String> {
        lock(&self.desk.books).secrets.iter().cloned().collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
