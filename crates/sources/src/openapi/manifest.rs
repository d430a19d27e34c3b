//! `manifest.json`: compiled documents in a form to read, compare and change, and back again.
//!
//! What `serve DIR` makes of a directory equals what `run` makes of the documents it came from.

use std::{collections::BTreeMap, io::Read as _, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolscript_catalog::{
    Body, Effect, Field, Function, FunctionName, Link, Listing, Outcome, SourceInfo, SourceName,
    Type, TypeName, Warning,
    function::Returns,
    ty::{Definition, Extra, Object},
};

use super::{
    cache::write_whole,
    load::{Compiled, LoadError},
    operation::{Api, Location, Operation, Paging, Parameter, RequestBody, Scheme, Server, Style},
    sdk,
};

/// The name of the file.
pub(super) const FILE: &str = "manifest.json";
/// The form written here; another one is refused.
const FORMAT: u32 = 1;
/// The most bytes a manifest may have.
const LARGEST: u64 = 1 << 30;

/// A generated directory could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{path}`: {cause}")]
pub struct GenerateError {
    /// The file.
    pub path: String,
    /// What the system said.
    #[source]
    pub cause: std::io::Error,
}

/// The whole file.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    apis: Vec<ApiEntry>,
    functions: Vec<FunctionEntry>,
    schemas: Vec<SchemaEntry>,
    /// The Luau files written beside it.
    #[serde(default)]
    files: Vec<String>,
}

/// One API.
#[derive(Debug, Serialize, Deserialize)]
struct ApiEntry {
    name: SourceName,
    #[serde(default)]
    base_url: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    auth: BTreeMap<String, Scheme>,
    #[serde(default)]
    servers: Vec<Server>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    links: Vec<Link>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
}

/// One function.
#[derive(Debug, Serialize, Deserialize)]
struct FunctionEntry {
    name: FunctionName,
    api: SourceName,
    #[serde(default)]
    tag: String,
    method: String,
    path: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    operation_id: String,
    #[serde(default)]
    effect: Effect,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    deprecated: bool,
    #[serde(default)]
    docs: Docs,
    #[serde(default)]
    parameters: Vec<ParameterEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_body: Option<BodyEntry>,
    response: Returns,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    accept: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Outcome>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    security: Vec<BTreeMap<String, Vec<String>>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    servers: Vec<Server>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paging: Option<Paging>,
}

/// What a function says in words.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Docs {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    summary: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    links: Vec<Link>,
}

/// One parameter: what a script sees, and how it travels.
#[derive(Debug, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "it is a line of a file, and each flag has its own key there"
)]
struct ParameterEntry {
    name: String,
    #[serde(rename = "in")]
    location: Location,
    #[serde(rename = "type", default)]
    ty: Type,
    #[serde(default)]
    required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default: Option<Value>,
    /// The choices; they win over those inside the type.
    #[serde(rename = "enum", default, skip_serializing_if = "Vec::is_empty")]
    choices: Vec<Value>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    example: Option<Value>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    deprecated: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    read_only: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    write_only: bool,
    /// Not shown to scripts: the settings fill it in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    hidden: bool,
    wire: Wire,
}

/// How a parameter travels.
#[derive(Debug, Serialize, Deserialize)]
struct Wire {
    name: String,
    style: Style,
    explode: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    allow_reserved: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    order: Vec<String>,
}

/// A body: what a script gives, and how it travels.
#[derive(Debug, Serialize, Deserialize)]
struct BodyEntry {
    #[serde(flatten)]
    body: Body,
    wire: RequestBody,
}

/// One named type.
#[derive(Debug, Serialize, Deserialize)]
struct SchemaEntry {
    name: TypeName,
    api: SourceName,
    #[serde(flatten)]
    definition: Definition,
}

/// Writes `manifest.json` and the Luau files into a directory and gives the names of the files.
///
/// Luau files an earlier run wrote and this one does not are removed.
pub fn write_generated(folder: &Path, compiled: &[Compiled]) -> Result<Vec<String>, GenerateError> {
    let before = read(folder)
        .map(|manifest| manifest.files)
        .unwrap_or_default();
    let files = sdk::files(compiled);
    let manifest = Manifest::new(compiled, files.keys().cloned().collect());
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |cause: std::io::Error| GenerateError { path, cause }
    };
    let sdk_folder = folder.join(sdk::FOLDER);
    std::fs::create_dir_all(&sdk_folder).map_err(failed(&sdk_folder))?;
    for (name, text) in &files {
        let path = folder.join(name);
        write_whole(&path, text.as_bytes()).map_err(failed(&path))?;
    }
    for name in before
        .iter()
        .filter(|name| !files.contains_key(*name) && sdk::is_ours(name))
    {
        // One that is gone already is as good as removed.
        let _gone = std::fs::remove_file(folder.join(name));
    }
    let path = folder.join(FILE);
    let mut json =
        serde_json::to_vec_pretty(&manifest).map_err(|error| failed(&path)(error.into()))?;
    json.push(b'\n');
    write_whole(&path, &json).map_err(failed(&path))?;
    Ok(std::iter::once(FILE.to_owned())
        .chain(files.into_keys())
        .collect())
}

/// Reads a directory written by [`write_generated`], in the order the APIs were given.
pub fn read_generated(folder: &Path) -> Result<Vec<Compiled>, LoadError> {
    read(folder)?.into_compiled(folder)
}

fn read(folder: &Path) -> Result<Manifest, LoadError> {
    let broken = |problem: String| LoadError::Generated {
        location: folder.display().to_string(),
        problem,
    };
    let file = std::fs::File::open(folder.join(FILE))
        .map_err(|cause| broken(format!("`{FILE}`: {cause}")))?;
    let mut bytes = Vec::new();
    file.take(LARGEST)
        .read_to_end(&mut bytes)
        .map_err(|cause| broken(format!("`{FILE}`: {cause}")))?;
    let manifest: Manifest =
        serde_json::from_slice(&bytes).map_err(|cause| broken(format!("`{FILE}`: {cause}")))?;
    if manifest.format != FORMAT {
        let found = manifest.format;
        return Err(broken(format!(
            "`{FILE}` has format {found} and this version reads {FORMAT}"
        )));
    }
    Ok(manifest)
}

impl Manifest {
    fn new(compiled: &[Compiled], files: Vec<String>) -> Self {
        let mut manifest = Self {
            format: FORMAT,
            apis: Vec::new(),
            functions: Vec::new(),
            schemas: Vec::new(),
            files,
        };
        for one in compiled {
            manifest.apis.push(ApiEntry::new(one));
            let pairs = one.listing.functions.iter().zip(&one.api.operations);
            let function =
                |(function, operation)| FunctionEntry::new(&one.name, function, operation);
            manifest.functions.extend(pairs.map(function));
            let schema = |(name, definition): (&TypeName, &Definition)| SchemaEntry {
                name: name.clone(),
                api: one.name.clone(),
                definition: definition.clone(),
            };
            manifest
                .schemas
                .extend(one.listing.types.iter().map(schema));
        }
        manifest
    }

    fn into_compiled(self, folder: &Path) -> Result<Vec<Compiled>, LoadError> {
        let mut all: Vec<Compiled> = self.apis.into_iter().map(ApiEntry::into_compiled).collect();
        let places: BTreeMap<SourceName, usize> = all
            .iter()
            .enumerate()
            .map(|(at, one)| (one.name.clone(), at))
            .collect();
        let place = |api: &SourceName| {
            places
                .get(api)
                .copied()
                .ok_or_else(|| LoadError::Generated {
                    location: folder.display().to_string(),
                    problem: format!(
                        "`{FILE}` speaks of the API `{api}`, which is not among its `apis`"
                    ),
                })
        };
        for entry in self.functions {
            let one = &mut all[place(&entry.api)?];
            let (function, operation) = entry.into_parts();
            one.listing.functions.push(function);
            one.api.operations.push(operation);
        }
        for schema in self.schemas {
            let one = &mut all[place(&schema.api)?];
            one.listing.types.insert(schema.name, schema.definition);
        }
        Ok(all)
    }
}

impl ApiEntry {
    fn new(compiled: &Compiled) -> Self {
        let info = compiled.listing.info.clone();
        Self {
            name: compiled.name.clone(),
            base_url: info.address,
            title: info.title,
            description: info.description,
            version: info.version,
            auth: compiled.api.schemes.clone(),
            servers: compiled.api.servers.clone(),
            tags: info.groups,
            links: info.links,
            warnings: compiled.listing.warnings.clone(),
        }
    }

    fn into_compiled(self) -> Compiled {
        let info = SourceInfo {
            kind: "openapi".to_owned(),
            title: self.title,
            description: self.description,
            version: self.version,
            address: self.base_url,
            links: self.links,
            groups: self.tags,
        };
        let listing = Listing {
            info,
            warnings: self.warnings,
            ..Listing::default()
        };
        let api = Api {
            servers: self.servers,
            schemes: self.auth,
            operations: Vec::new(),
        };
        Compiled {
            name: self.name,
            listing,
            api,
            files: Vec::new(),
        }
    }
}

impl FunctionEntry {
    fn new(api: &SourceName, function: &Function, operation: &Operation) -> Self {
        let (function, operation) = (function.clone(), operation.clone());
        let mut fields = function.params.fields.into_iter().peekable();
        let parameter = |parameter: Parameter| {
            // The fields stand in the order of the parameters, hidden ones left out.
            let field = fields.next_if(|field| *field.name == *parameter.key);
            ParameterEntry::new(parameter, field)
        };
        Self {
            name: function.name,
            api: api.clone(),
            tag: function.group,
            operation_id: function.original,
            effect: function.effect,
            deprecated: function.deprecated,
            docs: Docs {
                summary: function.summary,
                description: function.description,
                links: function.links,
            },
            parameters: operation.parameters.into_iter().map(parameter).collect(),
            request_body: function
                .body
                .zip(operation.body)
                .map(|(body, wire)| BodyEntry { body, wire }),
            response: function.returns,
            errors: function.errors,
            method: operation.method,
            path: operation.path,
            accept: operation.accept,
            security: operation.security,
            tags: operation.tags,
            servers: operation.servers,
            paging: operation.paging,
        }
    }

    fn into_parts(self) -> (Function, Operation) {
        let (mut parameters, mut fields) = (Vec::new(), Vec::new());
        for entry in self.parameters {
            let (parameter, field) = entry.into_parts();
            parameters.push(parameter);
            fields.extend(field);
        }
        let (body, wire) = self
            .request_body
            .map(|entry| (entry.body, entry.wire))
            .unzip();
        let function = Function {
            name: self.name,
            original: self.operation_id,
            group: self.tag,
            summary: self.docs.summary,
            description: self.docs.description,
            endpoint: format!("{} {}", self.method, self.path),
            deprecated: self.deprecated,
            effect: self.effect,
            params: Object {
                fields,
                extra: Extra::Unspecified,
            },
            body,
            returns: self.response,
            errors: self.errors,
            links: self.docs.links,
            pages: self.paging.is_some(),
            rate: None,
            signature: String::new(),
        };
        let operation = Operation {
            method: self.method,
            path: self.path,
            tags: self.tags,
            servers: self.servers,
            parameters,
            body: wire,
            accept: self.accept,
            security: self.security,
            paging: self.paging,
        };
        (function, operation)
    }
}

impl ParameterEntry {
    fn new(parameter: Parameter, field: Option<Field>) -> Self {
        let hidden = field.is_none();
        let field = field.unwrap_or_default();
        let choices = match &field.ty {
            Type::Literal { values } => values.clone(),
            _ => Vec::new(),
        };
        Self {
            name: parameter.key,
            location: parameter.location,
            ty: field.ty,
            required: field.required,
            default: field.default,
            choices,
            description: field.description.into(),
            example: field.example,
            deprecated: field.deprecated,
            read_only: field.read_only,
            write_only: field.write_only,
            hidden,
            wire: Wire {
                name: parameter.name,
                style: parameter.style,
                explode: parameter.explode,
                allow_reserved: parameter.allow_reserved,
                content_type: parameter.content_type,
                order: parameter.order,
            },
        }
    }

    fn into_parts(self) -> (Parameter, Option<Field>) {
        let ty = if self.choices.is_empty() {
            self.ty
        } else {
            Type::Literal {
                values: self.choices,
            }
        };
        let field = Field {
            name: self.name.as_str().into(),
            ty,
            required: self.required,
            description: self.description.into(),
            default: self.default,
            example: self.example,
            deprecated: self.deprecated,
            read_only: self.read_only,
            write_only: self.write_only,
        };
        let parameter = Parameter {
            key: self.name,
            name: self.wire.name,
            location: self.location,
            style: self.wire.style,
            explode: self.wire.explode,
            allow_reserved: self.wire.allow_reserved,
            content_type: self.wire.content_type,
            order: self.wire.order,
        };
        (parameter, (!self.hidden).then_some(field))
    }
}
