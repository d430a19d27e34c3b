//! Names of sources, functions and types: checked once, then carried as types.

use std::{borrow::Borrow, collections::HashSet, fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

/// Words Luau keeps for itself.
const KEYWORDS: &[&str] = &[
    "and", "break", "continue", "do", "else", "elseif", "end", "false", "for", "function", "if",
    "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// Globals of the sandbox; a source of that name could not be reached by its bare name.
const LIBRARY_NAMES: &[&str] = &[
    "assert",
    "base64",
    "bit32",
    "buffer",
    "context",
    "coroutine",
    "crypto",
    "debug",
    "docs",
    "env",
    "error",
    "export",
    "fs",
    "help",
    "http",
    "ipairs",
    "json",
    "log",
    "luau",
    "math",
    "next",
    "os",
    "pairs",
    "parallel",
    "pcall",
    "print",
    "proxy",
    "rawequal",
    "rawget",
    "rawlen",
    "rawset",
    "result",
    "sdk",
    "search",
    "select",
    "sleep",
    "string",
    "table",
    "tonumber",
    "tostring",
    "type",
    "typeof",
    "utf8",
    "vector",
    "warn",
    "xpcall",
];

/// The longest name we make; longer ones are cut.
const LONGEST: usize = 100;

/// A text that cannot be a name, and what would do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// Not an identifier.
    #[error("`{0}` is not a source name: use a-z, 0-9 and _, starting with a letter")]
    Shape(String),
    /// A word of the language.
    #[error("`{0}` is a word of Luau: choose another source name, such as `{0}_api`")]
    Keyword(String),
    /// A library of the sandbox.
    #[error("`{0}` is the name of a library: choose another source name, such as `{0}_api`")]
    Library(String),
    /// Not `source.function`.
    #[error("`{0}` is not the name of a function: write `source.function`")]
    Function(String),
}

macro_rules! text_type {
    ($name:ident) => {
        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

/// The name of a source: an identifier that shadows nothing in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct SourceName(Arc<str>);
text_type!(SourceName);

impl SourceName {
    /// Checks a name a person wrote.
    pub fn parse(text: &str) -> Result<Self, BadName> {
        let starts_well = text.starts_with(|c: char| c.is_ascii_lowercase());
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !starts_well || !text.chars().all(allowed) || LONGEST < text.len() {
            return Err(BadName::Shape(text.to_owned()));
        }
        if KEYWORDS.contains(&text) {
            return Err(BadName::Keyword(text.to_owned()));
        }
        if LIBRARY_NAMES.contains(&text) {
            return Err(BadName::Library(text.to_owned()));
        }
        Ok(Self(text.into()))
    }

    /// Makes a name out of any text, such as the title of a document.
    pub fn clean(text: &str) -> Self {
        let mut name = snake_case(text);
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
            name = format!("api_{}", name.trim_start_matches('_'));
        }
        let name = name.trim_end_matches('_');
        Self::parse(name).unwrap_or_else(|_| Self(format!("{name}_api").into()))
    }

    /// The name of the source that documents the sandbox's own libraries.
    pub fn luau() -> Self {
        Self("luau".into())
    }
}

impl TryFrom<String> for SourceName {
    type Error = BadName;

    fn try_from(text: String) -> Result<Self, BadName> {
        if text == "luau" {
            return Ok(Self::luau());
        }
        Self::parse(&text)
    }
}

/// The name of a function inside its source: a Luau identifier.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct FunctionName(Arc<str>);
text_type!(FunctionName);

impl FunctionName {
    /// Makes an identifier in `snake_case` out of any text: `repos/list-for-org`
    /// becomes `repos_list_for_org`, `end` becomes `end_`.
    pub fn clean(text: &str) -> Self {
        let mut name = snake_case(text);
        if name.is_empty() {
            name.push_str("call");
        }
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            name.insert(0, '_');
        }
        if KEYWORDS.contains(&name.as_str()) {
            name.push('_');
        }
        Self(name.into())
    }

    /// This name, or this name with a number, whichever `taken` does not hold yet.
    #[must_use]
    pub fn unique(self, taken: &mut HashSet<FunctionName>) -> Self {
        let mut name = self.clone();
        let mut number = 2;
        while !taken.insert(name.clone()) {
            name = Self(format!("{}_{number}", self.0).into());
            number += 1;
        }
        name
    }
}

impl Default for FunctionName {
    fn default() -> Self {
        Self::clean("")
    }
}

impl From<String> for FunctionName {
    fn from(text: String) -> Self {
        if is_identifier(&text) {
            Self(text.into())
        } else {
            Self::clean(&text)
        }
    }
}

/// The name of a type inside its source: a Luau identifier, as the document spells it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct TypeName(String);
text_type!(TypeName);

impl TypeName {
    /// Makes a type name out of any text: `io.k8s.api.core.v1.Pod` becomes `io_k8s_api_core_v1_Pod`.
    pub fn clean(text: &str) -> Self {
        let mut name: String = text
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .take(LONGEST)
            .collect();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            name.insert(0, '_');
        }
        // `typeof` is an operator in type position; the others are built in.
        let built_in = [
            "any", "boolean", "buffer", "never", "number", "string", "thread", "typeof", "unknown",
        ];
        if KEYWORDS.contains(&name.as_str()) || built_in.contains(&name.as_str()) {
            name.push('_');
        }
        Self(name)
    }

    /// This name, or this name with a number, whichever `is_taken` does not know.
    #[must_use]
    pub fn unique(self, is_taken: impl Fn(&TypeName) -> bool) -> Self {
        let mut name = self.clone();
        let mut number = 2;
        while is_taken(&name) {
            name = Self(format!("{}_{number}", self.0));
            number += 1;
        }
        name
    }
}

impl From<String> for TypeName {
    fn from(text: String) -> Self {
        // A name that `unique` made longer is read back as it is.
        if is_identifier(&text) {
            Self(text)
        } else {
            Self::clean(&text)
        }
    }
}

/// The address of a function, written `source.function` everywhere a person sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId {
    /// The source.
    pub source: SourceName,
    /// The function inside that source.
    pub name: FunctionName,
}

impl fmt::Display for FunctionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.source, self.name)
    }
}

impl FromStr for FunctionId {
    type Err = BadName;

    /// Reads `source.function`, with or without a leading `sdk.`.
    fn from_str(text: &str) -> Result<Self, BadName> {
        let bad = || BadName::Function(text.to_owned());
        let address = text.strip_prefix("sdk.").unwrap_or(text);
        let (source, name) = address.split_once('.').ok_or_else(bad)?;
        let source = SourceName::try_from(source.to_owned()).map_err(|_| bad())?;
        if !is_identifier(name) {
            return Err(bad());
        }
        Ok(Self {
            source,
            name: FunctionName(name.into()),
        })
    }
}

/// Whether Luau reads the text as one name.
pub fn is_identifier(text: &str) -> bool {
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    starts_well && text.chars().all(allowed) && !KEYWORDS.contains(&text)
}

/// Splits an identifier or a phrase into lower-case words: `listAPIKeys v2` gives
/// `list`, `api`, `keys`, `v2`.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut letters = text.chars().peekable();
    let mut before: Option<char> = None;
    while let Some(letter) = letters.next() {
        if !letter.is_alphanumeric() {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            before = None;
            continue;
        }
        let next_is_lower = letters.peek().is_some_and(|next| next.is_lowercase());
        let starts_word = match before {
            Some(before) if letter.is_uppercase() => !before.is_uppercase() || next_is_lower,
            _ => false,
        };
        if starts_word && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        word.extend(letter.to_lowercase());
        before = Some(letter);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn snake_case(text: &str) -> String {
    let ascii: String = text
        .chars()
        .map(|c| if c.is_ascii() { c } else { ' ' })
        .collect();
    let mut name = words(&ascii).join("_");
    name.truncate(LONGEST);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn cleans(text: &str, name: &str) {
        assert_eq!(FunctionName::clean(text).as_str(), name);
    }

    #[test]
    fn operation_ids_become_identifiers() {
        cleans("repos/list-for-org", "repos_list_for_org");
        cleans("end", "end_");
        cleans("get-pet.by id", "get_pet_by_id");
        cleans("getPetById", "get_pet_by_id");
        cleans("listAPIKeys", "list_api_keys");
        cleans("v1DeploymentsCreate", "v1_deployments_create");
        cleans("GetHTTPSUrl2", "get_https_url2");
        cleans("2fa", "_2fa");
        cleans("été", "t");
        cleans("—", "call");
        cleans("already_snake_case", "already_snake_case");
    }

    #[test]
    fn source_names_shadow_nothing() {
        assert!(SourceName::parse("petstore").is_ok());
        assert!(matches!(
            SourceName::parse("json"),
            Err(BadName::Library(_))
        ));
        assert!(matches!(SourceName::parse("end"), Err(BadName::Keyword(_))));
        for bad in ["", "Pet", "1pet", "pet-store", "pet.store"] {
            assert!(
                matches!(SourceName::parse(bad), Err(BadName::Shape(_))),
                "{bad}"
            );
        }
    }

    #[test]
    fn titles_become_source_names() {
        let clean = |text| SourceName::clean(text).to_string();
        assert_eq!(
            clean("Swagger Petstore - OpenAPI 3.0"),
            "swagger_petstore_open_api_3_0"
        );
        assert_eq!(clean("JSON"), "json_api");
        assert_eq!(clean("3scale"), "api_3scale");
        assert_eq!(clean(""), "api");
    }

    #[test]
    fn function_ids_read_back() {
        let id: FunctionId = "sdk.petstore.get_pet".parse().unwrap();
        assert_eq!(id.to_string(), "petstore.get_pet");
        assert!("petstore".parse::<FunctionId>().is_err());
        assert!("petstore.a-b".parse::<FunctionId>().is_err());
    }

    #[test]
    fn type_names_read_back_as_they_are() {
        let long = TypeName::clean(&"x".repeat(300));
        let name = long.clone().unique(|name| *name == long);
        let text = serde_json::to_string(&name).unwrap();
        assert_eq!(serde_json::from_str::<TypeName>(&text).unwrap(), name);
    }

    #[test]
    fn unique_names_get_numbers() {
        let mut taken = HashSet::new();
        let name = || FunctionName::clean("list");
        let names: Vec<String> = (0..3)
            .map(|_| name().unique(&mut taken).to_string())
            .collect();
        assert_eq!(names, ["list", "list_2", "list_3"]);
    }
}
