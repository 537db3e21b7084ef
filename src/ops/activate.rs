//! Which toolchain holds here, and what it does to the environment.
//!
//! These ops take the process and the directories alone: a program that is about to be started, or a prompt, waits
//! for neither settings nor catalog.

pub mod current;
pub mod hook;

use std::ffi::OsStr;

use shims::dirs::Dirs;
use shims::dispatch::{self, Call, Plan};
use shims::environ::{self, Changes, Wanted};
use shims::locate::Choice;
use shims::prepare::{self, PrepareError};
use shims::run;

use super::place;
use crate::platform::process::Process;

/// Why there is no environment.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none.
    #[error(transparent)]
    Place(#[from] place::Error),
    /// The prefix cannot be used.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
}

/// An environment to enter.
#[derive(Debug)]
pub struct Environment {
    /// Which toolchain, and why.
    pub choice: Choice,
    /// What it wants, absolute; `None` for `system`.
    pub wanted: Option<Wanted>,
    /// The changes from this process's environment.
    pub changes: Changes,
}

/// Returns the environment of a spec, or of what holds here.
pub fn environment(
    process: &Process,
    dirs: &Dirs,
    spec: Option<&str>,
    build: bool,
) -> Result<Environment, Error> {
    let place::Place { choice, installed } = place::find(process, dirs, spec)?;
    let vars = process.env();
    match installed {
        None => Ok(Environment { choice, wanted: None, changes: environ::leave(vars) }),
        Some(installed) => {
            let request = prepare::Request {
                installed: &installed,
                choice: &choice,
                vars,
                dirs,
                program: None,
                build,
            };
            let prepared = prepare::prepare(&request)?;
            let changes = environ::enter(vars, &prepared.wanted, dirs);
            Ok(Environment { choice, wanted: Some(prepared.wanted), changes })
        }
    }
}

/// Why a program is not started.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// Decided before it was started.
    #[error(transparent)]
    Plan(dispatch::Failure),
    /// The installation of the toolchain failed.
    #[error("{0}")]
    Install(String),
    /// The system did not start it.
    #[error("{message}")]
    Start {
        /// The exit code a shell would give.
        code: u8,
        /// Why, in a shell's words.
        message: String,
    },
}

/// Decides what `cuenv exec` runs.
pub fn plan_exec(
    process: &Process,
    dirs: &Dirs,
    spec: Option<&str>,
    program: &OsStr,
) -> Result<Plan, ExecError> {
    let call = Call {
        dirs,
        vars: process.env(),
        cwd: process.cwd(),
        exe: process.exe(),
        process: std::process::id(),
        spec,
        program,
        is_shim: false,
    };
    run::plan(&call).map_err(ExecError::Install)?.map_err(ExecError::Plan)
}

/// Replaces this process by the program; returns why that failed.
pub fn exec(plan: &Plan, args: &[std::ffi::OsString]) -> ExecError {
    let (code, message) = run::start(plan, plan.program.as_os_str(), args);
    ExecError::Start { code, message }
}
