//! How lists come in pages.

use std::fmt::Write as _;

use axum::{
    Json,
    http::header,
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

const LONGEST_PAGE: usize = 50;

/// Which part of a list is wanted.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub(super) struct Paging {
    page: usize,
    limit: usize,
}

impl Default for Paging {
    fn default() -> Self {
        Self { page: 1, limit: 5 }
    }
}

/// One page of a list; a `Link` header says where the next one is and repeats the filters.
/// Their values are words and numbers by now, so nothing in them needs escaping.
pub(super) fn page<T: Serialize>(
    query: &[(String, String)],
    filters: &[&str],
    paging: &Paging,
    all: &[T],
) -> Response {
    let limit = paging.limit.clamp(1, LONGEST_PAGE);
    let number = paging.page.max(1);
    let start = (number - 1).saturating_mul(limit).min(all.len());
    let end = (start + limit).min(all.len());
    let body = Json(json!({"items": &all[start..end], "total": all.len()}));
    if end == all.len() {
        return body.into_response();
    }
    let kept = query
        .iter()
        .filter(|(name, _)| filters.contains(&name.as_str()));
    let mut next = format!("?page={}&limit={limit}", number + 1);
    for (name, text) in kept {
        let _infallible = write!(next, "&{name}={text}");
    }
    let link = format!("<{next}>; rel=\"next\"");
    ([(header::LINK, link)], body).into_response()
}
