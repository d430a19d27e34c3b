//! The `toolscript` program: reads the command line, runs one command, leaves with its exit code.

mod cli;
mod demo;
mod http;
mod mcp;

/// Scripts make and drop many small values on many threads; the system's allocator is slow at that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
