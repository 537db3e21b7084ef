//! `cuenv which`: the file that would be used for a tool or a library.

use std::path::PathBuf;

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::ops::launch::Request;
use crate::ops::which;

/// Print the file that would be used for a tool or a library
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A tool (`nvcc`) or a library (`libcudnn.so.9`)
    name: String,
    /// Print all candidates, best first, with the rule that leads to each
    #[arg(short, long)]
    all: bool,
    /// The program or library that asks: its own search paths count
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The toolchain; what holds here when left out
    #[arg(long, value_name = "SPEC")]
    toolchain: Option<String>,
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    let request = Request { spec: args.toolchain.clone(), ..Request::default() };
    let report = which::which(cx, &args.name, args.from.as_deref(), &request, args.all)?;
    output.report(&report)?;
    Ok(Exit::Ok)
}
