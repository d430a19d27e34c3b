//! Parameters: what arrives at the server equals the truth.

use super::*;
use std::{fs, path::Path};
use toolscript_testkit::echo;

/// The specification's own table of styles.
fn table() -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join("../shared/openapi/param-style/oas_style_table.json");
    let text = fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("the style table is needed at {}: {error}", file.display()));
    serde_json::from_str(&text).unwrap()
}

fn style(row: &Value) -> Style {
    match row["style"].as_str().unwrap() {
        "matrix" => Style::Matrix,
        "label" => Style::Label,
        "simple" => Style::Simple,
        "form" => Style::Form,
        "spaceDelimited" => Style::SpaceDelimited,
        "pipeDelimited" => Style::PipeDelimited,
        "deepObject" => Style::DeepObject,
        "cookie" => Style::Cookie,
        other => panic!("{other}"),
    }
}

/// The same value with the fields of an object turned around: the order must come from the
/// document, not from the caller.
fn turned_around(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let fields = object.iter().rev();
            fields
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect::<Map<_, _>>()
                .into()
        }
        other => other.clone(),
    }
}

#[tokio::test]
async fn every_row_of_the_table_arrives() {
    let echo = echo::start().await;
    let rows = table();
    assert!(rows.len() > 100, "{}", rows.len());
    for row in &rows {
        let style = style(row);
        let locations: &[Location] = match style {
            Style::Simple => &[Location::Path, Location::Header],
            Style::Matrix | Style::Label => &[Location::Path],
            Style::Cookie => &[Location::Cookie],
            _ => &[Location::Query],
        };
        for location in locations {
            arrives(echo.url(), row, style, *location).await;
        }
    }
}

async fn arrives(url: &str, row: &Value, style: Style, location: Location) {
    let name = row["name"].as_str().unwrap();
    let parameter = Parameter {
        style,
        explode: row["explode"].as_bool().unwrap(),
        order: ["R", "G", "B"].map(str::to_owned).to_vec(),
        ..parameter(name, location)
    };
    // A letter before the hole, because a whole segment may not be empty or a dot.
    let path = if location == Location::Path {
        "/x{color}"
    } else {
        "/x"
    };
    let operation = Operation {
        parameters: vec![parameter],
        ..operation("GET", path)
    };
    let arrived = once(url, operation, json!({name: turned_around(&row["value"])}))
        .await
        .unwrap();
    let found = match location {
        Location::Path => arrived["path"]
            .as_str()
            .unwrap()
            .strip_prefix("/x")
            .unwrap(),
        Location::Header => arrived["headers"][name].as_str().unwrap(),
        Location::Cookie => arrived["headers"]["cookie"].as_str().unwrap(),
        _ => arrived["query"].as_str().unwrap(),
    };
    let expected = row["expected"].as_str().unwrap();
    assert_eq!(
        found,
        expected.strip_prefix('?').unwrap_or(expected),
        "{row}"
    );
}

#[tokio::test]
async fn path_values_reach_no_other_endpoint() {
    let echo = echo::start().await;
    let operation = Operation {
        parameters: vec![parameter("id", Location::Path)],
        ..operation("GET", "/v1/pets/{id}/toys")
    };
    for (value, segment) in [
        ("a/b?x=1#f", "a%2Fb%3Fx%3D1%23f"),
        ("../../etc", "..%2F..%2Fetc"),
        ("%2e%2e", "%252e%252e"),
        ("..\\..\\etc", "..%5C..%5Cetc"),
        ("a\r\nHost: evil", "a%0D%0AHost%3A%20evil"),
        ("\0", "%00"),
        ("é", "%C3%A9"),
    ] {
        let arrived = once(echo.url(), operation.clone(), json!({"id": value}))
            .await
            .unwrap();
        assert_eq!(arrived["path"], format!("/v1/pets/{segment}/toys"));
        assert_eq!(arrived["query"], json!(null));
    }
    let before = echo.requests().len();
    for value in [".", "..", ""] {
        let error = once(echo.url(), operation.clone(), json!({"id": value}))
            .await
            .unwrap_err();
        assert!(
            matches!(error, CallError::Invalid(_)) && error.to_string().contains("`id`"),
            "{error}"
        );
    }
    assert_eq!(
        echo.requests().len(),
        before,
        "a refused value must not be sent"
    );
}

#[tokio::test]
async fn values_add_no_parameters_and_no_headers() {
    let echo = echo::start().await;
    let operation = Operation {
        parameters: vec![
            parameter("q", Location::Query),
            Parameter {
                allow_reserved: true,
                ..parameter("r", Location::Query)
            },
            parameter("X-Trace", Location::Header),
            parameter("Host", Location::Header),
            parameter("c", Location::Cookie),
            Parameter {
                style: Style::Cookie,
                ..parameter("d", Location::Cookie)
            },
        ],
        ..operation("GET", "/")
    };
    let params = json!({
        "q": "a&admin=1", "r": "x/y&admin=1#f", "X-Trace": "é", "Host": "evil", "c": "1; s=2", "d": "a=b",
    });
    let arrived = once(echo.url(), operation.clone(), params).await.unwrap();
    assert_eq!(arrived["query"], "q=a%26admin%3D1&r=x/y%26admin=1%23f");
    assert_eq!(arrived["headers"]["x-trace"], "é");
    assert_eq!(
        arrived["headers"]["host"],
        echo.url().strip_prefix("http://").unwrap()
    );
    assert_eq!(arrived["cookies"], json!({"c": "1%3B%20s%3D2", "d": "a=b"}));

    for (params, name) in [
        (json!({"X-Trace": "a\r\nX-Admin: 1"}), "`X-Trace`"),
        (json!({"X-Trace": "a\0"}), "`X-Trace`"),
        (json!({"d": "a; admin=1"}), "`d`"),
        (json!({"d": "a\n"}), "`d`"),
    ] {
        let error = once(echo.url(), operation.clone(), params)
            .await
            .unwrap_err();
        assert!(
            matches!(error, CallError::Invalid(_)) && error.to_string().contains(name),
            "{error}"
        );
    }
}

#[tokio::test]
async fn parameters_with_content_and_whole_queries() {
    let echo = echo::start().await;
    let of = |location, content_type: &str| {
        let content_type = Some(content_type.to_owned());
        let parameter = Parameter {
            content_type,
            ..parameter("p", location)
        };
        let path = if location == Location::Path {
            "/{p}"
        } else {
            "/"
        };
        Operation {
            parameters: vec![parameter],
            ..operation("GET", path)
        }
    };
    let send = async |location, content_type: &str, value: Value| {
        once(echo.url(), of(location, content_type), json!({"p": value}))
            .await
            .unwrap()
    };
    let object = json!({"a": [1, "x&y"]});
    let arrived = send(Location::Query, "application/json", object.clone()).await;
    assert_eq!(arrived["query"], "p=%7B%22a%22%3A%5B1%2C%22x%26y%22%5D%7D");
    let arrived = send(Location::Header, "application/json", object.clone()).await;
    assert_eq!(arrived["headers"]["p"], r#"{"a":[1,"x&y"]}"#);
    let arrived = send(Location::Path, "application/json", json!(["a/b"])).await;
    assert_eq!(arrived["path"], "/%5B%22a%2Fb%22%5D");
    let arrived = send(Location::Cookie, "application/json", object.clone()).await;
    assert_eq!(
        arrived["cookies"]["p"],
        "%7B%22a%22%3A%5B1%2C%22x%26y%22%5D%7D"
    );
    let arrived = send(Location::Querystring, "application/json", object.clone()).await;
    assert_eq!(arrived["query"], "%7B%22a%22%3A%5B1%2C%22x%26y%22%5D%7D");
    let form = "application/x-www-form-urlencoded";
    let arrived = send(
        Location::Querystring,
        form,
        json!({"a": [1, 2], "b": {"c": "d e"}}),
    )
    .await;
    assert_eq!(arrived["query"], "a=1&a=2&b%5Bc%5D=d%20e");
}

#[tokio::test]
async fn null_parameters_are_left_out() {
    let echo = echo::start().await;
    let parameters = vec![
        parameter("q", Location::Query),
        parameter("h", Location::Header),
        parameter("c", Location::Cookie),
    ];
    let operation = Operation {
        parameters,
        ..operation("GET", "/")
    };
    let params = json!({"q": null, "h": null, "c": null});
    let arrived = once(echo.url(), operation, params).await.unwrap();
    assert_eq!(arrived["query"], json!(null));
    assert_eq!(
        arrived["headers"]
            .get("h")
            .or(arrived["headers"].get("cookie")),
        None
    );
}
