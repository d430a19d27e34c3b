//! `Type`: the one model of what a value may be, whatever kind of source it came from.
//!
//! `schema` is the only way in, `render` the only way out for readers and `schema::write` for
//! programs, `validate` the judge.

use std::{collections::BTreeMap, fmt, sync::OnceLock};

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::TypeName;

/// The named types of one source.
pub type Types = BTreeMap<TypeName, Definition>;

/// A type with a name of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// What it is.
    #[serde(rename = "type")]
    pub ty: Type,
    /// What the document says of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// What a value may be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Type {
    /// Anything at all; also what a schema we cannot read becomes.
    #[default]
    Any,
    /// Only null.
    Null,
    /// True or false.
    Boolean,
    /// A number, perhaps whole, perhaps bounded.
    Number(Number),
    /// Text.
    String(Text),
    /// Bytes: a `buffer` in a script.
    Binary,
    /// One of these scalars.
    Literal {
        /// The allowed values.
        values: Vec<Value>,
    },
    /// A list.
    Array(Array),
    /// A table with named fields.
    Object(Object),
    /// One of several.
    Union(Union),
    /// The type, or null.
    Nullable {
        /// The type when it is not null.
        inner: Box<Type>,
    },
    /// A named type of the same source.
    Named {
        /// The key in [`Types`].
        name: TypeName,
    },
}

/// A number and its bounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Number {
    /// No fraction allowed.
    #[serde(skip_serializing_if = "is_false")]
    pub integer: bool,
    /// The least value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    /// The greatest value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
    /// `minimum` itself is not allowed.
    #[serde(skip_serializing_if = "is_false")]
    pub above_minimum: bool,
    /// `maximum` itself is not allowed.
    #[serde(skip_serializing_if = "is_false")]
    pub below_maximum: bool,
    /// The value is a multiple of this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiple_of: Option<f64>,
    /// `int32`, `int64`, `float`, `double` or whatever the document says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Box<str>>,
}

/// A text and its bounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Text {
    /// `date-time`, `uuid`, `email` or whatever the document says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Box<str>>,
    /// The least number of characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    /// The greatest number of characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// What it must match somewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
}

/// A list, its items and its bounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Array {
    /// What each item is.
    pub items: Box<Type>,
    /// The least number of items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// The greatest number of items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
}

/// A table with named fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Object {
    /// The fields, in the order of the document.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
    /// What other keys may hold.
    #[serde(skip_serializing_if = "Extra::is_unspecified")]
    pub extra: Extra,
}

/// What an object may hold besides its fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extra {
    /// The document does not say: other keys pass, but are not advertised.
    #[default]
    Unspecified,
    /// Nothing else.
    Closed,
    /// Other keys, each with a value of this type.
    Typed(Box<Type>),
}

impl Extra {
    /// Whether other keys are invited.
    pub fn is_typed(&self) -> bool {
        matches!(self, Self::Typed(_))
    }

    fn is_unspecified(&self) -> bool {
        *self == Self::Unspecified
    }
}

/// One field of an object, or one parameter of a function.
#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent facts of JSON Schema"
)]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Its key, as the document spells it.
    pub name: Box<str>,
    /// What it holds.
    #[serde(rename = "type")]
    pub ty: Type,
    /// Whether it must be there.
    #[serde(default, skip_serializing_if = "is_false")]
    pub required: bool,
    /// What the document says of it.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub description: Box<str>,
    /// What stands in when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// A value to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
    /// Better not used any more.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deprecated: bool,
    /// Comes back in answers and is not sent.
    #[serde(default, skip_serializing_if = "is_false")]
    pub read_only: bool,
    /// Is sent and does not come back.
    #[serde(default, skip_serializing_if = "is_false")]
    pub write_only: bool,
}

/// One of several types.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Union {
    /// The candidates.
    pub variants: Vec<Type>,
    /// The field whose text tells which, and which named type each text means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discriminator: Option<Discriminator>,
}

/// How to tell the variants of a union apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Discriminator {
    /// The field.
    pub field: Box<str>,
    /// Text in that field, and the type it means.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mapping: BTreeMap<String, TypeName>,
}

/// A regular expression from a document, compiled when it is first needed.
///
/// Documents write the ECMA dialect; one we cannot compile checks nothing.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Pattern {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Keeps the text of the expression.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            compiled: OnceLock::new(),
        }
    }

    /// The expression as the document has it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the text matches somewhere; true where the expression is not ours to read.
    pub fn matches(&self, text: &str) -> bool {
        const LARGEST: usize = 1 << 20;
        let compile = || {
            RegexBuilder::new(&self.text)
                .size_limit(LARGEST)
                .build()
                .ok()
        };
        self.compiled
            .get_or_init(compile)
            .as_ref()
            .is_none_or(|regex| regex.is_match(text))
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.text
    }
}

impl Type {
    /// Any text.
    pub fn string() -> Self {
        Self::String(Text::default())
    }

    /// Any number.
    pub fn number() -> Self {
        Self::Number(Number::default())
    }

    /// Any whole number.
    pub fn integer() -> Self {
        Self::Number(Number {
            integer: true,
            ..Number::default()
        })
    }

    /// A list of items.
    pub fn array(items: Type) -> Self {
        Self::Array(Array {
            items: Box::new(items),
            ..Array::default()
        })
    }

    /// A table with these fields.
    pub fn object(fields: Vec<Field>) -> Self {
        Self::Object(Object {
            fields,
            extra: Extra::Unspecified,
        })
    }

    /// A named type of the same source.
    pub fn named(name: TypeName) -> Self {
        Self::Named { name }
    }

    /// The type or null; once is enough.
    #[must_use]
    pub fn nullable(self) -> Self {
        match self {
            Self::Any | Self::Null | Self::Nullable { .. } => self,
            inner => Self::Nullable {
                inner: Box::new(inner),
            },
        }
    }

    /// The type behind a name (several steps of it), where `types` knows the name.
    pub fn resolve<'a>(&'a self, types: &'a Types) -> &'a Type {
        let mut ty = self;
        // A name may stand for a name; a ring of names stands for nothing.
        for _ in 0..32 {
            let Self::Named { name } = ty else { return ty };
            let Some(definition) = types.get(name) else {
                return &Self::Any;
            };
            ty = &definition.ty;
        }
        &Self::Any
    }

    /// The object behind names and null, if it is one.
    pub fn as_object<'a>(&'a self, types: &'a Types) -> Option<&'a Object> {
        match self.resolve(types) {
            Self::Object(object) => Some(object),
            Self::Nullable { inner } => match inner.resolve(types) {
                Self::Object(object) => Some(object),
                _ => None,
            },
            _ => None,
        }
    }

    /// Calls `visit` with the name of every named type this type mentions directly.
    pub fn for_each_name<'a>(&'a self, visit: &mut impl FnMut(&'a TypeName)) {
        match self {
            Self::Named { name } => visit(name),
            Self::Nullable { inner } => inner.for_each_name(visit),
            Self::Array(array) => array.items.for_each_name(visit),
            Self::Union(union) => {
                for variant in &union.variants {
                    variant.for_each_name(visit);
                }
            }
            Self::Object(object) => {
                for field in &object.fields {
                    field.ty.for_each_name(visit);
                }
                if let Extra::Typed(extra) = &object.extra {
                    extra.for_each_name(visit);
                }
            }
            _ => {}
        }
    }
}

impl Field {
    /// A field that must be there.
    pub fn required(name: impl Into<Box<str>>, ty: Type) -> Self {
        Self {
            name: name.into(),
            ty,
            required: true,
            ..Self::default()
        }
    }

    /// A field that may be left out.
    pub fn optional(name: impl Into<Box<str>>, ty: Type) -> Self {
        Self {
            name: name.into(),
            ty,
            ..Self::default()
        }
    }
}

/// For `skip_serializing_if`, whose signature is fixed.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}
