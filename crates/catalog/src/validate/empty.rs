//! Empty tables: Luau has one for lists and objects, JSON has two, and the type says which is meant.

use serde_json::{Map, Value};

use crate::{Type, Types, ty::Extra};

/// Makes every empty list or object in a value that came from Luau what its type wants.
pub fn settle_empty(ty: &Type, types: &Types, value: &mut Value) {
    match (ty.resolve(types), value) {
        (Type::Nullable { inner }, value) => settle_empty(inner, types, value),
        (wanted, value) if is_misplaced(wanted, types, value) => *value = other(value),
        (Type::Array(array), Value::Array(items)) => {
            for item in items {
                settle_empty(&array.items, types, item);
            }
        }
        (Type::Object(object), Value::Object(fields)) => {
            for (key, value) in fields {
                let known = object.fields.iter().find(|field| *field.name == **key);
                match (known, &object.extra) {
                    (Some(field), _) => settle_empty(&field.ty, types, value),
                    (None, Extra::Typed(ty)) => settle_empty(ty, types, value),
                    (None, _) => {}
                }
            }
        }
        _ => {}
    }
}

/// Whether a value is empty and should be the other kind of empty.
fn is_misplaced(wanted: &Type, types: &Types, value: &Value) -> bool {
    is_empty(value) && !allows(wanted, types, value) && allows(wanted, types, &other(value))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// The other of the two that are empty.
fn other(value: &Value) -> Value {
    match value {
        Value::Array(_) => Value::Object(Map::new()),
        _ => Value::Array(Vec::new()),
    }
}

/// Whether a type has room for an empty value of this kind.
fn allows(ty: &Type, types: &Types, empty: &Value) -> bool {
    match ty.resolve(types) {
        Type::Array(_) => empty.is_array(),
        Type::Object(_) => empty.is_object(),
        Type::Any => true,
        Type::Nullable { inner } => allows(inner, types, empty),
        Type::Union(union) => union
            .variants
            .iter()
            .any(|variant| allows(variant, types, empty)),
        _ => false,
    }
}

#[cfg(test)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "`check(json!(…))` reads best"
)]
mod tests {
    use super::*;
    use crate::{Field, ty::Union};
    use serde_json::json;

    #[track_caller]
    fn check(ty: &Type, value: Value, settled: Value) {
        let mut found = value.clone();
        settle_empty(ty, &Types::new(), &mut found);
        assert_eq!(found, settled, "{value} as {ty:?}");
    }

    fn union(variants: Vec<Type>) -> Type {
        Type::Union(Union {
            variants,
            discriminator: None,
        })
    }

    #[test]
    fn the_type_decides() {
        let list = Type::array(Type::array(Type::string()));
        let table = Type::object(vec![Field::optional("tags", list.clone())]);
        check(&list, json!({}), json!([]));
        check(&list, json!([{}, ["a"]]), json!([[], ["a"]]));
        check(&table, json!([]), json!({}));
        check(&table, json!({"tags": {}}), json!({"tags": []}));
        check(
            &table.clone().nullable(),
            json!({"tags": {}}),
            json!({"tags": []}),
        );
        check(&Type::Any, json!({}), json!({}));
        check(&Type::string(), json!({}), json!({}));
    }

    #[test]
    fn a_union_is_asked_as_a_whole() {
        let list = Type::array(Type::string());
        let table = Type::object(Vec::new());
        check(
            &union(vec![Type::string(), list.clone()]),
            json!({}),
            json!([]),
        );
        check(&union(vec![table, list]), json!({}), json!({}));
    }
}
