//! `toolscript tool init`: a script to start from.

use serde_json::json;
use toolscript_engine::toolbox;

use super::{Exit, Place, Printer};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the tool is called
    name: String,
    #[command(flatten)]
    place: Place,
}

/// Writes the script and its section, and says what to do next.
pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let config = args.place.config();
    let made = toolbox::init(&args.name, &args.place.folder(), config.as_deref())?;
    if printer.is_json() {
        printer.value(&json!({"script": made.script, "config": made.config}))?;
        return Ok(Exit::OK);
    }
    let script = made.script.display();
    printer.text(&format!("wrote {script}"))?;
    if let Some(config) = &made.config {
        let config = config.display();
        printer.text(&format!("added [tools.script.{}] to {config}", args.name))?;
    }
    printer.note(&format!(
        "try it: toolscript tool test {script} --param name=world"
    ));
    Ok(Exit::OK)
}
