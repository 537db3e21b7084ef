//! `cuenv lock` and `cuenv update`: the lock of the project that holds here.

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::domain::target::Target;
use crate::ops::lock::{self, Mode};

/// Write `.cuenv.lock` for the pin here, or check it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Fail with code 8 when the lock does not answer the pin
    #[arg(long)]
    check: bool,
    /// The platforms to lock, separated by commas; those of the lock and this one when left out
    #[arg(long, value_name = "PLATFORM", value_delimiter = ',')]
    platform: Vec<String>,
}

/// Move the lock to the newest wheels that the pin allows
#[derive(Debug, clap::Args)]
pub struct UpdateArgs {
    /// Change nothing; exit with code 100 when there is something newer
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Write the lock only
    #[arg(long)]
    no_install: bool,
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    let targets: Vec<Target> =
        args.platform.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
    let mode = if args.check { Mode::Check } else { Mode::Write };
    output.result(&lock::lock(cx, mode, &targets)?)?;
    Ok(Exit::Ok)
}

pub(crate) fn update(
    cx: &Context<'_>,
    args: &UpdateArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let mode = if args.dry_run { Mode::WouldUpdate } else { Mode::Update };
    let report = lock::lock(cx, mode, &[])?;
    output.result(&report)?;
    if args.dry_run {
        return Ok(if report.changed { Exit::Updates } else { Exit::Ok });
    }
    if !args.no_install {
        let request = crate::ops::project_install::Request { locked: true };
        let installed = crate::ops::project_install::install(cx, &request)?;
        if !output.json {
            output.note(installed.to_string().trim_end());
        }
    }
    Ok(Exit::Ok)
}
