//! Examples: the first value a place shows, wherever the versions of the specification keep it.

use serde_json::Value;
use toolscript_catalog::Node;

use super::view::View;

/// The most bytes an example may have; a longer one shows nothing anybody would read.
const LARGEST: usize = 16 << 10;

/// The first example of a parameter, a media type or a schema.
pub(super) fn first(view: &View<'_>) -> Option<Value> {
    let own = view.raw("example").map(|example| example.node);
    own.map(Node::to_value)
        .or_else(|| listed(view))
        .filter(is_worth_showing)
}

fn listed(view: &View<'_>) -> Option<Value> {
    let examples = view.raw("examples")?;
    if let Node::Array(values) = examples.node {
        return values.first().map(Node::to_value);
    }
    let values = examples.children();
    let value = |(_, example): &(&str, View<'_>)| {
        let value = ["value", "dataValue"]
            .iter()
            .find_map(|key| example.node.get(key));
        value.map(Node::to_value)
    };
    values.iter().find_map(value)
}

fn is_worth_showing(value: &Value) -> bool {
    !value.is_null() && serde_json::to_string(value).is_ok_and(|text| text.len() <= LARGEST)
}
