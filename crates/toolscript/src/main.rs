//! The `toolscript` program: reads the command line, runs one command, leaves with its exit code.

mod cli;
mod demo;
mod http;
mod mcp;

use toolscript_engine::guard;

/// Scripts make and drop many small values on many threads; the system's allocator is slow at that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() == Some(guard::SUBCOMMAND.as_ref()) {
        return guard::run(arguments);
    }
    guard::offer_this_program();
    cli::main()
}
