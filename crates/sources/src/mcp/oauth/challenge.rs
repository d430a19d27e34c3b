//! `Challenge`: what a server says in `WWW-Authenticate` when it wants a login, or a better one.

use http::{HeaderMap, header::WWW_AUTHENTICATE};

use super::stored::{MOST_SCOPES, scopes_in};

/// What a server wants before it answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::mcp) struct Challenge {
    /// Where the server describes how to log in to it.
    pub(super) resource_metadata: Option<String>,
    /// The scopes it wants.
    pub(super) scopes: Vec<String>,
    pub(super) error: Option<String>,
}

impl Challenge {
    /// Reads the headers of a refusal.
    pub(in crate::mcp) fn read(headers: &HeaderMap) -> Self {
        let mut challenge = Self::default();
        for header in headers.get_all(WWW_AUTHENTICATE) {
            if let Ok(text) = header.to_str() {
                challenge.take(text);
            }
        }
        challenge
    }

    /// Whether the token is good, but not for this.
    pub(in crate::mcp) fn wants_more_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    fn take(&mut self, text: &str) {
        let mut is_bearer = false;
        for item in items(text) {
            let (word, rest) = item.split_once(' ').unwrap_or((item, ""));
            // A word without `=` begins a new challenge; what follows it may be its first field.
            let is_field = word.contains('=') || rest.trim_start().starts_with('=');
            let field = if is_field {
                item
            } else {
                is_bearer = word.eq_ignore_ascii_case("bearer");
                rest.trim_start()
            };
            if let Some((name, value)) = field.split_once('=').filter(|_| is_bearer) {
                self.set(name.trim(), unquoted(value.trim()));
            }
        }
    }

    fn set(&mut self, name: &str, value: String) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => self.resource_metadata = Some(value),
            "scope" => self.scopes = scopes_in(&value, MOST_SCOPES),
            "error" => self.error = Some(value),
            _ => {}
        }
    }
}

/// What stands between the commas, but for those in quotes.
fn items(text: &str) -> Vec<&str> {
    let (mut items, mut start) = (Vec::new(), 0);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => {
                items.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(text[start..].trim());
    items
}

fn unquoted(value: &str) -> String {
    let Some(inner) = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    else {
        return value.to_owned();
    };
    let mut letters = inner.chars();
    let mut plain = String::new();
    while let Some(letter) = letters.next() {
        plain.extend(if letter == '\\' {
            letters.next()
        } else {
            Some(letter)
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[track_caller]
    fn check(header: &str, metadata: Option<&str>, scopes: &[&str], wants_more: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_str(header).unwrap());
        let challenge = Challenge::read(&headers);
        assert_eq!(challenge.resource_metadata.as_deref(), metadata);
        assert_eq!(challenge.scopes, scopes);
        assert_eq!(challenge.wants_more_scope(), wants_more);
    }

    #[test]
    fn fields_are_found_wherever_they_stand() {
        check("Bearer", None, &[], false);
        check(
            r#"Bearer resource_metadata="https://x.test/a,b", scope="a b""#,
            Some("https://x.test/a,b"),
            &["a", "b"],
            false,
        );
        check(
            r#"bearer error=insufficient_scope , scope="a""#,
            None,
            &["a"],
            true,
        );
        check(
            r#"Basic realm="a \" Bearer scope=x", Bearer scope="b""#,
            None,
            &["b"],
            false,
        );
        check(
            r#"Bearer scope="b", Basic realm="r", scope="c""#,
            None,
            &["b"],
            false,
        );
        check(r#"Bearer realm=r, scope = "a b""#, None, &["a", "b"], false);
        check(r#"Digest scope="c""#, None, &[], false);
        check(",,= ,\"", None, &[], false);
    }
}
