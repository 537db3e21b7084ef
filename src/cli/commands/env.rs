//! `cuenv env`: the variables of a toolchain, in the notation of a shell or of another program.

use std::collections::BTreeMap;
use std::io::Write as _;

use clap::ValueEnum;
use serde::Serialize;
use shims::dirs::Dirs;
use shims::environ::Changes;
use shims::hook::{Shell, assignments};

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::ops::activate;
use crate::platform::process::Process;
use crate::render::formats::{self, Format};

/// Print the variables of a toolchain
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The toolchain; what holds here when left out
    spec: Option<String>,
    /// As assignments of a shell, to be evaluated there
    #[arg(long, value_name = "SHELL", conflicts_with = "format")]
    shell: Option<ShellName>,
    /// In the notation of another program
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatName>,
    /// With the variables that compilers and linkers read
    #[arg(long)]
    build: bool,
}

/// A shell, by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ShellName {
    Bash,
    Zsh,
    #[value(alias = "posix", alias = "dash", alias = "ksh")]
    Sh,
    Fish,
    #[value(alias = "nushell")]
    Nu,
    Tcsh,
    Elvish,
    Xonsh,
}

impl From<ShellName> for Shell {
    fn from(name: ShellName) -> Self {
        match name {
            // The assignments are those of every shell of the family.
            ShellName::Bash | ShellName::Sh => Self::Bash,
            ShellName::Zsh => Self::Zsh,
            ShellName::Fish => Self::Fish,
            ShellName::Nu => Self::Nu,
            ShellName::Tcsh => Self::Tcsh,
            ShellName::Elvish => Self::Elvish,
            ShellName::Xonsh => Self::Xonsh,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatName {
    /// One JSON document
    Json,
    /// `NAME='value'` lines
    Dotenv,
    /// Lines for the file that GITHUB_ENV names
    Github,
    /// `Environment=` lines of a unit
    Systemd,
    /// The lines of `docker run --env-file`
    Docker,
    /// The lines of DeepSpeed's `.deepspeed_env`
    Deepspeed,
    /// Open MPI's `-x` flags
    Mpirun,
    /// Slurm's `--export` flag
    Sbatch,
}

#[derive(Serialize)]
struct Document {
    toolchain: Option<String>,
    because: String,
    set: BTreeMap<String, String>,
    unset: Vec<String>,
}

pub(crate) fn run(
    process: &Process,
    dirs: &Dirs,
    args: &Args,
    output: &Output,
) -> Result<Exit, Failure> {
    let found = activate::environment(process, dirs, args.spec.as_deref(), args.build)?;
    let format = match args.format {
        _ if output.json => Some(FormatName::Json),
        None if args.shell.is_none() => Some(FormatName::Dotenv),
        format => format,
    };
    let Some(format) = format else {
        let shell = args.shell.expect("one of the two is given");
        let mut text = assignments(shell.into(), &found.changes);
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        return match std::io::stdout().lock().write_all(&text) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Failure::new(Exit::Failed, error))
            }
            _ => Ok(Exit::Ok),
        };
    };
    let format = match format {
        FormatName::Json => {
            let toolchain = found.wanted.map(|w| w.toolchain.to_string_lossy().into_owned());
            let because = found.choice.source.to_string();
            let (set, unset) = split(&found.changes);
            output.json(&Document { toolchain, because, set: set.into_iter().collect(), unset })?;
            return Ok(Exit::Ok);
        }
        FormatName::Dotenv => Format::Dotenv,
        FormatName::Github => Format::Github,
        FormatName::Systemd => Format::Systemd,
        FormatName::Docker => Format::Docker,
        FormatName::Deepspeed => Format::Deepspeed,
        FormatName::Mpirun => Format::Mpirun,
        FormatName::Sbatch => Format::Sbatch,
    };
    let (set, _) = split(&found.changes);
    output.raw(&formats::render(format, &set)?)?;
    Ok(Exit::Ok)
}

/// The record of an activation is for shells; other programs get what the toolchain itself sets.
fn split(changes: &Changes) -> (Vec<(String, String)>, Vec<String>) {
    let own = |name: &str| name.starts_with("CUENV_");
    let mut set = Vec::new();
    let mut unset = Vec::new();
    for (name, value) in changes {
        let name = name.to_string_lossy().into_owned();
        match value {
            _ if own(&name) => {}
            Some(value) => set.push((name, value.to_string_lossy().into_owned())),
            None => unset.push(name),
        }
    }
    (set, unset)
}
