//! `cuenv hook`: the text that makes a shell follow the directory's toolchain.

use std::io::Write as _;

use shims::dirs::Dirs;

use super::env::ShellName;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::ops::activate::hook;
use crate::platform::process::Process;

/// Print the hook of a shell, to be evaluated in its start-up file
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    shell: ShellName,
    /// Add the hook to the shell's start-up file
    #[arg(long, conflicts_with = "uninstall")]
    install: bool,
    /// Take the hook out of the shell's start-up file
    #[arg(long)]
    uninstall: bool,
}

impl Args {
    /// Whether the result is the hook itself.
    pub fn prints_text(&self) -> bool {
        !self.install && !self.uninstall
    }
}

/// Answer a hook
#[derive(Debug, clap::Args)]
pub struct Ask {
    shell: ShellName,
}

pub(crate) fn run(
    process: &Process,
    dirs: &Dirs,
    args: &Args,
    output: &Output,
) -> Result<Exit, Failure> {
    let shell = args.shell.into();
    if !args.prints_text() {
        output.report(&hook::edit(process, dirs, shell, args.install)?)?;
        return Ok(Exit::Ok);
    }
    write(&hook::text(process, dirs, shell, output.quiet))
}

pub(crate) fn answer(
    process: &Process,
    dirs: &Dirs,
    args: &Ask,
    output: &Output,
) -> Result<Exit, Failure> {
    let answer = hook::answer(process, dirs, output.quiet);
    for line in &answer.lines {
        let _ = writeln!(std::io::stderr().lock(), "cuenv: {}", shims::shown::text(line));
    }
    write(&shims::hook::render(&answer, args.shell.into()))
}

fn write(text: &[u8]) -> Result<Exit, Failure> {
    match std::io::stdout().lock().write_all(text) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Failed, error))
        }
        _ => Ok(Exit::Ok),
    }
}
