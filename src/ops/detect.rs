//! What a project wants of CUDA and cuDNN, read from its environment and its files, and the pin that gives it.
//!
//! Nothing of the project is run or imported: distributions are read from their metadata, native files from their ELF
//! tables, lists of dependencies as text. What is installed wins over what is locked, and that over what is asked for;
//! an image is an environment of its own and is looked at as one more part of the project.

mod files;
mod native;
mod report;
mod site;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub use report::Detection;
pub(super) use site::sites;

use super::launch::python_on_path;
use super::machine;
use crate::catalog::{Catalog, CatalogError, ProjectCatalog};
use crate::context::Context;
use crate::domain::compat::Machine;
use crate::domain::evidence::Package;
use crate::domain::spec::Spec;
use crate::domain::wish::{Conflict, Tables, Wish, propose};
use crate::platform::host::HostError;
use crate::platform::process::Process;
use crate::project::Project;

/// Where to look.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The project's directory.
    pub directory: PathBuf,
    /// Its Python environment, if it is not the usual one.
    pub venv: Option<PathBuf>,
    /// Its interpreter, if that is how the environment is named.
    pub python: Option<PathBuf>,
}

/// A package with where it was found, and how much that counts.
#[derive(Clone, Debug)]
struct Seen {
    package: Package,
    place: String,
    rank: Rank,
    label: Option<String>,
    /// What an installed distribution requires, NVIDIA's packages only.
    requires: Vec<Package>,
}

/// How much a place counts, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Asked,
    Locked,
    Installed,
}

/// Everything that was found.
#[derive(Debug, Default)]
struct Found {
    seen: Vec<Seen>,
    wishes: Vec<Wish>,
    /// NVIDIA's distributions in the Python environment.
    installed_nvidia: Vec<Package>,
    looked_at: Vec<PathBuf>,
    notes: Vec<String>,
    /// Top-level modules whose own libraries were read, with what they ask for.
    native: BTreeMap<String, native::Asked>,
    /// There is a Python environment.
    environment: Option<PathBuf>,
}

/// Why no pin can be proposed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A manifest of the user's own.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A variable about the host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// Two parts of the project cannot agree.
    #[error("no single pin works: {0}")]
    Conflict(Conflict),
    /// Nothing in the project wants CUDA.
    #[error("nothing in `{}` asks for CUDA", shims::shown::path(directory))]
    Nothing {
        /// The project's directory.
        directory: PathBuf,
        /// The Python environment that was looked at.
        environment: Option<PathBuf>,
    },
}

/// Looks at the project in the working directory.
pub fn project(cx: &Context<'_>, python: Option<PathBuf>) -> Result<Detection, Error> {
    let catalog = cx.catalog()?;
    let project = ProjectCatalog::load(&cx.layout.manifests())?;
    let machine = machine::facts(cx, &catalog, cx.target)?.machine;
    let mut request = Request { directory: cx.cwd().to_owned(), venv: None, python };
    if site::environment(cx.process, &request).is_none() && request.python.is_none() {
        // As doctor does: what `python` starts here.
        request.python = python_on_path(cx.process.env(), &cx.dirs);
    }
    let mut detection = detect(cx.process, &catalog, &project, &machine, &request);
    if let Ok(Some(pin)) = Project::at(cx.cwd()).read_pin() {
        detection.against(&pin.spec());
    }
    Ok(detection)
}

/// Returns the pin to propose, or why there is none.
pub fn pin(detection: &Detection, directory: &Path) -> Result<Spec, Error> {
    match (&detection.proposal, &detection.conflict) {
        (Some(proposal), _) => Ok(Spec::Toolchain(proposal.spec.clone())),
        (None, Some(conflict)) => Err(Error::Conflict(conflict.clone())),
        (None, None) => Err(Error::Nothing {
            directory: directory.to_owned(),
            environment: detection.environment.clone(),
        }),
    }
}

/// Looks at a project.
pub fn detect(
    process: &Process,
    catalog: &Catalog,
    project: &ProjectCatalog,
    machine: &Machine,
    request: &Request,
) -> Detection {
    let tables = Tables {
        components: catalog.components(),
        releases: catalog.releases(),
        frameworks: &project.frameworks,
    };
    let mut found = Found::default();
    if let Some((root, sites)) = site::environment(process, request) {
        site::read(&root, &sites, &tables, &mut found);
        found.environment = Some(root);
    }
    files::read(&request.directory, &project.images, &mut found);
    native::read_programs(&request.directory, &tables, &mut found);
    let mut wishes = wishes(&tables, &mut found);
    wishes.sort_by(|a, b| (&a.who, &a.place).cmp(&(&b.who, &b.place)));
    let outcome = propose(&wishes, &catalog.knowledge(), machine);
    Detection::new(outcome, wishes, found.environment, found.looked_at, found.notes)
}

/// Turns what was seen into wishes, one for each distribution.
fn wishes(tables: &Tables<'_>, found: &mut Found) -> Vec<Wish> {
    let mut best: BTreeMap<String, Seen> = BTreeMap::new();
    for seen in std::mem::take(&mut found.seen) {
        let known = tables.is_framework(&seen.package.distribution);
        if !known && !tables.is_nvidia(&seen.package.distribution) {
            continue;
        }
        match best.get_mut(&seen.package.distribution) {
            Some(other) if other.rank >= seen.rank => {
                other.label = other.label.take().or(seen.label);
                other.package.extras.extend(seen.package.extras);
            }
            Some(other) => {
                let (label, extras) = (other.label.take(), other.package.extras.clone());
                *other = seen;
                other.label = other.label.take().or(label);
                other.package.extras.extend(extras);
            }
            None => {
                best.insert(seen.package.distribution.clone(), seen);
            }
        }
    }
    let mut wishes = std::mem::take(&mut found.wishes);
    let mut families = BTreeSet::new();
    let mut open: Vec<(Seen, usize)> = best.values().cloned().map(|seen| (seen, 0)).collect();
    while let Some((seen, depth)) = open.pop() {
        let Some(looked) = tables.look_up(&seen.package, seen.label.as_deref()) else { continue };
        // Whoever decides instead may be in the project itself, and is asked there.
        let decided_elsewhere = !looked.via.is_empty();
        for package in looked.via {
            if depth < 3 && !best.contains_key(&package.distribution) {
                let place = format!("{} ({})", seen.place, seen.package.distribution);
                open.push((
                    Seen { package, place, requires: Vec::new(), ..seen.clone() },
                    depth + 1,
                ));
            }
        }
        if decided_elsewhere {
            continue;
        }
        let mut wish = Wish { place: seen.place.clone(), ..looked.wish };
        if wish.cuda.is_none() && wish.cudnn.is_none() && !wish.compiles && wish.notes.is_empty() {
            continue;
        }
        let requires = if seen.requires.is_empty() { &looked.requires } else { &seen.requires };
        let pins = tables.read_pins(requires);
        merge_pins(&mut wish, pins, !seen.requires.is_empty());
        let family = tables.frameworks.framework.iter().find(|known| known.id == looked.framework);
        if let Some(family) = family {
            families.insert(family.id.clone());
            native::merge(&mut wish, family, tables, found);
            wish.axes.retain(|axis, _| family.axes.contains(axis));
            wish.own_libraries =
                family.finds_wheels && brings_libraries(&seen, &wish, requires, tables, found);
        }
        wishes.push(wish);
    }
    wishes.extend(native::wishes_of_others(tables, found, &families));
    let any = wishes.iter().any(|wish| wish.cuda.is_some());
    if !any {
        wishes.extend(wish_of_nvidia(tables, &best));
    }
    wishes
}

/// Takes over what requirements say: those of an installed distribution are its own and win, those of the table only
/// fill in.
fn merge_pins(wish: &mut Wish, pins: crate::domain::wish::PinFacts, own: bool) {
    let Some(pinned) = pins.cuda else { return };
    match &mut wish.cuda {
        None => wish.cuda = Some(pinned),
        Some(known) if own && known.major != pinned.major => *known = pinned,
        Some(known) => {
            known.least = known.least.take().max(pinned.least);
            if own && pinned.made_with.is_some() {
                known.made_with = pinned.made_with;
                known.release = pinned.release;
            } else {
                known.made_with = known.made_with.take().or(pinned.made_with);
                known.release = known.release.take().or(pinned.release);
            }
        }
    }
    if !wish.no_cudnn && (own || wish.cudnn.is_none()) {
        wish.cudnn = pins.cudnn.or(wish.cudnn.take());
    }
    for (axis, least) in pins.axes {
        if own || !wish.axes.contains_key(&axis) {
            wish.axes.insert(axis, least);
        }
    }
    // What the wheel itself says needs no table.
    if own {
        wish.verified = true;
        wish.notes.retain(|note| !note.contains("is not listed"));
    }
}

/// Tells whether a framework that looks into its environment finds NVIDIA's libraries there.
fn brings_libraries(
    seen: &Seen,
    wish: &Wish,
    requires: &[Package],
    tables: &Tables<'_>,
    found: &Found,
) -> bool {
    let Some(major) = wish.cuda.as_ref().map(|cuda| cuda.major) else { return false };
    if seen.rank == Rank::Installed {
        let pins = tables.read_pins(&found.installed_nvidia);
        return pins.cuda.is_some_and(|cuda| cuda.major == major);
    }
    // Not installed yet: its requirements will be, unless they hang on an extra that nobody asks for.
    !requires.is_empty()
}

/// Where no framework says anything, NVIDIA's own distributions among the dependencies do.
fn wish_of_nvidia(tables: &Tables<'_>, best: &BTreeMap<String, Seen>) -> Option<Wish> {
    let nvidia: Vec<&Seen> =
        best.values().filter(|seen| tables.is_nvidia(&seen.package.distribution)).collect();
    let first = nvidia.first()?;
    let pins = tables.read_pins(nvidia.iter().map(|seen| &seen.package));
    Some(Wish {
        who: "NVIDIA's packages".to_owned(),
        place: first.place.clone(),
        cuda: pins.cuda,
        cudnn: pins.cudnn,
        own_libraries: true,
        verified: true,
        ..Wish::default()
    })
}

fn shown(path: &Path, below: &Path) -> String {
    path.strip_prefix(below).unwrap_or(path).display().to_string()
}
