//! Servers that want a login: by a person with a browser, and by a machine.

use std::{
    fs,
    io::Write,
    path::Path,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolscript_catalog::{CallError, SourceName};
use toolscript_sources::mcp::{self, Login, OAuthError, Settings};
use toolscript_testkit::{
    Guarded,
    oauth::{Rules, Signature},
};
use url::Url;

use crate::{PATIENCE, Tested, context, open_again, remote};

/// What a person at a terminal has.
struct Desktop {
    state: Arc<TempDir>,
    settings: Settings,
}

impl Desktop {
    fn new(served: &Guarded) -> Self {
        Self::with_auth(served, json!({"type": "oauth"}))
    }

    fn with_auth(served: &Guarded, auth: Value) -> Self {
        Self {
            state: Arc::new(tempfile::tempdir().unwrap()),
            settings: Settings {
                auth: Some(serde_json::from_value(auth).unwrap()),
                ..remote(&served.url())
            },
        }
    }

    /// toolscript, as one more process would open it.
    fn open(&self) -> Tested {
        open_again(self.settings.clone(), Arc::clone(&self.state))
    }

    async fn begin(&self) -> Result<Login, OAuthError> {
        let cx = context(&self.state);
        let name = SourceName::parse("fake").unwrap();
        mcp::login(&cx, name, self.settings.clone(), None).await
    }

    /// Logs in with a browser that follows wherever it is sent.
    async fn log_in(&self) -> Result<(), OAuthError> {
        let login = self.begin().await?;
        let url = login.url().to_owned();
        let browser = tokio::spawn(async move { visit(&url).await });
        let outcome = login.finish().await;
        browser.await.unwrap();
        outcome
    }

    async fn log_out(&self) -> bool {
        let cx = context(&self.state);
        let name = SourceName::parse("fake").unwrap();
        mcp::logout(&cx, name, self.settings.clone()).await.unwrap()
    }
}

/// Opens a page; what it shows is for a person.
async fn visit(url: &str) {
    let url = Url::parse(url).unwrap();
    let outbound = toolscript_sources::outbound::Outbound::new();
    drop(outbound.fetch(&url, 1 << 20, PATIENCE).await);
}

async fn echoes(tested: &Tested) {
    let answer = tested.call("echo", json!({"text": "a"})).await;
    assert_eq!(answer.unwrap(), "a");
}

#[track_caller]
fn says(words: &str, wanted: &str) {
    assert!(words.contains(wanted), "{words}");
}

#[tokio::test]
async fn a_person_logs_in_once_and_every_process_is_in() {
    let served = Guarded::start(Rules::default()).await;
    let desktop = Desktop::new(&served);
    let first = desktop.open();
    says(&first.problem().await, "`toolscript server login fake`");
    assert!(first.server.wants_login());
    desktop.log_in().await.unwrap();
    // The one that was turned away need not be started again.
    first.list().await;
    echoes(&first).await;
    assert!(!first.server.wants_login());
    let second = desktop.open();
    second.list().await;
    echoes(&second).await;
    assert_eq!(served.refreshes(), 0);
}

#[tokio::test]
async fn a_login_needs_no_settings() {
    let served = Guarded::start(Rules::default()).await;
    let desktop = Desktop {
        settings: remote(&served.url()),
        ..Desktop::new(&served)
    };
    desktop.log_in().await.unwrap();
    desktop.open().list().await;
}

#[tokio::test]
async fn the_same_client_logs_in_again() {
    let served = Guarded::start(Rules::default()).await;
    let desktop = Desktop::new(&served);
    desktop.log_in().await.unwrap();
    desktop.log_in().await.unwrap();
    assert_eq!(served.registrations(), 1);
}

#[tokio::test]
async fn a_token_that_has_ended_is_renewed_once_for_all() {
    let served = Guarded::start(Rules::default()).await;
    let desktop = Desktop::new(&served);
    desktop.log_in().await.unwrap();
    // Two processes with one login between them.
    let (one, other) = (desktop.open(), desktop.open());
    one.list().await;
    other.list().await;
    served.revoke_access();
    let calls = (0..10).flat_map(|_| [echoes(&one), echoes(&other)]);
    futures_util::future::join_all(calls).await;
    assert_eq!(served.refreshes(), 1);
    // And what was renewed is what is kept.
    served.revoke_access();
    let third = desktop.open();
    third.list().await;
    assert_eq!(served.refreshes(), 2);
    echoes(&one).await;
    assert_eq!(served.refreshes(), 2);
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let served = Guarded::start(Rules {
        expires_in: 0,
        ..Rules::default()
    })
    .await;
    let desktop = Desktop::new(&served);
    desktop.log_in().await.unwrap();
    served.change(|rules| rules.expires_in = 3_600);
    let tested = desktop.open();
    tested.list().await;
    echoes(&tested).await;
    assert_eq!(served.refreshes(), 1);
    let refused = served.remote().server().requests();
    let sent = refused
        .iter()
        .filter(|request| request.path == "/mcp")
        .filter_map(|request| request.header("authorization"));
    let mut tokens: Vec<&str> = sent.collect();
    tokens.dedup();
    assert_eq!(tokens.len(), 1, "the old token was not even tried");
}

#[tokio::test]
async fn a_login_that_has_ended_says_what_to_do() {
    let served = Guarded::start(Rules::default()).await;
    let desktop = Desktop::new(&served);
    desktop.log_in().await.unwrap();
    let tested = desktop.open();
    tested.list().await;
    served.revoke_access();
    served.revoke_refresh();
    let error = tested.call("echo", json!({"text": "a"})).await.unwrap_err();
    assert!(matches!(error, CallError::Unavailable { .. }), "{error:?}");
    says(&error.to_string(), "the login to the server has ended");
    says(&error.to_string(), "`toolscript server login fake`");
    // A refresh token that was refused is not shown again.
    desktop.open().problem().await;
    assert_eq!(served.refreshes(), 1);
    desktop.log_in().await.unwrap();
    echoes(&tested).await;
}

#[tokio::test]
async fn an_answer_from_somebody_else_is_refused() {
    for (signature, words) in [
        (Signature::Wrong, "another authorization server"),
        (Signature::Missing, "does not say which"),
    ] {
        let served = Guarded::start(Rules {
            signature,
            ..Rules::default()
        })
        .await;
        let desktop = Desktop::new(&served);
        says(&desktop.log_in().await.unwrap_err().to_string(), words);
        let asked = served.remote().server().requests();
        assert!(asked.iter().all(|request| request.path != "/token"));
        says(&desktop.open().problem().await, "wants a login");
    }
}

#[tokio::test]
async fn an_answer_to_another_question_is_ignored() {
    let served = Guarded::start(Rules::default()).await;
    let desktop = Desktop::new(&served);
    let login = desktop.begin().await.unwrap();
    let url = Url::parse(login.url()).unwrap();
    let back = url
        .query_pairs()
        .find_map(|(name, value)| (name == "redirect_uri").then(|| value.into_owned()));
    let back = back.unwrap();
    let browser = tokio::spawn(async move {
        visit(&format!("{back}?code=evil&state=wrong")).await;
        visit(url.as_str()).await;
    });
    login.finish().await.unwrap();
    browser.await.unwrap();
    let asked = served.remote().server().requests();
    assert!(asked.iter().all(|request| !request.text().contains("evil")));
}

#[tokio::test]
async fn a_person_who_says_no_is_understood() {
    let served = Guarded::start(Rules {
        denies: true,
        ..Rules::default()
    })
    .await;
    let error = Desktop::new(&served).log_in().await.unwrap_err();
    says(&error.to_string(), "access_denied (The person said no)");
}

#[tokio::test]
async fn where_nobody_may_register_a_client_id_is_asked_for() {
    let served = Guarded::start(Rules {
        registers: false,
        ..Rules::default()
    })
    .await;
    let error = Desktop::new(&served).log_in().await.unwrap_err();
    says(&error.to_string(), "`auth.client_id`");
}

#[tokio::test]
async fn a_call_that_needs_more_is_named_and_the_next_login_asks_for_it() {
    let served = Guarded::start(Rules {
        call_scope: Some("write"),
        ..Rules::default()
    })
    .await;
    let desktop = Desktop::new(&served);
    desktop.log_in().await.unwrap();
    let tested = desktop.open();
    tested.list().await;
    let refusal = tested.refusal("echo", json!({"text": "a"})).await;
    says(&refusal, "`write`");
    says(&refusal, "`toolscript server login fake`");
    let login = desktop.begin().await.unwrap();
    says(login.url(), "scope=tools+write");
    drop(login);
    desktop.log_in().await.unwrap();
    echoes(&tested).await;
}

#[tokio::test]
async fn logging_out_forgets_here_and_there() {
    let served = Guarded::start(Rules::default()).await;
    let desktop = Desktop::new(&served);
    desktop.log_in().await.unwrap();
    assert_eq!(served.logins(), 1);
    assert!(desktop.log_out().await);
    assert!(!desktop.log_out().await);
    assert_eq!(served.logins(), 0);
    says(&desktop.open().problem().await, "wants a login");
}

#[tokio::test]
async fn a_machine_logs_in_by_itself() {
    let served = Guarded::start(Rules {
        machine: Some(("robot", "robots-secret-7d1f")),
        call_scope: Some("write"),
        ..Rules::default()
    })
    .await;
    let auth = |secret: &str| json!({"type": "client_credentials", "client_id": "robot", "client_secret": secret});
    let desktop = Desktop::with_auth(&served, auth("robots-secret-7d1f"));
    let tested = desktop.open();
    tested.list().await;
    // It asks for more by itself, too.
    echoes(&tested).await;
    served.revoke_access();
    echoes(&tested).await;
    let kept = fs::read_dir(desktop.state.path()).unwrap().flatten();
    assert!(kept.into_iter().all(|entry| entry.file_name() != "logins"));
    let wrong = Desktop::with_auth(&served, auth("wrong-secret-00aa"));
    let problem = wrong.open().problem().await;
    says(&problem, "invalid_client");
    assert!(!problem.contains("wrong-secret"), "{problem}");
    let error = desktop.log_in().await.unwrap_err();
    says(&error.to_string(), "lets the machine log in by itself");
}

#[tokio::test]
async fn secrets_stay_out_of_logs_errors_and_files() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    let subscriber = tracing::subscriber::set_default(subscriber);
    let served = Guarded::start(Rules::default()).await;
    let desktop = Desktop::new(&served);
    desktop.log_in().await.unwrap();
    let tested = desktop.open();
    tested.list().await;
    served.revoke_access();
    echoes(&tested).await;
    served.revoke_access();
    served.revoke_refresh();
    let refusal = tested.refusal("echo", json!({"text": "a"})).await;
    drop(subscriber);
    let mut seen = format!("{refusal}{:?}{:?}", tested.server, desktop.settings);
    seen.push_str(&String::from_utf8_lossy(&log.0.lock().unwrap()));
    says(&seen, "proxy.connect");
    read_all(desktop.state.path(), &mut seen);
    let secrets = served.secrets();
    assert!(4 < secrets.len());
    for secret in secrets {
        assert!(!seen.contains(&secret), "{secret} was seen");
    }
}

/// Everything written to the log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl tracing_subscriber::fmt::MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

fn read_all(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            read_all(&entry.path(), into);
        } else {
            into.push_str(&String::from_utf8_lossy(&fs::read(entry.path()).unwrap()));
        }
    }
}
