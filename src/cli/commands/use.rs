//! `cuenv use`: pin this directory, lock it, install what is missing.

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::domain::spec::Spec;
use crate::ops::pin::{self, Effect, Request, Scope};
use crate::ops::project_install;

/// Pin a toolchain for this directory, and install what is missing
///
/// Writes `.cuenv` (the spec) and `.cuenv.lock` (the exact wheels); keep both in version control.
/// Without SPEC, installs what the pin here says.
#[derive(Debug, clap::Args)]
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
    /// What happens when the project's venv brings NVIDIA libraries of its own
    #[arg(long, value_name = "POLICY", value_parser = ["defer", "override", "off"])]
    venv: Option<String>,
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    let Some(spec) = &args.spec else {
        let request = project_install::Request::default();
        output.result(&project_install::install(cx, &request)?)?;
        return Ok(Exit::Ok);
    };
    let spec: Spec = spec.parse()?;
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
    output.result(&pin::pin(cx, &request)?)?;
    Ok(Exit::Ok)
}
