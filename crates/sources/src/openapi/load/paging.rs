//! Paging: how to ask for the next page, where a document makes it plain.

use toolscript_catalog::{Field, Function, Type, Types};

use crate::openapi::operation::{Location, Operation, Paging};

/// Parameters that take a cursor, without case and separators.
const CURSOR_PARAMETERS: &[&str] = &[
    "cursor",
    "pagetoken",
    "nextpagetoken",
    "nexttoken",
    "pagecursor",
    "nextcursor",
    "startcursor",
    "aftercursor",
    "after",
    "marker",
    "continuationtoken",
    "continue",
    "continuation",
    "paginationtoken",
    "starttoken",
    "pageafter",
    "bookmark",
    "nextpage",
    "page[after]",
    "page[cursor]",
];

/// Fields of an answer that hold the next cursor, without case and separators.
const CURSOR_FIELDS: &[&str] = &[
    "nextcursor",
    "nextpagetoken",
    "nexttoken",
    "nextpagecursor",
    "nextmarker",
    "continuationtoken",
    "nextcontinuationtoken",
    "paginationtoken",
    "endcursor",
    "continue",
    "aftercursor",
    "cursornext",
    "nextbookmark",
];

/// Fields that hold the next cursor if the parameter has the very same name.
const SAME_NAME_FIELDS: &[&str] = &["cursor", "marker", "bookmark", "after", "nextpage"];

/// Objects around the cursor.
const AROUND: &[&str] = &[
    "responsemetadata",
    "meta",
    "metadata",
    "paging",
    "pagination",
    "pageinfo",
    "cursors",
    "cursor",
    "page",
    "pagingmetadata",
    "paginginfo",
    "listmetadata",
];

/// Parameters by which an API counts its pages, besides cursors.
const PAGE_PARAMETERS: &[&str] = &[
    "page",
    "pagenumber",
    "pagenum",
    "pageno",
    "pageindex",
    "offset",
    "skip",
    "start",
    "startat",
    "startindex",
    "page[number]",
    "page[offset]",
];

/// Fields of an answer that hold the address of the next page.
const ADDRESS_FIELDS: &[&str] = &[
    "nexturl",
    "nexturi",
    "nextlink",
    "nexthref",
    "nextpageurl",
    "nextpageuri",
    "nextpagelink",
    "@odatanextlink",
];

/// Objects that hold nothing but addresses.
const LINKS: &[&str] = &["links", "pages"];

/// Parameters that take the id of the last item seen.
const LAST_ID_PARAMETERS: &[&str] = &["startingafter", "after", "afterid"];

/// Flags that say there is more.
const MORE_FLAGS: &[&str] = &["hasmore", "hasnextpage", "hasnext"];

/// Lists the items may stand in.
const ITEM_LISTS: &[&str] = &["data", "items", "results", "entries"];

/// How to walk through the pages of a function.
pub(super) fn detect(
    function: &Function,
    operation: &Operation,
    types: &Types,
    has_link_header: bool,
) -> Option<Paging> {
    if operation.method != "GET" && operation.method != "POST" && operation.method != "QUERY" {
        return None;
    }
    last_id(function, operation, types)
        .or_else(|| cursor(function, operation, types))
        .or_else(|| address(function, operation, types))
        .or_else(|| has_link_header.then_some(Paging::LinkHeader))
}

fn cursor(function: &Function, operation: &Operation, types: &Types) -> Option<Paging> {
    let parameter = query_parameter(operation, CURSOR_PARAMETERS)?;
    let field = cursor_field(&function.returns.ty, types, &plain(&parameter), 2)?;
    Some(Paging::Cursor { parameter, field })
}

/// The pointer to the next cursor inside an answer.
fn cursor_field(ty: &Type, types: &Types, parameter: &str, depth: usize) -> Option<String> {
    let object = ty.as_object(types)?;
    // Beside a flag, a cursor that is merely called so comes with the last page too.
    let has_flag = object.fields.iter().any(|field| is_more_flag(field, types));
    let fits = |field: &&Field| {
        let name = plain(&field.name);
        let same = name == parameter && SAME_NAME_FIELDS.contains(&name.as_str());
        let named = CURSOR_FIELDS.contains(&name.as_str())
            || (same && !has_flag)
            || name == format!("next{parameter}");
        named && is_cursor(&field.ty, types)
    };
    if let Some(field) = object.fields.iter().find(fits) {
        return Some(format!("/{}", escape(&field.name)));
    }
    if depth == 0 {
        return None;
    }
    let around = object
        .fields
        .iter()
        .filter(|field| AROUND.contains(&plain(&field.name).as_str()));
    around.into_iter().find_map(|field| {
        let inner = cursor_field(&field.ty, types, parameter, depth - 1)?;
        Some(format!("/{}{inner}", escape(&field.name)))
    })
}

/// The address of the next page: what its query says goes into the parameters.
fn address(function: &Function, operation: &Operation, types: &Types) -> Option<Paging> {
    let parameter = query_parameter(operation, PAGE_PARAMETERS)
        .or_else(|| query_parameter(operation, CURSOR_PARAMETERS))?;
    let field = address_field(&function.returns.ty, types, Among::Fields, 2)?;
    Some(Paging::Cursor { parameter, field })
}

/// What stands around a field that may hold an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Among {
    Fields,
    Links,
}

/// The pointer to the address of the next page inside an answer.
fn address_field(ty: &Type, types: &Types, among: Among, depth: usize) -> Option<String> {
    let object = ty.as_object(types)?;
    let own = object.fields.iter().find_map(|field| {
        let at = format!("/{}", escape(&field.name));
        match plain(&field.name).as_str() {
            "next" if is_text(&field.ty, types) => {
                (among == Among::Links || is_uri(&field.ty, types)).then_some(at)
            }
            "next" => {
                let inner = field.ty.as_object(types)?;
                let href = inner.fields.iter().find(|field| &*field.name == "href")?;
                is_text(&href.ty, types).then(|| format!("{at}/href"))
            }
            name => (ADDRESS_FIELDS.contains(&name) && is_text(&field.ty, types)).then_some(at),
        }
    });
    if own.is_some() || depth == 0 {
        return own;
    }
    object.fields.iter().find_map(|field| {
        let name = plain(&field.name);
        let among = match name.as_str() {
            name if LINKS.contains(&name) => Among::Links,
            name if AROUND.contains(&name) => Among::Fields,
            _ => return None,
        };
        let inner = address_field(&field.ty, types, among, depth - 1)?;
        Some(format!("/{}{inner}", escape(&field.name)))
    })
}

fn is_text(ty: &Type, types: &Types) -> bool {
    matches!(not_null(ty.resolve(types)).resolve(types), Type::String(_))
}

fn is_uri(ty: &Type, types: &Types) -> bool {
    match not_null(ty.resolve(types)).resolve(types) {
        Type::String(text) => matches!(
            text.format.as_deref(),
            Some("uri" | "url" | "uri-reference")
        ),
        _ => false,
    }
}

/// `has_more`, and the `id` of the last of the items.
fn last_id(function: &Function, operation: &Operation, types: &Types) -> Option<Paging> {
    let parameter = query_parameter(operation, LAST_ID_PARAMETERS)?;
    let object = function.returns.ty.as_object(types)?;
    let named = |names: &[&str], field: &Field| names.contains(&plain(&field.name).as_str());
    let more = object
        .fields
        .iter()
        .find(|field| is_more_flag(field, types))?;
    let items = object
        .fields
        .iter()
        .find(|field| named(ITEM_LISTS, field) && has_ids(&field.ty, types))?;
    Some(Paging::LastId {
        parameter,
        items: format!("/{}", escape(&items.name)),
        more: format!("/{}", escape(&more.name)),
    })
}

fn is_more_flag(field: &Field, types: &Types) -> bool {
    let is_flag = matches!(
        not_null(field.ty.resolve(types)).resolve(types),
        Type::Boolean
    );
    is_flag && MORE_FLAGS.contains(&plain(&field.name).as_str())
}

fn has_ids(ty: &Type, types: &Types) -> bool {
    let Type::Array(list) = not_null(ty.resolve(types)).resolve(types) else {
        return false;
    };
    has_id(&list.items, types, 3)
}

fn has_id(ty: &Type, types: &Types, depth: usize) -> bool {
    if let Some(object) = ty.as_object(types) {
        return object.fields.iter().any(|field| &*field.name == "id");
    }
    match ty.resolve(types) {
        Type::Union(union) if 0 < depth => union
            .variants
            .iter()
            .all(|variant| has_id(variant, types, depth - 1)),
        _ => false,
    }
}

/// Whether a value of this type can be handed back.
fn is_cursor(ty: &Type, types: &Types) -> bool {
    match not_null(ty.resolve(types)).resolve(types) {
        Type::String(_) | Type::Any => true,
        Type::Number(number) => number.integer,
        Type::Union(union) => union
            .variants
            .iter()
            .all(|variant| is_cursor(variant, types)),
        _ => false,
    }
}

fn not_null(ty: &Type) -> &Type {
    match ty {
        Type::Nullable { inner } => inner,
        other => other,
    }
}

/// The key of the first query parameter with one of these names.
fn query_parameter(operation: &Operation, names: &[&str]) -> Option<String> {
    let in_query = operation
        .parameters
        .iter()
        .filter(|parameter| parameter.location == Location::Query);
    let mut keys = in_query.map(|parameter| parameter.key.clone());
    keys.find(|key| names.contains(&plain(key).as_str()))
}

/// A name without case and separators.
fn plain(name: &str) -> String {
    let kept = name
        .chars()
        .filter(|letter| !matches!(letter, '_' | '-' | '.' | '$'));
    kept.map(|letter| letter.to_ascii_lowercase()).collect()
}

fn escape(name: &str) -> String {
    super::scan::escape(name)
}

#[cfg(test)]
mod tests {
    use toolscript_catalog::ty::Text;

    use super::*;
    use crate::openapi::operation::Parameter;

    fn object(fields: &[(&str, Type)]) -> Type {
        Type::object(
            fields
                .iter()
                .map(|(name, ty)| Field::optional(*name, ty.clone()))
                .collect(),
        )
    }

    #[track_caller]
    fn check(parameter: &str, answer: Type, expected: impl Into<Option<Paging>>) {
        let query = Parameter {
            key: parameter.into(),
            name: parameter.into(),
            ..Parameter::default()
        };
        let operation = Operation {
            method: "GET".into(),
            parameters: vec![query],
            ..Operation::default()
        };
        let mut function = Function::default();
        function.returns.ty = answer;
        assert_eq!(
            detect(&function, &operation, &Types::new(), false),
            expected.into(),
            "{parameter}"
        );
    }

    fn pair(parameter: &str, field: &str) -> Paging {
        Paging::Cursor {
            parameter: parameter.into(),
            field: field.into(),
        }
    }

    #[test]
    fn cursors_and_the_fields_that_hold_them() {
        check(
            "pageToken",
            object(&[("nextPageToken", Type::string())]),
            pair("pageToken", "/nextPageToken"),
        );
        check(
            "cursor",
            object(&[("next_cursor", Type::string().nullable())]),
            pair("cursor", "/next_cursor"),
        );
        check(
            "cursor",
            object(&[(
                "response_metadata",
                object(&[("next_cursor", Type::string())]),
            )]),
            pair("cursor", "/response_metadata/next_cursor"),
        );
        check(
            "after",
            object(&[(
                "paging",
                object(&[("cursors", object(&[("after", Type::string())]))]),
            )]),
            pair("after", "/paging/cursors/after"),
        );
        check(
            "continue",
            object(&[("metadata", object(&[("continue", Type::string())]))]),
            pair("continue", "/metadata/continue"),
        );
        check(
            "NextToken",
            object(&[("NextToken", Type::string())]),
            pair("NextToken", "/NextToken"),
        );
    }

    #[test]
    fn the_last_id_with_a_flag() {
        let items = Type::array(object(&[("id", Type::string())]));
        let answer = object(&[
            ("data", items),
            ("has_more", Type::Boolean),
            ("last_id", Type::string()),
        ]);
        let paging = |parameter: &str| {
            let (parameter, items, more) = (
                parameter.to_owned(),
                "/data".to_owned(),
                "/has_more".to_owned(),
            );
            Some(Paging::LastId {
                parameter,
                items,
                more,
            })
        };
        check("starting_after", answer.clone(), paging("starting_after"));
        check("after", answer, paging("after"));
    }

    #[test]
    fn the_address_of_the_next_page() {
        let uri = Type::String(Text {
            format: Some("uri".into()),
            ..Text::default()
        });
        let links = |fields: &[(&str, Type)]| object(&[("links", object(fields))]);
        check(
            "page",
            object(&[("next", uri.clone().nullable())]),
            pair("page", "/next"),
        );
        check(
            "offset",
            links(&[("next", Type::string())]),
            pair("offset", "/links/next"),
        );
        check(
            "page",
            object(&[(
                "_links",
                object(&[("next", object(&[("href", Type::string())]))]),
            )]),
            pair("page", "/_links/next/href"),
        );
        check(
            "$skip",
            object(&[("@odata.nextLink", Type::string())]),
            pair("$skip", "/@odata.nextLink"),
        );
        check(
            "cursor",
            object(&[("next_cursor", uri)]),
            pair("cursor", "/next_cursor"),
        );
    }

    #[test]
    fn what_is_not_plain_is_left_alone() {
        check("page", object(&[("next", Type::string())]), None);
        check("page", object(&[("next_cursor", Type::string())]), None);
        check(
            "cursor",
            object(&[("cursor", Type::string()), ("has_more", Type::Boolean)]),
            None,
        );
        check("limit", object(&[("next_url", Type::string())]), None);
        check("cursor", object(&[("items", Type::array(Type::Any))]), None);
        check(
            "after",
            object(&[
                ("has_more", Type::Boolean),
                ("data", Type::array(Type::string())),
            ]),
            None,
        );
    }
}
