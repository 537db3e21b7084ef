//! `cuenv current`: what holds here, and why.

use shims::dirs::Dirs;

use crate::catalog::Catalog;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::ops::activate::current;
use crate::ops::host;
use crate::platform::host::Depth;
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
    let mut report = current::current(process, dirs)?;
    if output.quiet && !output.json {
        // For prompts: nothing but the pin is looked at.
        output.text(report.spec.as_deref().unwrap_or("none"))?;
        return Ok(Exit::Ok);
    }
    let catalog = Catalog::builtin();
    if let Ok(host) = host::probe(process, &catalog, Depth::Enough) {
        report.see(&host, &catalog);
    }
    output.report(&report)?;
    Ok(Exit::Ok)
}
