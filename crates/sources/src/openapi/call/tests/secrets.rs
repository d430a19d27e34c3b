//! No secret in errors, logs or debug output, whatever goes wrong.

use super::*;
use crate::openapi::operation::Scheme;
use std::{
    collections::BTreeMap,
    io,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use toolscript_catalog::Secret;
use toolscript_testkit::{Canned, canned, rude};
use tracing_subscriber::fmt::MakeWriter;

const SECRET: &str = "hunter2-hunter2";
/// `ann:hunter2-hunter2`
const ENCODED: &str = "YW5uOmh1bnRlcjItaHVudGVyMg";

/// A log that is kept in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

fn guarded(url: &str, scheme: &Scheme) -> Api {
    let operation = Operation {
        security: vec![BTreeMap::from([("scheme".to_owned(), Vec::new())])],
        ..operation("GET", "/")
    };
    Api {
        schemes: BTreeMap::from([("scheme".to_owned(), scheme.clone())]),
        ..api(url, operation)
    }
}

/// Each kind of credential in each place it may go to.
fn kinds() -> Vec<(Scheme, Credential, Value)> {
    let key = |location| Scheme::ApiKey {
        location,
        name: "key".into(),
    };
    let secret = || Secret::new(SECRET);
    let api_key = || Credential::ApiKey { key: secret() };
    let key_settings = json!({"type": "api_key", "key": SECRET});
    vec![
        (
            Scheme::Bearer,
            Credential::Bearer { token: secret() },
            json!({"type": "bearer", "token": SECRET}),
        ),
        (
            Scheme::Basic,
            Credential::Basic {
                username: "ann".into(),
                password: secret(),
            },
            json!({"type": "basic", "username": "ann", "password": SECRET}),
        ),
        (key(Location::Header), api_key(), key_settings.clone()),
        (key(Location::Query), api_key(), key_settings.clone()),
        (key(Location::Cookie), api_key(), key_settings),
        (
            Scheme::Basic,
            Credential::Plain(Secret::new(format!("{SECRET}\r\n"))),
            json!(null),
        ),
    ]
}

/// Goes wrong in every way there is and gives everything that could be seen.
async fn everything_seen() -> String {
    let mut seen = Vec::new();
    let failing = canned::start([Canned::json(401, &json!({"message": "no"}))]).await;
    let slow = canned::start([Canned::status(200).after(Duration::from_mins(1))]).await;
    let rude = rude::HangsUp::start().await;
    let large = canned::start([Canned::body(200, "text/plain", "x".repeat(100))]).await;
    let broken = canned::start([Canned::body(200, "application/json", "{")]).await;
    let nobody = rude::nobody().await;
    let urls = [
        failing.url(),
        slow.url(),
        rude.url(),
        large.url(),
        broken.url(),
        &nobody,
        "/relative",
    ];
    for url in urls {
        for (scheme, credential, auth) in kinds() {
            let headers = json!({"X-Secret": SECRET});
            let settings = json!({"auth": auth, "headers": headers, "timeout": 0.1});
            let mut client = client(guarded(url, &scheme), settings);
            client.largest_answer = 50;
            let results = [
                call(&client, json!({})).await,
                call_as(&client, credential).await,
            ];
            for error in results.map(Result::unwrap_err) {
                seen.push(format!("{error}\n{error:?}"));
            }
            seen.push(format!("{client:?}"));
        }
    }
    seen.join("\n")
}

#[tokio::test]
async fn no_secret_is_ever_seen() {
    // With a single subscriber, other tests' threads, which have none, would switch logging off.
    let _second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::default());
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let seen = everything_seen().await;
    drop(guard);
    let log =
        String::from_utf8(log.0.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap();
    assert!(
        log.contains("request failed") && seen.contains("401"),
        "the test must see something"
    );
    for (what, text) in [("log", &log), ("errors", &seen)] {
        let line = text
            .lines()
            .find(|line| line.contains(SECRET) || line.contains(ENCODED));
        assert_eq!(line, None, "a secret in the {what}");
    }
}
