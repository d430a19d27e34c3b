//! Where a request goes: the server, and the path with its parameters in place.
//!
//! One function reaches one endpoint: a value is percent-encoded into its place, and what a URL
//! parser would still take for something else (`.`, `..`, nothing) is refused.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use url::Url;

use super::{encode, refusal::Refusal, style};
use crate::openapi::operation::{Location, Operation, Parameter, Server, Style};

/// Why there is no server to send to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoServer {
    /// The document names none, or one that only makes sense beside a document with a URL.
    #[error("the document does not say where the API is (`{url}`); set `base_url`")]
    Relative {
        /// What it says.
        url: String,
    },
    /// A variable without a value.
    #[error(
        "the server `{url}` needs a value for `{name}`; set `server_variables.{name}` or `base_url`"
    )]
    Variable {
        /// The server.
        url: String,
        /// The variable.
        name: String,
    },
    /// Not an address.
    #[error("the server `{url}` is not an http or https address; set `base_url`")]
    NotHttp {
        /// What it says.
        url: String,
    },
}

/// The first of some servers.
pub(super) fn server(
    servers: &[Server],
    variables: &BTreeMap<String, String>,
) -> Result<Url, NoServer> {
    let Some(server) = servers.first() else {
        return Err(NoServer::Relative {
            url: "/".to_owned(),
        });
    };
    let filled = fill(server, variables)?;
    // `//host/path` means the scheme of the document's own address; without one, the safe one.
    let text = if filled.starts_with("//") {
        format!("https:{filled}")
    } else {
        filled
    };
    match parse_base(&text) {
        Ok(url) => Ok(url),
        Err(BadBase::Relative) => Err(NoServer::Relative { url: text }),
        Err(BadBase::NotHttp) => Err(NoServer::NotHttp { url: text }),
    }
}

/// Why a text is no base URL.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadBase {
    /// No scheme or host.
    Relative,
    /// Some other scheme.
    NotHttp,
}

/// Reads a base URL. A user and password in it are dropped: credentials have their own place.
pub(super) fn parse_base(text: &str) -> Result<Url, BadBase> {
    let mut url = match Url::parse(text) {
        Ok(url) => url,
        Err(url::ParseError::RelativeUrlWithoutBase) => return Err(BadBase::Relative),
        Err(_) => return Err(BadBase::NotHttp),
    };
    if !matches!(url.scheme(), "http" | "https") {
        return Err(BadBase::NotHttp);
    }
    let stripped = url.set_username("").and_then(|()| url.set_password(None));
    stripped.map_err(|()| BadBase::NotHttp)?;
    url.set_fragment(None);
    Ok(url)
}

/// Puts values into the `{variables}` of a server's URL.
fn fill(server: &Server, variables: &BTreeMap<String, String>) -> Result<String, NoServer> {
    let mut filled = String::new();
    for piece in pieces(&server.url) {
        match piece {
            Piece::Literal(text) => filled.push_str(text),
            Piece::Parameter(name) => {
                let value = variables.get(name).or_else(|| server.variables.get(name));
                filled.push_str(value.ok_or_else(|| NoServer::Variable {
                    url: server.url.clone(),
                    name: name.to_owned(),
                })?);
            }
        }
    }
    Ok(filled)
}

/// A path with its values in place, and the query some documents write behind it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    path: String,
    query: Option<String>,
}

impl Target {
    /// Fills the path of an operation with the values of a call.
    pub(super) fn new(operation: &Operation, params: &Map<String, Value>) -> Result<Self, Refusal> {
        // Some documents tell operations on one path apart by a fragment; it is never sent.
        let template = split_outside_braces(&operation.path, '#').0;
        let (path, query) = split_outside_braces(template, '?');
        let query = query
            .map(|query| filled_query(operation, query, params))
            .transpose()?;
        Ok(Self {
            path: filled_path(operation, path, params)?,
            query,
        })
    }

    /// The whole address: the server's path before ours, and all queries in a row.
    pub(super) fn at(&self, server: &Url, query: &[String]) -> Option<Url> {
        let mut url = server.clone();
        let path = format!("{}{}", server.path().trim_end_matches('/'), self.path);
        url.set_path(&path);
        // The parser must agree that this is the path we built, or it is another endpoint.
        if url.path() != path {
            return None;
        }
        let given = server.query().into_iter().chain(self.query.as_deref());
        let pairs: Vec<&str> = given.chain(query.iter().map(String::as_str)).collect();
        url.set_query((!pairs.is_empty()).then(|| pairs.join("&")).as_deref());
        Some(url)
    }
}

fn filled_path(
    operation: &Operation,
    template: &str,
    params: &Map<String, Value>,
) -> Result<String, Refusal> {
    let mut path = "/".to_owned();
    // Where the segment at the end begins, and the first parameter in it.
    let (mut begin, mut key) = (path.len(), None);
    for piece in pieces(template.strip_prefix('/').unwrap_or(template)) {
        match piece {
            Piece::Literal(text) => {
                for (index, part) in text.split('/').enumerate() {
                    if index > 0 {
                        check(&path[begin..], key.take())?;
                        path.push('/');
                        begin = path.len();
                    }
                    path.push_str(&encode::literal(part));
                }
            }
            Piece::Parameter(name) => {
                let (own, text) = path_value(operation, name, params)?;
                path.push_str(&text);
                key = key.or(Some(own));
            }
        }
    }
    check(&path[begin..], key)?;
    Ok(path)
}

/// A value may not make its segment disappear or climb.
fn check(segment: &str, key: Option<&str>) -> Result<(), Refusal> {
    let Some(key) = key else {
        return Ok(());
    };
    if segment.is_empty() {
        return Err(Refusal::missing(key));
    }
    if "%2e%2e".len() < segment.len() {
        return Ok(());
    }
    let plain = segment.replace("%2e", ".").replace("%2E", ".");
    if plain == "." || plain == ".." {
        let rule = "something other than `.` or `..`, which would lead to another path";
        return Err(Refusal::parameter(key, rule, &plain));
    }
    Ok(())
}

fn filled_query(
    operation: &Operation,
    template: &str,
    params: &Map<String, Value>,
) -> Result<String, Refusal> {
    let mut query = String::new();
    for piece in pieces(template) {
        match piece {
            Piece::Literal(text) => query.push_str(&encode::literal(text)),
            Piece::Parameter(name) => query.push_str(&path_value(operation, name, params)?.1),
        }
    }
    Ok(query)
}

fn path_value<'a>(
    operation: &'a Operation,
    name: &'a str,
    params: &Map<String, Value>,
) -> Result<(&'a str, String), Refusal> {
    let is_it =
        |parameter: &&Parameter| parameter.location == Location::Path && parameter.name == name;
    let Some(parameter) = operation.parameters.iter().find(is_it) else {
        // The path has a hole the document forgot to describe: fill it the plain way.
        let plain = Parameter {
            name: name.into(),
            style: Style::Simple,
            ..Parameter::default()
        };
        let text = params
            .get(name)
            .and_then(|value| style::path(&plain, value));
        return Ok((name, text.ok_or_else(|| Refusal::missing(name))?));
    };
    let key = parameter.key.as_str();
    let value = params.get(key).ok_or_else(|| Refusal::missing(key))?;
    let text = match &parameter.content_type {
        Some(content_type) => Some(encode::component(&super::request::content(
            content_type,
            value,
        ))),
        None => style::path(parameter, value),
    };
    Ok((key, text.ok_or_else(|| Refusal::missing(key))?))
}

/// A piece of a template.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Literal(&'a str),
    Parameter(&'a str),
}

fn pieces(template: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = template;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let hole = rest.find('{').and_then(|open| {
            let close = open + rest[open..].find('}')?;
            Some((open, close))
        });
        let (piece, behind) = match hole {
            Some((0, close)) => (Piece::Parameter(&rest[1..close]), close + 1),
            Some((open, _)) => (Piece::Literal(&rest[..open]), open),
            None => (Piece::Literal(rest), rest.len()),
        };
        rest = &rest[behind..];
        Some(piece)
    })
}

/// Splits at the first `mark` that is not part of a parameter's name.
fn split_outside_braces(template: &str, mark: char) -> (&str, Option<&str>) {
    let mut inside = false;
    for (index, letter) in template.char_indices() {
        match letter {
            '{' => inside = true,
            '}' => inside = false,
            letter if letter == mark && !inside => {
                return (
                    &template[..index],
                    Some(&template[index + mark.len_utf8()..]),
                );
            }
            _ => {}
        }
    }
    (template, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn operation(path: &str) -> Operation {
        let parameter = |name: &str| Parameter {
            key: name.into(),
            name: name.into(),
            location: Location::Path,
            style: Style::Simple,
            ..Parameter::default()
        };
        let parameters = vec![parameter("id"), parameter("b")];
        Operation {
            path: path.into(),
            parameters,
            ..Operation::default()
        }
    }

    fn url(server: &str, path: &str, params: Value) -> Result<String, Refusal> {
        let Value::Object(params) = params else {
            panic!("an object")
        };
        let target = Target::new(&operation(path), &params)?;
        Ok(target
            .at(&parse_base(server).unwrap(), &[])
            .unwrap()
            .to_string())
    }

    #[track_caller]
    fn goes(server: &str, path: &str, id: &str, expected: &str) {
        assert_eq!(url(server, path, json!({"id": id})).unwrap(), expected);
    }

    #[test]
    fn the_path_follows_the_server() {
        goes("https://a.io", "/p/{id}", "7", "https://a.io/p/7");
        goes("https://a.io/v1/", "/p/{id}", "7", "https://a.io/v1/p/7");
        goes(
            "https://a.io/v1?key=1",
            "/p/{id}",
            "7",
            "https://a.io/v1/p/7?key=1",
        );
        goes(
            "https://a.io/v1",
            "p/{id}.json",
            "7",
            "https://a.io/v1/p/7.json",
        );
        goes("https://ann:pw@a.io/#top", "/", "7", "https://a.io/");
    }

    #[test]
    fn a_value_stays_one_segment() {
        for (value, segment) in [
            ("a/b?x=1#f", "a%2Fb%3Fx%3D1%23f"),
            ("../../etc", "..%2F..%2Fetc"),
            ("%2e%2e", "%252e%252e"),
            ("%2e%2e%2f", "%252e%252e%252f"),
            ("..\\..", "..%5C.."),
            ("a\nb\0", "a%0Ab%00"),
            ("\u{202e} é", "%E2%80%AE%20%C3%A9"),
            ("...", "..."),
            ("?", "%3F"),
            (";x=1", "%3Bx%3D1"),
        ] {
            goes(
                "https://a.io/v1",
                "/p/{id}/x",
                value,
                &format!("https://a.io/v1/p/{segment}/x"),
            );
        }
    }

    #[test]
    fn a_value_cannot_make_its_segment_climb_or_vanish() {
        for (path, params) in [
            ("/p/{id}", json!({"id": ".."})),
            ("/p/{id}/x", json!({"id": "."})),
            ("/p/{id}", json!({"id": ""})),
            ("/p/{id}", json!({"id": null})),
            ("/p/{id}", json!({"id": []})),
            ("/p/{id}", json!({})),
            ("/p/{id}{b}", json!({"id": ".", "b": "."})),
            ("/p/.{id}", json!({"id": "."})),
            ("/p/%2e{id}", json!({"id": "."})),
            ("/p/{other}", json!({})),
        ] {
            assert!(
                url("https://a.io", path, params.clone()).is_err(),
                "{path} {params}"
            );
        }
        goes(
            "https://a.io",
            "/p/{id}.json",
            "..",
            "https://a.io/p/...json",
        );
    }

    #[test]
    fn the_refusal_says_what_would_work() {
        let refusal = url("https://a.io", "/p/{id}", json!({"id": ".."})).unwrap_err();
        assert_eq!(
            refusal.of(&"pets.get".parse().unwrap()).to_string(),
            "`pets.get`: parameter `id` must be something other than `.` or `..`, which would \
             lead to another path, not \"..\""
        );
    }

    #[test]
    fn holes_nobody_described_are_filled() {
        let url = url("https://a.io", "/p/{other}", json!({"other": "x/y"}));
        assert_eq!(url.unwrap(), "https://a.io/p/x%2Fy");
    }

    #[test]
    fn fragments_are_dropped_and_queries_kept() {
        goes("https://a.io", "/p#Action=Get", "7", "https://a.io/p");
        goes(
            "https://a.io",
            "/p?Action=Get&id={id}",
            "a&b",
            "https://a.io/p?Action=Get&id=a%26b",
        );
    }

    #[track_caller]
    fn serves(servers: &[(&str, &[(&str, &str)])], expected: Result<&str, NoServer>) {
        let server = |(url, variables): &(&str, &[(&str, &str)])| Server {
            url: (*url).to_owned(),
            variables: variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        };
        let servers: Vec<Server> = servers.iter().map(server).collect();
        let given = BTreeMap::from([("region".to_owned(), "eu".to_owned())]);
        let url = self::server(&servers, &given);
        assert_eq!(url.map(|url| url.to_string()), expected.map(str::to_owned));
    }

    #[test]
    fn servers_with_variables() {
        serves(
            &[("https://{region}.a.io/{v}", &[("region", "us"), ("v", "2")])],
            Ok("https://eu.a.io/2"),
        );
        serves(
            &[("https://{site}.a.io", &[])],
            Err(NoServer::Variable {
                url: "https://{site}.a.io".into(),
                name: "site".into(),
            }),
        );
        serves(&[("//a.io/x", &[])], Ok("https://a.io/x"));
    }

    #[test]
    fn without_a_server_the_error_names_the_remedy() {
        serves(&[], Err(NoServer::Relative { url: "/".into() }));
        serves(
            &[("/v1", &[])],
            Err(NoServer::Relative { url: "/v1".into() }),
        );
        serves(
            &[("ftp://a.io", &[])],
            Err(NoServer::NotHttp {
                url: "ftp://a.io".into(),
            }),
        );
        let text = NoServer::Relative { url: "/v1".into() }.to_string();
        assert!(text.contains("set `base_url`"), "{text}");
    }
}
