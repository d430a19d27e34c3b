//! Parameter styles: how a value is written into a path, a query, a header or a cookie.
//!
//! The specification says how scalars, lists and flat objects are written. Beyond it, the same
//! everywhere: nulls are left out; a list inside an exploded object repeats its key; whatever
//! else is nested in a flat style travels as JSON text. `deepObject` nests without end:
//!
//! | value                         | written as                         |
//! |-------------------------------|------------------------------------|
//! | `{a: {b: 1}}`                 | `name[a][b]=1`                     |
//! | `["x", "y"]`                  | `name[]=x&name[]=y`                |
//! | `[{a: 1}, {a: 2}]`            | `name[0][a]=1&name[1][a]=2`        |
//!
//! which is what Stripe, Rails and PHP read.

use std::borrow::Cow;

use serde_json::{Map, Value};
use toolscript_catalog::binary;

use super::encode;
use crate::openapi::operation::{Parameter, Style};

/// How one value of a parameter is made safe for where it goes.
type Encode = fn(&str) -> String;

/// A value in the three forms the specification knows.
enum Shape<'a> {
    Scalar(Cow<'a, str>),
    List(Vec<Cow<'a, str>>),
    Fields(Vec<(&'a str, &'a Value)>),
}

/// The text that replaces `{name}` in a path; `None` where nothing is left to write.
pub(super) fn path(parameter: &Parameter, value: &Value) -> Option<String> {
    let shape = shape(value, &parameter.order)?;
    Some(match parameter.style {
        Style::Matrix => matrix(
            &encode::component(&parameter.name),
            parameter.explode,
            &shape,
        ),
        Style::Label => format!(
            ".{}",
            joined(&shape, parameter.explode, ".", encode::component)
        ),
        _ => joined(&shape, parameter.explode, ",", encode::component),
    })
}

/// The `name=value` pairs of a query parameter.
pub(super) fn query(parameter: &Parameter, value: &Value) -> Vec<String> {
    let value_encode = if parameter.allow_reserved {
        encode::reserved
    } else {
        encode::component
    };
    equated(pairs(parameter, value, encode::component, value_encode))
}

/// The text of a header parameter; headers are not percent-encoded.
pub(super) fn header(parameter: &Parameter, value: &Value) -> Option<String> {
    Some(joined(
        &shape(value, &parameter.order)?,
        parameter.explode,
        ",",
        str::to_owned,
    ))
}

/// The `name=value` pairs of a cookie parameter. Style `cookie` writes values as they are,
/// style `form` percent-encodes them.
pub(super) fn cookie(parameter: &Parameter, value: &Value) -> Vec<String> {
    let encode = if parameter.style == Style::Cookie {
        str::to_owned
    } else {
        encode::component
    };
    equated(pairs(parameter, value, encode, encode))
}

/// Names and texts of a parameter in any style that has names, nothing encoded.
pub(super) fn plain_pairs(parameter: &Parameter, value: &Value) -> Vec<(String, String)> {
    pairs(parameter, value, str::to_owned, str::to_owned)
}

fn equated(pairs: Vec<(String, String)>) -> Vec<String> {
    pairs
        .into_iter()
        .map(|(name, text)| format!("{name}={text}"))
        .collect()
}

fn pairs(
    parameter: &Parameter,
    value: &Value,
    encode_name: Encode,
    encode: Encode,
) -> Vec<(String, String)> {
    if parameter.style == Style::DeepObject {
        let pairs = nested(&parameter.name, value, &parameter.order);
        return pairs
            .iter()
            .map(|(name, text)| (encode_name(name), encode(text)))
            .collect();
    }
    let Some(shape) = shape(value, &parameter.order) else {
        return Vec::new();
    };
    let name = encode_name(&parameter.name);
    if parameter.explode {
        return exploded(&name, &shape, encode_name, encode);
    }
    let separator = match parameter.style {
        Style::SpaceDelimited => encode(" "),
        Style::PipeDelimited => encode("|"),
        Style::TabDelimited => encode("\t"),
        _ => ",".to_owned(),
    };
    vec![(name, flat(&shape, encode).join(&separator))]
}

/// A value taken apart into `name[key][key]` names and texts, nothing encoded yet.
pub(super) fn nested(name: &str, value: &Value, order: &[String]) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    nest(name.to_owned(), value, order, &mut pairs);
    pairs
}

fn nest(name: String, value: &Value, order: &[String], pairs: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Array(items) if items.iter().all(is_scalar) => {
            let name = format!("{name}[]");
            pairs.extend(
                items
                    .iter()
                    .filter_map(text)
                    .map(|item| (name.clone(), item.into())),
            );
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                nest(format!("{name}[{index}]"), item, &[], pairs);
            }
        }
        Value::Object(object) if binary::decode(value).is_none() => {
            for (key, value) in ordered(object, order) {
                nest(format!("{name}[{key}]"), value, &[], pairs);
            }
        }
        scalar => pairs.extend(text(scalar).map(|text| (name, text.into_owned()))),
    }
}

/// The fields of an object: declared ones in the order of the document, then the others by name.
pub(super) fn ordered<'a>(
    object: &'a Map<String, Value>,
    order: &[String],
) -> Vec<(&'a str, &'a Value)> {
    let place = |key: &str| {
        order
            .iter()
            .position(|name| name == key)
            .unwrap_or(order.len())
    };
    let mut fields: Vec<_> = object
        .iter()
        .map(|(key, value)| (key.as_str(), value))
        .collect();
    fields.sort_by_key(|(key, _)| (place(key), *key));
    fields
}

/// The text of a value: scalars as they are, bytes as base64, the rest as JSON. `None` for null.
pub(super) fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Object(object) => match object.get(binary::KEY).and_then(Value::as_str) {
            Some(encoded) if object.len() == 1 => Some(Cow::Borrowed(encoded)),
            _ => Some(Cow::Owned(value.to_string())),
        },
        other => Some(Cow::Owned(other.to_string())),
    }
}

/// One encoded `name=value`; the name is encoded whole, brackets too.
pub(super) fn pair(name: &str, encoded_value: &str) -> String {
    format!("{}={encoded_value}", encode::component(name))
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_)) || binary::decode(value).is_some()
}

/// An empty list or object writes nothing, as RFC 6570 has it.
fn shape<'a>(value: &'a Value, order: &[String]) -> Option<Shape<'a>> {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().filter_map(text).collect();
            (!items.is_empty()).then_some(Shape::List(items))
        }
        Value::Object(object) if binary::decode(value).is_none() => {
            let mut fields = ordered(object, order);
            fields.retain(|(_, value)| !value.is_null());
            (!fields.is_empty()).then_some(Shape::Fields(fields))
        }
        scalar => text(scalar).map(Shape::Scalar),
    }
}

/// `a,b,c`, or with `explode` for objects `k=v,k=v`; `separator` tells exploded items apart.
fn joined(shape: &Shape<'_>, explode: bool, separator: &str, encode: Encode) -> String {
    match shape {
        _ if !explode => flat(shape, encode).join(","),
        Shape::Fields(fields) => {
            let field = |(key, value): &(&str, &Value)| {
                format!("{}={}", encode(key), field_text(value, encode))
            };
            fields.iter().map(field).collect::<Vec<_>>().join(separator)
        }
        _ => flat(shape, encode).join(separator),
    }
}

/// The atoms in a row: items, or keys and values in turn.
fn flat(shape: &Shape<'_>, encode: Encode) -> Vec<String> {
    match shape {
        Shape::Scalar(text) => vec![encode(text)],
        Shape::List(items) => items.iter().map(|item| encode(item)).collect(),
        Shape::Fields(fields) => {
            let atoms = |(key, value): &(&str, &Value)| [encode(key), field_text(value, encode)];
            fields.iter().flat_map(atoms).collect()
        }
    }
}

fn field_text(value: &Value, encode: Encode) -> String {
    text(value).map(|text| encode(&text)).unwrap_or_default()
}

/// One pair for each item under the same name, or for each field under its own.
fn exploded(
    name: &str,
    shape: &Shape<'_>,
    encode_name: Encode,
    encode: Encode,
) -> Vec<(String, String)> {
    let named = |text: &Cow<'_, str>| (name.to_owned(), encode(text));
    match shape {
        Shape::Scalar(text) => vec![named(text)],
        Shape::List(items) => items.iter().map(named).collect(),
        Shape::Fields(fields) => {
            let field = |(key, value): &(&str, &Value)| -> Vec<(String, String)> {
                let items = value
                    .as_array()
                    .map_or(std::slice::from_ref(*value), Vec::as_slice);
                let texts = items.iter().filter_map(text);
                texts
                    .map(|text| (encode_name(key), encode(&text)))
                    .collect()
            };
            fields.iter().flat_map(field).collect()
        }
    }
}

/// `;name=a,b` or `;name=a;name=b`; a name without a value stands alone.
fn matrix(name: &str, explode: bool, shape: &Shape<'_>) -> String {
    let piece = |name: &str, value: &str| match value {
        "" => format!(";{name}"),
        value => format!(";{name}={value}"),
    };
    match shape {
        Shape::List(items) if explode => items
            .iter()
            .map(|item| piece(name, &encode::component(item)))
            .collect(),
        Shape::Fields(fields) if explode => fields
            .iter()
            .map(|(key, value)| {
                piece(
                    &encode::component(key),
                    &field_text(value, encode::component),
                )
            })
            .collect(),
        _ => piece(name, &flat(shape, encode::component).join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parameter(style: Style, explode: bool) -> Parameter {
        Parameter {
            name: "p".into(),
            style,
            explode,
            ..Parameter::default()
        }
    }

    #[track_caller]
    fn queries(style: Style, explode: bool, value: &Value, expected: &str) {
        assert_eq!(query(&parameter(style, explode), value).join("&"), expected);
    }

    #[test]
    fn deep_objects_nest_without_end() {
        let deep =
            |value: Value, expected: &str| queries(Style::DeepObject, true, &value, expected);
        deep(json!({"a": {"b": {"c": 1}}}), "p%5Ba%5D%5Bb%5D%5Bc%5D=1");
        deep(json!(["x", 2]), "p%5B%5D=x&p%5B%5D=2");
        deep(
            json!([{"price": "a"}, {"price": "b"}]),
            "p%5B0%5D%5Bprice%5D=a&p%5B1%5D%5Bprice%5D=b",
        );
        deep(
            json!({"gte": 1, "tags": ["a"]}),
            "p%5Bgte%5D=1&p%5Btags%5D%5B%5D=a",
        );
        deep(json!("plain"), "p=plain");
    }

    #[test]
    fn lists_use_the_separator_of_their_style() {
        let list = json!(["a,b", "c d", true, 1.5]);
        queries(Style::Form, false, &list, "p=a%2Cb,c%20d,true,1.5");
        queries(
            Style::SpaceDelimited,
            false,
            &list,
            "p=a%2Cb%20c%20d%20true%201.5",
        );
        queries(
            Style::PipeDelimited,
            false,
            &list,
            "p=a%2Cb%7Cc%20d%7Ctrue%7C1.5",
        );
        queries(
            Style::TabDelimited,
            false,
            &list,
            "p=a%2Cb%09c%20d%09true%091.5",
        );
        queries(
            Style::PipeDelimited,
            true,
            &list,
            "p=a%2Cb&p=c%20d&p=true&p=1.5",
        );
    }

    #[test]
    fn nothing_is_written_for_nothing() {
        for nothing in [
            json!(null),
            json!([]),
            json!({}),
            json!([null]),
            json!({"a": null}),
        ] {
            queries(Style::Form, true, &nothing, "");
            queries(Style::Form, false, &nothing, "");
            assert_eq!(path(&parameter(Style::Simple, false), &nothing), None);
        }
    }

    #[test]
    fn nested_values_in_flat_styles_are_json() {
        queries(
            Style::Form,
            true,
            &json!({"values": ["a", "b"]}),
            "values=a&values=b",
        );
        queries(
            Style::Form,
            true,
            &json!({"f": {"a": 1}}),
            "f=%7B%22a%22%3A1%7D",
        );
        queries(
            Style::Form,
            false,
            &json!([{"a": 1}]),
            "p=%7B%22a%22%3A1%7D",
        );
    }

    #[test]
    fn declared_fields_come_first_and_in_their_order() {
        let object = json!({"b": 1, "x": 2, "a": 3, "z": 4});
        let parameter = Parameter {
            order: vec!["z".into(), "x".into()],
            ..parameter(Style::Form, true)
        };
        assert_eq!(query(&parameter, &object).join("&"), "z=4&x=2&a=3&b=1");
    }

    #[test]
    fn bytes_travel_as_base64() {
        queries(Style::Form, true, &binary::encode(&[0, 255]), "p=AP8%3D");
        queries(
            Style::DeepObject,
            true,
            &json!({"a": binary::encode(&[0, 255])}),
            "p%5Ba%5D=AP8%3D",
        );
    }

    #[test]
    fn cookies_of_both_kinds() {
        let value = json!(["a b", "c"]);
        assert_eq!(
            cookie(&parameter(Style::Cookie, true), &value),
            ["p=a b", "p=c"]
        );
        assert_eq!(
            cookie(&parameter(Style::Form, true), &value),
            ["p=a%20b", "p=c"]
        );
        assert_eq!(
            cookie(&parameter(Style::Form, false), &value),
            ["p=a%20b,c"]
        );
    }

    #[test]
    fn headers_are_not_encoded() {
        let object = json!({"a b": "c/d", "e": 1});
        let text = |explode| header(&parameter(Style::Simple, explode), &object).unwrap();
        assert_eq!(text(true), "a b=c/d,e=1");
        assert_eq!(text(false), "a b,c/d,e,1");
    }
}
