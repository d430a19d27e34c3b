//! `toolscript server import`: the MCP servers of another program's file, taken over.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Serialize;
use serde_json::json;
use toolscript_engine::mcp_servers::{
    self, Added, Import, Imported, Replacing, Secrets, ServerFile,
};

use super::{NewFileOptions, folder_of, warn_of_secrets};
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secrets: Vec<String>,
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
    let is_changed = rows
        .iter()
        .any(|row| matches!(row.state, "added" | "replaced"));
    if args.dry_run && !printer.is_json() {
        printer.text(&shown.text())?;
    } else if is_changed && !args.dry_run {
        args.target.warn_of_shadow(printer);
        file.save()?;
    }
    show(args, &rows, &import, printer)?;
    if is_changed && !args.dry_run {
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
    let state = match added {
        Added::New => "added",
        Added::Replaced => "replaced",
        Added::Same => "there already",
        Added::Kept => "kept as it was; --force replaces it",
    };
    if matches!(added, Added::New | Added::Replaced) {
        shown.add(&server.name, &server.shown, Replacing::Always)?;
        if !server.secrets.is_empty() {
            file.holds_secrets();
        }
    }
    Ok(Row {
        name: server.name.to_string(),
        original: server.original.clone(),
        state,
        notes: server.notes.clone(),
        secrets: server.secrets.clone(),
    })
}

fn show(args: &Args, rows: &[Row], import: &Import, printer: &Printer) -> anyhow::Result<()> {
    if printer.is_json() {
        let refused: BTreeMap<&str, &str> = import
            .refused
            .iter()
            .map(|server| (&*server.original, &*server.reason))
            .collect();
        let exports: BTreeMap<&str, &str> = import
            .exports
            .iter()
            .map(|export| (&*export.variable, &*export.meaning))
            .collect();
        return printer.value(&json!({
            "file": args.target.path(),
            "written": !args.dry_run,
            "servers": rows,
            "refused": refused,
            "to_set": exports,
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
    if !import.exports.is_empty() {
        printer.note("set these before you start toolscript:");
        for export in &import.exports {
            printer.note(&format!(
                "  export {}=  # {}",
                export.variable, export.meaning
            ));
        }
    }
    Ok(())
}
