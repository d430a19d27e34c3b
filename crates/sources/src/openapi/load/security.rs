//! Security: the ways to prove who is calling, and which of them an operation wants.

use std::collections::BTreeMap;

use toolscript_catalog::Node;
use url::Url;

use super::view::View;
use crate::openapi::operation::{Location, Scheme};

/// One alternative: every scheme in it is needed, with these scopes.
pub(super) type Requirement = BTreeMap<String, Vec<String>>;

/// The schemes of a document, by name. Relative token URLs start from `base`.
pub(super) fn schemes(root: &View<'_>, base: Option<&Url>) -> BTreeMap<String, Scheme> {
    let mut views = root.entries("securityDefinitions");
    if let Some(components) = root.get("components") {
        views.extend(components.entries("securitySchemes"));
    }
    views
        .into_iter()
        .map(|(name, view)| (name.to_owned(), scheme(&view, base)))
        .collect()
}

fn scheme(view: &View<'_>, base: Option<&Url>) -> Scheme {
    let kind = view.word("type").unwrap_or_default();
    match kind.to_ascii_lowercase().as_str() {
        "http" => http_scheme(view),
        "basic" => Scheme::Basic,
        "bearer" | "openidconnect" => Scheme::Bearer,
        "apikey" => api_key(view),
        "oauth2" => match token_url(view) {
            Some(url) => Scheme::ClientCredentials {
                token_url: absolute(&url, base),
            },
            None => Scheme::Bearer,
        },
        _ => unsupported(view, &kind),
    }
}

fn http_scheme(view: &View<'_>) -> Scheme {
    let name = view.word("scheme").unwrap_or_default();
    match name.to_ascii_lowercase().as_str() {
        "bearer" => Scheme::Bearer,
        "basic" => Scheme::Basic,
        _ => unsupported(view, &name),
    }
}

fn api_key(view: &View<'_>) -> Scheme {
    let location = match view
        .word("in")
        .unwrap_or_default()
        .to_ascii_lowercase()
        .as_str()
    {
        "query" => Location::Query,
        "cookie" => Location::Cookie,
        _ => Location::Header,
    };
    match view.word("name") {
        Some(name) => Scheme::ApiKey { location, name },
        None => unsupported(view, "apiKey without a name"),
    }
}

fn unsupported(view: &View<'_>, scheme: &str) -> Scheme {
    view.warn(format!(
        "the security scheme `{scheme}` is not supported; operations that need it go without"
    ));
    Scheme::Unsupported {
        scheme: scheme.to_owned(),
    }
}

/// Where a client gets a token by itself, if it can.
fn token_url(view: &View<'_>) -> Option<String> {
    if view.word("flow").as_deref() == Some("application") {
        return view.word("tokenUrl");
    }
    view.get("flows")?
        .get("clientCredentials")?
        .word("tokenUrl")
}

fn absolute(url: &str, base: Option<&Url>) -> String {
    match base.and_then(|base| base.join(url).ok()) {
        Some(joined) => joined.to_string(),
        None => url.to_owned(),
    }
}

/// What an operation wants: its own word, else the document's.
pub(super) fn requirements<'b>(
    root: &View<'b>,
    operation: &View<'b>,
    schemes: &BTreeMap<String, Scheme>,
) -> Vec<Requirement> {
    let owner = if operation.has("security") {
        operation
    } else {
        root
    };
    let alternatives: Vec<Requirement> = owner
        .items("security")
        .iter()
        .map(|view| requirement(view))
        .collect();
    for name in alternatives.iter().flat_map(BTreeMap::keys) {
        if !schemes.contains_key(name) {
            owner.warn(format!(
                "`security` wants `{name}`, which the document does not define"
            ));
        }
    }
    alternatives
}

fn requirement(view: &View<'_>) -> Requirement {
    let scopes = |node: &Node| -> Vec<String> {
        let texts = node
            .as_array()
            .unwrap_or_default()
            .iter()
            .filter_map(Node::as_str);
        texts.map(str::to_owned).collect()
    };
    view.node
        .entries()
        .iter()
        .map(|(name, node)| (name.to_string(), scopes(node)))
        .collect()
}
