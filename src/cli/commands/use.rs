//! `cuenv use`: pin this directory, lock it, install what is missing.

use std::path::PathBuf;

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::domain::spec::Spec;
use crate::ops::detect;
use crate::ops::pin::{self, Effect, Request, Scope};
use crate::ops::project_install;

/// Pin a toolchain for this directory, and install what is missing
///
/// Writes `.cuenv` (the spec) and `.cuenv.lock` (the exact wheels); keep both in version control.
/// Without SPEC, installs what the pin here says.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "this is what was typed, one field a switch")]
pub struct Args {
    /// What to pin, such as `12.4+cudnn9`, `11.8+cudnn8@base`, `auto+cudnn9`, `system`
    spec: Option<String>,
    /// Set the default for directories without a pin
    #[arg(long)]
    global: bool,
    /// Write the pin and the lock only
    #[arg(long)]
    no_install: bool,
    /// Change nothing; show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Propose the pin from the project's Python environment and dependency files, and use it
    #[arg(long, conflicts_with_all = ["spec", "global"])]
    detect: bool,
    /// The interpreter of the project's environment, where it is not the usual one
    #[arg(long, value_name = "PATH", requires = "detect")]
    python: Option<PathBuf>,
    /// What happens when the project's venv brings NVIDIA libraries of its own
    #[arg(long, value_name = "POLICY", value_parser = ["defer", "override", "off"])]
    venv: Option<String>,
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    if args.detect {
        return detected(cx, args, output);
    }
    let Some(spec) = &args.spec else {
        let request = project_install::Request::default();
        output.result(&project_install::install(cx, &request)?)?;
        return Ok(Exit::Ok);
    };
    pinned(cx, args, spec.parse()?, output)
}

/// Shows what the project asks for, and pins it.
fn detected(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    let detection = detect::project(cx, args.python.clone())?;
    let spec = detect::pin(&detection, cx.cwd());
    if args.dry_run {
        // What was found is the result then, also where no pin follows from it.
        output.result(&detection)?;
        // One document is printed with `--json`, and the report has the reason in it.
        return match spec {
            Ok(_) => Ok(Exit::Ok),
            Err(_) if output.json => Ok(Exit::NoMatch),
            Err(error) => Err(error.into()),
        };
    }
    let spec = spec?;
    detection.to_string().lines().for_each(|line| output.note(line));
    pinned(cx, args, spec, output)
}

fn pinned(cx: &Context<'_>, args: &Args, spec: Spec, output: &Output) -> Result<Exit, Failure> {
    let request = Request {
        spec,
        scope: if args.global { Scope::Default } else { Scope::Project },
        venv: args.venv.clone(),
        effect: match (args.dry_run, args.no_install) {
            (true, _) => Effect::DryRun,
            (false, true) => Effect::WriteOnly,
            (false, false) => Effect::Install,
        },
    };
    let report = pin::pin(cx, &request)?;
    output.result(&report)?;
    if !output.json && report.written {
        match (&report.toolchain, &report.install) {
            (Some(_), None) => output.note("Next: `cuenv install` fetches it"),
            (Some(_), Some(_)) => {
                output.note("Next: run a program in it, as in `cuenv exec python train.py`");
            }
            (None, _) => {}
        }
    }
    Ok(Exit::Ok)
}
