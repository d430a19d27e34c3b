//! `sdk/*.luau`: the typed stubs of generated APIs, one file per tag, and `_meta.luau`.

use std::{
    collections::{BTreeMap, HashSet},
    fmt::Write as _,
};

use toolscript_catalog::{
    Entry, Function, FunctionName,
    docs::{Subject, pages},
    render::{comment, quoted},
};

use super::load::Compiled;

/// The folder below the generated directory.
pub(super) const FOLDER: &str = "sdk";

/// One file: which API and tag it is for, and the functions in it.
struct Chapter<'e> {
    entry: &'e Entry,
    tag: &'e str,
    file: String,
    functions: Vec<&'e Function>,
}

/// The files by their names below the generated directory.
pub(super) fn files(compiled: &[Compiled]) -> BTreeMap<String, String> {
    let entries: Vec<Entry> = compiled
        .iter()
        .map(|one| Entry::new(one.name.clone(), one.listing.clone()))
        .collect();
    let chapters = chapters(&entries);
    let mut files: BTreeMap<String, String> = chapters
        .iter()
        .map(|chapter| (format!("{FOLDER}/{}", chapter.file), chapter_text(chapter)))
        .collect();
    files.insert(
        format!("{FOLDER}/_meta.luau"),
        meta_text(&entries, &chapters),
    );
    files
}

/// Whether a name is one we might have written: nothing else is ever removed.
pub(super) fn is_ours(name: &str) -> bool {
    let file = name
        .strip_prefix(FOLDER)
        .and_then(|rest| rest.strip_prefix('/'));
    file.is_some_and(|file| {
        file.rsplit_once('.')
            .is_some_and(|(stem, ending)| ending == "luau" && is_plain(stem))
    })
}

fn is_plain(stem: &str) -> bool {
    stem.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn chapters(entries: &[Entry]) -> Vec<Chapter<'_>> {
    let mut taken: HashSet<FunctionName> = HashSet::new();
    let mut chapters = Vec::new();
    for entry in entries {
        let mut by_tag: BTreeMap<&str, Vec<&Function>> = BTreeMap::new();
        for function in &entry.listing.functions {
            by_tag
                .entry(function.group.as_str())
                .or_default()
                .push(function);
        }
        for (tag, functions) in by_tag {
            let title = if tag.is_empty() { "default" } else { tag };
            // With one API the tag is enough; with several, tags may meet.
            let wanted = if entries.len() == 1 {
                title.to_owned()
            } else {
                format!("{} {title}", entry.name)
            };
            let name = FunctionName::clean(&wanted).unique(&mut taken);
            chapters.push(Chapter {
                entry,
                tag,
                file: format!("{name}.luau"),
                functions,
            });
        }
    }
    chapters
}

fn chapter_text(chapter: &Chapter<'_>) -> String {
    let info = &chapter.entry.listing.info;
    let mut text = comment(&format!("{}: {}", chapter.entry.name, chapter.tag), "");
    if let Some(about) = info.groups.get(chapter.tag) {
        text.push_str("--\n");
        text.push_str(&comment(about, ""));
    }
    text.push('\n');
    let functions = chapter.functions.iter();
    let subjects: Vec<Subject<'_>> = functions
        .map(|function| Subject::Function(chapter.entry, function))
        .collect();
    text.push_str(&pages(&subjects, usize::MAX).text);
    text
}

fn meta_text(entries: &[Entry], chapters: &[Chapter<'_>]) -> String {
    let mut text = "-- What was generated, and from what.\n\nreturn {\n".to_owned();
    for entry in entries {
        let info = &entry.listing.info;
        text.push_str("\t{\n");
        for (key, value) in [
            ("name", entry.name.as_str()),
            ("title", &info.title),
            ("version", &info.version),
            ("base_url", &info.address),
            ("description", &info.description),
        ] {
            let _infallible = writeln!(text, "\t\t{key} = {},", quoted(value));
        }
        text.push_str("\t\ttags = {\n");
        for chapter in chapters
            .iter()
            .filter(|chapter| chapter.entry.name == entry.name)
        {
            text.push_str(&tag_text(chapter));
        }
        text.push_str("\t\t},\n\t},\n");
    }
    text.push_str("}\n");
    text
}

fn tag_text(chapter: &Chapter<'_>) -> String {
    let functions: Vec<String> = chapter
        .functions
        .iter()
        .map(|function| quoted(function.name.as_str()))
        .collect();
    format!(
        "\t\t\t{{ name = {}, file = {}, functions = {{ {} }} }},\n",
        quoted(chapter.tag),
        quoted(&chapter.file),
        functions.join(", ")
    )
}
