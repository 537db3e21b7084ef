//! `cuenv shell`: a toolchain for one shell session, through the hook.

use std::io::Write as _;

use shims::dirs::Dirs;
use shims::hook::assignments;
use shims::names;

use super::env::ShellName;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::domain::spec::Spec;
use crate::ops::activate;
use crate::platform::process::Process;

/// Use a toolchain in this shell only, until it ends or `--unset`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The toolchain; `system` for none
    #[arg(required_unless_present = "unset", conflicts_with = "unset")]
    spec: Option<String>,
    /// Go back to what the directory says
    #[arg(long)]
    unset: bool,
    /// What the hook evaluates
    #[arg(long, hide = true, value_name = "SHELL")]
    eval: Option<ShellName>,
}

pub(crate) fn run(
    process: &Process,
    dirs: &Dirs,
    args: &Args,
    _output: &Output,
) -> Result<Exit, Failure> {
    let Some(shell) = args.eval else { return Err(Failure::needs_hook()) };
    let value = match &args.spec {
        None => None,
        Some(text) => {
            let spec: Spec = text.parse()?;
            // A shell that cannot have the toolchain stays as it is.
            activate::environment(process, dirs, Some(text), false)?;
            Some(spec.to_string().into())
        }
    };
    let text = assignments(shell.into(), &vec![(names::SESSION.into(), value)]);
    let _ = std::io::stdout().lock().write_all(&text);
    Ok(Exit::Ok)
}
