//! What a content type means for the one who reads the body.

/// How a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    /// One JSON value.
    Json,
    /// A JSON value per line.
    JsonLines,
    /// Server-sent events.
    Events,
    /// Text.
    Text,
    /// Bytes.
    Binary,
    /// The name does not tell: the content must.
    Unknown,
}

/// Parts of subtypes that mean JSON values in a row.
const LINES: &[&str] = &[
    "ndjson",
    "jsonl",
    "json-l",
    "json-seq",
    "json-stream",
    "stream+json",
];

/// Parts of subtypes that mean text.
const TEXTS: &[&str] = &[
    "csv",
    "ecmascript",
    "graphql",
    "html",
    "javascript",
    "jwt",
    "pem",
    "sql",
    "toml",
    "www-form-urlencoded",
    "x-sh",
    "xml",
    "yaml",
];

/// Parts of subtypes that mean bytes, whatever else is in the name.
const BYTES: &[&str] = &["octet-stream", "openxml", "pdf", "zip"];

impl Media {
    /// Reads a content type, parameters and all.
    pub(super) fn of(content_type: &str) -> Self {
        let essence = essence(content_type);
        let (family, subtype) = essence.split_once('/').unwrap_or((&essence, ""));
        let names = |words: &[&str]| words.iter().any(|word| subtype.contains(word));
        match family {
            "text" if subtype == "event-stream" => Self::Events,
            _ if names(LINES) => Self::JsonLines,
            _ if names(BYTES) => Self::Binary,
            _ if names(&["json"]) => Self::Json,
            "text" => Self::Text,
            "image" if subtype.ends_with("+xml") => Self::Text,
            "audio" | "font" | "image" | "model" | "video" => Self::Binary,
            _ if names(TEXTS) => Self::Text,
            _ => Self::Unknown,
        }
    }
}

/// Whether a content type is one JSON value.
pub(super) fn is_json(content_type: &str) -> bool {
    Media::of(content_type) == Media::Json
}

/// The value of the `charset` parameter.
pub(super) fn charset(content_type: &str) -> Option<&str> {
    let parameters = content_type.split(';').skip(1);
    let mut pairs = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(value.trim().trim_matches('"'))
}

fn essence(content_type: &str) -> String {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(content_type: &str, media: Media) {
        assert_eq!(Media::of(content_type), media, "{content_type}");
    }

    #[test]
    fn content_types_by_meaning() {
        for json in [
            "application/json",
            "Text/JSON; charset=utf-8",
            "application/problem+json",
        ] {
            reads(json, Media::Json);
        }
        for lines in [
            "application/x-ndjson",
            "application/jsonl",
            "application/stream+json",
        ] {
            reads(lines, Media::JsonLines);
        }
        reads("text/event-stream; charset=utf-8", Media::Events);
        for text in [
            "text/plain",
            "text/html",
            "application/xml",
            "image/svg+xml",
            "application/x-yaml",
        ] {
            reads(text, Media::Text);
        }
        for bytes in [
            "application/octet-stream",
            "image/png",
            "application/pdf",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        ] {
            reads(bytes, Media::Binary);
        }
        for unknown in [
            "",
            "nonsense",
            "application/vnd.acme.thing",
            "multipart/mixed",
        ] {
            reads(unknown, Media::Unknown);
        }
    }

    #[test]
    fn charsets() {
        assert_eq!(
            charset("text/plain; Charset=\"ISO-8859-1\"; x=y"),
            Some("ISO-8859-1")
        );
        assert_eq!(charset("text/plain"), None);
    }
}
