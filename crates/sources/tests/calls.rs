//! From a document to the wire: what a script calls is what arrives at the server.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{path::Path, sync::Arc};

use serde_json::{Map, Value, json};
use toolscript_catalog::{
    Call, CallContext, CallError, Credential, FunctionId, Listing, Reply, Secret, Source,
    SourceName,
};
use toolscript_sources::{Context, Kind as _, openapi::OpenApi};
use toolscript_testkit::{Sample, Server, echo};

struct Api {
    source: Arc<dyn Source>,
    _folder: tempfile::TempDir,
}

impl Api {
    /// Opens a document, with more settings beside it.
    async fn open(document: &str, settings: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("api.yaml"), document).unwrap();
        let cx = Context {
            folder: folder.path().to_owned(),
            ..Context::default()
        };
        let mut all = json!({"spec": "api.yaml"});
        all.as_object_mut()
            .unwrap()
            .extend(settings.as_object().unwrap().clone());
        let source = OpenApi
            .open(&cx, SourceName::parse("api").unwrap(), all)
            .unwrap();
        source.list().await.unwrap();
        Self {
            source,
            _folder: folder,
        }
    }

    async fn call(&self, name: &str, params: Value, body: Value) -> Result<Value, CallError> {
        self.reply(&CallContext::default(), name, params, body)
            .await
            .map(|reply| reply.value)
    }

    async fn reply(
        &self,
        cx: &CallContext,
        name: &str,
        params: Value,
        body: Value,
    ) -> Result<Reply, CallError> {
        let function: FunctionId = format!("api.{name}").parse().unwrap();
        let params: Map<String, Value> = params.as_object().unwrap().clone();
        let body = Some(body).filter(|body| !body.is_null());
        self.source
            .call(
                cx,
                Call {
                    function,
                    params,
                    body,
                },
            )
            .await
    }
}

#[tokio::test]
async fn a_pet_is_created_read_and_deleted() {
    let sample = Sample::start().await;
    let api = Api::open(&sample.document(), json!({})).await;
    let pet = api
        .call(
            "create_pet",
            json!({}),
            json!({"name": "Ida", "kind": "cat"}),
        )
        .await
        .unwrap();
    let id = json!({"id": pet["id"]});
    assert_eq!(
        api.call("get_pet", id.clone(), json!(null)).await.unwrap()["name"],
        "Ida"
    );
    assert_eq!(
        api.call("delete_pet", id.clone(), json!(null))
            .await
            .unwrap(),
        json!(null)
    );
    let error = api.call("get_pet", id, json!(null)).await.unwrap_err();
    assert_eq!(error.to_string(), "`api.get_pet` answered 404: no pet 13");
}

#[tokio::test]
async fn all_pages_are_walked() {
    let sample = Sample::start().await;
    let api = Api::open(&sample.document(), json!({})).await;
    for (function, items) in [("list_pets", ""), ("list_pets_by_cursor", "/data")] {
        let (mut params, mut ids) = (Some(json!({})), Vec::new());
        while let Some(given) = params {
            let cx = CallContext::default();
            let reply = api.reply(&cx, function, given, json!(null)).await.unwrap();
            let page = reply.value.pointer(items).unwrap().as_array().unwrap();
            ids.extend(page.iter().map(|pet| pet["id"].as_u64().unwrap()));
            params = reply.next.map(Value::Object);
        }
        assert_eq!(ids, (1..=Sample::PETS).collect::<Vec<_>>(), "{function}");
    }
}

#[tokio::test]
async fn a_photo_is_uploaded() {
    let sample = Sample::start().await;
    let api = Api::open(&sample.document(), json!({})).await;
    let photo = json!({
        "photo": {"$base64": "AP8="},
        "caption": "Rex",
        "details": {"width": 2},
    });
    let arrived = api
        .call("upload_photo", json!({"id": 1}), photo)
        .await
        .unwrap();
    let mut parts = arrived["parts"].as_array().unwrap().clone();
    parts.sort_by_key(|part| part["name"].to_string());
    assert_eq!(
        json!(parts),
        json!([
            {"name": "caption", "filename": null, "content_type": null, "text": "Rex"},
            {"name": "details", "filename": null, "content_type": "application/json", "text": "{\"width\":2}"},
            {"name": "photo", "filename": "photo", "content_type": "image/png", "base64": "AP8="},
        ])
    );
}

#[tokio::test]
async fn every_door_opens_with_its_credential() {
    let sample = Sample::start().await;
    let api = Api::open(&sample.document(), json!({})).await;
    let secret = |text: &str| Secret::new(text);
    let key = || Credential::ApiKey {
        key: secret(Sample::KEY),
    };
    let basic = Credential::Basic {
        username: Sample::USER.into(),
        password: secret(Sample::PASSWORD),
    };
    for (function, credential) in [
        (
            "secure_bearer",
            Credential::Bearer {
                token: secret(Sample::TOKEN),
            },
        ),
        ("secure_basic", basic),
        ("secure_key_header", key()),
        ("secure_key_query", key()),
        ("secure_key_cookie", key()),
        (
            "secure_public",
            Credential::Bearer {
                token: secret(Sample::TOKEN),
            },
        ),
    ] {
        let cx = CallContext {
            credential: Some(credential),
            ..CallContext::default()
        };
        let reply = api.reply(&cx, function, json!({}), json!(null)).await;
        assert_eq!(reply.unwrap().value, json!({"welcome": true}), "{function}");
    }
    let client = json!({"auth": {
        "type": "oauth2_client_credentials",
        "client_id": Sample::CLIENT_ID,
        "client_secret": Sample::CLIENT_SECRET,
    }});
    let api = Api::open(&sample.document(), client).await;
    assert!(
        api.call("secure_oauth", json!({}), json!(null))
            .await
            .is_ok()
    );
}

/// The echo document of the OpenAPI Generator, at our echo.
struct Generator {
    api: Api,
    listing: Listing,
    _echo: Server,
}

impl Generator {
    async fn start() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/openapi");
        let file = folder.join("param-style/openapi-generator_echo_api.yaml");
        let document = std::fs::read_to_string(&file).unwrap_or_else(|error| {
            panic!("the echo document is needed at {}: {error}", file.display())
        });
        let echo = echo::start().await;
        let api = Api::open(&document, json!({"base_url": echo.url()})).await;
        let listing = api.source.list().await.unwrap();
        Self {
            api,
            listing,
            _echo: echo,
        }
    }

    /// What arrives when the operation at this path is called.
    async fn send(&self, path: &str, params: Value, body: Value) -> Value {
        let mut functions = self.listing.functions.iter();
        let function = functions.find(|function| function.endpoint.ends_with(&format!(" {path}")));
        let name = function
            .unwrap_or_else(|| panic!("no function at {path}"))
            .name
            .to_string();
        self.api.call(&name, params, body).await.unwrap()
    }

    async fn query(&self, path: &str, params: Value, expected: &str) {
        let arrived = self.send(path, params, json!(null)).await;
        let query = arrived["query"].as_str().unwrap();
        assert_eq!(
            query.replace("%5B", "[").replace("%5D", "]"),
            expected,
            "{path}"
        );
    }
}

fn pet() -> Value {
    json!({"id": 1, "name": "a b", "category": {"id": 2}, "photoUrls": ["x", "y"]})
}

#[tokio::test]
async fn queries_of_the_echo_document() {
    let echo = Generator::start().await;
    let scalars = json!({"integer_query": 1, "boolean_query": true, "string_query": "a&b"});
    let text = "integer_query=1&boolean_query=true&string_query=a%26b";
    echo.query("/query/integer/boolean/string", scalars, text)
        .await;
    let dates = json!({"datetime_query": "2020-01-02T03:04:05Z", "date_query": "2020-01-02"});
    let text = "datetime_query=2020-01-02T03%3A04%3A05Z&date_query=2020-01-02";
    echo.query("/query/datetime/date/string", dates, text).await;

    let of = |value: Value| json!({"query_object": value});
    let form = "/query/style_form/explode_true";
    let values = of(json!({"values": ["a b", "c"]}));
    echo.query(
        &format!("{form}/array_string"),
        values,
        "values=a%20b&values=c",
    )
    .await;
    let text = "id=1&name=a%20b&category={\"id\":2}&photoUrls=x&photoUrls=y";
    let text = text
        .replace('{', "%7B")
        .replace('}', "%7D")
        .replace('"', "%22");
    echo.query(
        &format!("{form}/object"),
        of(pet()),
        &text.replace("%22:", "%22%3A"),
    )
    .await;
    let flat = "/query/style_form/explode_false";
    echo.query(
        &format!("{flat}/array_integer"),
        of(json!([1, 2])),
        "query_object=1,2",
    )
    .await;
    echo.query(
        &format!("{flat}/array_string"),
        of(json!(["a", "b"])),
        "query_object=a,b",
    )
    .await;

    let deep = "/query/style_deepObject/explode_true";
    let text = "query_object[id]=1&query_object[name]=a%20b&query_object[category][id]=2\
                &query_object[photoUrls][]=x&query_object[photoUrls][]=y";
    echo.query(&format!("{deep}/object"), of(pet()), text).await;
    let bird = of(json!({"name": "n", "size": "s"}));
    let arrived = echo
        .send(&format!("{deep}/object/allOf"), bird, json!(null))
        .await;
    assert!(
        arrived["query"]
            .as_str()
            .unwrap()
            .contains("query_object%5Bsize%5D=s"),
        "{arrived}"
    );
    let whole = json!({"json_serialized_object_ref_string_query": {"name": "n", "photoUrls": []}});
    let text = "json_serialized_object_ref_string_query=\
                %7B%22name%22%3A%22n%22%2C%22photoUrls%22%3A[]%7D";
    echo.query("/query/style_jsonSerialization/object", whole, text)
        .await;
}

#[tokio::test]
async fn paths_and_headers_of_the_echo_document() {
    let echo = Generator::start().await;
    let path = "/path/string/{path_string}/integer/{path_integer}/\
                {enum_nonref_string_path}/{enum_ref_string_path}";
    let params = json!({
        "path_string": "a/b",
        "path_integer": 7,
        "enum_nonref_string_path": "success",
        "enum_ref_string_path": "failure",
    });
    let arrived = echo.send(path, params, json!(null)).await;
    assert_eq!(
        arrived["path"],
        "/path/string/a%2Fb/integer/7/success/failure"
    );
    let params = json!({"integer_header": 1, "boolean_header": false, "string_header": "a b"});
    let arrived = echo
        .send("/header/integer/boolean/string/enums", params, json!(null))
        .await;
    for (name, value) in [
        ("integer_header", "1"),
        ("boolean_header", "false"),
        ("string_header", "a b"),
    ] {
        assert_eq!(arrived["headers"][name], value);
    }
}

#[tokio::test]
async fn bodies_of_the_echo_document() {
    let echo = Generator::start().await;
    let send = async |path: &str, body: Value| echo.send(path, json!({}), body).await;
    let form = json!({"integer_form": 1, "boolean_form": true, "string_form": "a b"});
    let arrived = send("/form/integer/boolean/string", form).await;
    assert_eq!(
        arrived["text"],
        "integer_form=1&boolean_form=true&string_form=a%20b"
    );
    let arrived = send("/form/object/multipart", json!({"marker": {"name": "x"}})).await;
    assert_eq!(arrived["parts"][0]["text"], "{\"name\":\"x\"}");
    for path in [
        "/echo/body/Pet",
        "/echo/body/allOf/Pet",
        "/echo/body/Pet/response_string",
    ] {
        assert_eq!(send(path, pet()).await["json"], pet());
    }
    assert_eq!(
        send("/echo/body/string_enum", json!("success")).await["text"],
        "\"success\""
    );

    let bytes = json!({"$base64": "AP8="});
    let arrived = send("/body/application/octetstream/binary", bytes.clone()).await;
    assert_eq!(arrived["base64"], "AP8=");
    let file = json!({"my-file": bytes});
    let arrived = send("/body/application/octetstream/single_binary", file).await;
    assert_eq!(arrived["parts"][0]["filename"], "my-file");
    let files = json!({"files": [bytes, bytes]});
    let arrived = send("/body/application/octetstream/array_of_binary", files).await;
    let parts = arrived["parts"].as_array().unwrap();
    assert!(
        parts.len() == 2 && parts.iter().all(|part| part["base64"] == "AP8="),
        "{arrived}"
    );
}

#[tokio::test]
async fn the_rest_of_the_echo_document() {
    let echo = Generator::start().await;
    let form = json!({"form3": "a b", "form4": true});
    let arrived = echo.send("/form/oneof", json!({}), form).await;
    assert_eq!(arrived["text"], "form3=a%20b&form4=true");

    let words =
        json!({"enum_nonref_string_query": "success", "enum_ref_string_query": "unclassified"});
    let text = "enum_nonref_string_query=success&enum_ref_string_query=unclassified";
    echo.query("/query/enum_ref_string", words, text).await;
    let merged = json!({"query_object": {"suffix": "s", "text": "a b", "id": 1, "outcomes": ["SUCCESS", "FAILURE"]}});
    let text = "suffix=s&text=a%20b&id=1&outcomes=SUCCESS&outcomes=FAILURE";
    echo.query("/query/style_form/explode_true/object/allOf", merged, text)
        .await;

    for (path, body) in [
        (
            "/echo/body/Tag/response_string",
            json!({"id": 1, "name": "t"}),
        ),
        (
            "/echo/body/FreeFormObject/response_string",
            json!({"any": [1, {"thing": null}]}),
        ),
    ] {
        assert_eq!(
            echo.send(path, json!({}), body.clone()).await["json"],
            body,
            "{path}"
        );
    }
    let arrived = echo.send("/binary/gif", json!({}), json!(null)).await;
    assert_eq!(
        (&arrived["method"], &arrived["path"]),
        (&json!("POST"), &json!("/binary/gif"))
    );

    let password = Secret::new("open sesame");
    let basic = Credential::Basic {
        username: "ann".to_owned(),
        password,
    };
    let bearer = Credential::Bearer {
        token: Secret::new("abc"),
    };
    for (name, credential, header) in [
        ("test_auth_http_basic", basic, "Basic YW5uOm9wZW4gc2VzYW1l"),
        ("test_auth_http_bearer", bearer, "Bearer abc"),
    ] {
        let cx = CallContext {
            credential: Some(credential),
            ..CallContext::default()
        };
        let reply = echo.api.reply(&cx, name, json!({}), json!(null)).await;
        assert_eq!(reply.unwrap().value["headers"]["authorization"], header);
    }
}
