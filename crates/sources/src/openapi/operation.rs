//! `Operation`: what it takes to send one request, worked out once when a document is read.
//!
//! `load` makes these, `call` uses them, `manifest` writes and reads them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One document, ready to be called: everything `call` and `manifest` need besides the listing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Api {
    /// Where the API may be; the first is used. Relative ones are already made absolute
    /// against the document's own URL where it has one.
    pub servers: Vec<Server>,
    /// The ways to prove who is calling, by the name the document gives them.
    pub schemes: BTreeMap<String, Scheme>,
    /// The operations, in the order of the listing's functions.
    pub operations: Vec<Operation>,
}

/// One base URL with its variables.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// `https://{region}.example.com/v1`.
    pub url: String,
    /// Each variable's default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
}

/// How to send one request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// `GET`, `POST`, … in upper case.
    pub method: String,
    /// `/pets/{petId}`, as the document has it.
    pub path: String,
    /// All its tags; the first is the function's group. `include` and `exclude` look at them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Servers of this path or operation, where it has its own; empty means the API's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Server>,
    /// The parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// The body, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<RequestBody>,
    /// What the answers may be, as the `Accept` header wants it: `application/json, text/plain`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub accept: String,
    /// Alternatives (OR) of sets (AND) of scheme names with their scopes. Empty: no credential.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security: Vec<BTreeMap<String, Vec<String>>>,
    /// How to ask for the next page, where the document makes it plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paging: Option<Paging>,
}

/// One parameter on its way into a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// The key in the script's parameter table.
    pub key: String,
    /// The name on the wire; differs from `key` only where two parameters share a name.
    pub name: String,
    /// Where it goes.
    pub location: Location,
    /// How arrays and objects are written.
    pub style: Style,
    /// Whether each item gets its own `name=`.
    pub explode: bool,
    /// Whether reserved characters stay as they are (query only).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_reserved: bool,
    /// The media type of a parameter described by `content`: the value is encoded whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The declared fields of an object value, so that they are written in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
}

/// Where a parameter goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Location {
    /// Into the path.
    Path,
    /// Into the query.
    #[default]
    Query,
    /// The whole query string (OpenAPI 3.2 `in: querystring`).
    Querystring,
    /// A header.
    Header,
    /// A cookie.
    Cookie,
}

/// How arrays and objects are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// `a,b,c`
    Simple,
    /// `.a.b.c`
    Label,
    /// `;name=a,b,c`
    Matrix,
    /// `name=a,b,c` or `name=a&name=b`
    #[default]
    Form,
    /// `name=a%20b%20c`
    SpaceDelimited,
    /// `name=a%7Cb%7Cc`
    PipeDelimited,
    /// `name=a<tab>b` (Swagger 2.0 `tsv`)
    TabDelimited,
    /// `name[key]=a`
    DeepObject,
    /// `name=a; name=b` (OpenAPI 3.2 cookies)
    Cookie,
}

/// How a body travels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestBody {
    /// The media type that is sent.
    pub content_type: String,
    /// Which encoder writes it.
    pub encoding: Encoding,
    /// What the document says of single fields of a form or multipart body.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, FieldEncoding>,
}

/// Which encoder writes a body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// `application/json` and everything that ends in `+json`.
    #[default]
    Json,
    /// One JSON value per line.
    JsonLines,
    /// `application/x-www-form-urlencoded`
    Form,
    /// `multipart/form-data`
    Multipart,
    /// Text of any kind.
    Text,
    /// Bytes.
    Binary,
}

/// What the document says of one field of a form or multipart body.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FieldEncoding {
    /// The media type of the part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The style of a form field, where the document gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// Whether items get their own `name=`, where the document says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explode: Option<bool>,
    /// Whether reserved characters stay as they are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_reserved: bool,
    /// The field is a file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
}

/// One way to prove who is calling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Scheme {
    /// `Authorization: Bearer …`; also `OpenID` Connect and OAuth2 flows a person goes through.
    Bearer,
    /// `Authorization: Basic …`.
    Basic,
    /// A key somewhere.
    ApiKey {
        /// Header, query or cookie.
        location: Location,
        /// The name of the header, parameter or cookie.
        name: String,
    },
    /// OAuth2 with a client-credentials flow; a plain token works too, as a bearer.
    ClientCredentials {
        /// Where tokens are issued.
        token_url: String,
    },
    /// Something we do not speak: mutual TLS, digest, …
    Unsupported {
        /// What the document calls it.
        scheme: String,
    },
}

/// How to ask for the next page. `Link: <…>; rel="next"` headers are always understood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Paging {
    /// A field of the answer holds what the parameter wants.
    Cursor {
        /// The parameter's key.
        parameter: String,
        /// JSON pointer into the answer.
        field: String,
    },
    /// `has_more` is true and the last item's `id` goes into the parameter.
    LastId {
        /// The parameter's key.
        parameter: String,
        /// JSON pointer to the items.
        items: String,
        /// JSON pointer to the flag.
        more: String,
    },
    /// Only `Link` headers, which the document describes.
    LinkHeader,
}
