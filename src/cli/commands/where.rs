//! `cuenv where`: the path of a prefix.

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::domain::spec::Spec;
use crate::ops::place;

/// Print the prefix path of a toolchain
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The toolchain; what holds here when left out
    spec: Option<String>,
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    let spec = args.spec.as_ref().map(|text| text.parse::<Spec>()).transpose()?;
    let spec = spec.map(|spec| spec.to_string());
    output.report(&place::place(cx, spec.as_deref())?)?;
    Ok(Exit::Ok)
}
