//! Where a document is: a file or a URL, and where its references lead.

use std::path::{Component, Path, PathBuf};

use percent_encoding::percent_decode_str;
use url::Url;

/// The address of a document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Location {
    /// On this machine.
    File(PathBuf),
    /// On the network.
    Url(Url),
}

/// A reference no document of ours may follow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadReference {
    #[error("is an absolute path; write it relative to this file")]
    Absolute,
    #[error("leads from the network to a file of this machine, which is not allowed")]
    Escape,
    #[error("is no address we can read; use a relative path or an http(s) URL")]
    Scheme,
}

impl Location {
    /// The path, where it is a file.
    pub(crate) fn into_file(self) -> Option<PathBuf> {
        match self {
            Self::File(path) => Some(path),
            Self::Url(_) => None,
        }
    }

    /// Reads what a person wrote: a URL, or a path that starts from `folder`.
    pub(crate) fn parse(text: &str, folder: &Path) -> Self {
        if let Some(url) = web_url(text) {
            return Self::Url(url);
        }
        let path = text.strip_prefix("file://").unwrap_or(text);
        Self::File(normal(&folder.join(path)))
    }

    /// Where a reference in this document leads, its fragment left aside.
    pub(super) fn join(&self, reference: &str) -> Result<Self, BadReference> {
        match self {
            Self::Url(base) => {
                let joined = base.join(reference).map_err(|_| BadReference::Scheme)?;
                match joined.scheme() {
                    "http" | "https" => Ok(Self::Url(joined)),
                    "file" => Err(BadReference::Escape),
                    _ => Err(BadReference::Scheme),
                }
            }
            Self::File(base) => {
                if let Some(url) = web_url(reference) {
                    return Ok(Self::Url(url));
                }
                // A drive letter is no scheme, but it is absolute all the same.
                if reference.starts_with(['/', '\\']) || reference.contains(':') {
                    return Err(BadReference::Absolute);
                }
                let decoded = percent_decode_str(reference)
                    .decode_utf8_lossy()
                    .replace('\\', "/");
                let folder = base.parent().unwrap_or(Path::new(""));
                Ok(Self::File(normal(&folder.join(decoded))))
            }
        }
    }

    /// How the address is shown to people: short, and without anything secret in it.
    pub(crate) fn shown(&self, folder: &Path) -> String {
        match self {
            Self::File(path) => path
                .strip_prefix(normal(folder))
                .unwrap_or(path)
                .display()
                .to_string(),
            Self::Url(url) => {
                let mut url = url.clone();
                let has_query = url.query().is_some();
                url.set_query(None);
                url.set_fragment(None);
                // Neither can fail on a URL that has a host.
                let _stays = url.set_username("").and_then(|()| url.set_password(None));
                if has_query {
                    format!("{url}?…")
                } else {
                    url.to_string()
                }
            }
        }
    }

    /// The name of the file without its ending, for naming what stands in it.
    pub(super) fn stem(&self) -> String {
        let path = match self {
            Self::File(path) => path.as_path(),
            Self::Url(url) => Path::new(url.path()),
        };
        let text =
            |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
        let stem = text(path.file_stem()).unwrap_or_default();
        match stem.as_str() {
            "index" | "_index" => text(path.parent().and_then(Path::file_name)).unwrap_or(stem),
            _ => stem,
        }
    }

    /// Whether it holds prose rather than data: some documents keep long descriptions apart.
    pub(super) fn is_prose(&self) -> bool {
        let path = match self {
            Self::File(path) => path.as_path(),
            Self::Url(url) => Path::new(url.path()),
        };
        let extension = path.extension().unwrap_or_default();
        ["md", "markdown", "txt"]
            .iter()
            .any(|prose| extension.eq_ignore_ascii_case(prose))
    }

    /// The URL, if it is one.
    pub(super) fn url(&self) -> Option<&Url> {
        match self {
            Self::Url(url) => Some(url),
            Self::File(_) => None,
        }
    }
}

fn web_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

/// Takes `.` and `..` out of a path by its letters alone, as every tool that bundles documents does.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(out.components().next_back(), Some(Component::Normal(_))) =>
            {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn joins(base: &str, reference: &str, target: &str) {
        let folder = Path::new("/specs");
        let joined = Location::parse(base, folder).join(reference).unwrap();
        assert_eq!(joined.shown(folder), target, "{reference}");
    }

    #[track_caller]
    fn refuses(base: &str, reference: &str, why: BadReference) {
        assert_eq!(
            Location::parse(base, Path::new("/specs")).join(reference),
            Err(why),
            "{reference}"
        );
    }

    #[test]
    fn references_start_from_their_document() {
        joins("api.yaml", "./models/pet.yaml", "models/pet.yaml");
        joins("spec/api.yaml", "../common/Error.yaml", "common/Error.yaml");
        joins("api.yaml", "my%20pet.yaml", "my pet.yaml");
        joins("api.yaml", ".\\models\\pet.yaml", "models/pet.yaml");
        joins(
            "api.yaml",
            "https://example.com/pet.yaml",
            "https://example.com/pet.yaml",
        );
        joins(
            "https://example.com/v1/api.yaml",
            "../pet.yaml",
            "https://example.com/pet.yaml",
        );
    }

    #[test]
    fn the_network_does_not_reach_files() {
        refuses(
            "https://example.com/api.yaml",
            "file:///etc/passwd",
            BadReference::Escape,
        );
        refuses(
            "https://example.com/api.yaml",
            "ftp://example.com/x",
            BadReference::Scheme,
        );
        refuses("api.yaml", "/etc/passwd", BadReference::Absolute);
        refuses("api.yaml", "file:///etc/passwd", BadReference::Absolute);
        refuses("api.yaml", "C:\\secrets.yaml", BadReference::Absolute);
    }

    #[test]
    fn shown_addresses_hold_no_secret() {
        let url = Location::parse(
            "https://ann:hunter2@example.com/a.json?token=x#f",
            Path::new(""),
        );
        assert_eq!(url.shown(Path::new("")), "https://example.com/a.json?…");
    }

    #[test]
    fn stems_name_what_stands_in_a_file() {
        let stem = |text: &str| Location::parse(text, Path::new("/specs")).stem();
        assert_eq!(stem("models/droplet.yml"), "droplet");
        assert_eq!(stem("models/droplet/index.yml"), "droplet");
        assert_eq!(stem("https://example.com/a/Pet.json?x=1"), "Pet");
    }
}
