//! Whether the lock beside a pin answers it: where it does not, what runs is not what was locked, and somebody should know.

use std::path::PathBuf;

use serde::Serialize;
use shims::locate::{Choice, Source};
use shims::lock::Stale;
use shims::toolchain::{RELOCK, is_name};
use shims::walk::PinKind;

use super::mend;
use crate::domain::lock::LockError;
use crate::domain::target::Target;
use crate::project::{Error, Project};

/// A lock that does not answer the pin beside it.
#[derive(Clone, Debug, Serialize)]
pub struct Drift {
    /// The lock.
    pub lock: PathBuf,
    /// What is wrong with it.
    pub what: String,
    /// What mends it.
    pub fix: String,
}

/// Looks at the lock of what chose the toolchain; `None` where it answers, and where there is none.
pub fn of(choice: &Choice) -> Option<Drift> {
    let Source::Pin(path, PinKind::Cuenv) = &choice.source else { return None };
    // Neither a toolkit nor `system` is ever locked.
    if is_name(&choice.spec) {
        return None;
    }
    let project = Project::at(path.parent()?);
    let drift = |what: String, fix: String| Drift { lock: project.lock_path(), what, fix };
    let stale = |why: Stale| Some(drift(why.to_string(), RELOCK.to_owned()));
    match project.read_lock() {
        Ok(Some(lock)) if !lock.answers(&choice.spec) => {
            stale(Stale::Spec { locked: lock.spec, pinned: choice.spec.clone() })
        }
        Ok(Some(lock)) if !lock.prefix.contains_key(&Target::host()) => stale(Stale::Target),
        Ok(_) => None,
        Err(error) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            let what = format!("{error}{}", cause.unwrap_or_default());
            let mend = match error {
                Error::Lock { source: LockError::Newer(_), .. } => mend::newer_lock(),
                _ => mend::broken_lock(),
            };
            Some(drift(what, mend.fix()))
        }
    }
}
