//! What a document says of itself: title, description, version, links, and what its tags are about.

use std::collections::BTreeMap;

use toolscript_catalog::{Link, SourceInfo};

use super::{servers, view::View};
use crate::openapi::operation::Server;

/// Reads everything a document says of itself.
pub(super) fn read(root: &View<'_>, own_servers: &[Server]) -> SourceInfo {
    let (mut links, mut title, mut description, mut version) = Default::default();
    if let Some(info) = root.get("info") {
        title = info.text("title");
        version = info.text("version");
        description = paragraphs(&[
            info.text("summary"),
            info.text("description"),
            server_notes(root),
        ]);
        links = info_links(&info);
    }
    links.extend(external_docs(root));
    let tags = root.items("tags");
    links.extend(tags.iter().filter_map(external_docs));
    SourceInfo {
        kind: "openapi".to_owned(),
        title,
        description,
        version,
        address: own_servers
            .first()
            .map(servers::address)
            .unwrap_or_default(),
        links,
        groups: groups(&tags),
    }
}

/// The page a place refers to for more.
pub(super) fn external_docs(view: &View<'_>) -> Option<Link> {
    let docs = view.get("externalDocs")?;
    Some(Link {
        url: docs.text("url"),
        description: docs.text("description"),
    })
    .filter(|link| !link.url.is_empty())
}

fn groups(tags: &[View<'_>]) -> BTreeMap<String, String> {
    let mut groups = BTreeMap::new();
    for tag in tags {
        let Some(name) = tag.word("name") else {
            tag.warn("a tag without a name is left out");
            continue;
        };
        let words = paragraphs(&[tag.text("summary"), tag.text("description")]);
        if !words.is_empty() {
            groups.insert(name, words);
        }
    }
    groups
}

fn info_links(info: &View<'_>) -> Vec<Link> {
    let mut links = Vec::new();
    let mut add = |url: String, description: String| {
        if !url.is_empty() {
            links.push(Link { url, description });
        }
    };
    add(info.text("termsOfService"), "terms of service".to_owned());
    if let Some(contact) = info.get("contact") {
        add(contact.text("url"), named("contact", &contact.text("name")));
    }
    if let Some(license) = info.get("license") {
        add(license.text("url"), named("licence", &license.text("name")));
    }
    links
}

fn named(what: &str, name: &str) -> String {
    if name.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {name}")
    }
}

fn server_notes(root: &View<'_>) -> String {
    let notes = servers::descriptions(root).into_iter();
    let lines: Vec<String> = notes
        .map(|(url, description)| format!("- {url}: {description}"))
        .collect();
    if lines.is_empty() {
        String::new()
    } else {
        format!("Servers:\n{}", lines.join("\n"))
    }
}

fn paragraphs(texts: &[String]) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for text in texts {
        if !text.is_empty() && !kept.contains(&text.as_str()) {
            kept.push(text);
        }
    }
    kept.join("\n\n")
}
