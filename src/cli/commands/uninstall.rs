//! `cuenv uninstall`: take toolchains away.

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::domain::spec::Spec;
use crate::ops::uninstall;

/// Remove toolchains; their wheels stay in the store until `cuenv gc`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to remove, such as `12.4+cudnn9` or a name that `cuenv list` shows
    #[arg(required = true)]
    spec: Vec<String>,
    /// Change nothing; show what would be removed
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    let specs: Vec<Spec> = args.spec.iter().map(|spec| spec.parse()).collect::<Result<_, _>>()?;
    let report = uninstall::uninstall(cx, &specs, args.dry_run)?;
    for project in &report.used_by {
        output.warn(&format!(
            "`{}` uses it; `cuenv install` there brings it back",
            project.display()
        ));
    }
    output.result(&report)?;
    Ok(Exit::Ok)
}
