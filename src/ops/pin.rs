//! `use`: pin a project (or the default) to a spec, with its lock, and install what is missing.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use shims::walk::{self, Notice};

use super::answer::{self, Freshness};
use super::install::{self, InstallReport};
use crate::context::Context;
use crate::domain::lock::{Lock, LockError};
use crate::domain::spec::Spec;
use crate::platform::fs::write_atomic;
use crate::project::{self, Project};

/// What to pin.
#[derive(Clone, Debug)]
pub struct Request {
    /// The spec.
    pub spec: Spec,
    /// Whether the default is set instead of a project's pin.
    pub scope: Scope,
    /// The venv policy to write; `None` keeps what is there.
    pub venv: Option<String>,
    /// Whether to install.
    pub effect: Effect,
}

/// What is pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The working directory.
    Project,
    /// The user's default.
    Default,
}

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Write the pin and the lock, and install.
    Install,
    /// Write the pin and the lock.
    WriteOnly,
    /// Change nothing.
    DryRun,
}

/// Why a pin was not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The spec has no answer.
    #[error(transparent)]
    Answer(#[from] answer::Error),
    /// The lock could not be installed.
    #[error(transparent)]
    Install(#[from] install::Error),
    /// The project's files.
    #[error(transparent)]
    Project(#[from] project::Error),
    /// The working directory was deleted.
    #[error("the current directory no longer exists")]
    NoDirectory,
    /// No linked toolkit of that name.
    #[error("no toolkit is linked as `{0}`")]
    NotLinked(String),
    /// A pin there would not be taken.
    #[error("a pin in `{}` would be ignored: {}", shims::shown::path(.0.path.parent().unwrap_or(&.0.path)), .0.reason)]
    Ignored(Notice),
    /// The default file.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// What was pinned.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The spec.
    pub spec: String,
    /// The toolchain; absent for `system` and linked toolkits.
    pub toolchain: Option<String>,
    /// The file that pins it.
    pub pin: PathBuf,
    /// The lock; absent where there is none.
    pub lock: Option<PathBuf>,
    /// Whether anything was written.
    pub written: bool,
    /// The installation; absent with `--no-install` and `--dry-run`.
    pub install: Option<InstallReport>,
    /// What would be installed, with `--dry-run`.
    pub would: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(install) = &self.install {
            writeln!(f, "{install}")?;
        }
        let pin = self.pin.display();
        let verb = if self.written { "Pinned" } else { "Would pin" };
        match &self.toolchain {
            Some(toolchain) => writeln!(f, "{verb} `{}` in `{pin}` ({toolchain})", self.spec)?,
            None => writeln!(f, "{verb} `{}` in `{pin}`", self.spec)?,
        }
        self.would.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// Pins.
pub fn pin(cx: &Context<'_>, request: &Request) -> Result<Report, Error> {
    if cx.process.cwd().is_none() && request.scope == Scope::Project {
        return Err(Error::NoDirectory);
    }
    let project = Project::at(cx.cwd());
    let spec = request.spec.to_string();
    let pin = match request.scope {
        Scope::Project => project.pin_path(),
        Scope::Default => cx.layout.default_file(),
    };
    if request.scope == Scope::Project
        && let Some(notice) = walk::untrusted(cx.cwd(), &cx.dirs, cx.process.env())
    {
        return Err(Error::Ignored(notice));
    }
    let writes = request.scope == Scope::Project && request.effect != Effect::DryRun;
    if writes && !says_so_already(cx, &project, request)? {
        project.check_writable()?;
    }
    let mut report = Report {
        spec: spec.clone(),
        toolchain: None,
        pin,
        lock: None,
        written: request.effect != Effect::DryRun,
        install: None,
        would: Vec::new(),
    };
    // Until the registry names the project.
    let _hold = (request.effect == Effect::Install).then(|| install::hold(cx));
    let lock = match &request.spec {
        Spec::Toolchain(_) => match request.effect {
            Effect::Install => {
                let (install, lock) = installed_lock(cx, &project, request)?;
                report.install = Some(install);
                Some(lock)
            }
            Effect::WriteOnly => Some(kept_or_new(cx, &project, request)?),
            Effect::DryRun => {
                let resolution =
                    answer::resolve(cx, &request.spec, cx.target, directory(cx, request))?;
                report.toolchain = Some(resolution.toolchain());
                report.would =
                    resolution.choices.iter().map(|choice| choice.file.clone()).collect();
                None
            }
        },
        Spec::Linked(name) if !cx.layout.active(cx.target).join(name).exists() => {
            return Err(Error::NotLinked(name.clone()));
        }
        _ => None,
    };
    if let Some(lock) = &lock {
        report.toolchain = Some(lock.toolchain.clone());
    }
    if request.effect == Effect::DryRun {
        return Ok(report);
    }
    match request.scope {
        Scope::Default => {
            write_atomic(&cx.layout.default_file(), format!("{spec}\n").as_bytes())?;
        }
        Scope::Project => {
            // The lock first: a pin without its lock still resolves through `active/`, a lock without its pin is inert.
            let before = project.lock_bytes();
            if let Some(lock) = &lock {
                project.write_lock(lock)?;
                report.lock = Some(project.lock_path());
            }
            if let Err(error) = project.write_pin(&spec, request.venv.as_deref()) {
                // All or nothing: the earlier pin keeps the lock that answers it.
                project.restore_lock(before.as_deref());
                return Err(error.into());
            }
            // Knowing the project helps `list` and `gc`; a read-only state directory must not undo the pin.
            let _ = project.remember(&cx.layout);
        }
    }
    Ok(report)
}

/// The project whose frameworks have a say; the default serves none.
fn directory<'a>(cx: &'a Context<'_>, request: &Request) -> Option<&'a Path> {
    (request.scope == Scope::Project).then(|| cx.cwd())
}

/// Whether nothing is to be written: the pin and its lock say what is asked for.
fn says_so_already(cx: &Context<'_>, project: &Project, request: &Request) -> Result<bool, Error> {
    let pin = project.read_pin().ok().flatten();
    let same =
        request.venv.is_none() && pin.is_some_and(|pin| pin.toolchain == request.spec.to_string());
    Ok(same && lock_that_answers(cx, project, request)?.is_some())
}

/// A lock that answers the same spec already is kept: `update` moves it, `use` does not. One that cannot be read is
/// written anew, except a newer cuenv's, which says more than this one could write.
fn lock_that_answers(
    cx: &Context<'_>,
    project: &Project,
    request: &Request,
) -> Result<Option<Lock>, Error> {
    if request.scope == Scope::Default {
        return Ok(None);
    }
    let lock = match project.read_lock() {
        Err(error @ project::Error::Lock { source: LockError::Newer(_), .. }) => {
            return Err(error.into());
        }
        lock => lock.ok().flatten(),
    };
    let answers = |lock: &Lock| {
        lock.answers(&request.spec.to_string()) && lock.prefix.contains_key(&cx.target)
    };
    Ok(lock.filter(answers))
}

fn installed_lock(
    cx: &Context<'_>,
    project: &Project,
    request: &Request,
) -> Result<(InstallReport, Lock), Error> {
    match lock_that_answers(cx, project, request)? {
        Some(lock) => Ok((install::install_lock(cx, &lock, cx.target)?, lock)),
        None => {
            let place = directory(cx, request);
            let (mut report, lock) =
                answer::install(cx, &request.spec, Freshness::Installed, place)?;
            if request.scope == Scope::Default {
                return Ok((report, lock));
            }
            let before = project.read_lock().ok().flatten();
            let (lock, notes) =
                super::lock::widen(cx, &lock, before.as_ref(), &request.spec, project);
            report.notes.extend(notes);
            Ok((report, lock))
        }
    }
}

fn kept_or_new(cx: &Context<'_>, project: &Project, request: &Request) -> Result<Lock, Error> {
    match lock_that_answers(cx, project, request)? {
        Some(lock) => Ok(lock),
        None => Ok(answer::lock(cx, &request.spec, &[cx.target], directory(cx, request))?),
    }
}
