//! Log lines: to standard error, because standard output belongs to results and to MCP.

use std::io;

use tracing::{Level, Metadata};
use tracing_subscriber::{
    EnvFilter, Layer as _, Registry,
    filter::{FilterExt as _, filter_fn},
    fmt,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use super::options::{LogFormat, OutputOptions};

/// Starts logging. `RUST_LOG` wins over `-v`.
pub(crate) fn start(options: &OutputOptions) {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(directives(options)));
    let filter = filter.and(filter_fn(is_fit_to_print));
    // Whoever closes our standard error must not bring down what tries to write a line there.
    let lines = fmt::layer()
        .with_writer(io::stderr)
        .log_internal_errors(false);
    let lines = match options.log_format {
        LogFormat::Text => lines.with_ansi(false).with_filter(filter).boxed(),
        LogFormat::Json => lines.json().with_filter(filter).boxed(),
    };
    let started = Registry::default().with(lines).try_init();
    debug_assert!(started.is_ok(), "logging starts once");
}

/// The MCP library writes whole messages to its finer logs: scripts, arguments and the credentials
/// a client brought, whoever asked for them.
fn is_fit_to_print(line: &Metadata<'_>) -> bool {
    let is_mcp = line.target() == "rmcp" || line.target().starts_with("rmcp::");
    !is_mcp || *line.level() <= Level::INFO
}

/// `rmcp` calls it an error when a client hangs up before its answer is written, which clients do
/// whenever they end, and when a server cannot be reached, which we say in better words.
fn directives(options: &OutputOptions) -> &'static str {
    match options.verbose {
        0 if options.quiet => "error,rmcp=off",
        0 => "warn,rmcp=off",
        1 => "info,rmcp=warn,rmcp::service=off,rmcp::transport=off",
        2 => "debug",
        _ => "trace",
    }
}
