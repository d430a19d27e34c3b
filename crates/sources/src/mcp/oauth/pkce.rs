//! Secrets for one login: the state that brings an answer home, and the proof key of PKCE.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom as _, SystemRandom},
};
use toolscript_catalog::Secret;

use super::OAuthError;

/// A key that proves that whoever asked for a code is the one who brings it.
#[derive(Debug)]
pub(super) struct Pkce {
    pub(super) verifier: Secret,
    pub(super) challenge: String,
}

impl Pkce {
    pub(super) fn new() -> Result<Self, OAuthError> {
        Ok(Self::of(random_word()?))
    }

    fn of(verifier: Secret) -> Self {
        let hash = digest(&SHA256, verifier.reveal().as_bytes());
        let challenge = URL_SAFE_NO_PAD.encode(hash);
        Self {
            verifier,
            challenge,
        }
    }
}

/// A word nobody can guess.
pub(super) fn random_word() -> Result<Secret, OAuthError> {
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(random::<32>()?)))
}

/// Bytes nobody can guess.
pub(super) fn random<const N: usize>() -> Result<[u8; N], OAuthError> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| OAuthError::NoRandomness)?;
    Ok(bytes)
}

/// Whether two words are the same, in a time that does not tell how much of them is.
pub(super) fn is_equal(one: &str, other: &str) -> bool {
    // Comparing hashes of this kind takes the same time for all of them.
    blake3::hash(one.as_bytes()) == blake3::hash(other.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_standard() {
        // The example of RFC 7636, appendix B.
        let pkce = Pkce::of(Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"));
        assert_eq!(
            pkce.challenge,
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn words_are_long_and_never_the_same() {
        let (one, other) = (random_word().unwrap(), random_word().unwrap());
        assert_eq!(one.reveal().len(), 43);
        assert!(!is_equal(one.reveal(), other.reveal()));
        assert!(is_equal(one.reveal(), one.reveal()));
    }
}
