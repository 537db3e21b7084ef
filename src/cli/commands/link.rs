//! `cuenv link`: adopt a toolkit that is there already.

use std::path::PathBuf;

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::ops::link;

/// Adopt a CUDA toolkit that is there already, under a name to pin; it is never modified
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The name to pin it by, such as `site-12.4`
    name: String,
    /// Where it is, such as `/usr/local/cuda-12.4`
    path: PathBuf,
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    output.result(&link::link(cx, &args.name, &args.path)?)?;
    Ok(Exit::Ok)
}
