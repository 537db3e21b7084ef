//! `cuenv resolve`: what a spec would give, with reasons, installing nothing.

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::domain::spec::Spec;
use crate::domain::target::Target;
use crate::ops::answer;
use crate::ops::resolve::ResolveReport;

/// Show which wheels a spec gives, and why; installs nothing
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to resolve, such as `12.4+cudnn9`
    spec: String,
    /// Resolve for another platform
    #[arg(long, value_name = "PLATFORM")]
    platform: Option<String>,
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    let spec: Spec = args.spec.parse()?;
    let target = match &args.platform {
        Some(platform) => platform.parse::<Target>()?,
        None => cx.target,
    };
    let resolution = answer::resolve(cx, &spec, target, Some(cx.cwd()))?;
    let report = ResolveReport::new(&spec, resolution);
    if output.quiet && !output.json {
        output.text(&report.toolchain)?;
    } else {
        output.report(&report)?;
    }
    Ok(Exit::Ok)
}
