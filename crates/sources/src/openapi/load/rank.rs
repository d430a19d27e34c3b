//! Which of several media types a document offers is taken.

use crate::openapi::media::{Media, essence};

/// How much we would like to send a body this way; less is better.
pub(super) fn request_rank(media_type: &str) -> u8 {
    match (Media::of(media_type), essence(media_type).as_str()) {
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
    match (Media::of(media_type), essence(media_type).as_str()) {
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
