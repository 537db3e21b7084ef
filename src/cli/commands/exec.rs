//! `cuenv exec`: replaces this process by a program in a toolchain's environment.

use std::ffi::OsString;

use shims::dirs::Dirs;
use shims::dispatch::Plan;

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::ops::activate;
use crate::platform::process::Process;

/// Run a program in a toolchain's environment
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "cuenv exec [OPTIONS] [SPEC] [--] CMD [ARGS]...",
    after_help = "\
`--` may be left out: the first word that does not read like `12.4+cudnn9`, `auto`, `default` or `system` is the program, and
what follows is the program's own, as in `cuenv exec python train.py --lr 1`. Behind a linked toolkit's name it is
needed, and before a program whose first argument is `--`: `cuenv exec -- env -- A=1 make`."
)]
pub struct Args {
    /// The toolchain; what holds here when left out
    spec: Option<String>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub(crate) fn run(
    process: &Process,
    dirs: &Dirs,
    args: &Args,
    output: &Output,
) -> Result<Exit, Failure> {
    let command = args.command.split_first().expect("clap requires one word");
    let tell = &mut |plan: &Plan| {
        plan.notes.iter().for_each(|note| output.warn(note));
        if plan.choice.is_none() {
            output.note("no toolchain holds in this directory; running without one");
        }
        if output.verbose > 0 {
            for line in explain(plan) {
                output.note(&line);
            }
        }
    };
    Err(activate::exec(process, dirs, args.spec.as_deref(), command, tell).into())
}

fn explain(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Some(choice), Some(prepared)) = (&plan.choice, &plan.prepared) {
        let toolchain = prepared.wanted.toolchain.to_string_lossy();
        lines.push(format!(
            "running `{}` in {toolchain}, from {}",
            plan.program.display(),
            choice.source
        ));
        if let Some(env) = &prepared.libraries.env {
            let libraries = &prepared.libraries;
            lines.push(format!(
                "policy {} from {}: `{}` supplies {}; the toolchain supplies {}",
                libraries.rule.policy.name(),
                libraries.rule.source,
                env.root.display(),
                libraries.from_env.join(" "),
                libraries.from_toolchain.join(" ")
            ));
            lines.extend(libraries.left_out.iter().map(|left| format!("left out: {left}")));
        }
        for element in &prepared.libraries.elements {
            lines.push(format!("library path: {}", element.display()));
        }
    }
    lines
}
