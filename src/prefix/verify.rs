//! Compares a prefix with what its plan says, and takes a broken one away.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fs_err as fs;

use super::plan::{Origin, Step, plan};
use super::{Error, Receipt, build};
use crate::domain::layout::Layout;
use crate::domain::receipt::Entry;
use crate::platform::fs::Aside;
use crate::platform::read;

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
            Step::Text(text) => match read::text(&at) {
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
    add_absent(prefix, &mut faults);
    Ok(faults)
}

/// Takes a prefix from its place, so that it can be built anew; it comes back when that fails.
pub fn set_aside(layout: &Layout, prefix: &Path) -> Result<Aside, Error> {
    Aside::take(prefix, &layout.tmp()).map_err(|error| build::failed(error, layout))
}

/// Looks at every path of a prefix without reading any: whether it is there, in its size. `wheels` are those of its
/// receipt; where their store is gone (`None`), only the libraries are looked for that programs are given.
pub fn glance(prefix: &Path, wheels: Option<&[Entry]>) -> Vec<PathFault> {
    let fault = |path: &str, fault| PathFault { path: path.to_owned(), fault };
    let Ok(receipt) = Receipt::read(prefix) else {
        return vec![fault(super::receipt::PATH, "is missing or cannot be read")];
    };
    let planned = wheels.and_then(|wheels| plan(wheels, &receipt.cuda, receipt.target).ok());
    let (Some(wheels), Some(planned)) = (wheels, planned) else {
        let gone = absent_libraries(prefix).into_iter();
        return gone.map(|path| fault(&path, "is missing")).collect();
    };
    let mut faults = Vec::new();
    for (path, step) in &planned.steps {
        let size = match step {
            Step::Link(_) => None,
            Step::Text(text) => Some(text.len() as u64),
            Step::File(Origin { wheel, file }) => Some(wheels[*wheel].receipt.files[*file].size),
        };
        // A link that leads nowhere is the fault of what it leads to.
        match fs::symlink_metadata(prefix.join(path)).and_then(|seen| match step {
            Step::Link(_) => Ok(seen),
            _ => fs::metadata(prefix.join(path)),
        }) {
            Err(_) => faults.push(fault(path, "is missing")),
            Ok(seen) if size.is_some_and(|size| size != seen.len()) => {
                faults.push(fault(path, "has another size"));
            }
            Ok(_) => {}
        }
    }
    add_absent(prefix, &mut faults);
    faults
}

/// Adds what no plan has: the activation, and the links of single components, without which a library is as good as gone.
fn add_absent(prefix: &Path, faults: &mut Vec<PathFault>) {
    let known: BTreeSet<String> = faults.iter().map(|fault| fault.path.clone()).collect();
    let gone = absent_libraries(prefix).into_iter().filter(|path| !known.contains(path));
    faults.extend(gone.map(|path| PathFault { path, fault: "is missing" }));
}

/// Whether a prefix can be used: its own files can be read, and every library that it gives to programs is there.
pub fn is_whole(prefix: &Path) -> bool {
    Receipt::read(prefix).is_ok() && absent_libraries(prefix).is_empty()
}

/// The libraries of the activation that are gone; the activation itself, if that is.
fn absent_libraries(prefix: &Path) -> Vec<String> {
    let Ok(Some(activation)) = shims::activation::Activation::of_prefix(prefix) else {
        return vec![super::receipt::ACTIVATION.to_owned()];
    };
    let mut gone = Vec::new();
    for component in &activation.components {
        for library in &component.libraries {
            let link = component.directory.join(library);
            if !prefix.join(&link).exists() {
                let is_link = prefix.join(&link).is_symlink();
                let path =
                    if is_link { format!("lib/{library}") } else { link.display().to_string() };
                gone.push(path);
            }
        }
    }
    gone
}

/// Takes a prefix away in one step, then removes it. What runs in it keeps its open files.
pub fn discard(layout: &Layout, prefix: &Path) -> Result<(), Error> {
    build::discard(prefix, layout).map_err(|error| build::failed(error, layout))
}
