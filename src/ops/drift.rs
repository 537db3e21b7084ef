//! Whether the lock beside a pin answers it: where it does not, what runs is not what was locked, and somebody should know.

use std::path::PathBuf;

use serde::Serialize;
use shims::locate::{Choice, Source};
use shims::names;
use shims::walk::PinKind;

use crate::domain::target::Target;
use crate::project::Project;

/// A lock that does not answer the pin beside it.
#[derive(Clone, Debug, Serialize)]
pub struct Drift {
    /// The lock.
    pub lock: PathBuf,
    /// What is wrong with it.
    pub what: String,
    /// What mends it.
    pub fix: &'static str,
}

/// Looks at the lock of what chose the toolchain; `None` where it answers, and where there is none.
pub fn of(choice: &Choice) -> Option<Drift> {
    let Source::Pin(path, PinKind::Cuenv) = &choice.source else { return None };
    // Neither a toolkit nor `system` is ever locked.
    if shims::hook::is_name(&choice.spec) {
        return None;
    }
    let project = Project::at(path.parent()?);
    let answer = |what: String| Drift { lock: project.lock_path(), what, fix: "cuenv lock" };
    match project.read_lock() {
        Ok(Some(lock)) if !lock.answers(&choice.spec) => {
            Some(answer(format!("it answers `{}`, and the pin says `{}`", lock.spec, choice.spec)))
        }
        Ok(Some(lock)) if !lock.prefix.contains_key(&Target::host()) => {
            Some(answer(format!("it has no wheels for {}", names::TARGET)))
        }
        Ok(_) => None,
        Err(error) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            let what = format!("{error}{}", cause.unwrap_or_default());
            let fix = "restore `.cuenv.lock`, or remove it and run `cuenv install`";
            Some(Drift { lock: project.lock_path(), what, fix })
        }
    }
}
