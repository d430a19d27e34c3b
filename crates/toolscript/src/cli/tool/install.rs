//! `toolscript tool install`: a tool out of a registry.

use serde_json::json;
use toolscript_engine::toolbox::{self, Wanted};

use super::{Exit, Place, Printer};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The tool, by its name in the registry
    name: String,
    /// The registry: a folder, or an address `git clone` takes
    #[arg(long, value_name = "REGISTRY")]
    from: String,
    #[command(flatten)]
    place: Place,
}

/// Puts the script and its section in place, and says what it still needs.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<Exit> {
    let (config, folder) = (args.place.config(), args.place.folder());
    let installed = toolbox::install(&Wanted {
        name: &args.name,
        from: &args.from,
        folder: &folder,
        config: config.as_deref(),
    })
    .await?;
    if printer.is_json() {
        let needs: Vec<&String> = installed.needs.iter().map(|(key, _)| key).collect();
        printer.value(&json!({
            "script": installed.script, "config": installed.config, "version": installed.version,
            "modules": installed.modules, "needs": needs,
        }))?;
        return Ok(Exit::OK);
    }
    let version = installed.version.as_deref().unwrap_or("of no version");
    let script = installed.script.display();
    printer.text(&format!("installed {} {version} as {script}", args.name))?;
    if let Some(config) = &installed.config {
        let config = config.display();
        printer.text(&format!("added [tools.script.{}] to {config}", args.name))?;
    }
    for (key, about) in &installed.needs {
        printer.note(&format!("it needs `{key}` in its section: {about}"));
    }
    Ok(Exit::OK)
}
