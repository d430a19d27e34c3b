//! Bodies and answers over the wire.

use super::*;
use crate::openapi::operation::{Encoding, FieldEncoding, RequestBody};
use toolscript_catalog::binary;
use toolscript_testkit::{Canned, Sample, canned, echo};

async fn send(url: &str, method: &str, body: RequestBody, value: Value) -> Value {
    let operation = Operation {
        body: Some(body),
        ..operation(method, "/")
    };
    let client = client(api(url, operation), json!({}));
    let cx = CallContext::default();
    call_with(&client, &cx, json!({}), Some(value))
        .await
        .unwrap()
        .value
}

fn body(encoding: Encoding, content_type: &str) -> RequestBody {
    RequestBody {
        encoding,
        content_type: content_type.into(),
        ..RequestBody::default()
    }
}

#[tokio::test]
async fn bodies_arrive_with_their_content_type() {
    let echo = echo::start().await;
    let arrived = send(
        echo.url(),
        "POST",
        body(Encoding::Json, "application/json"),
        json!({"a": 1}),
    )
    .await;
    assert_eq!(arrived["json"], json!({"a": 1}));
    assert_eq!(arrived["headers"]["content-type"], "application/json");
    let form = body(Encoding::Form, "application/x-www-form-urlencoded");
    let arrived = send(
        echo.url(),
        "POST",
        form,
        json!({"a": {"b": "c d"}, "e": [1, 2]}),
    )
    .await;
    assert_eq!(arrived["text"], "a%5Bb%5D=c%20d&e=1&e=2");
    let bytes = body(Encoding::Binary, "application/octet-stream");
    let arrived = send(echo.url(), "PUT", bytes, binary::encode(&[0, 255])).await;
    assert_eq!(arrived["base64"], "AP8=");
    assert_eq!(arrived["headers"]["content-length"], "2");
}

#[tokio::test]
async fn get_and_delete_may_have_bodies() {
    let echo = echo::start().await;
    for method in ["GET", "DELETE"] {
        let arrived = send(
            echo.url(),
            method,
            body(Encoding::Json, "application/json"),
            json!([1]),
        )
        .await;
        assert_eq!(
            (&arrived["method"], &arrived["json"]),
            (&json!(method), &json!([1]))
        );
    }
}

#[tokio::test]
async fn no_body_is_sent_where_none_is_given() {
    let echo = echo::start().await;
    let operation = Operation {
        body: Some(body(Encoding::Json, "application/json")),
        ..operation("POST", "/")
    };
    let arrived = once(echo.url(), operation, json!({})).await.unwrap();
    assert_eq!(arrived["text"], "");
    assert_eq!(arrived["headers"]["content-length"], "0");
    assert_eq!(arrived["headers"].get("content-type"), None);
}

#[tokio::test]
async fn files_arrive_whole() {
    let echo = echo::start().await;
    let all: Vec<u8> = (0..=255).collect();
    let photo = FieldEncoding {
        binary: true,
        content_type: Some("image/png".into()),
        ..FieldEncoding::default()
    };
    let upload = RequestBody {
        fields: [("photo".to_owned(), photo)].into(),
        ..body(Encoding::Multipart, "multipart/form-data")
    };
    let value = json!({
        "caption": "Ré\"x",
        "photo": [binary::encode(&all), {"filename": "b.txt", "content_type": "text/plain", "content": "hi"}],
        "details": {"width": 3},
    });
    let arrived = send(echo.url(), "POST", upload, value).await;
    let parts = arrived["parts"].as_array().unwrap();
    assert_eq!(
        parts[0],
        json!({"name": "caption", "filename": null, "content_type": null, "text": "Ré\"x"})
    );
    assert_eq!(parts[1]["filename"], "photo");
    assert_eq!(parts[1]["content_type"], "image/png");
    assert_eq!(json!({"$base64": parts[1]["base64"]}), binary::encode(&all));
    assert_eq!(
        parts[2],
        json!({"name": "photo", "filename": "b.txt", "content_type": "text/plain", "text": "hi"})
    );
    assert_eq!(parts[3]["content_type"], "application/json");
    assert_eq!(parts[3]["text"], r#"{"width":3}"#);
}

#[tokio::test]
async fn configured_cookies_stay() {
    let echo = echo::start().await;
    let parameters = vec![parameter("c", Location::Cookie)];
    let operation = Operation {
        parameters,
        ..operation("GET", "/")
    };
    let client = client(
        api(echo.url(), operation),
        json!({"headers": {"Cookie": "a=b"}}),
    );
    let reply = call(&client, json!({"c": "d"})).await.unwrap();
    assert_eq!(reply.value["headers"]["cookie"], "a=b; c=d");
}

#[tokio::test]
async fn headers_and_content_types_of_the_settings_win() {
    let echo = echo::start().await;
    let operation = Operation {
        parameters: vec![parameter("X-Team", Location::Header)],
        body: Some(body(Encoding::Json, "application/json")),
        accept: "application/xml".into(),
        ..operation("POST", "/")
    };
    let settings =
        json!({"headers": {"X-Team": "core", "Content-Type": "application/vnd.api+json"}});
    let client = client(api(echo.url(), operation), settings);
    let cx = CallContext::default();
    let reply = call_with(&client, &cx, json!({"X-Team": "mine"}), Some(json!({}))).await;
    let headers = &reply.unwrap().value["headers"];
    assert_eq!(headers["x-team"], "core");
    assert_eq!(headers["content-type"], "application/vnd.api+json");
    assert_eq!(headers["accept"], "application/xml");
    assert_eq!(
        headers["user-agent"],
        format!("toolscript/{}", env!("CARGO_PKG_VERSION"))
    );
}

#[tokio::test]
async fn answers_by_what_they_are() {
    let sample = Sample::start().await;
    let get = async |path: &str| {
        once(sample.url(), operation("GET", path), json!({}))
            .await
            .unwrap()
    };
    assert_eq!(get("/pets/1").await["name"], "Rex");
    assert_eq!(get("/text").await, "plain text, not JSON: {}");
    assert_eq!(get("/latin1").await, "café");
    assert_eq!(
        get("/binary").await,
        binary::encode(&(0..=255).collect::<Vec<u8>>())
    );
    assert_eq!(get("/lines").await, json!([{"n": 1}, {"n": 2}, {"n": 3}]));
    assert_eq!(get("/events").await[1], json!({"data": "two\nlines"}));
    assert_eq!(
        get("/large?bytes=70000&gzip=true")
            .await
            .as_str()
            .unwrap()
            .len(),
        70_000
    );
    let gone = once(sample.url(), operation("DELETE", "/pets/2"), json!({}))
        .await
        .unwrap();
    assert_eq!(gone, Value::Null);
    let head = once(
        sample.url(),
        operation("HEAD", "/large?bytes=9&gzip=true"),
        json!({}),
    )
    .await
    .unwrap();
    assert_eq!(head, Value::Null);
}

#[tokio::test]
async fn failures_carry_status_headers_and_body() {
    let server = canned::start([Canned::json(404, &json!({"message": "no pet 7"}))
        .header("X-Request-Id", "r1")
        .header("Set-Cookie", "session=secret")])
    .await;
    let error = once(server.url(), operation("GET", "/"), json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "`api.f` answered 404: no pet 7");
    let CallError::Status {
        status,
        headers,
        body,
        ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!((status, body), (404, json!({"message": "no pet 7"})));
    assert_eq!(headers["x-request-id"], "r1");
    assert!(!headers.contains_key("set-cookie"));
}

#[tokio::test]
async fn broken_json_is_an_upstream_error() {
    let server = canned::start([Canned::body(200, "application/json", "<html>oops")]).await;
    let error = once(server.url(), operation("GET", "/"), json!({}))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("`application/json`"), "{error}");
    let CallError::Upstream { body, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(body, Some(json!("<html>oops")));
}

#[tokio::test]
async fn answers_are_limited_after_decompression() {
    let sample = Sample::start().await;
    for path in ["/large?bytes=1001", "/large?bytes=1000000&gzip=true"] {
        let mut client = client(api(sample.url(), operation("GET", path)), json!({}));
        client.largest_answer = 1000;
        let error = call(&client, json!({})).await.unwrap_err().to_string();
        assert!(
            error.contains("larger than the 1000 bytes allowed"),
            "{error}"
        );
    }
    let mut client = client(
        api(sample.url(), operation("GET", "/large?bytes=1000")),
        json!({}),
    );
    client.largest_answer = 1000;
    assert!(call(&client, json!({})).await.is_ok());
}
