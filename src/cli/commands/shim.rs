//! `cuenv shim`: which commands have shims.

use clap::Subcommand;
use shims::dirs::Dirs;

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::ops::shim;
use crate::platform::process::Process;

/// Add, remove or list shims: commands that run in the toolchain of the directory they are called in
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add shims; python, python3, torchrun, nvcc, ptxas and every tool of an installed toolchain when none is named
    Add {
        /// Names of commands
        tools: Vec<String>,
    },
    /// Remove shims
    Remove {
        /// Names of commands
        #[arg(required = true)]
        tools: Vec<String>,
    },
    /// List the shims
    List,
}

pub(crate) fn run(
    process: &Process,
    dirs: &Dirs,
    args: &Args,
    output: &Output,
) -> Result<Exit, Failure> {
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    match &args.command {
        Command::Add { tools } => {
            let tools = if tools.is_empty() { shim::default_tools(dirs) } else { tools.clone() };
            added = shim::add(dirs, process.exe(), &tools)?;
        }
        Command::Remove { tools } => removed = shim::remove(dirs, tools)?,
        Command::List => {}
    }
    let mut report = shim::list(dirs, process.var_os("PATH"))?;
    let is_add = matches!(args.command, Command::Add { .. });
    (report.added, report.removed) = (added, removed);
    if is_add && report.added.is_empty() && !output.json {
        output.note("nothing to add: these shims are there");
    } else if !matches!(args.command, Command::Remove { .. }) || !report.removed.is_empty() {
        output.report(&report)?;
    }
    if matches!(args.command, Command::List) && report.shims.is_empty() && !output.json {
        output.note("there are no shims; `cuenv shim add python nvcc` makes some");
    }
    if is_add && !report.on_path {
        output.note(&format!("put `{}` first on PATH to use them", report.directory.display()));
    }
    Ok(Exit::Ok)
}
