//! `SigningKey`: a key that signs for a client instead of a secret (`private_key_jwt`, RFC 7523).

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject as _};
use serde_json::{Value, json};
use toolscript_catalog::Secret;

use super::{OAuthError, pkce, stored::now};

/// How long a signed word holds, in seconds.
const LIFETIME: u64 = 120;

/// A private key, ready to sign.
pub(super) struct SigningKey {
    pair: Pair,
    id: Option<String>,
}

enum Pair {
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

/// A text that holds no key we can sign with.
#[derive(Debug, thiserror::Error)]
#[error(
    "holds no private key to sign with; it has to be PEM with `BEGIN PRIVATE KEY` (PKCS #8) and P-256, Ed25519 or RSA"
)]
pub(super) struct NoKey;

impl SigningKey {
    /// Reads a key; which kind it is it says itself.
    pub(super) fn read(pem: &Secret, id: Option<String>) -> Result<Self, NoKey> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.reveal().as_bytes()).map_err(|_| NoKey)?;
        let der = der.secret_pkcs8_der();
        let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pair = EcdsaKeyPair::from_pkcs8(kind, der, &SystemRandom::new())
            .map(Pair::Ec)
            .or_else(|_| Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map(Pair::Ed))
            .or_else(|_| RsaKeyPair::from_pkcs8(der).map(Pair::Rsa));
        let pair = pair.map_err(|_| NoKey)?;
        Ok(Self { pair, id })
    }

    /// A short-lived word that shows the authorization server who we are.
    pub(super) fn assertion(&self, client: &str, audience: &str) -> Result<Secret, OAuthError> {
        let mut header = json!({"alg": self.algorithm(), "typ": "JWT"});
        if let Some(id) = &self.id {
            header["kid"] = json!(id);
        }
        let claims = json!({
            "iss": client,
            "sub": client,
            "aud": audience,
            "iat": now(),
            "exp": now() + LIFETIME,
            "jti": pkce::random_word()?.reveal(),
        });
        let signed = format!("{}.{}", encoded(&header), encoded(&claims));
        let signature = URL_SAFE_NO_PAD.encode(self.sign(signed.as_bytes())?);
        Ok(Secret::new(format!("{signed}.{signature}")))
    }

    fn algorithm(&self) -> &'static str {
        match &self.pair {
            Pair::Ec(_) => "ES256",
            Pair::Ed(_) => "EdDSA",
            Pair::Rsa(_) => "RS256",
        }
    }

    fn sign(&self, text: &[u8]) -> Result<Vec<u8>, OAuthError> {
        let random = SystemRandom::new();
        // Signing fails for want of random numbers alone.
        let failed = |_| OAuthError::NoRandomness;
        match &self.pair {
            Pair::Ec(pair) => {
                let signature = pair.sign(&random, text).map_err(failed)?;
                Ok(signature.as_ref().to_vec())
            }
            Pair::Ed(pair) => Ok(pair.sign(text).as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, text, &mut signature)
                    .map_err(failed)?;
                Ok(signature)
            }
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, KeyPair as _, UnparsedPublicKey};

    fn pem(der: &[u8]) -> Secret {
        let body = STANDARD.encode(der);
        Secret::new(format!(
            "-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
        ))
    }

    /// Checks the signature and gives header and claims.
    fn verified(
        word: &Secret,
        algorithm: &'static dyn ring::signature::VerificationAlgorithm,
        key: &[u8],
    ) -> (Value, Value) {
        let (signed, signature) = word.reveal().rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let key = UnparsedPublicKey::new(algorithm, key);
        key.verify(signed.as_bytes(), &signature).unwrap();
        let (header, claims) = signed.split_once('.').unwrap();
        let read = |part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        (read(header), read(claims))
    }

    #[test]
    fn the_kind_of_the_key_decides_how_it_signs() {
        let random = SystemRandom::new();
        let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key = SigningKey::read(&pem(der.as_ref()), Some("k1".into())).unwrap();
        let Pair::Ec(pair) = &key.pair else {
            panic!("a key of this curve");
        };
        let word = key.assertion("me", "https://as.test").unwrap();
        let public = pair.public_key().as_ref();
        let (header, claims) = verified(&word, &ECDSA_P256_SHA256_FIXED, public);
        assert_eq!(
            (&header["alg"], &header["kid"]),
            (&json!("ES256"), &json!("k1"))
        );
        assert_eq!(
            (&claims["iss"], &claims["sub"]),
            (&json!("me"), &json!("me"))
        );
        assert_eq!(claims["aud"], "https://as.test");

        let der = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let key = SigningKey::read(&pem(der.as_ref()), None).unwrap();
        let Pair::Ed(pair) = &key.pair else {
            panic!("a key of this curve");
        };
        let word = key.assertion("me", "a").unwrap();
        let (header, _) = verified(&word, &ED25519, pair.public_key().as_ref());
        assert_eq!(header["alg"], "EdDSA");
    }
}
