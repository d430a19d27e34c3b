//! What a source offers: one description shared by every kind of source.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    FunctionName, Rate, Type, Types,
    ty::{Object, is_false},
};

/// Everything a source has to say about itself at one moment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Listing {
    /// What the source is.
    #[serde(default)]
    pub info: SourceInfo,
    /// The functions, in the order the source gave them; names are unique.
    pub functions: Vec<Function>,
    /// The named types the functions mention.
    #[serde(default)]
    pub types: Types,
    /// What was skipped or bent on the way in, and where.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// What a source says of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceInfo {
    /// The kind of source: `openapi`, `mcp`, …
    pub kind: String,
    /// Its title.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Its description, whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Where it is: the base URL of an API, the address of a server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub address: String,
    /// Pages with more to read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// What each group (tag) is about.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, String>,
}

/// A page with more to read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Where it is.
    pub url: String,
    /// What it is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// Something that was skipped or bent while reading a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Where: a file and a JSON pointer, or a tool name.
    pub place: String,
    /// What was wrong and what was done about it.
    pub reason: String,
}

/// What a call does to the world.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Changes nothing.
    Reads,
    /// Changes something. What we take when nobody says.
    #[default]
    Writes,
    /// Removes something.
    Destroys,
}

/// One callable function, whatever kind of source it came from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// The name inside the source.
    pub name: FunctionName,
    /// What the source itself calls it; `sdk.x["original name"]` finds it too.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub original: String,
    /// The tag, or whatever else groups functions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// One line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The rest, whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Where it goes, for the reader and for search: `GET /pets/{id}`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub endpoint: String,
    /// Better not used any more.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deprecated: bool,
    /// What it does to the world.
    #[serde(default)]
    pub effect: Effect,
    /// The parameters, by name; they arrive as one table. Keys outside the fields are
    /// refused unless the object says they may come.
    #[serde(default)]
    pub params: Object,
    /// The body, if it takes one beside or instead of parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// What comes back.
    #[serde(default)]
    pub returns: Returns,
    /// The failures the source documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Outcome>,
    /// Pages with more to read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Whether `f.pages(params)` can walk through all pages.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pages: bool,
    /// How often each caller may use it; as often as they like where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The Luau signature of a library function, whose parameters are positional:
    /// `json.encode(value: any): string`. Empty for everything a source offers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
}

/// What a function takes as its body.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// What it is.
    #[serde(rename = "type")]
    pub ty: Type,
    /// Whether it must be there.
    #[serde(default, skip_serializing_if = "is_false")]
    pub required: bool,
    /// What the document says of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// How it travels: `application/json`, `multipart/form-data`, …
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content_type: String,
    /// A value to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<serde_json::Value>,
}

/// What a function gives back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Returns {
    /// What it is; `Null` where nothing comes back.
    #[serde(rename = "type", default)]
    pub ty: Type,
    /// What the document says of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// A documented failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// `404`, `4XX` or `default`.
    pub status: String,
    /// What it means.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// How a function wants to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convention {
    /// `f()`
    Nothing,
    /// `f(params)`
    Params,
    /// `f(body)`
    Body,
    /// `f(params, body)`
    ParamsAndBody,
}

impl Function {
    /// Which of the four ways to call fits.
    pub fn convention(&self) -> Convention {
        let takes_params = !self.params.fields.is_empty() || self.params.extra.is_typed();
        match (takes_params, self.body.is_some()) {
            (false, false) => Convention::Nothing,
            (true, false) => Convention::Params,
            (false, true) => Convention::Body,
            (true, true) => Convention::ParamsAndBody,
        }
    }

    /// Whether a call may leave the parameter table out.
    pub fn params_optional(&self) -> bool {
        !self.params.fields.iter().any(|field| field.required)
    }
}
