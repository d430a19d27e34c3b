//! From documents to a listing and a plan: every operation becomes a function and a request.

use std::collections::{BTreeMap, HashSet};

use toolscript_catalog::{
    Effect, Function, Listing, Node, Type, Types, Warning,
    schema::Reader,
    ty::{Extra, Object},
};
use url::Url;

use super::{
    LoadError, bodies, book::Book, documents::Documents, info, names, paging, security, servers,
    text, view::View,
};
use crate::openapi::operation::{Api, Operation, Scheme, Server};

/// The methods a path item may hold, besides those it names itself.
const METHODS: &[&str] = &[
    "get", "put", "post", "delete", "options", "head", "patch", "trace", "query",
];

/// What reads a document into functions.
pub(super) struct Compiler<'b> {
    pub(super) reader: Reader<'b, Book<'b>>,
    root: View<'b>,
    base: Option<Url>,
    pub(super) schemes: BTreeMap<String, Scheme>,
}

/// A function before its name and its paging are settled.
struct Draft {
    function: Function,
    operation: Operation,
    has_link_header: bool,
}

impl Draft {
    fn identity(&self) -> names::Identity<'_> {
        names::Identity {
            id: &self.function.original,
            method: &self.operation.method,
            path: &self.operation.path,
        }
    }
}

/// Makes a listing and a plan of documents.
pub(super) fn compile(documents: &Documents) -> Result<(Listing, Api), LoadError> {
    let book = Book::new(documents);
    let (mut listing, api) = read(&book, documents);
    listing.warnings = all_warnings(documents, book.take_warnings(), listing.warnings);
    if listing.functions.is_empty() {
        let location = documents.get(0).shown.clone();
        return Err(LoadError::NoOperations {
            location,
            webhooks: documents.get(0).root.get("webhooks").is_some(),
            skipped: listing.warnings,
        });
    }
    text::clean_listing(&mut listing);
    Ok((listing, api))
}

/// Everything that was taken down, one word per place: why a document could not be read says more
/// than that something leads nowhere, and what became of a schema says more than that it was missed.
fn all_warnings(
    documents: &Documents,
    skipped: Vec<Warning>,
    schemas: Vec<Warning>,
) -> Vec<Warning> {
    let places = |warnings: &[Warning]| -> HashSet<String> {
        warnings
            .iter()
            .map(|warning| warning.place.clone())
            .collect()
    };
    let (unread, read) = (places(&documents.warnings), places(&schemas));
    let skipped = skipped
        .into_iter()
        .filter(|warning| !read.contains(&warning.place));
    let new = skipped
        .chain(schemas)
        .filter(|warning| !unread.contains(&warning.place));
    documents.warnings.iter().cloned().chain(new).collect()
}

fn read<'b>(book: &'b Book<'b>, documents: &Documents) -> (Listing, Api) {
    let root = book.root();
    let base = servers::base(&root, documents.get(0).location.url());
    let own_servers = servers::of_document(&root, base.as_ref());
    let schemes = security::schemes(&root, base.as_ref());
    let mut compiler = Compiler {
        reader: Reader::new(book),
        root: root.clone(),
        base,
        schemes,
    };
    let mut drafts = compiler.drafts();
    name(&mut drafts);
    let info = info::read(&root, &own_servers);
    let Compiler {
        reader, schemes, ..
    } = compiler;
    let (types, warnings) = reader.finish();
    let (mut functions, mut operations) = (Vec::new(), Vec::new());
    for draft in drafts {
        let (function, operation) = finish(draft, &types);
        functions.push(function);
        operations.push(operation);
    }
    let listing = Listing {
        info,
        functions,
        types,
        warnings,
    };
    (
        listing,
        Api {
            servers: own_servers,
            schemes,
            operations,
        },
    )
}

impl<'b> Compiler<'b> {
    /// The type of a schema.
    pub(super) fn ty(&mut self, schema: &View<'b>) -> Type {
        self.reader.read(schema.scope, schema.node, &schema.place())
    }

    /// `consumes` or `produces` of Swagger 2.0: the operation's own word, else the document's.
    pub(super) fn media_types(&self, operation: &View<'b>, key: &str) -> Vec<String> {
        let owner = if operation.has(key) {
            operation
        } else {
            &self.root
        };
        owner.texts(key)
    }

    fn drafts(&mut self) -> Vec<Draft> {
        let Some(paths) = self.root.get("paths") else {
            return Vec::new();
        };
        let mut drafts = Vec::new();
        for (path, node) in paths.node.entries() {
            if path.starts_with("x-") || *node == Node::Null {
                continue;
            }
            for item in items_at(paths.child(path, node)) {
                self.path_item(path, &item, &mut drafts);
            }
        }
        drafts
    }

    fn path_item(&mut self, path: &str, item: &View<'b>, drafts: &mut Vec<Draft>) {
        if !item.node.is_object() {
            item.warn("this is no path item; it is skipped");
            return;
        }
        for (method, operation) in operations_in(item) {
            if operation.node.is_object() {
                drafts.push(self.draft(&method, path, item, &operation));
            } else {
                operation.warn("this is no operation; it is skipped");
            }
        }
    }

    fn draft(&mut self, method: &str, path: &str, item: &View<'b>, operation: &View<'b>) -> Draft {
        let security = security::requirements(&self.root, operation, &self.schemes);
        let inputs = self.inputs(item, operation, path, &security);
        let (body, request_body) = self.body(operation, &inputs).unzip();
        let answers = self.answers(operation);
        let (parameters, fields) = inputs.parameters.into_iter().unzip();
        let first_of = |key: &str| {
            Some(operation.text(key))
                .filter(|text| !text.is_empty())
                .unwrap_or_else(|| item.text(key))
        };
        let (summary, description) = (first_of("summary"), first_of("description"));
        let tags: Vec<String> = operation
            .texts("tags")
            .iter()
            .map(|tag| text::clean(tag))
            .collect();
        let method = method.to_ascii_uppercase();
        let (origin, path) = servers::split_path(path);
        let function = Function {
            original: operation.text("operationId"),
            group: tags
                .first()
                .cloned()
                .unwrap_or_else(|| first_segment(&path)),
            summary: text::summary(&summary, &description),
            description: whole_description(&summary, description),
            endpoint: format!("{method} {path}"),
            deprecated: operation.flag("deprecated"),
            effect: effect(&method),
            params: Object {
                fields,
                extra: Extra::Unspecified,
            },
            body,
            returns: answers.returns,
            errors: answers.errors,
            links: info::external_docs(operation).into_iter().collect(),
            ..Function::default()
        };
        let operation = Operation {
            servers: match origin {
                Some(origin) => vec![origin],
                None => self.own_servers(item, operation),
            },
            security,
            accept: answers.accept,
            body: request_body,
            method,
            path,
            tags,
            parameters,
            paging: None,
        };
        Draft {
            function,
            operation,
            has_link_header: answers.has_link_header,
        }
    }

    /// Servers of the operation, else of the path.
    fn own_servers(&self, item: &View<'b>, operation: &View<'b>) -> Vec<Server> {
        let own = servers::of(operation, self.base.as_ref());
        if own.is_empty() {
            servers::of(item, self.base.as_ref())
        } else {
            own
        }
    }
}

/// A path item may stand in another document and have words of its own beside the reference.
fn items_at(written: View<'_>) -> Vec<View<'_>> {
    if !written.has("$ref") {
        return vec![written];
    }
    let holds_operations = METHODS.iter().any(|method| written.has(method));
    let target = written.clone().followed();
    let own = holds_operations.then_some(written);
    own.into_iter().chain(target).collect()
}

/// The operations of a path item by method.
fn operations_in<'b>(item: &View<'b>) -> Vec<(String, View<'b>)> {
    let entries = item.node.entries().iter();
    let methods = entries.filter(|(key, _)| {
        METHODS
            .iter()
            .any(|method| method.eq_ignore_ascii_case(key))
    });
    let mut operations: Vec<(String, View<'b>)> = Vec::new();
    for (method, node) in methods {
        let Some(written) = item.child(method, node).followed() else {
            continue;
        };
        operations.push((method.to_ascii_lowercase(), written));
    }
    for (method, operation) in item.entries("additionalOperations") {
        operations.push((method.to_owned(), operation));
    }
    operations
}

fn name(drafts: &mut [Draft]) {
    let identities: Vec<names::Identity<'_>> = drafts.iter().map(Draft::identity).collect();
    let names = names::settle(&identities);
    for (draft, name) in drafts.iter_mut().zip(names) {
        draft.function.name = name;
    }
}

/// What can only be told once all types are known.
fn finish(draft: Draft, types: &Types) -> (Function, Operation) {
    let Draft {
        mut function,
        mut operation,
        has_link_header,
    } = draft;
    for (parameter, field) in operation.parameters.iter_mut().zip(&function.params.fields) {
        if let Some(object) = field.ty.as_object(types) {
            parameter.order = object
                .fields
                .iter()
                .map(|field| field.name.to_string())
                .collect();
        }
    }
    if let (Some(plan), Some(body)) = (&mut operation.body, &function.body) {
        bodies::mark_files(plan, &body.ty, types);
    }
    operation.paging = paging::detect(&function, &operation, types, has_link_header);
    function.pages = operation.paging.is_some();
    (function, operation)
}

fn first_segment(path: &str) -> String {
    let mut segments = path
        .split('/')
        .filter(|segment| !segment.is_empty() && !segment.starts_with('{'));
    segments.next().unwrap_or_default().to_owned()
}

/// The description, after what a summary of several lines could not show.
fn whole_description(summary: &str, description: String) -> String {
    if summary.lines().nth(1).is_none() {
        return description;
    }
    if description.is_empty() {
        summary.to_owned()
    } else {
        format!("{summary}\n\n{description}")
    }
}

fn effect(method: &str) -> Effect {
    match method {
        "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY" => Effect::Reads,
        "DELETE" => Effect::Destroys,
        _ => Effect::Writes,
    }
}
