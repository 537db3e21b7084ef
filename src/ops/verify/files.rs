//! `verify --files`: every file of a toolchain against what its wheels were when they were unpacked, and the repair:
//! just the broken wheel is fetched again, and the prefix is linked anew.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use shims::locate::Choice;
use shims::prepare::command;

use super::toolchain;
use crate::context::Context;
use crate::domain::digest::Digest;
use crate::domain::lock::{self, Lock, LockedWheel};
use crate::domain::receipt::Entry;
use crate::domain::size::megabytes;
use crate::domain::spec::Profile;
use crate::ops::{install, list};
use crate::store::{self, Store, file_digest};
use crate::{prefix, progress};

/// Why the files could not be checked or repaired.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no toolchain.
    #[error(transparent)]
    Toolchain(#[from] super::ToolchainError),
    /// The prefix.
    #[error(transparent)]
    Prefix(#[from] prefix::Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The repair.
    #[error(transparent)]
    Install(#[from] Box<install::Error>),
}

/// What was found, and what was done about it.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The toolchain.
    pub toolchain: String,
    /// Its prefix.
    pub prefix: PathBuf,
    /// Bytes that were read.
    pub bytes: u64,
    /// What differs.
    pub faults: Vec<Found>,
    /// Whether it was made good.
    pub repaired: bool,
}

/// One file that differs.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The wheel; absent for the prefix's own files.
    pub wheel: Option<String>,
    /// The file; absent when the whole wheel is missing or unreadable.
    pub path: Option<String>,
    /// What is wrong.
    pub fault: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Found { wheel, path, fault } in &self.faults {
            let what = path.as_deref().or(wheel.as_deref()).unwrap_or("it");
            writeln!(f, "`{what}` {fault}")?;
        }
        let read = megabytes(self.bytes);
        match (self.faults.len(), self.repaired) {
            (0, _) => {
                writeln!(f, "{}: every file is as it should be ({read} read)", self.toolchain)
            }
            (_, true) => writeln!(f, "{}: repaired", self.toolchain),
            (count, false) => writeln!(f, "{}: {count} faults", self.toolchain),
        }
    }
}

/// Checks the toolchain of `spec`, or the one that holds here; with `repair`, makes good what is broken and checks again.
pub fn check_files(cx: &Context<'_>, spec: Option<&str>, repair: bool) -> Result<Report, Error> {
    let prefix = toolchain::prefix(cx, spec)?;
    let receipt = prefix::Receipt::read(&prefix)?;
    let mut report = Report {
        toolchain: receipt.toolchain.clone(),
        prefix,
        bytes: 0,
        faults: Vec::new(),
        repaired: false,
    };
    let broken = inspect(cx, &receipt, &mut report)?;
    if repair && !report.faults.is_empty() {
        make_good(cx, &receipt, &report.prefix, &broken)?;
        let before = std::mem::take(&mut report.faults);
        inspect(cx, &receipt, &mut report)?;
        report.repaired = report.faults.is_empty();
        if report.repaired {
            report.faults = before;
        }
    }
    Ok(report)
}

/// Reads every file and adds what differs to the report; returns the wheels that are not whole.
fn inspect(
    cx: &Context<'_>,
    receipt: &prefix::Receipt,
    report: &mut Report,
) -> Result<BTreeSet<Digest>, Error> {
    let store = Store::open(&cx.layout, &cx.settings.below);
    let mut broken = BTreeSet::new();
    let mut entries = Vec::new();
    for wheel in &receipt.wheels {
        let before = report.faults.len();
        let fault = match store.entry(&wheel.sha256) {
            Ok(Some(entry)) => {
                check_entry(cx.progress, &store, &entry, report);
                entries.push(entry);
                None
            }
            Ok(None) => Some("is not in the store".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        report.faults.extend(fault.map(|fault| Found {
            wheel: Some(wheel.file.clone()),
            path: None,
            fault,
        }));
        if report.faults.len() > before {
            broken.insert(wheel.sha256);
        }
    }
    if entries.len() == receipt.wheels.len() {
        let faults = prefix::check(&report.prefix, &entries, &same_bytes)?;
        report.faults.extend(faults.into_iter().map(|found| Found {
            wheel: None,
            path: Some(found.path),
            fault: found.fault.to_owned(),
        }));
    }
    Ok(broken)
}

/// Fetches the broken wheels anew and builds the prefix from them. Until each new one is there, the old one stays: a repair
/// without a network loses nothing.
fn make_good(
    cx: &Context<'_>,
    receipt: &prefix::Receipt,
    prefix: &Path,
    broken: &BTreeSet<Digest>,
) -> Result<(), Error> {
    let _hold = install::hold(cx);
    // Before anything is moved: the links that lead to the prefix are found through the prefix.
    let lock = lock_of(cx, receipt);
    install::refetch(cx, &lock, receipt.target, broken).map_err(Box::new)?;
    let _aside = prefix::set_aside(&cx.layout, prefix)?;
    install::install_lock(cx, &lock, receipt.target).map_err(Box::new)?;
    Ok(())
}

/// Looks, without reading, for files of a prefix that are gone or have another size. A toolkit that cuenv did not install
/// has no record to compare with.
pub(in crate::ops) fn glance(cx: &Context<'_>, prefix: &Path) -> Vec<prefix::PathFault> {
    if !prefix.starts_with(cx.layout.toolchains(cx.target)) {
        return Vec::new();
    }
    let store = Store::open(&cx.layout, &cx.settings.below);
    let receipt = prefix::Receipt::read(prefix);
    let wheels = receipt.ok().and_then(|receipt| {
        let wheels = receipt.wheels.iter();
        wheels.map(|wheel| store.entry(&wheel.sha256).ok().flatten()).collect::<Option<Vec<_>>>()
    });
    prefix::glance(prefix, wheels.as_deref())
}

/// Returns the command that mends what [`glance`] found.
pub(in crate::ops) fn mending(faults: &[prefix::PathFault], choice: &Choice) -> Option<String> {
    let first = faults.first()?;
    // Without its receipt nobody knows what belongs into a prefix: it is built anew from the lock.
    let verb = if first.path == prefix::receipt::PATH {
        "cuenv install"
    } else {
        "cuenv verify --files --repair"
    };
    Some(command(verb, choice))
}

fn check_entry(
    progress: &dyn progress::Progress,
    store: &Store,
    entry: &Entry,
    report: &mut Report,
) {
    let (name, version) = entry.receipt.distribution();
    let task = progress.start(&format!("{name} {version}"), Some(entry.receipt.unpacked()));
    let faults = store.check(entry, &|bytes| task.advance(bytes));
    task.finish();
    report.bytes += entry.receipt.unpacked();
    report.faults.extend(faults.into_iter().map(|found| Found {
        wheel: Some(entry.receipt.file.clone()),
        path: Some(found.path),
        fault: found.fault.to_string(),
    }));
}

/// Compares a copy in a prefix with what its wheel's receipt says.
fn same_bytes(path: &Path, entry: &Entry, file: usize) -> bool {
    let expected = &entry.receipt.files[file];
    file_digest(path, &|_| ()).is_ok_and(|found| found == (expected.size, expected.digest))
}

/// Builds the lock that names exactly the wheels of a prefix.
fn lock_of(cx: &Context<'_>, receipt: &prefix::Receipt) -> Lock {
    // The spec that leads to it, so that the repair sets no new link.
    let spec = list::installed(cx)
        .toolchains
        .into_iter()
        .find(|one| one.name == receipt.name && one.target == receipt.target)
        .and_then(|one| one.specs.into_iter().next())
        .unwrap_or_else(|| receipt.toolchain.clone());
    let wheels = receipt.wheels.iter().map(|wheel| {
        let distribution = wheel.distribution.to_ascii_lowercase().replace(['_', '.'], "-");
        LockedWheel {
            target: receipt.target,
            component: distribution.clone(),
            distribution,
            version: wheel.version.clone(),
            file: wheel.file.clone(),
            size: wheel.size,
            sha256: wheel.sha256,
        }
    });
    let profile = Profile::ALL.into_iter().find(|profile| profile.name() == receipt.profile);
    Lock {
        version: lock::VERSION,
        spec,
        toolchain: receipt.toolchain.clone(),
        prefix: [(receipt.target, receipt.name.clone())].into(),
        profile: profile.unwrap_or(Profile::Runtime),
        wheels: wheels.collect(),
    }
}
