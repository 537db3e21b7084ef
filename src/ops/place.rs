//! The toolchain of a spec, or the one that holds here, and where it is: the one look-up of all commands, so that they
//! agree on what is missing and say it in the same words.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use shims::dirs::Dirs;
use shims::locate::Choice;
use shims::toolchain::{self, Installed, Toolchain};

use super::selection;
use crate::context::Context;
use crate::platform::process::Process;

/// Why there is no prefix.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Selection.
    #[error(transparent)]
    Selection(#[from] selection::Error),
    /// Nothing holds here.
    #[error("no pin and no default holds in `{}`", .0.display())]
    NoPin(PathBuf),
    /// `system` holds here.
    #[error("`system` holds here, from {0}: cuenv steps aside")]
    System(String),
    /// It is not installed.
    #[error("{}", shims::hook::missing(.0))]
    Missing(Choice),
}

/// What holds, and its prefix; no prefix for `system`.
#[derive(Debug)]
pub struct Place {
    /// What chose it.
    pub choice: Choice,
    /// The prefix; `None` where cuenv steps aside.
    pub installed: Option<Installed>,
}

/// Finds the toolchain of `spec`, or of what holds here.
pub fn find(process: &Process, dirs: &Dirs, spec: Option<&str>) -> Result<Place, Error> {
    let selection = selection::ask(process, dirs, spec, false);
    let choice = selection.first().map_err(selection::Error)?;
    let nowhere = || Error::NoPin(process.cwd().unwrap_or("/".as_ref()).to_owned());
    of(dirs, choice.ok_or_else(nowhere)?)
}

/// Finds the toolchain of a choice.
pub fn of(dirs: &Dirs, choice: Choice) -> Result<Place, Error> {
    let found = toolchain::find(dirs, &choice, &mut Vec::new()).map_err(selection::Error)?;
    match found {
        Toolchain::System => Ok(Place { choice, installed: None }),
        Toolchain::Installed(installed) => Ok(Place { choice, installed: Some(installed) }),
        Toolchain::Missing(_) => Err(Error::Missing(choice)),
    }
}

impl Place {
    /// Returns the prefix; `system` has none.
    pub fn installed(self) -> Result<(Choice, Installed), Error> {
        match self.installed {
            Some(installed) => Ok((self.choice, installed)),
            None => Err(Error::System(self.choice.source.to_string())),
        }
    }
}

/// Where a toolchain is.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The spec.
    pub spec: String,
    /// The prefix.
    pub prefix: PathBuf,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.prefix.display())
    }
}

/// Returns the prefix of `spec`, or of what holds here.
pub fn place(cx: &Context<'_>, spec: Option<&str>) -> Result<Report, Error> {
    let (choice, installed) = find(cx.process, &cx.dirs, spec)?.installed()?;
    // Through the link of the spec, to the prefix's own name.
    let prefix = fs_err::canonicalize(&installed.prefix).unwrap_or(installed.prefix);
    Ok(Report { spec: choice.spec, prefix })
}
