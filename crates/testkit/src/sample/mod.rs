//! `Sample`: a small pet shop with state, and corners that answer in every way an API can.

mod answers;
mod guarded;
mod pets;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Json, Router,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use crate::{Recorded, Server};

/// The document, with `SERVER` where its own address belongs.
const DOCUMENT: &str = include_str!("openapi.json");

/// A running pet shop. Every `Sample` has its own state.
#[derive(Debug)]
pub struct Sample {
    server: Server,
    shop: Arc<Shop>,
}

#[derive(Debug, Default)]
struct Shop {
    url: String,
    pets: Mutex<BTreeMap<u64, Value>>,
    failures: Mutex<HashMap<String, u32>>,
    tokens: Mutex<Tokens>,
}

#[derive(Debug, Default)]
struct Tokens {
    issued: usize,
    valid: HashSet<String>,
}

impl Sample {
    /// The token `/secure/bearer` takes.
    pub const TOKEN: &str = "sample-token-5f2b";
    /// The user `/secure/basic` takes.
    pub const USER: &str = "ann";
    /// The password `/secure/basic` takes.
    pub const PASSWORD: &str = "sample-password-91c0";
    /// The key `/secure/key-header`, `/secure/key-query` and `/secure/key-cookie` take.
    pub const KEY: &str = "sample-key-77ad";
    /// The client `/oauth/token` takes.
    pub const CLIENT_ID: &str = "sample-client";
    /// Its secret.
    pub const CLIENT_SECRET: &str = "sample-secret-c3e8";
    /// How many pets there are at the start, with ids from 1 up.
    pub const PETS: u64 = 12;

    /// Starts a shop on a free loopback port.
    pub async fn start() -> Self {
        let mut shop = Arc::default();
        let server = Server::start_at(|url| {
            shop = Arc::new(Shop::new(url));
            router(Arc::clone(&shop))
        });
        let server = server.await;
        Self { server, shop }
    }

    /// Where it listens: `http://127.0.0.1:<port>`.
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// Its OpenAPI 3.1 document (JSON), naming this server.
    pub fn document(&self) -> String {
        DOCUMENT.replace("SERVER", self.url())
    }

    /// The requests so far, in the order they arrived.
    pub fn requests(&self) -> Vec<Recorded> {
        self.server.requests()
    }

    /// How many requests of this method and path there were.
    pub fn count(&self, method: &str, path: &str) -> usize {
        let asked = |request: &&Recorded| request.method == method && request.path == path;
        self.requests().iter().filter(asked).count()
    }

    /// Waits until this many requests have arrived.
    pub async fn arrived(&self, many: usize) {
        self.server.arrived(many).await;
    }

    /// Waits until a client went away before it had its answer.
    pub async fn abandoned(&self) {
        self.server.abandoned().await;
    }

    /// Makes every token issued so far worthless, as a restarted issuer would.
    pub fn revoke_tokens(&self) {
        lock(&self.shop.tokens).valid.clear();
    }
}

impl Shop {
    fn new(url: &str) -> Self {
        let names = [
            "Rex", "Tom", "Ida", "Bo", "Ada", "Max", "Lea", "Kim", "Ben", "Eve", "Jo", "Zoe",
        ];
        let pets = (1..=Sample::PETS).zip(names).map(|(id, name)| {
            let kind = if id % 2 == 0 { "cat" } else { "dog" };
            (
                id,
                json!({"id": id, "name": name, "kind": kind, "tags": []}),
            )
        });
        Self {
            url: url.to_owned(),
            pets: Mutex::new(pets.collect()),
            ..Self::default()
        }
    }
}

fn router(shop: Arc<Shop>) -> Router {
    pets::routes()
        .merge(answers::routes())
        .merge(guarded::routes())
        .with_state(shop)
}

/// An error as this API writes it.
fn problem(status: StatusCode, message: &str) -> Response {
    let body = json!({"code": status.as_u16(), "message": message});
    (status, Json(body)).into_response()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
