//! The next page: which parameters ask for it.
//!
//! A `Link: <…>; rel="next"` header is understood wherever it comes; else the plan of the
//! document says what to look for. Only the query of a link is used, never its path, so that
//! a page cannot lead to another endpoint.

use http::{HeaderMap, header};
use serde_json::{Map, Value};
use url::Url;

use crate::{
    openapi::operation::{Location, Operation, Paging, Parameter},
    outbound::Answer,
};

/// The parameters that ask for the page after this answer; `None` at the end.
pub(super) fn next(
    operation: &Operation,
    params: &Map<String, Value>,
    answer: &Answer,
    value: &Value,
) -> Option<Map<String, Value>> {
    let next = match next_link(&answer.headers) {
        Some(link) => follow(operation, params, &answer.url, &link),
        None => planned(operation, params, &answer.url, value),
    };
    // A page that leads to itself would be read for ever.
    next.filter(|next| next != params)
}

fn planned(
    operation: &Operation,
    params: &Map<String, Value>,
    here: &Url,
    value: &Value,
) -> Option<Map<String, Value>> {
    match operation.paging.as_ref()? {
        Paging::LinkHeader => None,
        Paging::Cursor { parameter, field } => match value.pointer(field)? {
            Value::String(text) if text.is_empty() => None,
            Value::String(text) if is_address(text) => follow(operation, params, here, text),
            cursor @ (Value::String(_) | Value::Number(_)) => Some(with(params, parameter, cursor)),
            _ => None,
        },
        Paging::LastId {
            parameter,
            items,
            more,
        } => {
            let has_more = value
                .pointer(more)
                .is_some_and(|more| *more == Value::Bool(true));
            let last = value.pointer(items)?.as_array()?.last()?;
            has_more.then(|| Some(with(params, parameter, last.get("id")?)))?
        }
    }
}

/// Whether a cursor is really the address of the next page.
fn is_address(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://") || text.starts_with(['/', '?'])
}

fn with(params: &Map<String, Value>, key: &str, value: &Value) -> Map<String, Value> {
    let mut params = params.clone();
    params.insert(key.to_owned(), value.clone());
    params
}

/// Takes the query of a link on the same origin over into the parameters.
fn follow(
    operation: &Operation,
    params: &Map<String, Value>,
    here: &Url,
    link: &str,
) -> Option<Map<String, Value>> {
    let link = here.join(link).ok()?;
    if link.origin() != here.origin() {
        return None;
    }
    let mut next = params.clone();
    for (name, text) in link.query_pairs() {
        let is_it = |parameter: &&Parameter| {
            parameter.location == Location::Query && parameter.name == name
        };
        let Some(parameter) = operation.parameters.iter().find(is_it) else {
            continue;
        };
        let before = params.get(&parameter.key);
        // A list that is there already came along by repetition; it does not change between pages.
        if before.is_some_and(|before| before.is_array() || before.is_object()) {
            continue;
        }
        next.insert(parameter.key.clone(), typed(&text, before));
    }
    Some(next)
}

/// A value as the kind the parameter had before; without one, whole numbers are numbers.
fn typed(text: &str, before: Option<&Value>) -> Value {
    match before {
        Some(Value::String(_)) => Value::String(text.to_owned()),
        Some(Value::Bool(_)) => text.parse().map_or_else(|_| text.into(), Value::Bool),
        Some(_) => serde_json::from_str::<serde_json::Number>(text)
            .map_or_else(|_| text.into(), Value::Number),
        None => whole_number(text).unwrap_or_else(|| text.into()),
    }
}

/// A number that reads back as the same text and that a script can hold exactly.
fn whole_number(text: &str) -> Option<Value> {
    const LARGEST: i64 = 1 << 53;
    let number: i64 = text.parse().ok()?;
    (number.to_string() == text && number.abs() <= LARGEST).then(|| number.into())
}

/// The target of the first link that is called `next`.
fn next_link(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all(header::LINK).iter();
    let mut links = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(links);
    links
        .find(|(_, rel)| rel.split(' ').any(|word| word.eq_ignore_ascii_case("next")))
        .map(|(target, _)| target)
}

/// The links of one header value, each with its `rel`.
fn links(mut text: &str) -> Vec<(String, String)> {
    let mut links = Vec::new();
    while let Some((_, after)) = text.split_once('<') {
        let Some((target, rest)) = after.split_once('>') else {
            break;
        };
        let (rel, behind) = rel(rest);
        links.push((target.trim().to_owned(), rel));
        text = behind;
    }
    links
}

/// The `rel` among the parameters of a link, and what follows the link. Quoted texts may hold
/// commas and semicolons.
fn rel(text: &str) -> (String, &str) {
    let mut is_quoted = false;
    let end = text.find(|letter| {
        is_quoted ^= letter == '"';
        letter == ',' && !is_quoted
    });
    let (parameters, behind) = text.split_at(end.unwrap_or(text.len()));
    let rel = parameters
        .split(';')
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("rel"))
        .map(|(_, value)| value.trim().trim_matches('"').to_owned());
    (rel.unwrap_or_default(), behind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderValue, StatusCode};
    use serde_json::json;

    fn operation(paging: Option<Paging>) -> Operation {
        let parameter = |name: &str| Parameter {
            key: format!("{name}_key"),
            name: name.into(),
            ..Parameter::default()
        };
        let parameters = ["page", "limit", "q", "tags"].map(parameter).to_vec();
        Operation {
            parameters,
            paging,
            ..Operation::default()
        }
    }

    fn answer(link: &str) -> Answer {
        let mut headers = HeaderMap::new();
        if !link.is_empty() {
            headers.insert(header::LINK, HeaderValue::from_str(link).unwrap());
        }
        Answer {
            status: StatusCode::OK,
            headers,
            body: bytes::Bytes::new(),
            url: Url::parse("https://a.io/pets?page=1").unwrap(),
        }
    }

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[track_caller]
    fn links_to(link: &str, params: &Value, expected: &Value) {
        let found = next(
            &operation(None),
            &object(params),
            &answer(link),
            &Value::Null,
        );
        assert_eq!(
            found.map_or(Value::Null, Value::Object),
            *expected,
            "{link}"
        );
    }

    #[test]
    fn links_become_parameters() {
        links_to(
            "<https://a.io/pets?page=2>; rel=\"next\"",
            &json!({}),
            &json!({"page_key": 2}),
        );
        links_to(
            "</pets?page=2>; rel=next",
            &json!({"page_key": "1"}),
            &json!({"page_key": "2"}),
        );
        links_to(
            "<?page=2&limit=5>; rel=\"next\"",
            &json!({"page_key": 1}),
            &json!({"page_key": 2, "limit_key": 5}),
        );
        links_to(
            "<https://a.io/pets?page=1>; rel=\"prev\"; title=\"a, <b>\", <https://a.io/pets?page=3>; rel=\"last next\"",
            &json!({"page_key": 2}),
            &json!({"page_key": 3}),
        );
        links_to(
            "<?page=007>; rel=next",
            &json!({}),
            &json!({"page_key": "007"}),
        );
        links_to(
            "<?page=99999999999999999999>; rel=next",
            &json!({}),
            &json!({"page_key": "99999999999999999999"}),
        );
    }

    #[test]
    fn only_the_query_of_a_link_counts() {
        let params = json!({"page_key": 1, "tags_key": ["a", "b"]});
        let expected = json!({"page_key": 2, "tags_key": ["a", "b"]});
        links_to(
            "<https://a.io/repositories/7?page=2&tags=a&tags=b&api_key=x>; rel=next",
            &params,
            &expected,
        );
    }

    #[test]
    fn some_links_lead_nowhere() {
        let here = json!({"page_key": 2});
        links_to(
            "<https://b.io/pets?page=2>; rel=\"next\"",
            &json!({}),
            &json!(null),
        );
        links_to(
            "<http://a.io/pets?page=2>; rel=\"next\"",
            &json!({}),
            &json!(null),
        );
        links_to(
            "<https://a.io/pets?page=2>; rel=\"next\"",
            &here,
            &json!(null),
        );
        links_to("<https://a.io/pets/2>; rel=\"next\"", &here, &json!(null));
        links_to(
            "<https://a.io/pets?page=3>; rel=\"last\"",
            &here,
            &json!(null),
        );
        links_to("<https://a.io/pets?page=3", &here, &json!(null));
        links_to("", &here, &json!(null));
    }

    #[track_caller]
    fn pages(paging: &Paging, value: &Value, expected: &Value) {
        let operation = operation(Some(paging.clone()));
        let params = object(&json!({"limit_key": 5, "q_key": "c1"}));
        let found = next(&operation, &params, &answer(""), value);
        assert_eq!(found.map_or(Value::Null, Value::Object), *expected);
    }

    #[test]
    fn cursors_are_carried_over() {
        let cursor = Paging::Cursor {
            parameter: "q_key".into(),
            field: "/meta/next".into(),
        };
        pages(
            &cursor,
            &json!({"meta": {"next": "c2"}}),
            &json!({"limit_key": 5, "q_key": "c2"}),
        );
        pages(
            &cursor,
            &json!({"meta": {"next": 7}}),
            &json!({"limit_key": 5, "q_key": 7}),
        );
        pages(
            &cursor,
            &json!({"meta": {"next": "/pets?q=c3&limit=5"}}),
            &json!({"limit_key": 5, "q_key": "c3"}),
        );
        for end in [
            json!(null),
            json!(""),
            json!(false),
            json!("c1"),
            json!("https://b.io/?q=2"),
        ] {
            pages(&cursor, &json!({"meta": {"next": end}}), &json!(null));
        }
        pages(&cursor, &json!([]), &json!(null));
    }

    #[test]
    fn the_last_id_is_carried_over() {
        let last = Paging::LastId {
            parameter: "q_key".into(),
            items: "/data".into(),
            more: "/has_more".into(),
        };
        let data = json!([{"id": "a"}, {"id": "b"}]);
        pages(
            &last,
            &json!({"data": data, "has_more": true}),
            &json!({"limit_key": 5, "q_key": "b"}),
        );
        pages(
            &last,
            &json!({"data": data, "has_more": false}),
            &json!(null),
        );
        pages(&last, &json!({"data": [], "has_more": true}), &json!(null));
        pages(
            &last,
            &json!({"data": [{}], "has_more": true}),
            &json!(null),
        );
    }
}
