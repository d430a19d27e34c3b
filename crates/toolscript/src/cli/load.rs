//! Opens the engine for a command, with progress while it loads and warnings after.

use toolscript_engine::{Engine, OpenError, Opened, config::Config};

use super::{printer::Printer, progress::LoadProgress};

/// How many warnings are shown; a large document may have hundreds.
const SHOWN: usize = 5;

/// Opens every source and says what did not go well.
pub(crate) async fn open(config: Config, printer: &Printer) -> Result<Engine, OpenError> {
    let progress = LoadProgress::new(printer);
    let engine = Engine::open(config, Some(&progress)).await;
    drop(progress);
    let engine = engine?;
    warn(engine.report(), printer);
    Ok(engine)
}

/// Shows which sources are missing, and the first few warnings of the others.
pub(crate) fn warn(report: &[Opened], printer: &Printer) {
    for source in report {
        if let Err(problem) = &source.outcome {
            printer.warning(&format!("{}: {problem}", source.name));
        }
    }
    let lines: Vec<String> = report.iter().flat_map(warnings).collect();
    for line in lines.iter().take(SHOWN) {
        printer.warning(line);
    }
    if SHOWN < lines.len() {
        let more = lines.len() - SHOWN;
        printer.warning(&format!("{more} more; `toolscript doctor` lists them"));
    }
}

fn warnings(source: &Opened) -> impl Iterator<Item = String> {
    let line = |warning: &toolscript_catalog::Warning| {
        format!("{}: {}: {}", source.name, warning.place, warning.reason)
    };
    source.warnings.iter().map(line)
}
