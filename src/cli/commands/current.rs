//! `cuenv current`: what holds here, and why.

use shims::dirs::Dirs;

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::ops::activate::current;
use crate::platform::process::Process;

/// Show which toolchain holds here, because of what, and what it beat
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(crate) fn run(
    process: &Process,
    dirs: &Dirs,
    _args: &Args,
    output: &Output,
) -> Result<Exit, Failure> {
    let report = current::current(process, dirs)?;
    if output.quiet && !output.json {
        output.text(report.spec.as_deref().unwrap_or("none"))?;
    } else {
        output.report(&report)?;
    }
    Ok(Exit::Ok)
}
