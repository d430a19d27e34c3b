//! `LoadError`: why a document gives no source, in words that say where and what would help.

use std::path::{Path, PathBuf};

use toolscript_catalog::Warning;

use super::yaml::DEEPEST;
use crate::outbound::OutboundError;

/// The most bytes one document may have.
pub const LARGEST_DOCUMENT: usize = 64 << 20;

/// Why a document could not be made a source.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No such file.
    #[error(
        "there is no file `{location}`; relative paths start from {}",
        shown(folder)
    )]
    Missing {
        /// What was asked for.
        location: String,
        /// Where relative paths start.
        folder: PathBuf,
    },
    /// A directory, a device, a pipe.
    #[error("`{location}` is not a file; name the document itself")]
    NotAFile {
        /// What was asked for.
        location: String,
    },
    /// The file is there and cannot be read.
    #[error("cannot read `{location}`: {cause}")]
    Read {
        /// What was asked for.
        location: String,
        /// What the system said.
        #[source]
        cause: std::io::Error,
    },
    /// The URL gave no document.
    #[error(
        "cannot fetch `{location}`: {cause}; is the address right, and can this machine reach it?"
    )]
    Fetch {
        /// What was asked for.
        location: String,
        /// What happened.
        #[source]
        cause: OutboundError,
    },
    /// More bytes than we read.
    #[error(
        "`{location}` is larger than {} MiB, the most a document may have; load a smaller part of it, such as one document per service",
        LARGEST_DOCUMENT >> 20
    )]
    TooLarge {
        /// What was asked for.
        location: String,
    },
    /// Nothing in it.
    #[error("`{location}` is empty; it should hold an OpenAPI document in JSON or YAML")]
    Empty {
        /// What was asked for.
        location: String,
    },
    /// A page for people.
    #[error("`{location}` looks like an HTML page; is this the address of the raw document?")]
    Html {
        /// What was asked for.
        location: String,
    },
    /// Not JSON, though it begins like it.
    #[error("`{location}` is not valid JSON at line {line}, column {column}: {problem}")]
    Json {
        /// What was asked for.
        location: String,
        /// Where it breaks.
        line: usize,
        /// Where it breaks.
        column: usize,
        /// What is wrong there.
        problem: String,
    },
    /// Not YAML.
    #[error("`{location}` is not valid YAML at line {line}, column {column}: {problem}")]
    Yaml {
        /// What was asked for.
        location: String,
        /// Where it breaks.
        line: usize,
        /// Where it breaks.
        column: usize,
        /// What is wrong there.
        problem: String,
    },
    /// Absurdly nested.
    #[error("`{location}` nests more than {DEEPEST} levels deep at line {line}; flatten it there")]
    TooDeep {
        /// What was asked for.
        location: String,
        /// Where it goes too deep.
        line: usize,
    },
    /// More values than we hold, usually by aliases of aliases.
    #[error(
        "`{location}` unfolds into too many values at line {line}; use `$ref` instead of YAML aliases there"
    )]
    TooManyValues {
        /// What was asked for.
        location: String,
        /// Where it becomes too many.
        line: usize,
    },
    /// Neither `openapi` nor `swagger`.
    #[error(
        "`{location}` is not an OpenAPI document: {found}; it should begin with `openapi: 3.x` or `swagger: \"2.0\"`"
    )]
    NotOpenApi {
        /// What was asked for.
        location: String,
        /// What it seems to be.
        found: String,
    },
    /// A version we do not read.
    #[error("`{location}` has version `{found}`; OpenAPI 3.0, 3.1, 3.2 and Swagger 2.0 are read")]
    Version {
        /// What was asked for.
        location: String,
        /// The version it names.
        found: String,
    },
    /// Nothing to call.
    #[error("`{location}` has no operation to call{}", first_reason(*webhooks, skipped))]
    NoOperations {
        /// What was asked for.
        location: String,
        /// Whether it describes calls the other way: webhooks.
        webhooks: bool,
        /// What was skipped on the way.
        skipped: Vec<Warning>,
    },
    /// A fault of ours, or of a library.
    #[error("reading `{location}` failed inside the program; please report this document")]
    Fault {
        /// What was asked for.
        location: String,
    },
    /// The settings name no document.
    #[error("nothing to load: set `spec` to a path or URL, or `generated` to a directory")]
    Nothing,
    /// A generated directory that cannot be read back.
    #[error(
        "cannot read the generated directory `{location}`: {problem}; write it again with `toolscript generate`"
    )]
    Generated {
        /// The directory.
        location: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A generated directory without the API that was asked for.
    #[error("`{location}` holds {}; {}", known.join(", "), wanted(name))]
    NotGenerated {
        /// The directory.
        location: String,
        /// What was asked for; empty where nothing was.
        name: String,
        /// What is there.
        known: Vec<String>,
    },
}

fn shown(folder: &Path) -> String {
    if folder.as_os_str().is_empty() {
        return "the current folder".to_owned();
    }
    format!("`{}`", folder.display())
}

fn wanted(name: &str) -> String {
    match name {
        "" => "name the one to serve".to_owned(),
        name => format!("`{name}` is not among them"),
    }
}

fn first_reason(webhooks: bool, skipped: &[Warning]) -> String {
    match skipped.first() {
        None if webhooks => "; it only describes webhooks, which call you".to_owned(),
        None => "; `paths` is missing or empty".to_owned(),
        Some(first) => format!(
            "; {} skipped, the first at {}: {}",
            skipped.len(),
            first.place,
            first.reason
        ),
    }
}
