//! What each form of schema becomes, seen as Luau.

use serde_json::{Value, json};

use super::*;
use crate::render;

#[track_caller]
fn check(schema: Value, luau: &str) {
    let (ty, _, _) = read(&schema);
    assert_eq!(render::inline(&ty), luau, "{schema}");
}

fn read(schema: &Value) -> (Type, Types, Vec<Warning>) {
    let root = Node::from(schema);
    let lone = Lone {
        root: &root,
        name: "Root",
    };
    let mut reader = Reader::new(&lone);
    let ty = reader.read(0, &root, "here");
    let (types, warnings) = reader.finish();
    (ty, types, warnings)
}

#[track_caller]
fn defines(schema: Value, name: &str, luau: &str) {
    let (_, types, _) = read(&schema);
    let definition = &types[&TypeName::clean(name)];
    assert_eq!(render::inline(&definition.ty), luau, "{schema}");
}

#[test]
fn scalars_keep_their_kind() {
    check(json!({"type": "string"}), "string");
    check(json!({"type": "integer"}), "number");
    check(json!({"type": "boolean"}), "boolean");
    check(json!({"type": "string", "format": "binary"}), "buffer");
    check(json!({"type": "file"}), "buffer");
    check(json!({}), "any");
    check(json!(true), "any");
}

#[test]
fn null_in_every_dialect() {
    check(json!({"type": ["string", "null"]}), "string?");
    check(json!({"type": "string", "nullable": true}), "string?");
    check(json!({"type": "string", "x-nullable": true}), "string?");
    check(
        json!({"oneOf": [{"type": "string"}, {"type": "null"}]}),
        "string?",
    );
    check(json!({"enum": ["a", null]}), "(\"a\")?");
    check(
        json!({"type": ["string", "integer", "null"]}),
        "(string | number)?",
    );
    check(json!({"type": "null"}), "nil");
}

#[test]
fn choices_are_literals() {
    check(json!({"enum": ["a", "b"]}), "(\"a\" | \"b\")");
    check(json!({"const": "x"}), "(\"x\")");
    check(json!({"enum": [true]}), "(true)");
    // Luau has no number literals as types.
    check(json!({"enum": [1, 2]}), "number");
    check(
        json!({"type": "array", "enum": ["a", "b"]}),
        "{(\"a\" | \"b\")}",
    );
}

#[test]
fn objects_stay_whole_at_any_depth() {
    check(
        json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "array", "items": {"type": "integer"}}}}
        }}),
        "{ a: { b: {number}? } }",
    );
    check(json!({"type": "object"}), "{ [string]: any }");
    check(
        json!({"additionalProperties": {"type": "integer"}}),
        "{ [string]: number }",
    );
    check(
        json!({"properties": {"a b": {"type": "string"}}}),
        "{ [\"a b\"]: string? }",
    );
    check(json!({"required": ["a"]}), "{ a: any }");
}

#[test]
fn all_of_merges() {
    check(
        json!({"allOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}},
            {"required": ["a"], "properties": {"b": {"type": "integer"}}}
        ]}),
        "{ a: string, b: number? }",
    );
    check(
        json!({"allOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"type": "string"}}}),
        "A",
    );
    check(
        json!({"allOf": [{"$ref": "#/$defs/A"}, {"properties": {"y": {"type": "string"}}}],
               "$defs": {"A": {"properties": {"x": {"type": "string"}}}}}),
        "{ x: string?, y: string? }",
    );
    check(
        json!({"properties": {"kind": {"type": "string"}},
               "oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "string"}}}]}),
        "{ kind: string?, a: string? } | { kind: string?, b: string? }",
    );
}

#[test]
fn odd_spellings_are_understood() {
    check(json!({"type": "String"}), "string");
    check(
        json!({"type": "object", "properties": {"$ref": "#/$defs/Table"}, "$defs": {"Table": {"a": {"type": "string"}}}}),
        "{ a: string? }",
    );
}

#[test]
fn unions() {
    check(
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "string"}]}),
        "string | number",
    );
    check(json!({"anyOf": [{"type": "string"}, {}]}), "any");
    // Alternatives that only say which fields must come are no types of their own.
    check(
        json!({"properties": {"a": {"type": "string"}}, "anyOf": [{"not": {}}, {"not": {}}]}),
        "{ a: string? }",
    );
}

#[test]
fn cycles_are_names() {
    defines(
        json!({"$ref": "#/$defs/Tree", "$defs": {"Tree": {"type": "object", "properties": {
            "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}}}),
        "Tree",
        "{ children: {Tree}? }",
    );
    defines(
        json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}),
        "A",
        "any",
    );
    defines(
        json!({"$ref": "#/$defs/A", "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}, {"properties": {"x": {}}}]}}}),
        "A",
        "{ x: any }",
    );
    check(
        json!({"type": "object", "properties": {"me": {"$ref": "#"}}}),
        "{ me: Root? }",
    );
}

#[test]
fn a_reference_with_siblings_keeps_both() {
    check(
        json!({"properties": {"a": {"$ref": "#/$defs/A", "nullable": true}}, "$defs": {"A": {"type": "string"}}}),
        "{ a: A? }",
    );
    check(
        json!({"$ref": "#/$defs/A", "required": ["x"], "$defs": {"A": {"properties": {"x": {"type": "string"}}}}}),
        "{ x: string }",
    );
}

#[test]
fn references_to_nowhere_are_told() {
    let (ty, _, warnings) = read(&json!({"$ref": "#/$defs/None"}));
    assert_eq!(ty, Type::Any);
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].reason.contains("#/$defs/None"), "{warnings:?}");
}

#[test]
fn odd_schemas_widen_and_are_told() {
    let (ty, _, warnings) =
        read(&json!({"type": "object", "properties": {"a": "string", "b": {"type": "strnig"}}}));
    assert_eq!(render::inline(&ty), "{ a: any, b: any }");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn depth_is_bounded() {
    let mut schema = json!({"type": "string"});
    for _ in 0..200 {
        schema = json!({"type": "array", "items": schema});
    }
    let (_, _, warnings) = read(&schema);
    assert_eq!(warnings.len(), 1);
}

#[test]
fn discriminators_name_their_types() {
    let (ty, _, _) = read(&json!({
        "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/$defs/Cat"}},
        "$defs": {"Cat": {"properties": {"kind": {}}}, "Dog": {"properties": {"kind": {}}}}
    }));
    let Type::Union(union) = ty else {
        panic!("{ty:?}")
    };
    let discriminator = union.discriminator.unwrap();
    assert_eq!(&*discriminator.field, "kind");
    assert_eq!(discriminator.mapping["cat"], TypeName::clean("Cat"));
}

#[test]
fn bounds_in_both_dialects() {
    let bounds = |schema: Value| match read(&schema).0 {
        Type::Number(number) => (number.minimum, number.above_minimum),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        bounds(json!({"type": "integer", "minimum": 1})),
        (Some(1.0), false)
    );
    assert_eq!(
        bounds(json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true})),
        (Some(1.0), true)
    );
    assert_eq!(
        bounds(json!({"type": "integer", "exclusiveMinimum": 1})),
        (Some(1.0), true)
    );
}
