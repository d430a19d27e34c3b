//! References: local, into files, over the network, in circles, to nowhere.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    thread,
};

use toolscript_sources::openapi::compile;

use crate::fixtures::{
    block_on, compile_files, context, folder, pick, settings, signature, source_name, warnings,
};

#[test]
fn files_refer_to_files() {
    let compiled = compile_files(&[
        (
            "spec/api.yaml",
            r#"
openapi: 3.0.0
info: {title: T, version: "1", description: {$ref: ../docs/about.md}}
servers: [{url: https://a.test}]
paths:
  /pets: {$ref: paths/pets.yaml}
  /one: {$ref: 'paths/all.yaml#/~1one'}
"#,
        ),
        (
            "spec/paths/pets.yaml",
            r#"
parameters: [{$ref: '../../shared/parameters.yaml#/limit'}]
get:
  operationId: list
  responses: {"200": {$ref: '../../shared/answers.yaml#/pets'}}
post: {$ref: ./post.yaml}
"#,
        ),
        ("spec/paths/post.yaml", "operationId: add\nrequestBody: {$ref: '../../shared/answers.yaml#/body'}\nresponses: {}"),
        ("spec/paths/all.yaml", "/one: {get: {operationId: one, responses: {}}}"),
        ("shared/parameters.yaml", "limit: {name: limit, in: query, schema: {type: integer}}"),
        (
            "shared/answers.yaml",
            r"
pets: {description: ok, content: {application/json: {schema: {type: array, items: {$ref: models/Pet.yaml}}}}}
body: {content: {application/json: {schema: {$ref: 'models/Pet.yaml'}}}}
",
        ),
        (
            "shared/models/Pet.yaml",
            "type: object\nproperties:\n  parent: {$ref: Pet.yaml}\n  owner: {$ref: '#/$defs/Owner'}\n$defs: {Owner: {type: object, properties: {pets: {type: array, items: {$ref: './Pet.yaml'}}}}}",
        ),
        ("docs/about.md", "# All about it\n"),
    ])
    .unwrap();
    assert_eq!(warnings(&compiled), "");
    assert_eq!(
        signature(&compiled, "list"),
        "function sdk.api.list(params: { limit: number? }?): {Pet}"
    );
    assert_eq!(
        signature(&compiled, "add"),
        "function sdk.api.add(params: { limit: number? }?, body: Pet?): any"
    );
    assert_eq!(pick(&compiled, "one").0.endpoint, "GET /one");
    assert_eq!(compiled.listing.info.description, "# All about it");
    let types: Vec<&str> = compiled
        .listing
        .types
        .keys()
        .map(toolscript_catalog::TypeName::as_str)
        .collect();
    assert_eq!(types, ["Owner", "Pet"]);
}

#[test]
fn circles_end() {
    let compiled = compile_files(&[
        (
            "api.yaml",
            r#"
openapi: 3.0.0
info: {title: T, version: "1"}
servers: [{url: https://a.test}]
paths:
  /a:
    get:
      operationId: a
      parameters: [{$ref: '#/components/parameters/Ring'}]
      responses: {"200": {content: {application/json: {schema: {$ref: '#/components/schemas/Tree'}}}}}
  /b: {$ref: other.yaml}
components:
  parameters: {Ring: {$ref: '#/components/parameters/Ring'}}
  schemas:
    Tree: {type: object, properties: {children: {type: array, items: {$ref: '#/components/schemas/Tree'}}}}
"#,
        ),
        ("other.yaml", "$ref: api.yaml#/paths/~1b"),
    ])
    .unwrap();
    assert_eq!(signature(&compiled, "a"), "function sdk.api.a(): Tree");
    insta::assert_snapshot!(warnings(&compiled), @r"
api.yaml#/components/parameters/Ring: the references here lead in a circle; this is left out
api.yaml#/paths/~1b: the references here lead in a circle; this is left out
");
}

#[test]
fn nowhere_and_forbidden_places_are_told() {
    let compiled = compile_files(&[
        (
            "api.yaml",
            r#"
openapi: 3.0.0
info: {title: T, version: "1"}
servers: [{url: https://a.test}]
paths:
  /a:
    get:
      operationId: a
      parameters: [{$ref: 'missing.yaml#/x'}, {$ref: 'broken.yaml'}, {$ref: '/etc/passwd'}, {$ref: 'folder'}]
      responses: {"200": {content: {application/json: {schema: {$ref: '#/components/schemas/None'}}}}}
"#,
        ),
        ("broken.yaml", "a: [1"),
        ("folder/x", ""),
    ])
    .unwrap();
    insta::assert_snapshot!(warnings(&compiled), @r"
api.yaml#/paths/~1a/get/parameters/2: `/etc/passwd` is an absolute path; write it relative to this file
api.yaml#/paths/~1a/get/parameters/0: leads nowhere: there is no file `missing.yaml`
api.yaml#/paths/~1a/get/parameters/1: leads nowhere: `broken.yaml` is not valid YAML at line 2, column 1: while parsing a flow sequence, expected ',' or ']'
api.yaml#/paths/~1a/get/parameters/3: leads nowhere: `folder` is not a file; name the document itself
api.yaml#/paths/~1a/get/responses/200/content/application~1json/schema: `#/components/schemas/None` leads nowhere; any value is accepted
");
}

#[test]
fn the_network_refers_to_the_network_only() {
    let secret = folder(&[(
        "secret.yaml",
        "limit: {name: limit, in: query, schema: {type: integer}}",
    )]);
    let secret = format!("file://{}", secret.path().join("secret.yaml").display());
    let root = format!(
        r#"
openapi: 3.0.0
info: {{title: T, version: "1"}}
servers: [{{url: /v1}}]
paths:
  /a:
    get:
      operationId: a
      parameters: [{{$ref: 'parts/parameters.yaml#/limit'}}, {{$ref: '{secret}#/limit'}}]
      responses: {{}}
"#
    );
    let address = serve(vec![
        ("/docs/api.yaml".into(), root),
        (
            "/docs/parts/parameters.yaml".into(),
            "limit: {name: limit, in: query, schema: {type: integer}}".into(),
        ),
    ]);
    let spec = format!("http://{address}/docs/api.yaml");
    let cx = context(std::path::Path::new(""));
    let compiled = block_on(compile(&cx, Some(source_name("api")), &settings(spec))).unwrap();
    assert_eq!(
        signature(&compiled, "a"),
        "function sdk.api.a(params: { limit: number? }?): any"
    );
    assert_eq!(compiled.api.servers[0].url, format!("http://{address}/v1"));
    assert!(
        warnings(&compiled).contains("leads from the network to a file of this machine"),
        "{}",
        warnings(&compiled)
    );
}

/// Serves texts by path on a port of this machine and gives its address.
pub(crate) fn serve(pages: Vec<(String, String)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default();
            let (status, body) = match pages.iter().find(|(known, _)| known == path) {
                Some((_, body)) => ("200 OK", body.as_str()),
                None => ("404 Not Found", "<html>not here</html>"),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let _client_may_be_gone = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    address
}
