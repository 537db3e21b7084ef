//! Compares a prefix with what its plan says, and takes a broken one away.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fs_err as fs;

use super::plan::{Origin, Step, plan};
use super::{Error, Receipt, build};
use crate::domain::layout::Layout;
use crate::domain::receipt::Entry;
use crate::platform::fs::Aside;

/// One path of a prefix that differs from its plan.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PathFault {
    /// Path inside the prefix.
    pub path: String,
    /// What is wrong.
    pub fault: &'static str,
}

/// Compares the prefix at `prefix`, whose wheels are `wheels`. A file that is another name of the store's is not read:
/// the store's own check covers it. `same_bytes` compares a copy (path, expected entry file) and says whether it is whole.
pub fn check(
    prefix: &Path,
    wheels: &[Entry],
    same_bytes: &dyn Fn(&Path, &Entry, usize) -> bool,
) -> Result<Vec<PathFault>, Error> {
    let receipt = Receipt::read(prefix)?;
    let plan = plan(wheels, &receipt.cuda, receipt.target)?;
    let mut faults = Vec::new();
    for (path, step) in &plan.steps {
        let at = prefix.join(path);
        let fault = match step {
            Step::Link(target) => match fs::read_link(&at) {
                Ok(found) if found == Path::new(target) => None,
                Ok(_) => Some("points elsewhere"),
                Err(_) => Some("is missing"),
            },
            Step::Text(text) => match fs::read_to_string(&at) {
                Ok(found) if found == *text => None,
                Ok(_) => Some("has other bytes"),
                Err(_) => Some("is missing"),
            },
            Step::File(Origin { wheel, file }) => {
                let entry = &wheels[*wheel];
                let stored = entry.path.join(&entry.receipt.files[*file].path);
                match (fs::metadata(&at), fs::metadata(&stored)) {
                    (Err(_), _) => Some("is missing"),
                    (Ok(here), Ok(there))
                        if (here.dev(), here.ino()) == (there.dev(), there.ino()) =>
                    {
                        None
                    }
                    _ if same_bytes(&at, entry, *file) => None,
                    _ => Some("has other bytes"),
                }
            }
        };
        faults.extend(fault.map(|fault| PathFault { path: path.clone(), fault }));
    }
    if !prefix.join(super::receipt::ACTIVATION).is_file() {
        let path = super::receipt::ACTIVATION.to_owned();
        faults.push(PathFault { path, fault: "is missing" });
    }
    Ok(faults)
}

/// Takes a prefix from its place, so that it can be built anew; it comes back when that fails.
pub fn set_aside(layout: &Layout, prefix: &Path) -> Result<Aside, Error> {
    Aside::take(prefix, &layout.tmp()).map_err(|error| build::failed(error, layout))
}

/// Takes a prefix away in one step, then removes it. What runs in it keeps its open files.
pub fn discard(layout: &Layout, prefix: &Path) -> Result<(), Error> {
    build::discard(prefix, layout).map_err(|error| build::failed(error, layout))
}
