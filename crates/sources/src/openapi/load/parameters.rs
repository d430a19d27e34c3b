//! Parameters: which there are, what they are called in a script, how they travel.

use std::collections::BTreeMap;

use toolscript_catalog::{Field, Node, Type};

use super::{compiler::Compiler, examples, security::Requirement, view::View};
use crate::openapi::operation::{Location, Parameter, Scheme, Style};

/// Headers the client writes itself; the specification says to ignore parameters of these names.
const OWN_HEADERS: &[&str] = &["accept", "authorization", "content-type"];

/// Everything an operation takes, sorted by how it travels.
#[derive(Debug, Default)]
pub(super) struct Inputs<'b> {
    /// Path, query, header and cookie parameters.
    pub(super) parameters: Vec<(Parameter, Field)>,
    /// The body parameter of Swagger 2.0.
    pub(super) body: Option<View<'b>>,
    /// The form parameters of Swagger 2.0, with their names.
    pub(super) form: Vec<(String, View<'b>)>,
}

/// A parameter as the document declares it.
#[derive(Debug)]
struct Declared<'b> {
    name: String,
    place: Place,
    view: View<'b>,
}

/// Where a declared parameter goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Request(Location),
    Body,
    Form,
}

impl<'b> Compiler<'b> {
    /// Sorts what an operation and the path it stands under declare.
    pub(super) fn inputs(
        &mut self,
        item: &View<'b>,
        operation: &View<'b>,
        path: &str,
        security: &[Requirement],
    ) -> Inputs<'b> {
        let mut declared = declared(item, operation);
        fit_to_path(&mut declared, operation, path);
        let mut inputs = Inputs::default();
        for parameter in declared {
            match parameter.place {
                Place::Body => inputs.body = Some(parameter.view),
                Place::Form => inputs.form.push((parameter.name, parameter.view)),
                Place::Request(Location::Header) if is_own_header(&parameter.name) => {}
                Place::Request(location)
                    if self.is_credential(security, location, &parameter.name) => {}
                Place::Request(location) => {
                    let input = self.parameter(&parameter.name, location, &parameter.view);
                    inputs.parameters.push(input);
                }
            }
        }
        for name in undeclared(&inputs, path) {
            operation.warn(format!(
                "the path parameter `{name}` is not declared; it is taken as text"
            ));
            inputs.parameters.push(assumed(&name));
        }
        settle_keys(&mut inputs.parameters);
        inputs
    }

    /// Whether the client fills a parameter in: scripts never hold credentials.
    fn is_credential(&self, security: &[Requirement], location: Location, name: &str) -> bool {
        let schemes = security
            .iter()
            .flat_map(BTreeMap::keys)
            .filter_map(|scheme| self.schemes.get(scheme));
        schemes.into_iter().any(|scheme| match scheme {
            Scheme::ApiKey {
                location: place,
                name: key,
            } => *place == location && key.eq_ignore_ascii_case(name),
            _ => false,
        })
    }

    fn parameter(&mut self, name: &str, location: Location, view: &View<'b>) -> (Parameter, Field) {
        let (style, explode) = style(view, location);
        let content = view.entries("content").into_iter().next();
        let mut field = match &content {
            Some((_, media)) => self.described(name, media.raw("schema").as_ref(), view),
            None => self.described(name, view.raw("schema").as_ref(), view),
        };
        field.required = location == Location::Path || view.flag("required");
        let parameter = Parameter {
            key: name.to_owned(),
            name: name.to_owned(),
            location,
            style,
            explode,
            allow_reserved: view.flag("allowReserved"),
            content_type: content.map(|(media_type, _)| media_type.to_owned()),
            order: Vec::new(),
        };
        (parameter, field)
    }

    /// A field by its schema, with what the parameter itself says about it on top.
    pub(super) fn described(
        &mut self,
        name: &str,
        schema: Option<&View<'b>>,
        view: &View<'b>,
    ) -> Field {
        let mut field = match schema {
            Some(schema) => self.field(name, schema),
            // Swagger 2.0 writes the schema into the parameter.
            None if says_what_it_is(view.node) => self.field(name, view),
            None => Field::optional(name, Type::string()),
        };
        let description = view.text("description");
        if !description.is_empty() {
            field.description = description.into();
        }
        if let Some(example) = examples::first(view) {
            field.example = Some(example);
        }
        field.deprecated |= view.flag("deprecated");
        field
    }

    /// A field by its schema; what a referenced schema says in words counts too.
    fn field(&mut self, name: &str, schema: &View<'b>) -> Field {
        let mut field = self
            .reader
            .field(schema.scope, name, schema.node, &schema.place());
        if !schema.has("$ref") {
            return field;
        }
        let Some(target) = schema.clone().followed() else {
            return field;
        };
        if field.description.is_empty() {
            field.description = target.text("description").into();
        }
        let default = target.raw("default").map(|default| default.node.to_value());
        field.default = field.default.or(default);
        field.example = field.example.or_else(|| examples::first(&target));
        field
    }
}

/// The parameters of the path, then those of the operation; of two equal ones the later counts.
fn declared<'b>(item: &View<'b>, operation: &View<'b>) -> Vec<Declared<'b>> {
    let mut all: Vec<Declared<'b>> = Vec::new();
    for owner in [item, operation] {
        let inherited = all.len();
        for view in owner.items("parameters") {
            let Some(parameter) = declaration(view) else {
                continue;
            };
            let same = |known: &Declared<'_>| {
                known.name == parameter.name && known.place == parameter.place
            };
            match all.iter().position(same) {
                Some(at) => {
                    if inherited <= at {
                        parameter.view.warn(format!(
                            "`{}` is declared twice; the last one counts",
                            parameter.name
                        ));
                    }
                    all[at] = parameter;
                }
                None => all.push(parameter),
            }
        }
    }
    all
}

fn declaration(view: View<'_>) -> Option<Declared<'_>> {
    let place = match view
        .word("in")
        .unwrap_or_default()
        .to_ascii_lowercase()
        .as_str()
    {
        "path" => Place::Request(Location::Path),
        "query" => Place::Request(Location::Query),
        "querystring" => Place::Request(Location::Querystring),
        "header" => Place::Request(Location::Header),
        "cookie" => Place::Request(Location::Cookie),
        "body" => Place::Body,
        "formdata" | "form" => Place::Form,
        "" => {
            view.warn("a parameter that does not say where it goes (`in`) is left out");
            return None;
        }
        other => {
            view.warn(format!(
                "a parameter cannot be in `{other}`; use path, query, header or cookie. It is left out"
            ));
            return None;
        }
    };
    let name = match (view.word("name"), place) {
        (Some(name), _) => name,
        (None, Place::Body) => "body".to_owned(),
        (None, Place::Request(Location::Querystring)) => "query".to_owned(),
        (None, _) => {
            view.warn("a parameter without a name is left out");
            return None;
        }
    };
    Some(Declared { name, place, view })
}

/// Drops path parameters the path has no room for; a difference in case is forgiven.
fn fit_to_path(declared: &mut Vec<Declared<'_>>, operation: &View<'_>, path: &str) {
    let wanted = template_names(path);
    declared.retain_mut(|parameter| {
        if parameter.place != Place::Request(Location::Path)
            || wanted.contains(&parameter.name.as_str())
        {
            return true;
        }
        let near = wanted
            .iter()
            .find(|name| name.eq_ignore_ascii_case(&parameter.name));
        match near {
            Some(name) => (*name).clone_into(&mut parameter.name),
            None => operation.warn(format!(
                "the path has no `{{{}}}`; the parameter is left out",
                parameter.name
            )),
        }
        near.is_some()
    });
}

/// The names in braces.
pub(super) fn template_names(path: &str) -> Vec<&str> {
    let pieces = path.split('{').skip(1);
    let names = pieces
        .filter_map(|piece| piece.split_once('}'))
        .map(|(name, _)| name);
    names.filter(|name| !name.is_empty()).collect()
}

fn undeclared(inputs: &Inputs<'_>, path: &str) -> Vec<String> {
    let declared = |name: &str| {
        let mut parameters = inputs.parameters.iter().map(|(parameter, _)| parameter);
        parameters.any(|parameter| parameter.location == Location::Path && parameter.name == name)
    };
    let mut names: Vec<String> = Vec::new();
    for name in template_names(path) {
        if !declared(name) && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn assumed(name: &str) -> (Parameter, Field) {
    let parameter = Parameter {
        key: name.to_owned(),
        name: name.to_owned(),
        location: Location::Path,
        style: Style::Simple,
        ..Parameter::default()
    };
    (parameter, Field::required(name, Type::string()))
}

fn is_own_header(name: &str) -> bool {
    OWN_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// Gives parameters that share a name keys of their own: `id` in the path stays, `id` in the
/// query becomes `id_query`.
fn settle_keys(parameters: &mut [(Parameter, Field)]) {
    let names: Vec<String> = parameters
        .iter()
        .map(|(parameter, _)| parameter.name.clone())
        .collect();
    let locations: Vec<Location> = parameters
        .iter()
        .map(|(parameter, _)| parameter.location)
        .collect();
    for at in 0..parameters.len() {
        let is_rival = |other: &usize| *other != at && names[*other] == names[at];
        let loses = (0..names.len())
            .filter(is_rival)
            .any(|other| rank(locations[other]) < rank(locations[at]));
        if !loses {
            continue;
        }
        let wanted = format!("{}_{}", names[at], word(locations[at]));
        let mut key = wanted.clone();
        let mut number = 2;
        while parameters.iter().any(|(parameter, _)| parameter.key == key) {
            key = format!("{wanted}_{number}");
            number += 1;
        }
        let (parameter, field) = &mut parameters[at];
        field.name = key.as_str().into();
        parameter.key = key;
    }
}

fn rank(location: Location) -> u8 {
    match location {
        Location::Path => 0,
        Location::Query => 1,
        Location::Querystring => 2,
        Location::Header => 3,
        Location::Cookie => 4,
    }
}

fn word(location: Location) -> &'static str {
    match location {
        Location::Path => "path",
        Location::Query => "query",
        Location::Querystring => "querystring",
        Location::Header => "header",
        Location::Cookie => "cookie",
    }
}

/// Whether the parameter itself says what values it takes, as in Swagger 2.0.
fn says_what_it_is(node: &Node) -> bool {
    ["type", "enum", "items", "format", "allOf", "oneOf", "anyOf"]
        .iter()
        .any(|key| node.get(key).is_some())
}

/// How arrays and objects are written, and whether each item stands by itself.
pub(super) fn style(view: &View<'_>, location: Location) -> (Style, bool) {
    if let Some(format) = view.word("collectionFormat") {
        return collection_format(&format, location);
    }
    let usual = match location {
        Location::Path | Location::Header => Style::Simple,
        Location::Query | Location::Querystring | Location::Cookie => Style::Form,
    };
    let style = match view.word("style").as_deref() {
        None => usual,
        Some(name) => parse_style(name).unwrap_or_else(|| {
            view.warn(format!("`{name}` is no style; the usual one is taken"));
            usual
        }),
    };
    // Swagger 2.0 parameters have no schema and are comma-separated unless they say otherwise.
    let is_swagger = !view.has("schema") && !view.has("content") && view.has("type");
    let explode = match view.node.get("explode").and_then(Node::as_bool) {
        Some(explode) => explode,
        None => matches!(style, Style::Form | Style::Cookie) && !is_swagger,
    };
    (style, explode)
}

/// A style by its name in the specification.
pub(super) fn parse_style(name: &str) -> Option<Style> {
    Some(match name {
        "simple" => Style::Simple,
        "label" => Style::Label,
        "matrix" => Style::Matrix,
        "form" => Style::Form,
        "spaceDelimited" => Style::SpaceDelimited,
        "pipeDelimited" => Style::PipeDelimited,
        "tabDelimited" => Style::TabDelimited,
        "deepObject" => Style::DeepObject,
        "cookie" => Style::Cookie,
        _ => return None,
    })
}

/// The `collectionFormat` of Swagger 2.0.
fn collection_format(format: &str, location: Location) -> (Style, bool) {
    let list = match location {
        Location::Path | Location::Header => Style::Simple,
        _ => Style::Form,
    };
    match format {
        "multi" => (list, list == Style::Form),
        "ssv" => (Style::SpaceDelimited, false),
        "tsv" => (Style::TabDelimited, false),
        "pipes" => (Style::PipeDelimited, false),
        _ => (list, false),
    }
}
