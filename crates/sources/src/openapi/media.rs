//! Media types, sorted by what can be done with them: the same for documents and for answers.

/// What a media type is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    /// One JSON value.
    Json,
    /// One JSON value after another.
    JsonLines,
    /// `text/event-stream`
    Events,
    Form,
    Multipart,
    Text,
    Binary,
    /// `*/*` and the like: the schema or the content must tell.
    Wildcard,
    /// Something we do not know: the schema or the content must tell.
    Other,
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
    "x-sh",
    "xml",
    "yaml",
];

/// Parts of subtypes that mean bytes.
const BYTES: &[&str] = &[
    "octet-stream",
    "pdf",
    "zip",
    "tar",
    "gzip",
    "bzip",
    "compressed",
    "msword",
    "ms-excel",
    "ms-powerpoint",
    "openxml",
    "opendocument",
    "protobuf",
    "msgpack",
    "cbor",
    "wasm",
    "parquet",
    "avro",
    "sqlite",
    "java-archive",
    "pkcs",
    "pgp",
    "binary",
    "epub",
    "shockwave",
    "rtf",
    "x-7z",
    "rar",
];

/// Parts of subtypes that mean bytes although they name a text format too.
const PACKED: &[&str] = &["openxml", "zip", "sqlite"];

impl Media {
    /// Sorts a media type; parameters such as `charset` do not matter.
    pub(super) fn of(media_type: &str) -> Self {
        let essence = essence(media_type);
        let (family, subtype) = essence.split_once('/').unwrap_or((&essence, ""));
        let names = |words: &[&str]| words.iter().any(|word| subtype.contains(word));
        match family {
            "text" if subtype == "event-stream" => Self::Events,
            _ if names(LINES) => Self::JsonLines,
            _ if names(PACKED) => Self::Binary,
            _ if names(&["json"]) || essence == "json" => Self::Json,
            _ if subtype == "x-www-form-urlencoded" => Self::Form,
            "multipart" => Self::Multipart,
            "*" | "" => Self::Wildcard,
            "application" if subtype == "*" => Self::Wildcard,
            "image" if subtype.ends_with("+xml") => Self::Text,
            "image" | "audio" | "video" | "font" | "model" => Self::Binary,
            "text" => Self::Text,
            _ if names(TEXTS) => Self::Text,
            _ if names(BYTES) => Self::Binary,
            _ => Self::Other,
        }
    }
}

/// The type without its parameters, in lower case.
pub(super) fn essence(media_type: &str) -> String {
    let essence = media_type.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// Whether a media type is one JSON value.
pub(super) fn is_json(media_type: &str) -> bool {
    Media::of(media_type) == Media::Json
}

/// The value of the `charset` parameter.
pub(super) fn charset(content_type: &str) -> Option<&str> {
    let parameters = content_type.split(';').skip(1);
    let mut pairs = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(value.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: Media, media_types: &[&str]) {
        for media_type in media_types {
            assert_eq!(Media::of(media_type), expected, "{media_type}");
        }
    }

    #[test]
    fn media_types_are_sorted() {
        check(
            Media::Json,
            &[
                "application/json",
                "application/vnd.api+json; charset=utf-8",
                "TEXT/JSON",
                "application/problem+json",
                "json",
            ],
        );
        check(
            Media::JsonLines,
            &[
                "application/x-ndjson",
                "application/jsonl",
                "application/json-seq",
                "application/stream+json",
                "application/x-json-lines",
            ],
        );
        check(
            Media::Events,
            &["text/event-stream", "text/event-stream; charset=utf-8"],
        );
        check(Media::Form, &["application/x-www-form-urlencoded"]);
        check(
            Media::Multipart,
            &["multipart/form-data", "multipart/related"],
        );
        check(
            Media::Text,
            &[
                "text/plain",
                "text/csv",
                "application/xml",
                "image/svg+xml",
                "application/x-yaml",
            ],
        );
        check(
            Media::Binary,
            &[
                "application/octet-stream",
                "application/pdf",
                "application/gzip",
                "application/vnd.sqlite3",
                "image/png",
                "image/*",
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            ],
        );
        check(Media::Wildcard, &["*/*", "application/*", ""]);
        check(Media::Other, &["application/vnd.acme.thing", "nonsense"]);
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
