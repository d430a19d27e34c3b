//! Answers of the tools: short text for the model, the same as structured content for programs.

use std::fmt::Write as _;

use rmcp::model::{self, CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;
use toolscript_engine::{
    Kept, Outcome, ScriptError, ScriptResult,
    discover::{Docs, Found, Page, Row, SourceRow},
    resources::Resource,
};

/// A part of a list, from where the cursor says; `None` where it is no cursor of ours.
pub(super) fn page_of<T>(items: Vec<T>, cursor: Option<&str>, size: usize) -> Option<Page<T>> {
    let start: usize = match cursor {
        None | Some("") => 0,
        Some(cursor) => cursor.parse().ok()?,
    };
    let total = items.len();
    let items: Vec<T> = items.into_iter().skip(start).take(size).collect();
    let next = start.saturating_add(items.len());
    let next_cursor = (next < total && !items.is_empty()).then(|| next.to_string());
    Some(Page {
        items,
        total,
        next_cursor,
    })
}

/// Something the caller can put right.
pub(super) fn problem(message: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}

pub(super) fn sources(page: &Page<SourceRow>) -> CallToolResult {
    let mut text = String::new();
    for row in &page.items {
        let _infallible = write!(
            text,
            "{} ({}, {} functions)",
            row.name, row.kind, row.functions
        );
        if !row.about.is_empty() {
            let _infallible = write!(text, ": {}", row.about);
        }
        text.push('\n');
        if !row.groups.is_empty() {
            let groups: Vec<String> = row
                .groups
                .iter()
                .map(|(group, count)| format!("{group} {count}"))
                .collect();
            let _infallible = writeln!(text, "  tags: {}", groups.join(", "));
        }
    }
    push_rest(&mut text, page);
    structured(page, text)
}

pub(super) fn functions(page: &Page<Row>) -> CallToolResult {
    let mut text = rows(&page.items);
    push_rest(&mut text, page);
    structured(page, text)
}

pub(super) fn found(found: &Found) -> CallToolResult {
    let mut text = rows(&found.page.items);
    if found.page.items.is_empty() {
        text.push_str("nothing found");
        if !found.did_you_mean.is_empty() {
            let _infallible = write!(text, "; did you mean {}", found.did_you_mean.join(", "));
        }
        text.push('\n');
    }
    push_rest(&mut text, &found.page);
    structured(found, text)
}

pub(super) fn docs(docs: &Docs) -> CallToolResult {
    structured(docs, docs.docs.clone())
}

/// The answer of a run; a failed one is an error the model can read and act on.
pub(super) fn outcome(outcome: &Outcome) -> CallToolResult {
    let mut text = match &outcome.result {
        Ok(ScriptResult::Value(value)) => compact(value),
        Ok(ScriptResult::Kept(kept)) => describe_kept(kept),
        Err(error) => describe(error),
    };
    for line in &outcome.logs {
        let _infallible = write!(text, "\n[log] {}", line.text);
    }
    let mut result = structured(outcome, text);
    if let (Ok(ScriptResult::Kept(kept)), Some(content)) =
        (&outcome.result, &mut result.structured_content)
    {
        content["kept"]["uri"] = Value::from(Resource::from(kept).uri);
    }
    result.is_error = Some(outcome.result.is_err());
    result
}

/// The way to a result that was too large to hand over.
pub(super) fn link(outcome: &Outcome) -> Option<ContentBlock> {
    match &outcome.result {
        Ok(ScriptResult::Kept(kept)) => {
            Some(ContentBlock::resource_link(resource(Resource::from(kept))))
        }
        _ => None,
    }
}

/// A resource as the protocol describes one.
pub(super) fn resource(resource: Resource) -> model::Resource {
    model::Resource::new(resource.uri, resource.name)
        .with_description(resource.description)
        .with_mime_type(resource.media_type)
}

/// One line that says what failed and where, one that says what to do.
fn describe(error: &ScriptError) -> String {
    let mut text = format!("{} error", error.phase.word());
    if let Some(line) = error.line {
        let _infallible = write!(text, " in line {line}");
    }
    let _infallible = write!(text, ": {}", error.message);
    if let Some(hint) = &error.hint {
        let _infallible = write!(text, "\nhint: {hint}");
    }
    text
}

/// What a result that is too large to hand over looks like, and how to get at it.
fn describe_kept(kept: &Kept) -> String {
    format!(
        "the result has {} bytes and was kept as `{handle}`; read parts of it in a further script: \
         result(\"{handle}\"):path(\"a.b\"), :slice(1, 10), :grep(\"text\"); or all of it as the resource {}\nshape: {}\npreview: {}",
        kept.bytes,
        Resource::from(kept).uri,
        kept.shape,
        kept.preview,
        handle = kept.handle,
    )
}

/// `signature  -- summary`, a line each.
fn rows(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        text.push_str(&row.signature);
        if !row.summary.is_empty() {
            let _infallible = write!(text, "  -- {}", row.summary);
        }
        text.push('\n');
    }
    text
}

fn push_rest<T>(text: &mut String, page: &Page<T>) {
    if let Some(cursor) = &page.next_cursor {
        let _infallible = writeln!(text, "({} in all; next: cursor \"{cursor}\")", page.total);
    }
}

fn structured(value: &impl Serialize, text: String) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(to_value(value));
    result
}

fn to_value(value: &impl Serialize) -> Value {
    // Our own plain data: there is nothing in it that JSON could refuse.
    serde_json::to_value(value).unwrap_or_default()
}

fn compact(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
