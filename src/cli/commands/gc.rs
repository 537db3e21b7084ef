//! `cuenv gc`: drop what nothing pins or runs.

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::ops::gc;

/// Show what nothing pins or runs; with -y, remove it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Change nothing, even with -y
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(crate) fn run(
    cx: &Context<'_>,
    args: &Args,
    yes: bool,
    output: &Output,
) -> Result<Exit, Failure> {
    let report = gc::gc(cx, args.dry_run || !yes)?;
    for path in &report.running {
        output.note(&format!("`{}` is kept: a process runs in it", path.display()));
    }
    output.result(&report)?;
    if report.dry_run && !report.items.is_empty() {
        output.note("nothing was removed; `cuenv gc -y` removes it");
    }
    Ok(Exit::Ok)
}
