//! Pages as a reader sees them.

use serde_json::json;

use super::*;
use crate::{
    Body, Effect, FunctionName, Link, Listing, Node, Outcome,
    function::Returns,
    schema::{Lone, Reader},
    ty::Extra,
};

/// A small shop; `source` is its name.
fn shop(source: &str) -> Entry {
    let schemas = json!({"$defs": {
        "Order": {"type": "object", "description": "What somebody bought.", "required": ["id", "lines"], "properties": {
            "id": {"type": "integer", "format": "int64", "readOnly": true},
            "state": {"enum": ["open", "paid"], "default": "open", "description": "Where it is."},
            "lines": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Line"}},
            "ship-to": {"type": "object", "properties": {"city": {"type": "string", "example": "Bern"}}},
            "previous": {"$ref": "#/$defs/Order"}
        }},
        "Line": {"type": "object", "required": ["sku", "count"], "properties": {
            "sku": {"type": "string"}, "count": {"type": "integer", "minimum": 1}}}
    }, "$ref": "#/$defs/Order"});
    let root = Node::from(&schemas);
    let lone = Lone {
        root: &root,
        name: "Root",
    };
    let mut reader = Reader::new(&lone);
    let order = reader.read(0, &root, "order");
    let (types, _) = reader.finish();
    let get = Function {
        name: FunctionName::clean("get_order"),
        summary: "Gets an order".into(),
        description: "Gets an order.\n\nPaid ones only for a year. ]] --]]".into(),
        endpoint: "GET /orders/{id}".into(),
        effect: Effect::Reads,
        params: Object {
            fields: vec![
                Field {
                    description: "Its number".into(),
                    ..Field::required("id", Type::integer())
                },
                Field {
                    default: Some(json!(false)),
                    ..Field::optional("with lines", Type::Boolean)
                },
            ],
            extra: Extra::Unspecified,
        },
        returns: Returns {
            ty: order.clone(),
            description: "The order".into(),
        },
        errors: vec![Outcome {
            status: "404".into(),
            description: "No such order".into(),
        }],
        links: vec![Link {
            url: "https://example.com/orders".into(),
            description: "More".into(),
        }],
        ..Function::default()
    };
    let create = Function {
        name: FunctionName::clean("create_order"),
        summary: "Orders something".into(),
        body: Some(Body {
            ty: order,
            required: true,
            ..Body::default()
        }),
        returns: Returns {
            ty: Type::Null,
            ..Returns::default()
        },
        deprecated: true,
        pages: true,
        ..Function::default()
    };
    let listing = Listing {
        functions: vec![get, create],
        types,
        ..Listing::default()
    };
    Entry::new(SourceName::parse(source).unwrap(), listing)
}

fn subject<'a>(entry: &'a Entry, name: &str) -> Subject<'a> {
    Subject::Function(entry, entry.function(name).unwrap())
}

#[test]
fn a_page_has_all_there_is_to_know() {
    let shop = shop("shop");
    insta::assert_snapshot!(page(&shop, shop.function("get_order").unwrap()));
}

#[test]
fn a_page_of_two_functions_has_each_type_once() {
    let shop = shop("shop");
    let page = pages(
        &[subject(&shop, "get_order"), subject(&shop, "create_order")],
        usize::MAX,
    );
    assert_eq!(page.text.matches("export type Order =").count(), 1);
    insta::assert_snapshot!(page.text);
}

#[test]
fn two_sources_with_one_type_name_stay_apart() {
    let (shop, store) = (shop("shop"), shop("store"));
    let page = pages(
        &[subject(&shop, "get_order"), subject(&store, "get_order")],
        usize::MAX,
    );
    assert!(
        page.text.contains("export type shop_Order ="),
        "{}",
        page.text
    );
    assert!(page.text.contains("): store_Order end"), "{}", page.text);
}

#[test]
fn what_does_not_fit_is_named() {
    let shop = shop("shop");
    let page = pages(&[subject(&shop, "get_order")], 600);
    assert_eq!(page.omitted, ["shop.Order"]);
    assert!(
        page.text
            .contains("1 more types are left out for length; ask for them by name: shop.Order")
    );
}

#[test]
fn the_brief_form_fits_a_line() {
    let shop = shop("shop");
    let brief = |name| render::brief(&shop.name, shop.function(name).unwrap());
    assert_eq!(
        brief("get_order"),
        "shop.get_order({id, [\"with lines\"]?}): Order"
    );
    assert_eq!(brief("create_order"), "shop.create_order(body: Order): ()");
}
