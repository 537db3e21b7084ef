//! From exact wheels to a prefix: what is missing is fetched, the prefix is built, the links that find it are set.

mod preflight;
mod report;
mod reuse;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub use report::InstallReport;

use super::network::Network;
use crate::catalog::CatalogError;
use crate::context::Context;
use crate::domain::digest::Digest;
use crate::domain::listing::Location;
use crate::domain::lock::{Lock, LockedWheel};
use crate::domain::resolution::{Choice, Resolution, lock_of};
use crate::domain::target::Target;
use crate::platform::flock::Flock;
use crate::platform::fs::{Staging, symlink_atomic};
use crate::platform::http::Http;
use crate::platform::thread;
use crate::store::{How, Ingested, Place, Store, WheelSource};
use crate::{index, prefix, store};

/// Wheels that are fetched at once when nobody says otherwise: one a core, enough to fill a link, few enough not to
/// starve each other on a slow line.
const JOBS: RangeInclusive<usize> = 4..=8;

/// Why a toolchain could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The index.
    #[error(transparent)]
    Index(#[from] index::Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The prefix.
    #[error(transparent)]
    Prefix(#[from] prefix::Error),
    /// The lock names no wheels for this platform.
    #[error("the lock has no wheels for {target}; it is for {}", .has.join(", "))]
    NotLockedFor {
        /// This platform.
        target: Target,
        /// The lock's platforms.
        has: Vec<String>,
    },
    /// Not enough space for what is to come.
    #[error("{needed} bytes are needed in `{}`, {free} are free", path.display())]
    Space {
        /// Where.
        path: PathBuf,
        /// Bytes needed, an estimate from the wheels' sizes.
        needed: u64,
        /// Bytes free for this user.
        free: u64,
    },
    /// A prefix below it could stand on no list of paths.
    #[error("`{}` holds a colon, which separates the paths in PATH and LD_LIBRARY_PATH", .0.display())]
    Colon(PathBuf),
    /// A lock names a wheel that is no component.
    #[error("the lock names `{0}`, which is no component of a toolchain")]
    UnknownWheel(String),
    /// A manifest of the user's own.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// Something is in the way of a link.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// One wheel on its way: what is known of it, and where it is if that is known.
struct Need {
    wheel: Wheel,
    location: Option<Location>,
}

/// A wheel whose size and digest may not be known yet.
#[derive(Clone)]
struct Wheel {
    component: String,
    distribution: String,
    version: String,
    file: String,
    size: Option<u64>,
    digest: Option<Digest>,
}

/// A wheel that is in the store now.
struct Fetched {
    wheel: LockedWheel,
    how: How,
}

/// Keeps gc away while it is held: what is installed has no root before its pin is written. `None` where locks do not work.
pub fn hold(cx: &Context<'_>) -> Option<Flock> {
    Store::open(&cx.layout, &[]).hold_shared(cx.progress)
}

/// Installs what a fresh resolution chose, and returns the lock that names it.
pub fn install_resolution(
    cx: &Context<'_>,
    network: &Network,
    spec: &str,
    resolution: &Resolution,
) -> Result<(InstallReport, Lock), Error> {
    let started = Instant::now();
    let needs: Vec<Need> = resolution
        .choices
        .iter()
        .map(|choice| Need {
            wheel: Wheel {
                component: choice.component.clone(),
                distribution: choice.distribution.clone(),
                version: choice.version.clone(),
                file: choice.file.clone(),
                size: choice.size,
                digest: choice.sha256,
            },
            location: Some(choice.location.clone()),
        })
        .collect();
    let toolchain = resolution.toolchain();
    let _hold = hold(cx);
    let fetched = fetch(cx, network, &toolchain, resolution.target, needs)?;
    let wheels = fetched.iter().map(|fetched| fetched.wheel.clone()).collect();
    let lock = lock_of(spec, &toolchain, resolution.profile, wheels);
    let mut report = publish(cx, &lock, resolution.target, &resolution.cuda.to_string(), started)?;
    activate(cx, resolution.target, spec, &lock.prefix[&resolution.target])?;
    report.count(&fetched);
    report.notes.clone_from(&resolution.notes);
    report.notes.extend(unproven(resolution));
    Ok((report, lock))
}

/// Says which wheels came without a digest to compare with: what was recorded is what came, nothing more.
fn unproven(resolution: &Resolution) -> Option<String> {
    let bare =
        |choice: &&Choice| choice.sha256.is_none() && matches!(choice.location, Location::Url(_));
    let first = resolution.choices.iter().find(bare)?;
    let count = resolution.choices.iter().filter(bare).count();
    Some(format!(
        "the index tells no sha256 for `{}`{}: computed from what came, and recorded in the lock",
        first.file,
        if count > 1 { format!(" and {} more", count - 1) } else { String::new() },
    ))
}

/// Installs exactly what `lock` names. Asks nobody when it is all there.
pub fn install_lock(cx: &Context<'_>, lock: &Lock, target: Target) -> Result<InstallReport, Error> {
    let started = Instant::now();
    let Some(name) = lock.prefix.get(&target) else {
        let has = lock.prefix.keys().map(ToString::to_string).collect();
        return Err(Error::NotLockedFor { target, has });
    };
    let cuda = lock.toolchain.split('+').next().unwrap_or_default().to_owned();
    // Before the first look: what is seen to be there must stay.
    let _hold = hold(cx);
    if installed(cx, target, name).is_some() {
        let report = publish(cx, lock, target, &cuda, started)?;
        answer_if_none(cx, target, &lock.spec, name)?;
        return Ok(report);
    }
    vouch(cx, lock, target)?;
    let network = Network::open(cx);
    let needs = lock
        .wheels_for(target)
        .map(|wheel| Need {
            wheel: Wheel {
                component: wheel.component.clone(),
                distribution: wheel.distribution.clone(),
                version: wheel.version.clone(),
                file: wheel.file.clone(),
                size: Some(wheel.size),
                digest: Some(wheel.sha256),
            },
            location: None,
        })
        .collect();
    let fetched = fetch(cx, &network, &lock.toolchain, target, needs)?;
    let mut report = publish(cx, lock, target, &cuda, started)?;
    answer_if_none(cx, target, &lock.spec, name)?;
    report.count(&fetched);
    Ok(report)
}

/// Refuses a lock that names anything but components: it comes with a clone, and what it names is put on `PATH`.
pub(super) fn vouch(cx: &Context<'_>, lock: &Lock, target: Target) -> Result<(), Error> {
    let catalog = cx.catalog()?;
    match lock.wheels_for(target).find(|wheel| catalog.carrier(&wheel.distribution).is_none()) {
        Some(wheel) => Err(Error::UnknownWheel(wheel.distribution.clone())),
        None => Ok(()),
    }
}

/// Lets a lock's toolchain answer its spec where nothing does yet. What answers already stays: a project's lock decides for
/// that project alone, not for the default or for other projects that have no lock.
fn answer_if_none(cx: &Context<'_>, target: Target, spec: &str, name: &str) -> Result<(), Error> {
    let link = cx.layout.active(target).join(shims::spec::canonical(spec));
    if prefix::Receipt::read(&link).is_ok() {
        return Ok(());
    }
    activate(cx, target, spec, name)
}

/// Fetches wheels of a lock anew into the user's own store, whatever it or a store below has. What is there stays until the
/// new ones have come.
pub fn refetch(
    cx: &Context<'_>,
    lock: &Lock,
    target: Target,
    broken: &BTreeSet<Digest>,
) -> Result<(), Error> {
    let network = Network::open(cx);
    let index = network.index();
    let mut sources = Vec::new();
    for wheel in lock.wheels_for(target).filter(|wheel| broken.contains(&wheel.sha256)) {
        let found = index.locate(&wheel.distribution, &wheel.file, &wheel.sha256)?;
        sources.push(WheelSource {
            file: wheel.file.clone(),
            digest: Some(wheel.sha256),
            size: Some(wheel.size),
            places: vec![place(found.location)?],
            unpacked: None,
        });
    }
    let store = Store::open(&cx.layout, &[]);
    let staging = Staging::new(&cx.layout.tmp(), "refetch")?;
    let fresh = store.apart(staging.path());
    let ingested = fresh.ingest_all(&sources, &network.http, options(cx), cx.progress);
    // What has come is put in place also when another one has not.
    for digest in broken.iter().filter(|digest| fresh.contains(digest)) {
        store.replace(digest, &fresh)?;
    }
    ingested?;
    Ok(())
}

fn options(cx: &Context<'_>) -> store::Options {
    let usual = || thread::cores().clamp(*JOBS.start(), *JOBS.end());
    store::Options { jobs: cx.settings.jobs.unwrap_or_else(usual) }
}

/// Returns the prefix when it is there and whole.
pub fn installed(cx: &Context<'_>, target: Target, name: &str) -> Option<PathBuf> {
    let path = cx.layout.prefix(target, name);
    prefix::is_whole(&path).then_some(path)
}

/// Points `active/<target>/<spec>` at a prefix.
pub fn activate(cx: &Context<'_>, target: Target, spec: &str, name: &str) -> Result<(), Error> {
    let link = cx.layout.active(target).join(shims::spec::canonical(spec));
    let to = Path::new("../../toolchains").join(target.name()).join(name);
    if std::fs::read_link(&link).is_ok_and(|known| known == to) {
        return Ok(());
    }
    Ok(symlink_atomic(&to, &link)?)
}

/// Puts every wheel into the store and returns them with sizes and digests.
fn fetch(
    cx: &Context<'_>,
    network: &Network,
    toolchain: &str,
    target: Target,
    needs: Vec<Need>,
) -> Result<Vec<Fetched>, Error> {
    let store = Store::open(&cx.layout, &cx.settings.below);
    let missing = |wheel: &Wheel| wheel.digest.is_none_or(|digest| !store.contains(&digest));
    let fetch_bytes: u64 = needs
        .iter()
        .filter(|need| missing(&need.wheel))
        .filter_map(|need| need.wheel.size)
        .fold(0, u64::saturating_add);
    preflight::check(cx, toolchain, &needs, fetch_bytes, &missing)?;

    let index = network.index();
    let shelves = (fetch_bytes > 0 && cx.settings.reuse && !cx.settings.http.offline)
        .then(|| reuse::Shelves::find(cx.process));
    let mut sources = Vec::with_capacity(needs.len());
    for need in &needs {
        let location = match &need.location {
            Some(location) => Some(location.clone()),
            None => match need.wheel.digest.filter(|_| missing(&need.wheel)) {
                Some(digest) => Some(
                    index.locate(&need.wheel.distribution, &need.wheel.file, &digest)?.location,
                ),
                None => None,
            },
        };
        let unpacked = shelves.as_ref().zip(location.as_ref()).and_then(|(shelves, location)| {
            let wheel = Some(&need.wheel).filter(|wheel| missing(wheel))?;
            shelves.look(&index, &wheel.file, wheel.size, location)
        });
        sources.push(WheelSource {
            file: need.wheel.file.clone(),
            digest: need.wheel.digest,
            size: need.wheel.size,
            unpacked,
            places: location.map(place).transpose()?.into_iter().collect(),
        });
    }
    let ingested = store.ingest_all(&sources, &network.http, options(cx), cx.progress)?;

    let mut fetched = Vec::with_capacity(needs.len());
    for (Need { wheel, .. }, Ingested { digest, how, .. }) in needs.into_iter().zip(ingested) {
        let size = match wheel.size {
            Some(size) => size,
            None => store.entry(&digest)?.map_or(0, |entry| entry.receipt.size),
        };
        let wheel = LockedWheel {
            target,
            component: wheel.component,
            distribution: wheel.distribution,
            version: wheel.version,
            file: wheel.file,
            size,
            sha256: digest,
        };
        fetched.push(Fetched { wheel, how });
    }
    Ok(fetched)
}

pub(super) fn place(location: Location) -> Result<Place, Error> {
    match location {
        Location::File(path) => Ok(Place::File(path)),
        Location::Url(text) => match Http::url(&text) {
            Ok(url) => Ok(Place::Url(url)),
            Err(error) => Err(Error::Index(index::Error::Http(error))),
        },
    }
}

/// Builds the prefix (or finds it) and sets the links.
fn publish(
    cx: &Context<'_>,
    lock: &Lock,
    target: Target,
    cuda: &str,
    started: Instant,
) -> Result<InstallReport, Error> {
    let name = &lock.prefix[&target];
    let (path, present) = match installed(cx, target, name) {
        Some(path) => (path, true),
        None => {
            let store = Store::open(&cx.layout, &cx.settings.below);
            let mut entries = Vec::new();
            for wheel in lock.wheels_for(target) {
                let entry = store.entry(&wheel.sha256)?;
                entries.push(entry.ok_or_else(|| store::Error::NoPlace(wheel.file.clone()))?);
            }
            let request = prefix::Request {
                name,
                toolchain: &lock.toolchain,
                cuda,
                target,
                profile: lock.profile.name(),
                wheels: &entries,
            };
            let built = prefix::build(&cx.layout, &request)?;
            (built.path, built.present)
        }
    };
    Ok(InstallReport::new(lock, target, path, present, started.elapsed()))
}
