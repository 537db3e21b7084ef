//! `install` in a project: make what the pin and lock say be there.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use shims::locate::Choice;

use super::answer::{self, Freshness};
use super::install::{self, InstallReport};
use super::selection;
use crate::context::Context;
use crate::domain::spec::{Spec, SpecError};
use crate::project::{self, Project};

/// How to treat a lock that does not answer the pin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// Fail instead of writing it anew.
    pub locked: bool,
}

/// Toolchains that are there now.
#[derive(Debug, Serialize)]
pub struct Installed {
    /// One report a toolchain.
    pub installed: Vec<InstallReport>,
}

impl fmt::Display for Installed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.installed.iter().try_for_each(|report| writeln!(f, "{report}"))
    }
}

/// Why a project's toolchain was not installed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing here says what to install.
    #[error("no pin and no default holds in `{}`", .0.display())]
    NoPin(PathBuf),
    /// The pin holds no CUDA release (`system`, a linked toolkit).
    #[error("`{spec}`, from {via}, names nothing to install")]
    NothingToInstall {
        /// The spec.
        spec: String,
        /// Where it came from.
        via: String,
    },
    /// The lock does not answer the pin.
    #[error("{}", drift(lock.as_ref(), pin, path))]
    Drift {
        /// The pin's spec.
        pin: String,
        /// The lock's spec; absent when there is no lock.
        lock: Option<String>,
        /// The lock's path.
        path: PathBuf,
    },
    /// Selection.
    #[error(transparent)]
    Selection(#[from] selection::Error),
    /// The pin is not a spec.
    #[error("{via}: {error}")]
    Spec {
        /// Where it came from.
        via: String,
        /// What is wrong.
        error: SpecError,
    },
    /// The project's files.
    #[error(transparent)]
    Project(#[from] project::Error),
    /// The spec has no answer.
    #[error(transparent)]
    Answer(#[from] answer::Error),
    /// Installing failed.
    #[error(transparent)]
    Install(#[from] install::Error),
}

fn drift(lock: Option<&String>, pin: &str, path: &std::path::Path) -> String {
    match lock {
        Some(lock) => format!("the pin says `{pin}`, but `{}` answers `{lock}`", path.display()),
        None => format!("the pin says `{pin}`, and there is no `{}`", path.display()),
    }
}

/// Installs what holds here.
pub fn install(cx: &Context<'_>, request: &Request) -> Result<Installed, Error> {
    let Some(choice) = selection::here(cx)? else {
        return Err(Error::NoPin(cx.cwd().to_owned()));
    };
    let spec = parse(&choice)?;
    if !matches!(spec, Spec::Toolchain(_)) {
        return Err(Error::NothingToInstall { spec: choice.spec, via: choice.source.to_string() });
    }
    let report = match choice.pin_directory() {
        None => answer::install(cx, &spec, Freshness::Installed, None)?.0,
        Some(directory) => {
            let project = Project::at(directory);
            let _hold = install::hold(cx);
            // Before: what an interrupted installation has got so far is this project's, and no `gc` takes it.
            let _ = project.remember(&cx.layout);
            install_project(cx, &project, &spec, *request)?
        }
    };
    Ok(Installed { installed: vec![report] })
}

/// Reads the spec of what holds here.
pub fn parse(choice: &Choice) -> Result<Spec, Error> {
    choice.spec.parse().map_err(|error| Error::Spec { via: choice.source.to_string(), error })
}

fn install_project(
    cx: &Context<'_>,
    project: &Project,
    spec: &Spec,
    request: Request,
) -> Result<InstallReport, Error> {
    let before = project.read_lock()?;
    let pin = spec.to_string();
    let answers = |lock: &crate::domain::lock::Lock| lock.answers(&pin);
    if let Some(lock) = before.as_ref().filter(|lock| answers(lock)) {
        return Ok(install::install_lock(cx, lock, cx.target)?);
    }
    if request.locked {
        let lock = before.map(|lock| lock.spec);
        return Err(Error::Drift { pin, lock, path: project.lock_path() });
    }
    let (mut report, lock) =
        answer::install(cx, spec, Freshness::Installed, Some(project.directory()))?;
    let (lock, notes) = super::lock::widen(cx, &lock, before.as_ref(), spec, project);
    project.write_lock(&lock)?;
    report.notes.extend(notes);
    report.notes.push(format!("wrote `{}`", project.lock_path().display()));
    Ok(report)
}
