//! `toolscript generate`: the SDK of OpenAPI documents as files.

use std::path::PathBuf;

use serde_json::json;
use toolscript_engine::GenerateReport;

use super::{Exit, Printer, load, options::ConfigOptions};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// OpenAPI documents: `path`, `url`, `name=path` or `name=url`
    #[arg(value_name = "SPEC")]
    specs: Vec<String>,
    /// The directory to write `manifest.json` and `sdk/` to
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    config: ConfigOptions,
}

/// Writes the files and says how many functions each API has.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let config = args.config.read(&args.specs)?;
    let report = toolscript_engine::generate(config, &args.out).await?;
    load::warn(&report.apis, printer);
    show(&report, &args.out.display().to_string(), printer)?;
    Ok(Exit::OK)
}

fn show(report: &GenerateReport, folder: &str, printer: &Printer) -> anyhow::Result<()> {
    let apis = report
        .apis
        .iter()
        .filter_map(|api| Some((&api.name, *api.outcome.as_ref().ok()?)));
    if printer.is_json() {
        let apis: Vec<_> = apis
            .map(|(name, functions)| json!({"name": name, "functions": functions}))
            .collect();
        return printer.value(&json!({"apis": apis, "files": report.files}));
    }
    let rows = apis.map(|(name, functions)| [name.clone(), functions.to_string()]);
    printer.table(["API", "FUNCTIONS"], rows)?;
    let files = report.files.len();
    printer.note(&format!(
        "wrote {files} files to `{folder}`; serve them with `toolscript serve {folder}`"
    ));
    Ok(())
}
