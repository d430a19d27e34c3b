//! `Vault`: the file in which the login to one server is kept, encrypted.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{task::spawn_blocking, time::Instant};
use toolscript_catalog::Secret;

use super::{
    key::{self, Key, KeyError},
    stored::Stored,
};

/// The folder of all logins, in the folder for remembered facts.
const FOLDER: &str = "logins";

/// What the files begin with: what they are, and how they are to be read.
const MARK: &[u8] = b"toolscript login 1\n";

/// How long we wait for another process that renews the same login.
const PATIENCE: Duration = Duration::from_mins(1);

/// The file of one server.
#[derive(Debug, Clone)]
pub(in crate::mcp) struct Vault(Arc<Place>);

#[derive(Debug)]
struct Place {
    file: PathBuf,
    /// Ties what is in the file to its server.
    name: String,
    /// Where the key file is.
    folder: PathBuf,
    variable: Option<Secret>,
}

/// Why a stored login cannot be had or kept.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// There is no key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The file cannot be read or written.
    #[error("the stored login `{}` cannot be {action}: {cause}", .path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// It was encrypted with another key, or is broken.
    #[error("the stored login `{}` was made with another key or is damaged", .path.display())]
    Sealed {
        /// Which file.
        path: PathBuf,
    },
    /// Another process does not let go.
    #[error("another process has held the stored login `{}` for a minute", .path.display())]
    Busy {
        /// Which file.
        path: PathBuf,
    },
}

/// The right to change what is stored; it ends when it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _lock: File,
}

impl Vault {
    /// The vault of one server, told from others of the same name by its fingerprint.
    pub(in crate::mcp) fn new(state: &Path, name: &str, fingerprint: &str) -> Self {
        let variable = std::env::var(key::VARIABLE).ok();
        let variable = variable.filter(|text| !text.is_empty()).map(Secret::new);
        Self::with_key(state, name, fingerprint, variable)
    }

    fn with_key(state: &Path, name: &str, fingerprint: &str, variable: Option<Secret>) -> Self {
        let name = format!("{name}-{fingerprint}");
        Self(Arc::new(Place {
            file: state.join(FOLDER).join(format!("{name}.login")),
            folder: state.to_owned(),
            name,
            variable,
        }))
    }

    /// What is stored; nothing where there is no file.
    pub(super) async fn read(&self) -> Result<Stored, VaultError> {
        let place = Arc::clone(&self.0);
        finished(spawn_blocking(move || place.read()).await)
    }

    /// Stores something in place of what was there. Whoever reads at the same time finds the old
    /// or the new. Take a turn first.
    pub(super) async fn write(&self, stored: Stored) -> Result<(), VaultError> {
        let place = Arc::clone(&self.0);
        finished(spawn_blocking(move || place.write(&stored)).await)
    }

    /// Forgets everything; says whether there was something.
    pub(super) async fn clear(&self) -> Result<bool, VaultError> {
        let place = Arc::clone(&self.0);
        finished(spawn_blocking(move || place.clear()).await)
    }

    /// Waits until no other process changes what is stored.
    pub(super) async fn turn(&self) -> Result<Turn, VaultError> {
        const PAUSE: Duration = Duration::from_millis(20);
        let place = Arc::clone(&self.0);
        let file = finished(spawn_blocking(move || place.lock_file()).await)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Turn { _lock: file }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(TryLockError::WouldBlock) => {
                    let path = self.0.file.clone();
                    return Err(VaultError::Busy { path });
                }
                Err(TryLockError::Error(cause)) => return Err(self.0.fault("locked", cause)),
            }
        }
    }
}

impl Place {
    fn fault(&self, action: &'static str, cause: io::Error) -> VaultError {
        let path = self.file.clone();
        VaultError::File {
            path,
            action,
            cause,
        }
    }

    fn key(&self) -> Result<Key, VaultError> {
        Ok(Key::load(self.variable.as_ref(), &self.folder)?)
    }

    fn read(&self) -> Result<Stored, VaultError> {
        let bytes = match key::read_small_bytes(&self.file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stored::default()),
            Err(cause) => return Err(self.fault("read", cause)),
        };
        let key = self.key()?;
        let stored = bytes
            .strip_prefix(MARK)
            .and_then(|sealed| key.open(&self.name, sealed))
            .and_then(|plain| serde_json::from_slice(&plain).ok());
        stored.ok_or_else(|| VaultError::Sealed {
            path: self.file.clone(),
        })
    }

    fn write(&self, stored: &Stored) -> Result<(), VaultError> {
        let key = self.key()?;
        let fault = |cause| self.fault("written", cause);
        let plain = serde_json::to_vec(stored).map_err(|error| fault(error.into()))?;
        let sealed = key.seal(&self.name, &plain);
        let sealed = sealed.ok_or_else(|| fault(io::Error::other("no random numbers")))?;
        let fresh = key::write_private(&self.file, &[MARK, &sealed].concat()).map_err(fault)?;
        fs::rename(&fresh, &self.file).map_err(fault)
    }

    fn clear(&self) -> Result<bool, VaultError> {
        match fs::remove_file(&self.file) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(cause) => Err(self.fault("removed", cause)),
        }
    }

    fn lock_file(&self) -> Result<File, VaultError> {
        let fault = |cause| self.fault("locked", cause);
        let path = self.file.with_extension("lock");
        let folder = path.parent().unwrap_or(Path::new("."));
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(fault)?;
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path);
        file.map_err(fault)
    }
}

/// The outcome of work in another thread, which does not panic.
fn finished<T>(
    outcome: Result<Result<T, VaultError>, tokio::task::JoinError>,
) -> Result<T, VaultError> {
    outcome.unwrap_or_else(|error| {
        Err(VaultError::File {
            path: PathBuf::from(FOLDER),
            action: "reached",
            cause: io::Error::other(error),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::oauth::client::{Client, Method};
    use std::os::unix::fs::PermissionsExt as _;

    fn stored(secret: &str) -> Stored {
        let client = Client {
            id: "me".into(),
            secret: Some(Secret::new(secret)),
            method: Method::None,
            redirect_uri: None,
            secret_ends_at: None,
        };
        Stored {
            clients: [("https://as.test".to_owned(), client)].into(),
            ..Stored::default()
        }
    }

    #[tokio::test]
    async fn what_is_stored_comes_back_and_cannot_be_read_by_others() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::with_key(folder.path(), "a", "1", None);
        assert_eq!(vault.read().await.unwrap(), Stored::default());
        vault.write(stored("hunter2")).await.unwrap();
        assert_eq!(vault.read().await.unwrap(), stored("hunter2"));
        let bytes = fs::read(&vault.0.file).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"));
        let mode = fs::metadata(&vault.0.file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(vault.clear().await.unwrap());
        assert!(!vault.clear().await.unwrap());
    }

    #[tokio::test]
    async fn another_key_or_another_server_opens_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let vault = |name: &str, key: &str| {
            Vault::with_key(folder.path(), name, "1", Some(Secret::new(key)))
        };
        let ours = vault("a", "0123456789abcdef");
        ours.write(stored("x")).await.unwrap();
        let found = vault("a", "fedcba9876543210").read().await;
        assert!(matches!(found, Err(VaultError::Sealed { .. })), "{found:?}");
        let other = vault("b", "0123456789abcdef");
        fs::copy(&ours.0.file, &other.0.file).unwrap();
        let found = other.read().await;
        assert!(matches!(found, Err(VaultError::Sealed { .. })), "{found:?}");
    }

    #[tokio::test]
    async fn one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::with_key(folder.path(), "a", "1", None);
        let turn = vault.turn().await.unwrap();
        let second = tokio::spawn({
            let vault = vault.clone();
            async move { vault.turn().await.map(drop) }
        });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        drop(turn);
        second.await.unwrap().unwrap();
    }
}
