//! `toolscript server import`: the MCP servers of another program's file, taken over.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Serialize;
use serde_json::json;
use toolscript_engine::mcp_servers::{
    self, Added, Import, Imported, Replacing, Secrets, ServerFile,
};

use super::{NewFileOptions, SAME_NAME, folder_of, warn_of_secrets};
use crate::cli::{Exit, Printer};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file: `.mcp.json`, `claude_desktop_config.json`, Cursor's or VS Code's `mcp.json` or `settings.json`
    file: PathBuf,
    /// Replace servers of the same name
    #[arg(long)]
    force: bool,
    /// Put variables into the place of secrets that are written out, and say which to set
    #[arg(long)]
    secrets_to_env: bool,
    /// Print what would be added, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    target: NewFileOptions,
}

/// One line of the report.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    /// What the other program calls it.
    original: String,
    state: &'static str,
    /// Whether the file changes by it.
    #[serde(skip)]
    is_change: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secrets: Vec<String>,
    /// The variables to set, with what they stand for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    to_set: BTreeMap<String, String>,
}

impl Row {
    fn new(server: &Imported, added: Added) -> Self {
        let state = match added {
            Added::New => "added",
            Added::Replaced => "replaced",
            Added::Same => "there already",
            Added::Kept => "kept",
        };
        let mut row = Self {
            name: server.name.to_string(),
            original: server.original.clone(),
            state,
            is_change: matches!(added, Added::New | Added::Replaced),
            notes: Vec::new(),
            secrets: Vec::new(),
            to_set: BTreeMap::new(),
        };
        if added == Added::Kept {
            let note = "there is another server of this name, which stays; `--force` replaces it";
            row.notes.push(note.to_owned());
        } else {
            let exports = server.exports.iter();
            row.to_set = exports
                .map(|export| (export.variable.clone(), export.meaning.clone()))
                .collect();
            row.notes.clone_from(&server.notes);
            row.secrets.clone_from(&server.secrets);
        }
        row
    }
}

/// Takes over what can be, and tells everything that was not.
pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let secrets = if args.secrets_to_env {
        Secrets::ToEnvironment
    } else {
        Secrets::Keep
    };
    let path = args.target.path();
    let import = mcp_servers::read_foreign(&args.file, folder_of(&path), secrets)?;
    let mut file = ServerFile::open(&path)?;
    // A second file shows what is new without the rest, and without secrets.
    let mut shown = ServerFile::open(&path)?.emptied();
    let mut rows = Vec::new();
    for server in &import.servers {
        rows.push(add(args, server, &mut file, &mut shown)?);
    }
    let is_written = !args.dry_run && rows.iter().any(|row| row.is_change);
    if is_written {
        args.target.warn_of_shadow(printer);
        file.save()?;
    } else if args.dry_run && !printer.is_json() {
        printer.text(&shown.text())?;
    }
    show(args, &rows, &import, is_written, printer)?;
    if is_written {
        printer.note(&format!(
            "wrote `{}`; `toolscript server list` shows whether they work",
            path.display()
        ));
    }
    Ok(if import.refused.is_empty() {
        Exit::OK
    } else {
        Exit::MISFIT
    })
}

fn add(
    args: &Args,
    server: &Imported,
    file: &mut ServerFile,
    shown: &mut ServerFile,
) -> anyhow::Result<Row> {
    let replacing = if args.force {
        Replacing::Always
    } else {
        Replacing::Never
    };
    let added = file.add(&server.name, &server.settings, replacing)?;
    let mut row = Row::new(server, added);
    if row.is_change {
        shown.add(&server.name, &server.shown, Replacing::Always)?;
        if !server.secrets.is_empty() {
            file.holds_secrets();
        }
    }
    if file.has_api(&server.name) {
        row.notes.push(SAME_NAME.to_owned());
    }
    Ok(row)
}

fn show(
    args: &Args,
    rows: &[Row],
    import: &Import,
    is_written: bool,
    printer: &Printer,
) -> anyhow::Result<()> {
    if printer.is_json() {
        let refused: BTreeMap<&str, &str> = import
            .refused
            .iter()
            .map(|server| (&*server.original, &*server.reason))
            .collect();
        return printer.value(&json!({
            "file": args.target.path(),
            "written": is_written,
            "servers": rows,
            "refused": refused,
        }));
    }
    if !args.dry_run && !rows.is_empty() {
        let cells = rows
            .iter()
            .map(|row| [row.name.clone(), row.state.to_owned()]);
        printer.table(["SERVER", "STATE"], cells)?;
    }
    if rows.is_empty() && import.refused.is_empty() {
        printer.note(&format!("`{}` lists no server", args.file.display()));
    }
    for row in rows {
        for note in &row.notes {
            printer.warning(&format!("{}: {note}", row.name));
        }
        warn_of_secrets(&row.name, &row.secrets, printer);
    }
    if rows.iter().any(|row| !row.secrets.is_empty()) {
        printer.note("`--secrets-to-env` puts variables into their place (with `--force`, if you have imported them already)");
    }
    for server in &import.refused {
        printer.warning(&format!(
            "{}: not imported: {}",
            server.original, server.reason
        ));
    }
    let to_set: BTreeMap<&String, &String> = rows.iter().flat_map(|row| &row.to_set).collect();
    if !to_set.is_empty() {
        printer.note("set these before you start toolscript:");
    }
    for (variable, meaning) in to_set {
        printer.note(&format!("  export {variable}=  # {meaning}"));
    }
    Ok(())
}
