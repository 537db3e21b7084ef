//! `cuenv uninstall`: take toolchains away.

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::ops::uninstall::{self, Request};

/// Remove toolchains; their wheels stay in the store until `cuenv gc`
///
/// A SPEC that matches several, and a toolchain that a program runs in, are removed with `--yes` only.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to remove, such as `12.4+cudnn9` or a name that `cuenv list` shows
    #[arg(required = true)]
    spec: Vec<String>,
    /// Change nothing; show what would be removed
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(crate) fn run(
    cx: &Context<'_>,
    args: &Args,
    yes: bool,
    output: &Output,
) -> Result<Exit, Failure> {
    let request = Request { specs: args.spec.clone(), dry_run: args.dry_run, sure: yes };
    let report = uninstall::uninstall(cx, &request)?;
    for project in &report.used_by {
        output.warn(&format!(
            "`{}` uses it; `cuenv install` there brings it back",
            project.display()
        ));
    }
    if report.is_default {
        output.warn("it is the default: choose another with `cuenv use --global`");
    }
    output.result(&report)?;
    Ok(Exit::Ok)
}
