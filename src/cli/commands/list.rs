//! `cuenv list`: what is installed, and what the index offers.

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::ops::list;

/// List installed toolchains, or with --available what the index offers
#[derive(Debug, clap::Args)]
pub struct Args {
    /// List what the index offers
    #[arg(short, long)]
    available: bool,
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    if args.available {
        output.report(&list::available(cx)?)?;
        return Ok(Exit::Ok);
    }
    let report = list::installed(cx);
    if output.quiet && !output.json {
        let names: Vec<_> = report.toolchains.iter().map(|one| one.toolchain.as_str()).collect();
        output.text(&names.join("\n"))?;
    } else {
        output.report(&report)?;
    }
    Ok(Exit::Ok)
}
