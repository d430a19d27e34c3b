//! What the doctor says of MCP servers: whether the program is there, starts, and speaks.

use toolscript_engine::{
    config::Config,
    mcp_servers::{self, IntrospectError, Offer, ServerReport, Trouble},
};

use super::{Finding, Level, count};

/// Connects to every server, all at once.
pub(super) async fn look(config: &Config) -> Vec<Finding> {
    let reports = mcp_servers::introspect_all(config, None).await;
    reports.iter().flat_map(findings).collect()
}

fn findings(report: &ServerReport) -> Vec<Finding> {
    match &report.outcome {
        None => vec![Finding::new(
            Level::Ok,
            report.name.as_str(),
            "switched off by `enabled = false`",
        )],
        Some(Ok(offer)) => well(report, offer),
        Some(Err(error)) => vec![ill(report, error)],
    }
}

fn well(report: &ServerReport, offer: &Offer) -> Vec<Finding> {
    let about = report.name.as_str();
    let (tools, milliseconds) = (offer.tools.len(), report.elapsed.as_millis());
    let message = format!(
        "{} in {milliseconds} ms over {}, protocol revision {}",
        count(tools, "tool"),
        report.transport,
        offer.revision
    );
    let first = if tools == 0 {
        Finding::new(Level::Warning, about, message)
            .with_remedy("look at `tools.include` and `tools.exclude`, and at the warnings below")
    } else {
        Finding::new(Level::Ok, about, message)
    };
    let warnings = offer.warnings.iter();
    let warnings = warnings.map(|warning| Finding::new(Level::Warning, about, warning));
    std::iter::once(first).chain(warnings).collect()
}

fn ill(report: &ServerReport, error: &IntrospectError) -> Finding {
    let about = report.name.as_str();
    let program = report.program.as_ref();
    if let Some(program) = program.filter(|program| program.path.is_none()) {
        let place = if program.command.contains('/') {
            "is no program that can be started"
        } else {
            "is not in `PATH`"
        };
        let remedy = program
            .remedy()
            .unwrap_or("install it, or write its whole path as `command`");
        return Finding::error(about, format!("`{}` {place}", program.command)).with_remedy(remedy);
    }
    let found = Finding::error(
        about,
        format!("{}: {}", error.trouble.words(), error.problem),
    );
    match error.trouble {
        Trouble::Login => found.with_remedy(format!(
            "`toolscript server login {about}` logs in, or set `headers.Authorization`"
        )),
        Trouble::Unreachable => found.with_remedy("look at `url`, and whether the server runs"),
        _ => found,
    }
}
