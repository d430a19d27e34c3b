//! Media types, sorted by what can be done with them.

/// What a media type is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    Json,
    /// One JSON value after another.
    JsonLines,
    /// `text/event-stream`
    Events,
    Form,
    Multipart,
    Text,
    Binary,
    /// `*/*` and the like: the schema must tell.
    Wildcard,
    /// Something we do not know: the schema must tell.
    Other,
}

/// Sorts a media type; parameters such as `charset` do not matter.
pub(super) fn kind(media_type: &str) -> Media {
    let essence = essence(media_type);
    let (family, subtype) = essence.split_once('/').unwrap_or((essence.as_str(), ""));
    let any_of = |words: &[&str]| words.iter().any(|word| subtype.contains(word));
    match family {
        _ if essence == "text/event-stream" => Media::Events,
        _ if any_of(&["ndjson", "jsonl", "json-seq", "json-stream", "x-json-lines"]) => {
            Media::JsonLines
        }
        _ if any_of(&["json"]) || essence == "json" => Media::Json,
        _ if subtype == "x-www-form-urlencoded" => Media::Form,
        "multipart" => Media::Multipart,
        "*" | "" => Media::Wildcard,
        "application" if subtype == "*" => Media::Wildcard,
        "image" if subtype.ends_with("+xml") => Media::Text,
        "image" | "audio" | "video" | "font" | "model" => Media::Binary,
        "text" => Media::Text,
        _ if any_of(&[
            "xml",
            "yaml",
            "javascript",
            "graphql",
            "sql",
            "toml",
            "csv",
            "html",
            "x-sh",
            "jwt",
            "pem",
        ]) && !any_of(&["openxml"]) =>
        {
            Media::Text
        }
        _ if any_of(BINARY) => Media::Binary,
        _ => Media::Other,
    }
}

/// Parts of subtypes that mean bytes.
const BINARY: &[&str] = &[
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

/// The type without its parameters, in lower case.
pub(super) fn essence(media_type: &str) -> String {
    let essence = media_type.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// How much we would like to send a body this way; less is better.
pub(super) fn request_rank(media_type: &str) -> u8 {
    match (kind(media_type), essence(media_type).as_str()) {
        (_, "application/json") => 0,
        // The one JSON patch whose body is simply the fields to change.
        (_, "application/merge-patch+json") => 1,
        (Media::Json, _) => 2,
        (Media::Wildcard, _) => 3,
        (Media::Form, _) => 4,
        (Media::Multipart, "multipart/form-data") => 5,
        (Media::Multipart, _) => 6,
        (Media::JsonLines, _) => 7,
        (Media::Other, _) => 8,
        (Media::Text, "text/plain") => 9,
        (Media::Text, _) => 10,
        (Media::Binary | Media::Events, _) => 11,
    }
}

/// How much we would like to get an answer this way; less is better.
pub(super) fn response_rank(media_type: &str) -> u8 {
    match (kind(media_type), essence(media_type).as_str()) {
        (_, "application/json") => 0,
        (Media::Json, _) => 1,
        (Media::Wildcard, _) => 2,
        (Media::JsonLines, _) => 3,
        (Media::Other, _) => 4,
        (Media::Events, _) => 5,
        (Media::Text, "text/plain") => 6,
        (Media::Text | Media::Form, _) => 7,
        (Media::Binary | Media::Multipart, _) => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: Media, media_types: &[&str]) {
        for media_type in media_types {
            assert_eq!(kind(media_type), expected, "{media_type}");
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
            ],
        );
        check(
            Media::JsonLines,
            &[
                "application/x-ndjson",
                "application/jsonl",
                "application/json-seq",
            ],
        );
        check(Media::Events, &["text/event-stream"]);
        check(Media::Form, &["application/x-www-form-urlencoded"]);
        check(
            Media::Multipart,
            &["multipart/form-data", "multipart/related"],
        );
        check(
            Media::Text,
            &[
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
                "image/*",
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            ],
        );
        check(Media::Wildcard, &["*/*", "application/*", ""]);
        check(Media::Other, &["application/vnd.acme.thing"]);
    }

    #[test]
    fn the_plain_patch_is_preferred() {
        let mut types = [
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/xml",
        ];
        types.sort_by_key(|media_type| request_rank(media_type));
        assert_eq!(types[0], "application/merge-patch+json");
    }
}
