//! What single parts of a document become: parameters, bodies, answers, words, security, filters.

use serde_json::json;
use toolscript_catalog::{Effect, Type};
use toolscript_sources::openapi::operation::{Encoding, Location, Paging, Scheme, Style};

use crate::fixtures::{compile_with, document, pick, signature, warnings, with_paths};

#[test]
fn predecessor_defects_stay_gone() {
    let compiled = document(&with_paths(
        r#"
paths:
  /orgs/{org}/repos:
    parameters:
      - {name: org, in: path, required: true, schema: {type: string}}
      - {name: page, in: query, schema: {type: integer}}
    get:
      operationId: repos/list-for-org
      parameters:
        - {name: sort, in: query, schema: {type: [string, "null"]}}
        - {name: tags, in: query, schema: {type: array, items: {type: string}}}
        - {name: page, in: query, required: true, schema: {type: string}}
      responses: {"200": {description: ok, content: {text/plain: {}}}}
  /end: {get: {operationId: end, responses: {"204": {description: gone}}}}
  /by: {get: {operationId: "get-pet.by id", responses: {}}}
"#,
    ));
    assert_eq!(
        signature(&compiled, "repos_list_for_org"),
        "function sdk.api.repos_list_for_org(params: { org: string, page: string, sort: string?, tags: {string}? }): string"
    );
    assert_eq!(signature(&compiled, "end_"), "function sdk.api.end_(): ()");
    assert_eq!(
        signature(&compiled, "get_pet_by_id"),
        "function sdk.api.get_pet_by_id(): any"
    );
    assert_eq!(pick(&compiled, "end_").0.original, "end");
    assert_eq!(warnings(&compiled), "");
}

#[test]
fn every_place_a_parameter_can_be() {
    let compiled = document(&with_paths(
        r"
paths:
  /a/{id}:
    get:
      operationId: get
      parameters:
        - {name: id, in: path, schema: {type: string}, style: matrix, explode: true}
        - {name: id, in: query, schema: {type: string}}
        - {name: id, in: header, schema: {type: string}}
        - {name: filter, in: query, style: deepObject, schema: {type: object, properties: {b: {}, a: {}}}}
        - {name: raw, in: query, allowReserved: true, explode: false, schema: {type: string}}
        - {name: json, in: query, content: {application/json: {schema: {type: object}}}}
        - {name: session, in: cookie, schema: {type: string}}
        - {name: Authorization, in: header, required: true, schema: {type: string}}
      responses: {}
",
    ));
    let (function, operation) = pick(&compiled, "get");
    let row = |key: &str| {
        operation
            .parameters
            .iter()
            .find(|parameter| parameter.key == key)
            .unwrap()
    };
    assert_eq!(
        (row("id").location, row("id").style, row("id").explode),
        (Location::Path, Style::Matrix, true)
    );
    assert_eq!(
        (row("id_query").location, row("id_query").name.as_str()),
        (Location::Query, "id")
    );
    assert_eq!(
        (row("id_header").location, row("id_header").style),
        (Location::Header, Style::Simple)
    );
    assert_eq!(
        (row("filter").style, row("filter").order.join(",").as_str()),
        (Style::DeepObject, "b,a")
    );
    assert!(row("raw").allow_reserved && !row("raw").explode);
    assert_eq!(
        row("json").content_type.as_deref(),
        Some("application/json")
    );
    assert_eq!(
        (row("session").style, row("session").explode),
        (Style::Form, true)
    );
    assert_eq!(operation.parameters.len(), 7);
    assert!(
        function.params.fields[0].required,
        "path parameters are always needed"
    );
}

#[test]
fn parameters_that_do_not_fit_the_path() {
    let compiled = document(&with_paths(
        r"
paths:
  /a/{id}/{petID}:
    get:
      operationId: get
      parameters:
        - {name: petId, in: path, required: true, schema: {type: integer}}
        - {name: other, in: path, required: true, schema: {type: integer}}
        - {name: x, in: nowhere}
        - {in: query}
        - {name: twice, in: query, schema: {type: string}}
        - {name: twice, in: query, schema: {type: integer}}
      responses: {}
",
    ));
    assert_eq!(
        signature(&compiled, "get"),
        "function sdk.api.get(params: { petID: number, twice: number?, id: string }): any"
    );
    insta::assert_snapshot!(warnings(&compiled), @r"
api.yaml#/paths/~1a~1{id}~1{petID}/get/parameters/2: a parameter cannot be in `nowhere`; use path, query, header or cookie. It is left out
api.yaml#/paths/~1a~1{id}~1{petID}/get/parameters/3: a parameter without a name is left out
api.yaml#/paths/~1a~1{id}~1{petID}/get/parameters/5: `twice` is declared twice; the last one counts
api.yaml#/paths/~1a~1{id}~1{petID}/get: the path has no `{other}`; the parameter is left out
api.yaml#/paths/~1a~1{id}~1{petID}/get: the path parameter `id` is not declared; it is taken as text
");
}

const SWAGGER: &str = r#"
swagger: "2.0"
info: {title: Old, version: "1"}
host: old.test
basePath: /v1
schemes: [http, https]
consumes: [application/json]
produces: [application/xml, application/json]
parameters:
  limit: {name: limit, in: query, type: integer, default: 10, maximum: 100}
responses:
  Missing: {description: not there}
securityDefinitions:
  key: {type: apiKey, in: query, name: k}
  flow: {type: oauth2, flow: application, tokenUrl: "https://old.test/token", scopes: {}}
  user: {type: basic}
security: [{key: []}, {flow: [read]}]
paths:
  /pets:
    get:
      operationId: list
      parameters:
        - $ref: '#/parameters/limit'
        - {name: ids, in: query, type: array, items: {type: integer}, collectionFormat: pipes}
        - {name: all, in: query, type: array, items: {type: integer}, collectionFormat: multi}
        - {name: some, in: query, type: array, items: {type: integer}}
      responses:
        200: {description: pets, schema: {type: array, items: {$ref: '#/definitions/Pet'}}}
        404: {$ref: '#/responses/Missing'}
    post:
      operationId: add
      security: []
      parameters:
        - {name: pet, in: body, required: true, description: The pet, schema: {$ref: '#/definitions/Pet'}}
      responses: {201: {description: made}}
  /upload:
    post:
      operationId: upload
      parameters:
        - {name: file, in: formData, type: file, required: true}
        - {name: tags, in: formData, type: array, items: {type: string}, collectionFormat: multi}
      responses: {200: {description: ok, schema: {type: file}}}
  /login:
    post:
      operationId: login
      consumes: [application/x-www-form-urlencoded]
      parameters: [{name: user, in: formData, type: string}]
      responses: {200: {description: ok}}
definitions:
  Pet: {type: object, required: [name], properties: {name: {type: string}}}
"#;

#[test]
fn swagger_2_reads_the_same() {
    let compiled = document(SWAGGER);
    assert_eq!(
        signature(&compiled, "list"),
        "function sdk.api.list(params: { limit: number?, ids: {number}?, all: {number}?, some: {number}? }?): {Pet}"
    );
    assert_eq!(
        signature(&compiled, "add"),
        "function sdk.api.add(body: Pet): ()"
    );
    assert_eq!(
        signature(&compiled, "upload"),
        "function sdk.api.upload(body: { file: buffer, tags: {string}? }): buffer"
    );
    let styles = |key: &str| {
        let parameters = &pick(&compiled, "list").1.parameters;
        parameters
            .iter()
            .find(|parameter| parameter.key == key)
            .map(|parameter| (parameter.style, parameter.explode))
    };
    assert_eq!(styles("ids"), Some((Style::PipeDelimited, false)));
    assert_eq!(styles("all"), Some((Style::Form, true)));
    assert_eq!(styles("some"), Some((Style::Form, false)));
    let (list, operation) = pick(&compiled, "list");
    assert_eq!(list.params.fields[0].default, Some(json!(10)));
    assert_eq!(list.errors[0].description, "not there");
    assert_eq!(operation.accept, "application/json");
    assert_eq!(operation.security.len(), 2);
    assert!(pick(&compiled, "add").1.security.is_empty());
    let plan = |name: &str| pick(&compiled, name).1.body.clone().unwrap();
    assert_eq!(
        (
            plan("upload").encoding,
            plan("upload").fields["file"].binary
        ),
        (Encoding::Multipart, true)
    );
    assert_eq!(plan("login").encoding, Encoding::Form);
    assert_eq!(compiled.api.servers[0].url, "https://old.test/v1");
    assert_eq!(
        compiled.api.schemes["key"],
        Scheme::ApiKey {
            location: Location::Query,
            name: "k".into()
        }
    );
    assert_eq!(
        compiled.api.schemes["flow"],
        Scheme::ClientCredentials {
            token_url: "https://old.test/token".into()
        }
    );
    assert_eq!(warnings(&compiled), "");
}

#[test]
fn version_3_2_has_more_methods_and_places() {
    let compiled = document(
        r#"
openapi: 3.2.0
$self: https://self.test/api/openapi.yaml
info: {title: New, version: 1.10, summary: Short}
servers: [{url: ./v2, description: near}]
tags: [{name: nav, summary: Navigation, parent: top, kind: nav}]
paths:
  /a:
    query: {operationId: ask, tags: [nav], responses: {"200": {content: {application/jsonl: {itemSchema: {type: integer}}}}}}
    additionalOperations:
      COPY: {operationId: copy, responses: {}}
    get:
      operationId: whole
      parameters: [{name: q, in: querystring, content: {application/x-www-form-urlencoded: {schema: {type: object}}}}]
      responses: {"200": {content: {text/event-stream: {itemSchema: {type: object, properties: {data: {type: string}}}}}}}
webhooks:
  ping: {post: {operationId: never, responses: {}}}
"#,
    );
    assert_eq!(
        signature(&compiled, "ask"),
        "function sdk.api.ask(): {number}"
    );
    assert_eq!(pick(&compiled, "ask").0.effect, Effect::Reads);
    assert_eq!(pick(&compiled, "copy").0.endpoint, "COPY /a");
    assert_eq!(
        signature(&compiled, "whole"),
        "function sdk.api.whole(params: { q: { [string]: any }? }?): {{ data: string? }}"
    );
    assert_eq!(
        pick(&compiled, "whole").1.parameters[0].location,
        Location::Querystring
    );
    assert_eq!(compiled.listing.info.address, "https://self.test/api/v2");
    assert_eq!(compiled.listing.info.version, "1.10");
    assert_eq!(compiled.listing.info.groups["nav"], "Navigation");
    assert_eq!(compiled.listing.functions.len(), 3);
}

#[test]
fn one_content_type_is_chosen() {
    let body = |content: &str| {
        let compiled = document(&with_paths(&format!(
            "paths: {{/a: {{post: {{operationId: f, requestBody: {{content: {content}}}, responses: {{}}}}}}}}"
        )));
        let (function, operation) = pick(&compiled, "f");
        let plan = operation.body.clone().unwrap();
        assert_eq!(
            function.body.as_ref().unwrap().content_type,
            plan.content_type
        );
        (
            plan.content_type,
            plan.encoding,
            function.body.clone().unwrap().ty,
        )
    };
    let object = "{schema: {type: object, properties: {a: {type: string}}}}";
    let file = "{schema: {type: object, properties: {f: {type: string, format: binary}}}}";
    let kind = |content: String| {
        let (content_type, encoding, _) = body(&content);
        (content_type, encoding)
    };
    let (json, form) = ("application/json", "application/x-www-form-urlencoded");
    assert_eq!(
        kind(format!("{{{form}: {object}, {json}: {object}}}")),
        (json.into(), Encoding::Json)
    );
    assert_eq!(
        kind(format!(
            "{{multipart/form-data: {object}, {form}: {object}}}"
        )),
        (form.into(), Encoding::Form)
    );
    assert_eq!(
        kind(format!("{{{form}: {file}, multipart/form-data: {file}}}")),
        ("multipart/form-data".into(), Encoding::Multipart)
    );
    assert_eq!(
        kind(format!("{{'*/*': {object}}}")),
        (json.into(), Encoding::Json)
    );
    assert_eq!(
        body("{application/octet-stream: {}}"),
        (
            "application/octet-stream".into(),
            Encoding::Binary,
            Type::Binary
        )
    );
    assert_eq!(body("{image/*: {}}").2, Type::Binary);
    assert_eq!(
        body(&format!("{{application/xml: {object}}}")),
        ("application/xml".into(), Encoding::Text, Type::string())
    );
    assert_eq!(
        kind("{'*/*': {schema: {type: string, format: binary}}}".into()).1,
        Encoding::Binary
    );
    assert_eq!(
        body("{application/x-ndjson: {schema: {type: integer}}}").2,
        Type::array(Type::integer())
    );
}

#[test]
fn multipart_fields_keep_their_encoding() {
    let compiled = document(&with_paths(
        r"
paths:
  /a:
    post:
      operationId: f
      requestBody:
        required: true
        content:
          multipart/form-data:
            schema: {$ref: '#/components/schemas/Upload'}
            encoding:
              meta: {contentType: application/json}
              tags: {style: form, explode: false}
      responses: {}
components:
  schemas:
    Upload:
      type: object
      properties:
        meta: {type: object}
        tags: {type: array, items: {type: string}}
        file: {type: string, format: binary}
        more: {type: array, items: {type: string, format: binary}}
",
    ));
    let fields = &pick(&compiled, "f").1.body.as_ref().unwrap().fields;
    assert_eq!(
        fields["meta"].content_type.as_deref(),
        Some("application/json")
    );
    assert_eq!(
        (fields["tags"].style, fields["tags"].explode),
        (Some(Style::Form), Some(false))
    );
    assert!(fields["file"].binary && fields["more"].binary && !fields["meta"].binary);
}

#[test]
fn the_best_answer_is_the_return() {
    let returns = |responses: &str| {
        let compiled = document(&with_paths(&format!(
            "paths: {{/a: {{get: {{operationId: f, responses: {responses}}}}}}}"
        )));
        let signature = signature(&compiled, "f");
        signature
            .strip_prefix("function sdk.api.f(): ")
            .unwrap()
            .to_owned()
    };
    let json = |ty: &str| {
        format!("{{description: x, content: {{application/json: {{schema: {{type: {ty}}}}}}}}}")
    };
    assert_eq!(
        returns(&format!(
            "{{'201': {}, '200': {}}}",
            json("string"),
            json("integer")
        )),
        "number"
    );
    assert_eq!(
        returns(&format!(
            "{{'200': {{description: x}}, '202': {}}}",
            json("integer")
        )),
        "number"
    );
    assert_eq!(
        returns(&format!(
            "{{2XX: {}, '404': {}}}",
            json("boolean"),
            json("string")
        )),
        "boolean"
    );
    assert_eq!(
        returns(&format!("{{default: {}}}", json("boolean"))),
        "boolean"
    );
    assert_eq!(
        returns(&format!(
            "{{'204': {{description: x}}, default: {}}}",
            json("boolean")
        )),
        "()"
    );
    assert_eq!(
        returns(&format!(
            "{{'200': {}, '204': {{description: x}}}}",
            json("integer")
        )),
        "number?"
    );
    assert_eq!(returns("{'302': {description: elsewhere}}"), "any");
    assert_eq!(
        returns("{'200': {content: {application/pdf: {schema: {type: string}}}}}"),
        "buffer"
    );
    assert_eq!(
        returns("{'200': {content: {text/csv: {}, application/xml: {}}}}"),
        "string"
    );
    assert_eq!(returns("{'200': {content: {application/json: {}}}}"), "any");
    assert_eq!(
        returns("{'200': {content: {text/event-stream: {schema: {type: integer}}}}}"),
        "{number}"
    );
    assert_eq!(
        returns("{'200': {content: {'*/*': {schema: {type: string, format: binary}}}}}"),
        "buffer"
    );
}

const WORDS: &str = r#"
openapi: 3.0.3
info:
  title: Shop
  version: "2"
  description: "All\u200b of it."
  termsOfService: https://shop.test/terms
  contact: {name: Ann, url: https://shop.test/ann}
  license: {name: MIT, url: https://shop.test/mit}
externalDocs: {url: https://shop.test/docs, description: manual}
servers: [{url: https://shop.test, description: live}]
tags: [{name: orders, description: About orders, externalDocs: {url: https://shop.test/orders}}]
paths:
  /orders:
    summary: From the path
    post:
      tags: [orders, billing]
      operationId: order
      description: "Places an order. It costs.\n\nReally."
      deprecated: true
      externalDocs: {url: https://shop.test/order}
      parameters:
        - name: mode
          in: query
          description: How to send
          deprecated: true
          schema: {type: string, enum: [slow, fast], default: slow}
          examples: {one: {value: fast}}
      requestBody:
        description: What to order
        content: {application/json: {schema: {type: object}, example: {item: 1}}}
      responses:
        "200": {description: Ordered}
        "202": {description: Later}
        "402": {description: Pay first}
        default: {description: Broken}
"#;

#[test]
fn words_reach_the_listing() {
    let compiled = document(WORDS);
    let info = &compiled.listing.info;
    assert_eq!((info.title.as_str(), info.version.as_str()), ("Shop", "2"));
    assert_eq!(
        info.description,
        "All of it.\n\nServers:\n- https://shop.test: live"
    );
    assert_eq!(info.groups["orders"], "About orders");
    let links: Vec<&str> = info.links.iter().map(|link| link.url.as_str()).collect();
    assert_eq!(
        links,
        [
            "https://shop.test/terms",
            "https://shop.test/ann",
            "https://shop.test/mit",
            "https://shop.test/docs",
            "https://shop.test/orders"
        ]
    );
    let (function, operation) = pick(&compiled, "order");
    assert_eq!(function.summary, "From the path");
    assert!(
        function.description.ends_with("Really."),
        "{}",
        function.description
    );
    assert_eq!(
        (function.group.as_str(), operation.tags.len()),
        ("orders", 2)
    );
    assert!(function.deprecated && function.effect == Effect::Writes);
    assert_eq!(function.links[0].url, "https://shop.test/order");
    let field = &function.params.fields[0];
    assert_eq!(
        (&*field.description, field.deprecated),
        ("How to send", true)
    );
    assert_eq!(
        (&field.default, &field.example),
        (&Some(json!("slow")), &Some(json!("fast")))
    );
    let body = function.body.as_ref().unwrap();
    assert_eq!(
        (body.description.as_str(), &body.example),
        ("What to order", &Some(json!({"item": 1})))
    );
    assert_eq!(function.returns.description, "Ordered\n202: Later");
    let errors: Vec<String> = function
        .errors
        .iter()
        .map(|error| format!("{} {}", error.status, error.description))
        .collect();
    assert_eq!(errors, ["402 Pay first", "default Broken"]);
}

#[test]
fn groups_and_summaries_have_stand_ins() {
    let compiled = document(&with_paths(
        r#"
paths:
  /{tenant}/users/{id}:
    delete: {description: "Removes a user. For good.", responses: {}}
"#,
    ));
    let (function, _) = pick(&compiled, "delete_tenant_users_id");
    assert_eq!(function.group, "users");
    assert_eq!(function.summary, "Removes a user.");
    assert_eq!(function.effect, Effect::Destroys);
}

#[test]
fn security_says_what_goes_where() {
    let compiled = document(&with_paths(
        r"
security: [{bearer: []}, {key: [], cookie: []}]
paths:
  /a:
    parameters: [{name: x-key, in: header, required: true, schema: {type: string}}]
    get: {operationId: a, responses: {}}
    put: {operationId: b, security: [], responses: {}}
    post: {operationId: c, security: [{oauth: [write]}, {}], responses: {}}
    patch: {operationId: d, security: [{unknown: []}], responses: {}}
components:
  securitySchemes:
    bearer: {type: http, scheme: Bearer}
    basic: {type: http, scheme: basic}
    key: {type: apiKey, in: header, name: X-Key}
    cookie: {type: apiKey, in: cookie, name: sid}
    oauth: {type: oauth2, flows: {clientCredentials: {tokenUrl: https://a.test/token, scopes: {}}}}
    person: {type: oauth2, flows: {authorizationCode: {authorizationUrl: https://a.test, tokenUrl: https://a.test, scopes: {}}}}
    oidc: {type: openIdConnect, openIdConnectUrl: https://a.test}
    tls: {type: mutualTLS}
",
    ));
    let alternatives = |name: &str| {
        let sets = pick(&compiled, name).1.security.iter();
        sets.map(|set| set.keys().cloned().collect::<Vec<_>>().join("+"))
            .collect::<Vec<_>>()
            .join(" or ")
    };
    assert_eq!(alternatives("a"), "bearer or cookie+key");
    assert_eq!(alternatives("b"), "");
    // A credential is never a script's to give; where it is none, it is a header like any other.
    assert_eq!(signature(&compiled, "a"), "function sdk.api.a(): any");
    assert_eq!(pick(&compiled, "b").1.parameters.len(), 1);
    assert_eq!(alternatives("c"), "oauth or ");
    assert_eq!(pick(&compiled, "c").1.security[0]["oauth"], ["write"]);
    let schemes = &compiled.api.schemes;
    assert_eq!(
        (&schemes["bearer"], &schemes["basic"]),
        (&Scheme::Bearer, &Scheme::Basic)
    );
    assert_eq!(
        (&schemes["person"], &schemes["oidc"]),
        (&Scheme::Bearer, &Scheme::Bearer)
    );
    assert_eq!(
        schemes["tls"],
        Scheme::Unsupported {
            scheme: "mutualTLS".into()
        }
    );
    insta::assert_snapshot!(warnings(&compiled), @r"
api.yaml#/components/securitySchemes/tls: the security scheme `mutualTLS` is not supported; operations that need it go without
api.yaml#/paths/~1a/patch: `security` wants `unknown`, which the document does not define
");
}

#[test]
fn pages_are_found_where_they_are_plain() {
    let compiled = document(&with_paths(
        r#"
paths:
  /link:
    get:
      operationId: link
      responses: {"200": {description: x, headers: {Link: {schema: {type: string}}}, content: {application/json: {}}}}
  /cursor:
    get:
      operationId: cursor
      parameters: [{name: cursor, in: query, schema: {type: string}}]
      responses: {"200": {content: {application/json: {schema: {$ref: '#/components/schemas/Page'}}}}}
  /plain:
    get: {operationId: plain, responses: {"200": {content: {application/json: {schema: {$ref: '#/components/schemas/Page'}}}}}}
components:
  schemas:
    Page:
      type: object
      properties:
        response_metadata: {$ref: '#/components/schemas/Meta'}
    Meta: {type: object, properties: {next_cursor: {type: string}}}
"#,
    ));
    assert_eq!(pick(&compiled, "link").1.paging, Some(Paging::LinkHeader));
    assert_eq!(
        pick(&compiled, "cursor").1.paging,
        Some(Paging::Cursor {
            parameter: "cursor".into(),
            field: "/response_metadata/next_cursor".into()
        })
    );
    let pages = |name: &str| pick(&compiled, name).0.pages;
    assert_eq!(
        (pages("link"), pages("cursor"), pages("plain")),
        (true, true, false)
    );
}

const SHOP: &str = r#"
openapi: 3.0.0
info: {title: Shop, version: "1"}
servers: [{url: https://shop.test}]
paths:
  /pets: {get: {tags: [pets], operationId: listPets, parameters: [{name: tenant_id, in: query, required: true, schema: {type: string}}], responses: {"200": {content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}}}}
  /pets/{id}: {delete: {tags: [admin, pets], operationId: deletePet, parameters: [{name: id, in: path, schema: {type: string}}], responses: {}}}
  /shops: {get: {tags: [shops], operationId: listShops, responses: {"200": {content: {application/json: {schema: {$ref: '#/components/schemas/Shop'}}}}}}}
components:
  schemas: {Pet: {type: object}, Shop: {type: object}}
"#;

#[test]
fn include_and_exclude_choose() {
    let names = |include: &[&str], exclude: &[&str]| {
        let list = |patterns: &[&str]| {
            patterns
                .iter()
                .map(|pattern| (*pattern).to_owned())
                .collect()
        };
        let compiled = compile_with(&[("api.yaml", SHOP)], |settings| {
            settings.include = list(include);
            settings.exclude = list(exclude);
        });
        let compiled = compiled.unwrap();
        assert_eq!(
            compiled.listing.functions.len(),
            compiled.api.operations.len()
        );
        let names = compiled
            .listing
            .functions
            .iter()
            .map(|function| function.name.to_string());
        (
            names.collect::<Vec<_>>().join(" "),
            compiled.listing.types.len(),
            warnings(&compiled),
        )
    };
    let quiet = String::new();
    assert_eq!(
        names(&["pets/*"], &[]),
        ("list_pets delete_pet".into(), 1, quiet.clone())
    );
    assert_eq!(
        names(&["pets"], &["delete *"]),
        ("list_pets".into(), 1, quiet.clone())
    );
    assert_eq!(
        names(&["/pets*"], &["admin"]),
        ("list_pets".into(), 1, quiet.clone())
    );
    assert_eq!(
        names(&["listShops", "delete_pet"], &[]),
        ("delete_pet list_shops".into(), 1, quiet.clone())
    );
    assert_eq!(
        names(&[], &["/shops"]),
        ("list_pets delete_pet".into(), 1, quiet)
    );
    let (_, _, warned) = names(&["pets", "cats"], &["dogs"]);
    insta::assert_snapshot!(warned, @r"
include: `cats` matches no tag, path, operation or function
exclude: `dogs` matches no tag, path, operation or function
");
}

#[test]
fn frozen_parameters_are_hidden() {
    let compiled = compile_with(&[("api.yaml", SHOP)], |settings| {
        settings
            .frozen_params
            .insert("tenant_id".into(), json!("abc"));
        settings.frozen_params.insert("nobody".into(), json!(1));
        settings.base_url = Some("https://elsewhere.test".into());
    })
    .unwrap();
    assert_eq!(
        signature(&compiled, "list_pets"),
        "function sdk.api.list_pets(): Pet"
    );
    assert_eq!(pick(&compiled, "list_pets").1.parameters.len(), 1);
    assert_eq!(compiled.listing.info.address, "https://elsewhere.test");
    assert_eq!(
        warnings(&compiled),
        "frozen_params.nobody: no operation has a parameter of this name"
    );
}

#[test]
fn bad_parts_are_skipped_with_a_warning() {
    let compiled = document(&with_paths(
        r#"
paths:
  /ok: {get: {operationId: ok, responses: {"200": {$ref: '#/nowhere'}}}}
  /list: [1, 2]
  /text: {get: just text, put: {operationId: put, requestBody: {$ref: '#/nowhere'}, responses: {}}}
  /gone: {$ref: 'gone.yaml'}
  /odd: {get: {operationId: odd, parameters: 7, responses: [], tags: x, requestBody: {content: {}}}}
  https://whole.test/x: {get: {operationId: whole, responses: {}}}
  no-slash: {get: {operationId: noSlash, responses: {}}}
"#,
    ));
    let names: Vec<&str> = compiled
        .listing
        .functions
        .iter()
        .map(|function| function.name.as_str())
        .collect();
    assert_eq!(names, ["ok", "put", "odd", "whole", "no_slash"]);
    assert_eq!(pick(&compiled, "no_slash").1.path, "/no-slash");
    assert_eq!(
        pick(&compiled, "whole").1.servers[0].url,
        "https://whole.test"
    );
    insta::assert_snapshot!(warnings(&compiled), @r"
api.yaml#/paths/~1gone: leads nowhere: there is no file `gone.yaml`
api.yaml#/paths/~1ok/get/responses/200: `#/nowhere` leads nowhere; this is left out
api.yaml#/paths/~1list: this is no path item; it is skipped
api.yaml#/paths/~1text/get: this is no operation; it is skipped
api.yaml#/paths/~1text/put/requestBody: `#/nowhere` leads nowhere; this is left out
api.yaml#/paths/~1odd/get/requestBody: the body has no content; it is left out
");
}
