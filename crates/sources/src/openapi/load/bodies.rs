//! Request bodies: one content type is chosen, its schema becomes the type, its encoding the plan.

use std::collections::BTreeMap;

use toolscript_catalog::{
    Body, Field, Node, Type, Types,
    ty::{Extra, Object},
};

use super::{
    compiler::Compiler,
    examples,
    parameters::{Inputs, parse_style, style},
    rank,
    view::View,
};
use crate::openapi::{
    media::Media,
    operation::{Encoding, FieldEncoding, Location, RequestBody},
};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";

impl<'b> Compiler<'b> {
    /// The body of an operation, in whichever way its version declares it.
    pub(super) fn body(
        &mut self,
        operation: &View<'b>,
        inputs: &Inputs<'b>,
    ) -> Option<(Body, RequestBody)> {
        if operation.has("requestBody") {
            return self.request_body(operation);
        }
        if let Some(parameter) = &inputs.body {
            return Some(self.body_parameter(operation, parameter));
        }
        (!inputs.form.is_empty()).then(|| self.form_parameters(operation, &inputs.form))
    }

    fn request_body(&mut self, operation: &View<'b>) -> Option<(Body, RequestBody)> {
        // A body that leads nowhere is still a body: the warning is out, any value passes.
        let Some(body) = operation.get("requestBody") else {
            let plan = RequestBody {
                content_type: JSON.to_owned(),
                ..RequestBody::default()
            };
            return Some((
                Body {
                    content_type: JSON.to_owned(),
                    ..Body::default()
                },
                plan,
            ));
        };
        let content = body.entries("content");
        let Some((media_type, media)) = choose(&content) else {
            body.warn("the body has no content; it is left out");
            return None;
        };
        let encoding = encoding(media_type, media);
        let sent = if Media::of(media_type) == Media::Wildcard {
            usual_type(encoding)
        } else {
            media_type
        };
        let plan = RequestBody {
            content_type: sent.to_owned(),
            encoding,
            fields: field_encodings(media),
        };
        let body = Body {
            ty: self.body_type(media, encoding),
            required: body.flag("required"),
            description: body.text("description"),
            content_type: sent.to_owned(),
            example: examples::first(media).or_else(|| examples::first(&media.get("schema")?)),
        };
        Some((body, plan))
    }

    /// `in: body` of Swagger 2.0.
    fn body_parameter(
        &mut self,
        operation: &View<'b>,
        parameter: &View<'b>,
    ) -> (Body, RequestBody) {
        let consumes = self.media_types(operation, "consumes");
        let media_type = consumes
            .into_iter()
            .min_by_key(|media_type| rank::request_rank(media_type));
        let media_type = media_type.filter(|media_type| Media::of(media_type) != Media::Wildcard);
        let media_type = media_type.unwrap_or_else(|| JSON.to_owned());
        let encoding = encoding(&media_type, parameter);
        let body = Body {
            ty: self.body_type(parameter, encoding),
            required: parameter.flag("required"),
            description: parameter.text("description"),
            content_type: media_type.clone(),
            example: examples::first(parameter)
                .or_else(|| examples::first(&parameter.get("schema")?)),
        };
        (
            body,
            RequestBody {
                content_type: media_type,
                encoding,
                fields: BTreeMap::new(),
            },
        )
    }

    /// `in: formData` of Swagger 2.0: the parameters are the fields of one body.
    fn form_parameters(
        &mut self,
        operation: &View<'b>,
        form: &[(String, View<'b>)],
    ) -> (Body, RequestBody) {
        let is_file = |view: &View<'_>| view.word("type").as_deref() == Some("file");
        let consumes = self.media_types(operation, "consumes");
        let says_multipart = consumes
            .iter()
            .any(|media_type| Media::of(media_type) == Media::Multipart);
        let says_form = consumes
            .iter()
            .any(|media_type| Media::of(media_type) == Media::Form);
        let multipart =
            form.iter().any(|(_, view)| is_file(view)) || (says_multipart && !says_form);
        let mut fields = Vec::new();
        let mut encodings = BTreeMap::new();
        for (name, view) in form {
            let mut field: Field = self.described(name, view.raw("schema").as_ref(), view);
            field.required = view.flag("required");
            fields.push(field);
            let (style, explode) = style(view, Location::Query);
            if view.has("collectionFormat") || view.word("type").as_deref() == Some("array") {
                let plan = FieldEncoding {
                    style: Some(style),
                    explode: Some(explode),
                    ..FieldEncoding::default()
                };
                encodings.insert(name.clone(), plan);
            }
        }
        let (media_type, encoding) = if multipart {
            (MULTIPART, Encoding::Multipart)
        } else {
            (FORM, Encoding::Form)
        };
        let body = Body {
            required: fields.iter().any(|field| field.required),
            ty: Type::Object(Object {
                fields,
                extra: Extra::Unspecified,
            }),
            description: String::new(),
            content_type: media_type.to_owned(),
            example: None,
        };
        (
            body,
            RequestBody {
                content_type: media_type.to_owned(),
                encoding,
                fields: encodings,
            },
        )
    }

    fn body_type(&mut self, media: &View<'b>, encoding: Encoding) -> Type {
        let item = media.raw("itemSchema");
        match (encoding, media.raw("schema").or_else(|| item.clone())) {
            (Encoding::Binary, _) => Type::Binary,
            (Encoding::Text, Some(schema)) if is_text(&schema) => self.ty(&schema),
            (Encoding::Text, _) => Type::string(),
            (_, None) => Type::Any,
            (Encoding::JsonLines, Some(schema)) => match self.ty(&schema) {
                list @ Type::Array(_) if item.is_none() => list,
                one => Type::array(one),
            },
            (_, Some(schema)) => self.ty(&schema),
        }
    }
}

/// Marks the fields of a form or multipart body that are files, once all types are known.
pub(super) fn mark_files(plan: &mut RequestBody, ty: &Type, types: &Types) {
    if !matches!(plan.encoding, Encoding::Form | Encoding::Multipart) {
        return;
    }
    let Some(object) = ty.as_object(types) else {
        return;
    };
    for field in &object.fields {
        if is_binary(&field.ty, types) {
            plan.fields
                .entry(field.name.to_string())
                .or_default()
                .binary = true;
        }
    }
}

fn is_binary(ty: &Type, types: &Types) -> bool {
    match ty.resolve(types) {
        Type::Binary => true,
        Type::Array(array) => matches!(array.items.resolve(types), Type::Binary),
        Type::Nullable { inner } => is_binary(inner, types),
        Type::Union(union) => union
            .variants
            .iter()
            .any(|variant| matches!(variant.resolve(types), Type::Binary)),
        _ => false,
    }
}

/// The content type to send: JSON if there is one, files as multipart, then the rest.
fn choose<'v, 'b>(content: &'v [(&'b str, View<'b>)]) -> Option<(&'b str, &'v View<'b>)> {
    let rank = |(media_type, media): &&'v (&'b str, View<'b>)| {
        let rank = rank::request_rank(media_type);
        let carries_files = Media::of(media_type) == Media::Multipart && has_files(media);
        if carries_files {
            rank.min(rank::request_rank(FORM) - 1)
        } else {
            rank
        }
    };
    content
        .iter()
        .min_by_key(rank)
        .map(|(media_type, media)| (*media_type, media))
}

fn has_files(media: &View<'_>) -> bool {
    let Some(schema) = media.get("schema") else {
        return false;
    };
    let is_file = |node: &Node| node.text("format") == Some("binary");
    let properties = schema.entries("properties");
    properties.iter().any(|(_, property)| {
        is_file(property.node) || property.node.get("items").is_some_and(is_file)
    })
}

fn encoding(media_type: &str, media: &View<'_>) -> Encoding {
    match Media::of(media_type) {
        Media::Json => Encoding::Json,
        Media::JsonLines => Encoding::JsonLines,
        Media::Form => Encoding::Form,
        Media::Multipart => Encoding::Multipart,
        Media::Text | Media::Events => Encoding::Text,
        Media::Binary => Encoding::Binary,
        Media::Wildcard | Media::Other => encoding_by_schema(media),
    }
}

/// How to send something whose media type does not tell.
fn encoding_by_schema(media: &View<'_>) -> Encoding {
    let Some(schema) = media.get("schema") else {
        return Encoding::Json;
    };
    match (
        schema.word("type").as_deref(),
        schema.word("format").as_deref(),
    ) {
        (Some("string"), Some("binary")) | (Some("file"), _) => Encoding::Binary,
        (Some("string"), _) => Encoding::Text,
        _ => Encoding::Json,
    }
}

fn usual_type(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Binary => "application/octet-stream",
        Encoding::Text => "text/plain",
        _ => JSON,
    }
}

fn is_text(schema: &View<'_>) -> bool {
    let target = schema.clone().followed();
    target.is_some_and(|schema| schema.word("type").as_deref() == Some("string"))
}

/// What `encoding` says of single fields.
fn field_encodings(media: &View<'_>) -> BTreeMap<String, FieldEncoding> {
    let entries = media.entries("encoding").into_iter();
    let encoding = |(name, view): (&str, View<'_>)| {
        let plan = FieldEncoding {
            content_type: view.word("contentType"),
            style: view.word("style").and_then(|style| parse_style(&style)),
            explode: view.node.get("explode").and_then(Node::as_bool),
            allow_reserved: view.flag("allowReserved"),
            binary: false,
        };
        (name.to_owned(), plan)
    };
    entries.map(encoding).collect()
}
