//! The `toolscript` program: reads the command line, runs one command, leaves with its exit code.

mod cli;
mod demo;
mod http;
mod mcp;

use toolscript_engine::guard;

fn main() -> std::process::ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() == Some(guard::SUBCOMMAND.as_ref()) {
        return guard::run(arguments);
    }
    guard::offer_this_program();
    cli::main()
}
