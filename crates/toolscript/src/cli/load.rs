//! Opens the engine for a command, with progress while it loads and warnings after.

use std::time::Duration;

use toolscript_engine::{Engine, OpenError, Opened, Patience, config::Config};

use super::{printer::Printer, progress::LoadProgress};

/// How many warnings are shown; a large document may have hundreds.
const SHOWN: usize = 5;

/// How long an agent's program is kept waiting for the sources; it gives up after some ten seconds.
const AGENTS_WAIT: Duration = Duration::from_secs(5);

/// Opens every source and says what did not go well.
pub(crate) async fn open(config: Config, printer: &Printer) -> Result<Engine, OpenError> {
    open_within(config, Patience::Unlimited, printer).await
}

/// Opens the sources for a server: agents do not wait for long, so what is slow to start joins
/// later.
pub(crate) async fn open_to_serve(config: Config, printer: &Printer) -> Result<Engine, OpenError> {
    open_within(config, Patience::AtMost(AGENTS_WAIT), printer).await
}

async fn open_within(
    config: Config,
    patience: Patience,
    printer: &Printer,
) -> Result<Engine, OpenError> {
    let progress = LoadProgress::new(printer);
    let engine = Engine::open(config, patience, Some(&progress)).await;
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
