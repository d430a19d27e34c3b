//! Log lines: to standard error, because standard output belongs to results and to MCP.

use std::io;

use tracing_subscriber::{EnvFilter, fmt};

use super::options::{LogFormat, OutputOptions};

/// Starts logging. `RUST_LOG` wins over `-v`.
pub(crate) fn start(options: &OutputOptions) {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(directives(options)));
    let lines = fmt().with_env_filter(filter).with_writer(io::stderr);
    let started = match options.log_format {
        LogFormat::Text => lines.with_ansi(false).try_init(),
        LogFormat::Json => lines.json().try_init(),
    };
    debug_assert!(started.is_ok(), "logging starts once");
}

/// `rmcp::service` calls it an error when a client hangs up before its answer is written, which
/// clients do whenever they end.
fn directives(options: &OutputOptions) -> &'static str {
    match options.verbose {
        0 if options.quiet => "error,rmcp::service=off",
        0 => "warn,rmcp::service=off",
        1 => "info,rmcp=warn,rmcp::service=off",
        2 => "debug",
        _ => "trace",
    }
}
