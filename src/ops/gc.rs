//! `gc`: drop what nothing pins, runs or fetches.
//!
//! A prefix stays when a known project's pin or lock or the default leads to it, or a process has one of its files mapped.
//! A wheel stays when such a prefix or the lock of a known project names it, or a process has one of its files mapped.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err as fs;
use serde::Serialize;

use super::{list, selection};
use crate::context::Context;
use crate::domain::digest::Digest;
use crate::domain::size::megabytes;
use crate::platform::flock::Owner;
use crate::platform::maps;
use crate::store::{self, Hold, Store, Sweepable};
use crate::{prefix, project};

/// Why nothing was dropped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An installation runs.
    #[error("an installation is running{}", owner.as_ref().map(|owner| format!(" ({owner})")).unwrap_or_default())]
    Busy {
        /// Who, when the lock says so.
        owner: Option<Owner>,
    },
    /// A known project's pin or lock cannot be read, so what it needs is unknown.
    #[error(transparent)]
    Project(#[from] project::Error),
    /// The default file cannot be used, so what it needs is unknown.
    #[error(transparent)]
    Default(#[from] selection::DefaultError),
    /// The store.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The prefix.
    #[error(transparent)]
    Prefix(#[from] prefix::Error),
}

/// What can go, or went.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Prefixes, wheels and left-overs.
    pub items: Vec<Sweepable>,
    /// Bytes that are freed by all of them together.
    pub bytes: u64,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Things that would go but are in use by a process.
    pub running: Vec<PathBuf>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.items.is_empty() {
            return writeln!(f, "Nothing to remove");
        }
        for item in &self.items {
            writeln!(f, "{:>10}  {}", megabytes(item.bytes), item.name)?;
        }
        let verb = if self.dry_run { "can be freed" } else { "freed" };
        writeln!(f, "{:>10}  {verb}", megabytes(self.bytes))
    }
}

/// Finds what nothing needs and, unless `dry_run`, removes it.
pub fn gc(cx: &Context<'_>, dry_run: bool) -> Result<Report, Error> {
    let store = Store::open(&cx.layout, &[]);
    let (lock, older_than) = match store.hold_exclusive() {
        Hold::Held(lock) => (Some(lock), Duration::ZERO),
        Hold::Busy(_) if dry_run => (None, Duration::ZERO),
        Hold::Busy(owner) => return Err(Error::Busy { owner }),
        Hold::Unlocked => (None, store::YOUNG),
    };
    let mapped: BTreeSet<PathBuf> =
        maps::mapped_below(cx.layout.data()).into_iter().map(|one| one.path).collect();
    let mut report = Report { items: Vec::new(), bytes: 0, dry_run, running: Vec::new() };
    let mut roots = locked(cx)?;
    let default = selection::default_spec(cx)?.unwrap_or_default();
    let mut links = Vec::new();
    for one in list::installed(cx).toolchains {
        let is_running = mapped.iter().any(|path| path.starts_with(&one.prefix));
        // A spec's link alone keeps nothing: it stays behind when a project is pinned anew or goes away.
        let is_pinned = !one.projects.is_empty() || one.specs.contains(&default);
        if !is_pinned && !is_running {
            let active = cx.layout.active(one.target);
            links.extend(one.specs.iter().map(|spec| active.join(spec)));
            report.items.push(Sweepable {
                name: format!("toolchain {}", one.name),
                bytes: one.bytes,
                path: one.prefix,
            });
            continue;
        }
        if is_running && !is_pinned {
            report.running.push(one.prefix);
        }
        roots.extend(one.wheels.iter().map(|wheel| wheel.sha256));
    }
    // A process may have opened a wheel's file by its name in the store.
    roots.extend(mapped.iter().filter_map(|path| {
        let below = path.strip_prefix(cx.layout.store()).ok()?;
        below.components().next()?.as_os_str().to_str()?.parse::<Digest>().ok()
    }));
    let prefixes: Vec<PathBuf> = report.items.iter().map(|item| item.path.clone()).collect();
    let mut swept = store.sweepable(&roots, older_than)?;
    // Each row tells what goes with it and those before it, so that they add up: a wheel's bytes are a prefix's too.
    let prefix_trees: Vec<&Path> = prefixes.iter().map(PathBuf::as_path).collect();
    let by_prefixes = store::measure(&prefix_trees).own;
    for item in &mut report.items {
        item.bytes = store::measure(&[&item.path]).own;
    }
    for item in &mut swept {
        let trees: Vec<&Path> = prefix_trees.iter().copied().chain([item.path.as_path()]).collect();
        item.bytes = store::measure(&trees).own.saturating_sub(by_prefixes);
    }
    let trees: Vec<&Path> =
        prefixes.iter().chain(swept.iter().map(|item| &item.path)).map(PathBuf::as_path).collect();
    report.bytes = store::measure(&trees).own;
    if !dry_run {
        for link in &links {
            // One that stays leads nowhere and is set anew by the next installation.
            let _ = fs::remove_file(link);
        }
        for path in &prefixes {
            prefix::discard(&cx.layout, path)?;
        }
        store.sweep(&swept)?;
    }
    report.items.extend(swept);
    drop(lock);
    Ok(report)
}

/// Returns the wheels that the locks of known projects name. A pin or lock that is there and cannot be read ends the run:
/// what it needs must not go because of a typing error or a sleeping file server.
fn locked(cx: &Context<'_>) -> Result<BTreeSet<Digest>, Error> {
    let mut wheels = BTreeSet::new();
    for project in project::known(&cx.layout) {
        project.read_pin()?;
        let lock = project.read_lock()?;
        wheels.extend(lock.into_iter().flat_map(|lock| lock.wheels).map(|wheel| wheel.sha256));
    }
    Ok(wheels)
}
