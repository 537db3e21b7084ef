//! The `cuenv` command: reads the process once, hands it to the command line, returns its exit code.

use std::process::ExitCode;

#[expect(
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a bug ends with its own code, whatever thread it is in"
)]
fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        eprintln!(
            "error: a bug in cuenv: {panic}\n  hint: please report it with the command that you ran"
        );
        std::process::exit(70);
    }));
    cuenv::cli::run(&cuenv::platform::process::Process::from_os())
}
