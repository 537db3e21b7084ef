//! The `cuenv` command: reads the process once, hands it to the command line, returns its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    cuenv::cli::run(&cuenv::platform::process::Process::from_os())
}
