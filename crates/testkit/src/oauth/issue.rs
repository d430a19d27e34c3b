//! Codes and tokens: who gets one, and what for.

use std::collections::HashMap;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom as _, SystemRandom},
};
use serde_json::{Value, json};

use super::{Books, Code, Desk, lock};

/// Why there is no code.
pub(super) enum Refusal {
    /// The answer could reach the wrong one.
    Unsafe,
    /// The client may know why.
    Word(&'static str),
}

type Fields = HashMap<String, String>;

fn field<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).map(String::as_str).unwrap_or_default()
}

impl Desk {
    /// Takes up a client.
    pub(super) fn register(&self, redirect_uri: &str) -> String {
        let mut books = lock(&self.books);
        let id = format!("client-{}", books.clients.len());
        books.clients.insert(id.clone(), redirect_uri.to_owned());
        id
    }

    /// A code for a client whose person agrees.
    pub(super) fn code(&self, asked: &Fields) -> Result<String, Refusal> {
        let (client, redirect_uri) = (field(asked, "client_id"), field(asked, "redirect_uri"));
        let mut books = lock(&self.books);
        if books.clients.get(client).map(String::as_str) != Some(redirect_uri) {
            return Err(Refusal::Unsafe);
        }
        let is_sound = field(asked, "response_type") == "code"
            && field(asked, "code_challenge_method") == "S256"
            && field(asked, "resource") == format!("{}/mcp", self.url);
        if !is_sound {
            return Err(Refusal::Word("invalid_request"));
        }
        if lock(&self.rules).denies {
            return Err(Refusal::Word("access_denied"));
        }
        let issued = Code {
            client: client.to_owned(),
            redirect_uri: redirect_uri.to_owned(),
            challenge: field(asked, "code_challenge").to_owned(),
            scope: field(asked, "scope").to_owned(),
        };
        let code = books.secret("code");
        books.codes.insert(code.clone(), issued);
        Ok(code)
    }

    /// Tokens for a code, a refresh token or a machine.
    pub(super) fn tokens(
        &self,
        asked: &Fields,
        authorization: Option<&str>,
    ) -> Result<Value, &'static str> {
        if field(asked, "resource") != format!("{}/mcp", self.url) {
            return Err("invalid_target");
        }
        let rules = lock(&self.rules).clone();
        let mut books = lock(&self.books);
        let scope = match field(asked, "grant_type") {
            "authorization_code" => books.redeem(asked)?,
            "refresh_token" => {
                books.refreshes += 1;
                // A refresh token is good for once.
                let old = books.refresh.remove(field(asked, "refresh_token"));
                old.ok_or("invalid_grant")?
            }
            "client_credentials" => {
                let (id, secret) = rules.machine.ok_or("unauthorized_client")?;
                let expected = format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")));
                if authorization != Some(expected.as_str()) {
                    return Err("invalid_client");
                }
                field(asked, "scope").to_owned()
            }
            _ => return Err("unsupported_grant_type"),
        };
        let is_machine = field(asked, "grant_type") == "client_credentials";
        let access = books.secret("access");
        books.access.insert(access.clone(), scope.clone());
        let mut answer = json!({
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": rules.expires_in,
            "scope": scope,
        });
        if !is_machine {
            let refresh = books.secret("refresh");
            books.refresh.insert(refresh.clone(), scope);
            answer["refresh_token"] = json!(refresh);
        }
        Ok(answer)
    }
}

impl Books {
    /// A word nobody can guess.
    fn secret(&mut self, kind: &str) -> String {
        let mut bytes = [0; 24];
        SystemRandom::new()
            .fill(&mut bytes)
            .expect("there are random numbers");
        let secret = format!("{kind}-{}", URL_SAFE_NO_PAD.encode(bytes));
        self.secrets.insert(secret.clone());
        secret
    }

    /// What a code allows, once, to the one who asked for it.
    fn redeem(&mut self, asked: &Fields) -> Result<String, &'static str> {
        let code = self.codes.remove(field(asked, "code"));
        let code = code.ok_or("invalid_grant")?;
        let verifier = field(asked, "code_verifier");
        self.secrets.insert(verifier.to_owned());
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        let is_sound = challenge == code.challenge
            && field(asked, "client_id") == code.client
            && field(asked, "redirect_uri") == code.redirect_uri;
        if is_sound {
            Ok(code.scope)
        } else {
            Err("invalid_grant")
        }
    }
}
