//! `cuenv where`: the path of a prefix.

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::domain::spec::Spec;

/// Print the prefix path of a toolchain
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The toolchain; what holds here when left out
    spec: Option<String>,
}

pub(crate) fn run(_cx: &Context<'_>, args: &Args, _output: &Output) -> Result<Exit, Failure> {
    if let Some(spec) = &args.spec {
        let _: Spec = spec.parse()?;
    }
    Ok(Exit::Ok)
}
