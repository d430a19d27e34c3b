//! `Key`: what stored logins are encrypted with, from the environment or a file only we can read.

use std::{
    fmt,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use toolscript_catalog::Secret;

use super::pkce;

/// The environment variable that holds the key.
pub(super) const VARIABLE: &str = "TOOLSCRIPT_KEY";

/// The file that holds it where the variable does not.
const FILE: &str = "key";

/// Larger than any key or login.
const LARGEST_FILE: u64 = 1 << 20;

/// What stored logins are encrypted with.
pub(super) struct Key(LessSafeKey);

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The variable holds too little.
    #[error(
        "`TOOLSCRIPT_KEY` is too short to protect anything; make one with `openssl rand -base64 32`"
    )]
    Short,
    /// The file cannot be read or made.
    #[error("the key for stored logins, `{}`, cannot be had: {cause}", .path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
}

impl Key {
    /// The key of the variable, else that of the folder, which gets one if it has none.
    pub(super) fn load(variable: Option<&Secret>, folder: &Path) -> Result<Self, KeyError> {
        const SHORTEST: usize = 16;
        if let Some(text) = variable {
            if text.reveal().trim().len() < SHORTEST {
                return Err(KeyError::Short);
            }
            return Self::from_text(text);
        }
        let path = folder.join(FILE);
        let made = read_small(&path).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => make(&path).and_then(|()| read_small(&path)),
            _ => Err(error),
        });
        match made {
            Ok(text) => Self::from_text(&Secret::new(text)),
            Err(cause) => Err(KeyError::File { path, cause }),
        }
    }

    fn from_text(text: &Secret) -> Result<Self, KeyError> {
        let context = "toolscript 2026-11 logins at rest";
        let bytes = blake3::derive_key(context, text.reveal().trim().as_bytes());
        let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes).map_err(|_| KeyError::Short)?;
        Ok(Self(LessSafeKey::new(key)))
    }

    /// Encrypts something under a name; only under that name can it be read again.
    pub(super) fn seal(&self, name: &str, plain: &[u8]) -> Option<Vec<u8>> {
        let nonce: [u8; NONCE_LEN] = pkce::random().ok()?;
        let mut sealed = plain.to_vec();
        let aad = Aad::from(name.as_bytes());
        self.0
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed)
            .ok()?;
        Some([&nonce[..], &sealed].concat())
    }

    /// Decrypts what was sealed under a name; `None` for everything else.
    pub(super) fn open(&self, name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut bytes = sealed.to_vec();
        let plain = self
            .0
            .open_in_place(nonce, Aad::from(name.as_bytes()), &mut bytes)
            .ok()?;
        Some(plain.to_vec())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// Makes a key. Of several who do so at the same time, one makes it for all.
fn make(path: &Path) -> io::Result<()> {
    let bytes: [u8; 32] = pkce::random().map_err(io::Error::other)?;
    let fresh = write_private(path, STANDARD.encode(bytes).as_bytes())?;
    let linked = fs::hard_link(&fresh, path);
    fs::remove_file(&fresh)?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}

/// Writes a file beside `path` that nobody else may read, down to the disk, and says where.
pub(super) fn write_private(path: &Path, content: &[u8]) -> io::Result<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let tag: [u8; 8] = pkce::random().map_err(io::Error::other)?;
    let fresh = path.with_extension(format!("{:016x}.tmp", u64::from_ne_bytes(tag)));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&fresh)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    match written {
        Ok(()) => Ok(fresh),
        Err(error) => {
            // A half-written file is of use to nobody.
            drop(fs::remove_file(&fresh));
            Err(error)
        }
    }
}

/// Reads a small text file.
pub(super) fn read_small(path: &Path) -> io::Result<String> {
    let bytes = read_small_bytes(path)?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is no text"))
}

/// Reads a small file.
pub(super) fn read_small_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path)?
        .take(LARGEST_FILE + 1)
        .read_to_end(&mut bytes)?;
    if LARGEST_FILE < read as u64 {
        return Err(io::Error::other("it is too large"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn only_the_same_key_and_name_open() {
        let key = |text: &str| Key::from_text(&Secret::new(text)).unwrap();
        let sealed = key("one").seal("a", b"hello").unwrap();
        assert!(!sealed.windows(5).any(|part| part == b"hello"));
        assert_eq!(key("one").open("a", &sealed).unwrap(), b"hello");
        assert_eq!(key("one").open("b", &sealed), None);
        assert_eq!(key("two").open("a", &sealed), None);
        assert_eq!(key("one").open("a", &sealed[..8]), None);
        assert_ne!(sealed, key("one").seal("a", b"hello").unwrap());
    }

    #[test]
    fn a_key_is_made_once_and_is_ours_alone() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("state");
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let folder = folder.clone();
                std::thread::spawn(move || Key::load(None, &folder).unwrap())
            })
            .collect();
        let keys: Vec<Key> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        let sealed = keys[0].seal("a", b"x").unwrap();
        assert!(keys.iter().all(|key| key.open("a", &sealed).is_some()));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder.join(FILE)), 0o600);
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_weak_variable_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = Key::load(Some(&Secret::new("secret")), folder.path()).unwrap_err();
        assert!(error.to_string().contains("openssl rand"), "{error}");
    }
}
