//! Which specification a document follows.

use toolscript_catalog::Node;

use super::LoadError;

/// Refuses what is not OpenAPI 3.0 to 3.2 or Swagger 2.0.
pub(super) fn check(root: &Node, location: &str) -> Result<(), LoadError> {
    let location = location.to_owned();
    let Some((key, found)) = ["openapi", "swagger", "swaggerVersion"]
        .iter()
        .find_map(|key| {
            let found = root.get(key).and_then(scalar_text)?;
            Some((*key, found))
        })
    else {
        return Err(LoadError::NotOpenApi {
            location,
            found: describe(root),
        });
    };
    let minor = |prefix: &str| found == prefix || found.starts_with(&format!("{prefix}."));
    let known = match key {
        "openapi" => ["3.0", "3.1", "3.2"].into_iter().any(minor) || found == "3",
        // Some tools wrote the old key with the new number.
        "swagger" => ["2.0", "3.0"].into_iter().any(minor) || found == "2",
        _ => false,
    };
    if known {
        Ok(())
    } else {
        Err(LoadError::Version { location, found })
    }
}

/// Text, or a number written where text was meant.
pub(super) fn scalar_text(node: &Node) -> Option<String> {
    match node {
        Node::String(text) => Some(text.trim().to_owned()),
        Node::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn describe(root: &Node) -> String {
    const OTHERS: &[(&str, &str)] = &[
        ("asyncapi", "it is an AsyncAPI document"),
        ("arazzo", "it is an Arazzo document"),
        ("overlay", "it is an OpenAPI overlay"),
        ("$schema", "it is a JSON Schema"),
        ("discoveryVersion", "it is a Google discovery document"),
        ("item", "it looks like a Postman collection"),
        ("paths", "it has `paths` but no version"),
    ];
    if !root.is_object() {
        return "it is not an object".to_owned();
    }
    let known = OTHERS.iter().find(|(key, _)| root.get(key).is_some());
    if let Some((_, found)) = known {
        return (*found).to_owned();
    }
    let keys: Vec<String> = root
        .entries()
        .iter()
        .take(5)
        .map(|(key, _)| format!("`{key}`"))
        .collect();
    format!("its keys are {}", keys.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn problem(document: impl Into<Value>) -> String {
        check(&Node::from(&document.into()), "a.yaml")
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn known_versions_pass() {
        for version in [
            json!("3.0.0"),
            json!("3.0.4"),
            json!("3.1.1"),
            json!("3.2.0"),
            json!(3.1),
        ] {
            assert_eq!(problem(json!({ "openapi": version })), "");
        }
        assert_eq!(problem(json!({"swagger": "2.0"})), "");
        assert_eq!(problem(json!({"swagger": 2.0})), "");
    }

    #[test]
    fn others_are_named() {
        let version = "OpenAPI 3.0, 3.1, 3.2 and Swagger 2.0 are read";
        assert_eq!(
            problem(json!({"openapi": "4.0.0"})),
            format!("`a.yaml` has version `4.0.0`; {version}")
        );
        assert_eq!(
            problem(json!({"openapi": "3.10.0"})),
            format!("`a.yaml` has version `3.10.0`; {version}")
        );
        assert_eq!(
            problem(json!({"swaggerVersion": "1.2"})),
            format!("`a.yaml` has version `1.2`; {version}")
        );
        assert!(problem(json!({"asyncapi": "2.0.0"})).contains("AsyncAPI"));
        assert!(problem(json!({"a": 1, "b": 2})).contains("its keys are `a`, `b`"));
        assert!(problem(json!([1])).contains("not an object"));
    }
}
