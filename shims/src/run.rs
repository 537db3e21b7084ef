//! The last step of a shim and of `cuenv exec`: this process becomes the program.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::dirs::Dirs;
use crate::dispatch::{self, Call, Failure, Plan};
use crate::names;
use crate::pin::shown;
use crate::program;
use crate::settings::{self, Settings};
use crate::vars::Vars;

/// The system's number for a file that is neither a program nor a script with a first line.
const ENOEXEC: i32 = 8;

/// Why no program runs.
#[derive(Debug)]
pub enum RunError {
    /// Decided before it was started.
    Plan(Failure),
    /// The installation of the toolchain failed, or whether it is wanted cannot be told.
    Install(String),
    /// The system did not start it.
    Start {
        /// The exit code a shell would give.
        code: u8,
        /// Why, in a shell's words.
        message: String,
    },
}

impl RunError {
    /// Returns the exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Plan(failure) => failure.code(),
            Self::Install(_) => 125,
            Self::Start { code, .. } => *code,
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(failure) => failure.fmt(f),
            Self::Install(message) | Self::Start { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for RunError {}

/// Replaces this process by what `call` asks for; returns only when that failed. `tell` sees each plan before it is
/// carried out.
///
/// A program that the system refuses is passed over for the next on `PATH`, as `execvp` does: whether this user may
/// execute a file, its mode alone does not say.
pub fn run(
    call: &Call<'_>,
    argv0: &dyn Fn(&Plan) -> OsString,
    args: &[OsString],
    tell: &mut dyn FnMut(&Plan),
) -> RunError {
    let by_path = call.program.as_bytes().contains(&b'/');
    let mut refused = Vec::new();
    loop {
        let plan = match plan(&Call { refused: &refused, ..*call }) {
            Ok(plan) => plan,
            Err(error) => return error,
        };
        tell(&plan);
        let error = start(&plan, &argv0(&plan), args);
        if error.kind() != io::ErrorKind::PermissionDenied || by_path {
            let (code, message) = dispatch::exec_failure(&plan.program, &error);
            return RunError::Start { code, message };
        }
        refused.push(plan.program);
    }
}

/// Replaces this process by the program; returns only when that failed.
///
/// The program keeps the process number, the open files, the directory and what signals it ignores. Two things
/// are set to their defaults: the disposition of SIGPIPE, which Rust's start-up changed, and the signal mask.
fn start(plan: &Plan, argv0: &OsStr, args: &[OsString]) -> io::Error {
    let prepare = |program: &OsStr| {
        let mut command = Command::new(program);
        for (name, value) in &plan.changes {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    };
    let error = prepare(plan.program.as_os_str()).arg0(argv0).args(args).exec();
    if error.raw_os_error() == Some(ENOEXEC) {
        // A script without a first line: shells run it themselves.
        return prepare(OsStr::new("/bin/sh")).arg(&plan.program).args(args).exec();
    }
    error
}

/// Runs `cuenv install`, its standard output on standard error: the program's own must stay clean. `spec` is `None`
/// for what a pin asks.
fn install(dirs: &Dirs, exe: Option<&Path>, vars: &Vars, spec: Option<&str>) -> Result<(), String> {
    let beside = exe.and_then(Path::parent).map(|bin| bin.join("cuenv"));
    let candidates = [Some(dirs.data.join("bin/cuenv")), beside];
    let cuenv: Option<PathBuf> = candidates.into_iter().flatten().find(|path| path.is_file());
    let cuenv = cuenv.or_else(|| {
        let path = program::search_path(vars);
        match program::search(OsStr::new("cuenv"), &path, &program::Skip::default()) {
            program::Found::Program(program) => Some(program.file),
            _ => None,
        }
    });
    let cuenv = cuenv.ok_or("cannot install the toolchain: `cuenv` is not on PATH")?;
    let stderr =
        std::io::stderr().as_fd().try_clone_to_owned().map_err(|error| error.to_string())?;
    let status = Command::new(&cuenv)
        .arg("install")
        .args(spec)
        // What it starts may be a shim again: that one must not install in turn.
        .env(names::AUTO_INSTALL, "0")
        .stdin(Stdio::null())
        .stdout(Stdio::from(stderr))
        .status()
        .map_err(|error| format!("cannot run `{}`: {error}", cuenv.display()))?;
    if status.success() { Ok(()) } else { Err("the toolchain could not be installed".to_owned()) }
}

/// Decides what is run, and installs the toolchain first when it is missing and that is wanted: `CUENV_AUTO_INSTALL`,
/// or where it says nothing `auto-install` in the settings.
fn plan(call: &Call<'_>) -> Result<Plan, RunError> {
    match dispatch::plan(call) {
        Err(Failure::Missing(choice)) if installs(call).map_err(RunError::Install)? => {
            let is_pin = matches!(choice.source, crate::locate::Source::Pin(..));
            let spec = (!is_pin).then_some(choice.spec.as_str());
            install(call.dirs, call.exe, call.vars, spec).map_err(RunError::Install)?;
            dispatch::plan(call).map_err(RunError::Plan)
        }
        plan => plan.map_err(RunError::Plan),
    }
}

fn installs(call: &Call<'_>) -> Result<bool, String> {
    if let Some(text) = crate::vars::var(call.vars, names::AUTO_INSTALL) {
        let text = text.to_string_lossy();
        return settings::switch(&text).ok_or_else(|| {
            format!("`{}` from {} is not `1` or `0`", shown(&text), names::AUTO_INSTALL)
        });
    }
    let settings = Settings::read(call.dirs).map_err(|error| error.to_string())?;
    Ok(settings.auto_install.unwrap_or(false))
}
