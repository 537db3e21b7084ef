//! `cuenv licenses`: what NVIDIA says about the components of a toolchain.

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::domain::spec::Spec;
use crate::ops::licenses;

/// Print the licence texts of a toolchain's components
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The toolchain; what holds here when left out
    spec: Option<String>,
    /// Print the paths of the texts only
    #[arg(short, long)]
    list: bool,
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    let spec = args.spec.as_ref().map(|text| text.parse::<Spec>()).transpose()?;
    let spec = spec.map(|spec| spec.to_string());
    output.report(&licenses::licenses(cx, spec.as_deref(), args.list)?)?;
    Ok(Exit::Ok)
}
