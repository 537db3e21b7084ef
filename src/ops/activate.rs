//! Which toolchain holds here, and what it does to the environment.
//!
//! These ops take the process and the directories alone: a program that is about to be started, or a prompt, waits
//! for neither settings nor catalog.

pub mod current;
pub mod hook;

use std::ffi::OsString;

use shims::dirs::Dirs;
use shims::dispatch::{Call, Plan, Role};
use shims::environ::{self, Changes, Wanted};
use shims::locate::Choice;
use shims::prepare::{self, PrepareError};
use shims::run::{self, RunError};

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
                build,
                ..prepare::Request::new(&installed, &choice, vars, dirs)
            };
            let prepared = prepare::prepare(&request)?;
            let changes = environ::enter(vars, &prepared.wanted, dirs);
            Ok(Environment { choice, wanted: Some(prepared.wanted), changes })
        }
    }
}

/// Replaces this process by what `command` names, for `cuenv exec`; returns why that failed. `tell` sees what is about to be
/// started.
pub fn exec(
    process: &Process,
    dirs: &Dirs,
    spec: Option<&str>,
    (program, args): (&OsString, &[OsString]),
    tell: &mut dyn FnMut(&Plan),
) -> RunError {
    let call = Call {
        dirs,
        vars: process.env(),
        cwd: process.cwd(),
        exe: process.exe(),
        process: std::process::id(),
        spec,
        program,
        role: Role::Exec,
        refused: &[],
    };
    run::run(&call, &|plan| plan.program.clone().into_os_string(), args, tell)
}
