//! Servers: where an API is, made absolute where the document's own address allows it.

use std::collections::BTreeMap;

use url::Url;

use super::view::View;
use crate::openapi::operation::Server;

/// The address relative URLs in a document start from: what it says of itself, else where it was found.
pub(super) fn base(root: &View<'_>, found_at: Option<&Url>) -> Option<Url> {
    let own = root.word("$self").and_then(|url| Url::parse(&url).ok());
    let own = own.filter(|url| matches!(url.scheme(), "http" | "https"));
    own.or_else(|| found_at.cloned())
}

/// The servers of a whole document; one without any is where the document itself is.
pub(super) fn of_document(root: &View<'_>, base: Option<&Url>) -> Vec<Server> {
    if root.has("host") || root.has("basePath") {
        return of_swagger(root, base);
    }
    let servers = of(root, base);
    if !servers.is_empty() {
        return servers;
    }
    let origin = base.and_then(|base| base.join("/").ok());
    origin
        .map(|url| Server {
            url: trimmed(url.as_str()),
            ..Server::default()
        })
        .into_iter()
        .collect()
}

/// The servers a document, a path or an operation names itself.
pub(super) fn of(view: &View<'_>, base: Option<&Url>) -> Vec<Server> {
    view.items("servers")
        .iter()
        .filter_map(|server| one(server, base))
        .collect()
}

/// What the document says about its servers in words.
pub(super) fn descriptions(root: &View<'_>) -> Vec<(String, String)> {
    let servers = root.items("servers");
    let described = servers
        .iter()
        .filter_map(|server| Some((server.word("url")?, server.text("description"))));
    described
        .filter(|(_, description)| !description.is_empty())
        .collect()
}

fn one(view: &View<'_>, base: Option<&Url>) -> Option<Server> {
    let Some(url) = view.word("url") else {
        view.warn("a server without a URL is left out");
        return None;
    };
    let mut variables = BTreeMap::new();
    for (name, variable) in view.entries("variables") {
        let default = variable
            .word("default")
            .or_else(|| variable.texts("enum").into_iter().next());
        variables.insert(name.to_owned(), default.unwrap_or_default());
    }
    Some(Server {
        url: trimmed(&absolute(&url, base)),
        variables,
    })
}

/// `schemes`, `host` and `basePath` of Swagger 2.0; what is missing comes from the document's address.
fn of_swagger(root: &View<'_>, base: Option<&Url>) -> Vec<Server> {
    let path = root.word("basePath").unwrap_or_default();
    let path = if path.is_empty() || path.starts_with('/') {
        path
    } else {
        format!("/{path}")
    };
    let own_host = base.map(|base| &base[url::Position::BeforeHost..url::Position::AfterPort]);
    let Some(host) = root.word("host").or_else(|| own_host.map(str::to_owned)) else {
        return vec![Server {
            url: trimmed(&path),
            ..Server::default()
        }];
    };
    let mut schemes = root.texts("schemes");
    schemes.retain(|scheme| matches!(scheme.as_str(), "http" | "https"));
    if schemes.is_empty() {
        schemes.push(base.map_or("https", |base| base.scheme()).to_owned());
    }
    schemes.sort_by_key(|scheme| scheme != "https");
    // Some documents put the scheme into the host.
    let host = host
        .trim_start_matches("https://")
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned();
    let server = |scheme: String| Server {
        url: trimmed(&format!("{scheme}://{host}{path}")),
        ..Server::default()
    };
    schemes.into_iter().map(server).collect()
}

/// A path as a request wants it. Some documents write whole URLs as paths: their start is a server.
pub(super) fn split_path(path: &str) -> (Option<Server>, String) {
    let after_scheme = path
        .find("://")
        .map(|at| at + 3)
        .filter(|_| path.starts_with("http"));
    if let Some(start) = after_scheme {
        let end = path[start..].find('/').map_or(path.len(), |at| start + at);
        let server = Server {
            url: path[..end].to_owned(),
            ..Server::default()
        };
        return (
            Some(server),
            format!("/{}", path[end..].trim_start_matches('/')),
        );
    }
    let slash = if path.starts_with('/') { "" } else { "/" };
    (None, format!("{slash}{path}"))
}

/// Joins a URL to the base by hand: the URL may hold variables, which a parser would mangle.
fn absolute(url: &str, base: Option<&Url>) -> String {
    let Some(base) = base else {
        return url.to_owned();
    };
    let starts_itself = url.contains("://") || url.starts_with('{');
    match url {
        _ if starts_itself => url.to_owned(),
        _ if url.starts_with("//") => format!("{}:{url}", base.scheme()),
        _ if url.starts_with('/') => format!("{}{url}", &base[..url::Position::BeforePath]),
        _ => base
            .join(url)
            .map_or_else(|_| url.to_owned(), |joined| readable(&joined)),
    }
}

/// Braces as the document wrote them.
fn readable(url: &Url) -> String {
    url.as_str().replace("%7B", "{").replace("%7D", "}")
}

fn trimmed(url: &str) -> String {
    url.trim_end_matches('/').to_owned()
}

/// A server's URL with its variables at their defaults.
pub(super) fn address(server: &Server) -> String {
    let filled =
        |url: String, (name, value): (&String, &String)| url.replace(&format!("{{{name}}}"), value);
    server.variables.iter().fold(server.url.clone(), filled)
}

#[cfg(test)]
mod tests {
    use super::super::{book::Book, documents::Documents};
    use super::*;

    #[track_caller]
    fn check(document: &str, found_at: &str, urls: &[&str]) {
        let documents = Documents::of(&[("api.json", document)]);
        let book = Book::new(&documents);
        let base = base(&book.root(), Url::parse(found_at).ok().as_ref());
        let servers = of_document(&book.root(), base.as_ref());
        let found: Vec<String> = servers.iter().map(address).collect();
        assert_eq!(found, urls, "{document}");
    }

    #[test]
    fn servers_are_made_absolute() {
        let home = "https://example.com/docs/openapi.json";
        check(
            r#"{"servers": [{"url": "https://a.com/v1/"}]}"#,
            home,
            &["https://a.com/v1"],
        );
        check(
            r#"{"servers": [{"url": "/v1"}]}"#,
            home,
            &["https://example.com/v1"],
        );
        check(
            r#"{"servers": [{"url": "v1"}]}"#,
            home,
            &["https://example.com/docs/v1"],
        );
        check(
            r#"{"servers": [{"url": "//b.com/x"}]}"#,
            home,
            &["https://b.com/x"],
        );
        check(r#"{"servers": [{"url": "/v1"}]}"#, "", &["/v1"]);
        check("{\"a\": 1}", home, &["https://example.com"]);
        check("{\"a\": 1}", "", &[]);
        check(
            r#"{"$self": "https://c.com/api/", "servers": [{"url": "./x"}]}"#,
            home,
            &["https://c.com/api/x"],
        );
    }

    #[test]
    fn a_path_may_be_a_whole_url() {
        let split = |path| {
            let (server, path) = split_path(path);
            (server.map(|server| server.url).unwrap_or_default(), path)
        };
        let pair = |server: &str, path: &str| (server.to_owned(), path.to_owned());
        assert_eq!(split("/a/{b}"), pair("", "/a/{b}"));
        assert_eq!(split("a"), pair("", "/a"));
        assert_eq!(
            split("https://x.com/a/{b}"),
            pair("https://x.com", "/a/{b}")
        );
        assert_eq!(split("https://x.com"), pair("https://x.com", "/"));
        assert_eq!(
            split("/proxy/http://x.com/a"),
            pair("", "/proxy/http://x.com/a")
        );
    }

    #[test]
    fn variables_have_defaults() {
        check(
            r#"{"servers": [{"url": "https://{region}.a.com/{v}", "variables": {
                "region": {"default": "eu"}, "v": {"enum": ["v2", "v1"]}}}]}"#,
            "",
            &["https://eu.a.com/v2"],
        );
    }

    #[test]
    fn swagger_puts_them_together() {
        let home = "http://localhost:8080/swagger.json";
        check(
            r#"{"host": "a.com", "basePath": "/v1", "schemes": ["http", "https"]}"#,
            "",
            &["https://a.com/v1", "http://a.com/v1"],
        );
        check(r#"{"host": "a.com"}"#, "", &["https://a.com"]);
        check(
            r#"{"basePath": "/v1"}"#,
            home,
            &["http://localhost:8080/v1"],
        );
        check(r#"{"basePath": "v1"}"#, "", &["/v1"]);
    }
}
