//! `lock`, `lock --check`, `update`: write, verify and move a project's lock.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::project_install::{self, Error};
use super::selection;
use super::{answer, install};
use crate::context::Context;
use crate::domain::lock::Lock;
use crate::domain::resolution::lock_of;
use crate::domain::spec::Spec;
use crate::domain::target::Target;
use crate::project::Project;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Write the lock if it does not answer the pin on every target.
    Write,
    /// Only say whether it does.
    Check,
    /// Resolve anew, whatever the lock says.
    Update,
    /// Resolve anew and only say what would change.
    WouldUpdate,
}

/// What became of the lock.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The lock's path.
    pub lock: PathBuf,
    /// The spec it answers.
    pub spec: String,
    /// The toolchain it names.
    pub toolchain: String,
    /// Its platforms.
    pub targets: Vec<Target>,
    /// Whether the file changed, or with `--dry-run` would change.
    pub changed: bool,
    /// What moved: `cudnn 9.1.0.70 -> 9.10.2.21`.
    pub moved: Vec<String>,
    /// Whether the file was left alone on purpose.
    pub dry_run: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lock = self.lock.display();
        match (self.changed, self.dry_run) {
            (false, _) => writeln!(f, "`{lock}` answers `{}`: {}", self.spec, self.toolchain)?,
            (true, false) => writeln!(f, "Locked `{}` in `{lock}`: {}", self.spec, self.toolchain)?,
            (true, true) => writeln!(f, "`{lock}` would change: {}", self.toolchain)?,
        }
        self.moved.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// Writes, checks or moves the lock of the project that holds here.
pub fn lock(cx: &Context<'_>, mode: Mode, targets: &[Target]) -> Result<Report, Error> {
    let choice = selection::here(cx)?.ok_or_else(|| Error::NoPin(cx.cwd().to_owned()))?;
    let Some(directory) = choice.pin_directory() else {
        return Err(Error::NoPin(cx.cwd().to_owned()));
    };
    let project = Project::at(directory);
    let spec = project_install::parse(&choice)?;
    if !matches!(spec, Spec::Toolchain(_)) {
        let via = choice.source.to_string();
        return Err(Error::NothingToInstall { spec: choice.spec, via });
    }
    let before = project.read_lock()?;
    let wanted = targets_of(cx, before.as_ref(), targets);
    let answers = |lock: &&Lock| {
        lock.answers(&choice.spec) && wanted.iter().all(|target| lock.prefix.contains_key(target))
    };
    let report = |lock: &Lock, changed, moved| Report {
        lock: project.lock_path(),
        spec: choice.spec.clone(),
        toolchain: lock.toolchain.clone(),
        targets: lock.prefix.keys().copied().collect(),
        changed,
        moved,
        dry_run: mode == Mode::WouldUpdate,
    };
    let answering = before.as_ref().filter(answers);
    match (mode, answering) {
        (Mode::Write | Mode::Check, Some(lock)) => Ok(report(lock, false, Vec::new())),
        (Mode::Check, None) => Err(unanswered(&choice.spec, before, &wanted, &project)),
        _ => {
            let after = answer::lock(cx, &spec, &wanted, Some(directory))?;
            let changed = before.as_ref() != Some(&after);
            if changed && mode != Mode::WouldUpdate {
                project.write_lock(&after)?;
                let _ = project.remember(&cx.layout);
            }
            let moved = before.as_ref().map(|before| moved(before, &after)).unwrap_or_default();
            Ok(report(&after, changed, moved))
        }
    }
}

/// Why a lock answers a pin on some platform not.
fn unanswered(pin: &str, lock: Option<Lock>, wanted: &[Target], project: &Project) -> Error {
    if let Some(lock) = lock.as_ref().filter(|lock| lock.answers(pin))
        && let Some(target) = wanted.iter().find(|target| !lock.prefix.contains_key(target))
    {
        let has = lock.prefix.keys().map(ToString::to_string).collect();
        return install::Error::NotLockedFor { target: *target, has }.into();
    }
    let path = project.lock_path();
    Error::Drift { pin: pin.to_owned(), lock: lock.map(|lock| lock.spec), path }
}

/// Adds to a fresh lock for this platform what it said for others, resolved anew for the same spec, so that a colleague on
/// another platform still finds an answer. A platform on which the spec has none is left out; the note says why.
pub fn widen(
    cx: &Context<'_>,
    lock: &Lock,
    before: Option<&Lock>,
    spec: &Spec,
    project: &Project,
) -> (Lock, Vec<String>) {
    let targets = before.into_iter().flat_map(|before| before.prefix.keys().copied());
    let others: Vec<Target> = targets.filter(|one| !lock.prefix.contains_key(one)).collect();
    let (mut wheels, mut notes) = (lock.wheels.clone(), Vec::new());
    for target in others {
        match answer::lock(cx, spec, &[target], Some(project.directory())) {
            Ok(other) => wheels.extend(other.wheels),
            Err(error) => notes.push(format!("the lock no longer covers {target}: {error}")),
        }
    }
    (lock_of(&lock.spec, &lock.toolchain, lock.profile, wheels), notes)
}

/// The platforms asked for; without any, those of the lock, and this one in any case.
fn targets_of(cx: &Context<'_>, before: Option<&Lock>, asked: &[Target]) -> Vec<Target> {
    if !asked.is_empty() {
        return asked.to_vec();
    }
    let mut targets: Vec<Target> =
        before.map(|lock| lock.prefix.keys().copied().collect()).unwrap_or_default();
    if !targets.contains(&cx.target) {
        targets.push(cx.target);
    }
    targets.sort();
    targets
}

/// Says which distributions got another version, came or went.
fn moved(before: &Lock, after: &Lock) -> Vec<String> {
    let key = |wheel: &crate::domain::lock::LockedWheel| (wheel.target, wheel.distribution.clone());
    let old: std::collections::BTreeMap<_, _> =
        before.wheels.iter().map(|wheel| (key(wheel), wheel)).collect();
    let new: std::collections::BTreeMap<_, _> =
        after.wheels.iter().map(|wheel| (key(wheel), wheel)).collect();
    let mut lines = Vec::new();
    for (at, wheel) in &new {
        match old.get(at) {
            None => lines.push(format!("{} {} added ({})", wheel.component, wheel.version, at.0)),
            Some(known) if known.sha256 != wheel.sha256 => lines.push(format!(
                "{} {} -> {} ({})",
                wheel.component, known.version, wheel.version, at.0
            )),
            Some(_) => {}
        }
    }
    for (at, wheel) in old {
        if !new.contains_key(&at) {
            lines.push(format!("{} {} removed ({})", wheel.component, wheel.version, at.0));
        }
    }
    lines
}
