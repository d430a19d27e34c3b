//! `Access`: gives every request to one server its token, and renews it in time.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use toolscript_catalog::{Secret, SourceName};
use tracing::{debug, warn};
use url::Url;

use super::{
    OAuthError,
    challenge::Challenge,
    machine::{self, Hints},
    settings::MachineSettings,
    stored::{MOST_SCOPES, Stored, Tokens, scopes_in},
    token,
    vault::{Vault, VaultError},
    web::Web,
};
use crate::outbound::Outbound;

/// The way into one server.
#[derive(Debug)]
pub(in crate::mcp) struct Access {
    server: SourceName,
    url: Url,
    web: Web,
    grant: Grant,
    held: Mutex<Held>,
    /// Whoever renews; the others wait and take what comes out.
    turn: tokio::sync::Mutex<()>,
    wants_login: AtomicBool,
}

/// Who logs in.
#[derive(Debug)]
pub(in crate::mcp) enum Grant {
    /// A person did, or will; the vault has it.
    Person(Option<Vault>),
    /// The machine does.
    Machine(Arc<MachineSettings>),
    /// Nobody: we only want to know what the server says to that.
    Nobody,
}

/// What is known at the moment.
#[derive(Debug, Default)]
struct Held {
    tokens: Option<Tokens>,
    /// Whether the vault has been looked into since the server last refused.
    has_looked: bool,
    /// What the server last said it wants.
    challenge: Option<Challenge>,
    /// The authorization server a machine's credentials went to.
    issuer: Option<String>,
}

/// Why a request goes without a token. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub(in crate::mcp) enum AccessError {
    /// Nobody has logged in.
    #[error("the server wants a login; run `toolscript server login {server}`")]
    LoginWanted { server: SourceName },
    /// Somebody has, but it does not hold any more.
    #[error("the login to the server has ended: {cause}; run `toolscript server login {server}`")]
    LoginEnded {
        server: SourceName,
        #[source]
        cause: OAuthError,
    },
    /// The login is good, but not for this.
    #[error(
        "the login does not allow this{}; run `toolscript server login {server}` to log in for more",
        wanted(.scopes)
    )]
    MoreWanted {
        server: SourceName,
        scopes: Vec<String>,
    },
    /// The stored login cannot be used.
    #[error("{cause}; if that cannot be mended, run `toolscript server login {server}`")]
    Vault {
        server: SourceName,
        #[source]
        cause: VaultError,
    },
    /// The authorization server could not be asked.
    #[error("the login to the server could not be renewed: {0}")]
    Renewal(#[source] OAuthError),
    /// The machine's own credentials do not open the door.
    #[error("no token for the server: {0}")]
    Machine(#[source] OAuthError),
    /// The machine gets tokens, but they are of no use.
    #[error("the server refuses the tokens the client in `auth` gets for it")]
    MachineRefused,
    /// The machine's own client is not allowed this.
    #[error("the client in `auth` may not do this{}", wanted(.scopes))]
    MachineMoreWanted { scopes: Vec<String> },
}

fn wanted(scopes: &[String]) -> String {
    match scopes {
        [] => String::new(),
        scopes => format!(" (the server wants the scopes `{}`)", scopes.join(" ")),
    }
}

impl Access {
    pub(in crate::mcp) fn new(
        server: SourceName,
        url: Url,
        outbound: Outbound,
        grant: Grant,
    ) -> Arc<Self> {
        Arc::new(Self {
            server,
            web: Web::new(outbound, &url),
            url,
            grant,
            held: Mutex::default(),
            turn: tokio::sync::Mutex::new(()),
            wants_login: AtomicBool::new(false),
        })
    }

    /// Whether somebody has to log in before this server works.
    pub(in crate::mcp) fn wants_login(&self) -> bool {
        self.wants_login.load(Ordering::SeqCst)
    }

    /// What the server last said it wants.
    pub(in crate::mcp) fn challenge(&self) -> Option<Challenge> {
        self.held().challenge.clone()
    }

    /// The token for the next request; `None` where there is none and perhaps none is needed.
    pub(in crate::mcp) async fn token(self: &Arc<Self>) -> Result<Option<Secret>, AccessError> {
        let tokens = match self.known().await {
            Some(tokens) => tokens,
            None if matches!(self.grant, Grant::Machine(_)) => {
                return self.settle(self.renewed(None).await).map(Some);
            }
            None => return Ok(None),
        };
        if !tokens.is_due() {
            return Ok(Some(tokens.access));
        }
        match self.renewed(Some(tokens.access.clone())).await {
            Err(error) if !tokens.is_over() => {
                debug!(server = %self.server, %error, "token not renewed ahead of time");
                Ok(Some(tokens.access))
            }
            outcome => self.settle(outcome).map(Some),
        }
    }

    /// Another token than the one the server refused.
    pub(in crate::mcp) async fn renew(
        self: &Arc<Self>,
        refused: Option<Secret>,
        challenge: Challenge,
    ) -> Result<Secret, AccessError> {
        self.held().challenge = Some(challenge);
        self.settle(self.renewed(refused).await)
    }

    /// A token that allows more than the one the server found too weak.
    pub(in crate::mcp) async fn widen(
        self: &Arc<Self>,
        weak: Option<Secret>,
        challenge: Challenge,
    ) -> Result<Secret, AccessError> {
        let access = Arc::clone(self);
        let work = async move { access.widen_in_turn(weak, challenge).await };
        self.settle(self.finished(tokio::spawn(work).await))
    }

    /// What to say to a server that takes none of the tokens there are.
    pub(in crate::mcp) fn refused(&self) -> AccessError {
        if let Grant::Machine(_) = self.grant {
            return AccessError::MachineRefused;
        }
        self.wants_login.store(true, Ordering::SeqCst);
        self.login_wanted()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers whether a person is needed.
    fn settle(&self, outcome: Result<Secret, AccessError>) -> Result<Secret, AccessError> {
        let is_wanted = matches!(
            outcome,
            Err(AccessError::LoginWanted { .. }
                | AccessError::LoginEnded { .. }
                | AccessError::MoreWanted { .. }
                | AccessError::Vault { .. })
        );
        self.wants_login.store(is_wanted, Ordering::SeqCst);
        outcome
    }

    fn login_wanted(&self) -> AccessError {
        AccessError::LoginWanted {
            server: self.server.clone(),
        }
    }

    fn vault_fault(&self, cause: VaultError) -> AccessError {
        let server = self.server.clone();
        AccessError::Vault { server, cause }
    }

    /// The tokens at hand, from the vault if need be.
    async fn known(&self) -> Option<Tokens> {
        {
            let held = self.held();
            if held.tokens.is_some() || held.has_looked {
                return held.tokens.clone();
            }
        }
        let Grant::Person(Some(vault)) = &self.grant else {
            return None;
        };
        // One that cannot be read matters only when the server asks for it.
        let stored = vault.read().await.unwrap_or_default();
        let mut held = self.held();
        held.has_looked = true;
        held.tokens = stored.session.map(|session| session.tokens);
        held.tokens.clone()
    }

    /// Renews in a task of its own: what an authorization server has issued must be kept, even
    /// when whoever asked for it has gone.
    async fn renewed(self: &Arc<Self>, refused: Option<Secret>) -> Result<Secret, AccessError> {
        let access = Arc::clone(self);
        let work = async move { access.renew_in_turn(refused).await };
        self.finished(tokio::spawn(work).await)
    }

    fn finished(
        &self,
        outcome: Result<Result<Secret, AccessError>, tokio::task::JoinError>,
    ) -> Result<Secret, AccessError> {
        outcome.unwrap_or_else(|_| Err(self.login_wanted()))
    }

    async fn renew_in_turn(&self, refused: Option<Secret>) -> Result<Secret, AccessError> {
        let _turn = self.turn.lock().await;
        // Somebody may have been faster.
        if let Some(tokens) = self.held().tokens.as_ref()
            && Some(&tokens.access) != refused.as_ref()
            && !tokens.is_due()
        {
            return Ok(tokens.access.clone());
        }
        let tokens = match &self.grant {
            Grant::Machine(settings) => self.ask_machine(settings, &[]).await?,
            Grant::Person(Some(vault)) => self.renew_stored(vault, refused.as_ref()).await?,
            Grant::Person(None) | Grant::Nobody => return Err(self.login_wanted()),
        };
        Ok(self.hold(tokens))
    }

    fn hold(&self, tokens: Tokens) -> Secret {
        let access = tokens.access.clone();
        let mut held = self.held();
        held.has_looked = true;
        held.tokens = Some(tokens);
        access
    }

    /// Renews the login in the vault; other processes wait, and take what we put there.
    async fn renew_stored(
        &self,
        vault: &Vault,
        refused: Option<&Secret>,
    ) -> Result<Tokens, AccessError> {
        let fault = |cause| self.vault_fault(cause);
        let _turn = vault.turn().await.map_err(fault)?;
        let mut stored = vault.read().await.map_err(fault)?;
        let Some(session) = &mut stored.session else {
            self.held().tokens = None;
            return Err(self.login_wanted());
        };
        // Another process may have been faster, or somebody has logged in again.
        if Some(&session.tokens.access) != refused && !session.tokens.is_due() {
            return Ok(session.tokens.clone());
        }
        let Some(refresh) = session.tokens.refresh.clone() else {
            return Err(self.login_wanted());
        };
        match token::refresh(&self.web, session, &refresh).await {
            Ok(tokens) => {
                session.tokens = tokens.clone();
                self.keep(vault, stored).await;
                Ok(tokens)
            }
            Err(cause) if cause.is_final() => {
                let issuer = session.issuer.clone();
                if cause.is_about_client() {
                    stored.clients.remove(&issuer);
                }
                stored.session = None;
                self.held().tokens = None;
                self.keep(vault, stored).await;
                let server = self.server.clone();
                Err(AccessError::LoginEnded { server, cause })
            }
            Err(cause) => Err(AccessError::Renewal(cause)),
        }
    }

    /// Stores what has changed. Not being able to costs a login later, and nothing now.
    async fn keep(&self, vault: &Vault, stored: Stored) {
        if let Err(error) = vault.write(stored).await {
            warn!(server = %self.server, %error, "renewed login not stored");
        }
    }

    async fn ask_machine(
        &self,
        settings: &MachineSettings,
        more: &[String],
    ) -> Result<Tokens, AccessError> {
        let (challenge, issuer) = {
            let held = self.held();
            (
                held.challenge.clone().unwrap_or_default(),
                held.issuer.clone(),
            )
        };
        let hints = Hints {
            challenge: &challenge,
            issuer: issuer.as_deref(),
            more_scopes: more,
        };
        let (tokens, issuer) = machine::ask(&self.web, settings, &self.url, hints)
            .await
            .map_err(AccessError::Machine)?;
        self.held().issuer = issuer;
        Ok(tokens)
    }

    async fn widen_in_turn(
        &self,
        weak: Option<Secret>,
        challenge: Challenge,
    ) -> Result<Secret, AccessError> {
        let _turn = self.turn.lock().await;
        let scopes = challenge.scopes.clone();
        let known = self.held().tokens.clone();
        if let Some(tokens) = &known
            && Some(&tokens.access) != weak.as_ref()
        {
            return Ok(tokens.access.clone());
        }
        self.held().challenge = Some(challenge);
        match &self.grant {
            Grant::Machine(settings) => {
                let had = known.map(|tokens| tokens.scopes).unwrap_or_default();
                if scopes.iter().all(|scope| had.contains(scope)) {
                    return Err(AccessError::MachineMoreWanted { scopes });
                }
                let more = scopes_in(&[had, scopes].concat().join(" "), MOST_SCOPES);
                let tokens = self.ask_machine(settings, &more).await?;
                Ok(self.hold(tokens))
            }
            Grant::Person(Some(vault)) => self.want_more(vault, weak.as_ref(), scopes).await,
            Grant::Person(None) | Grant::Nobody => Err(self.login_wanted()),
        }
    }

    /// Sets down what the next login has to ask for, unless somebody has logged in meanwhile.
    async fn want_more(
        &self,
        vault: &Vault,
        weak: Option<&Secret>,
        scopes: Vec<String>,
    ) -> Result<Secret, AccessError> {
        let fault = |cause| self.vault_fault(cause);
        let _turn = vault.turn().await.map_err(fault)?;
        let mut stored = vault.read().await.map_err(fault)?;
        if let Some(session) = &stored.session
            && Some(&session.tokens.access) != weak
        {
            return Ok(self.hold(session.tokens.clone()));
        }
        let before = stored.wanted.len();
        let room = MOST_SCOPES.saturating_sub(before);
        stored.wanted.extend(scopes.iter().take(room).cloned());
        if before < stored.wanted.len() {
            self.keep(vault, stored).await;
        }
        let server = self.server.clone();
        Err(AccessError::MoreWanted { server, scopes })
    }
}
