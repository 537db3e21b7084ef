//! What of the store nobody needs any more, and its removal.
//!
//! Deciding and removing are two steps, so that a dry run shows exactly what would go. While it sweeps, gc holds the
//! store's lock exclusively; whoever fills the store or builds prefixes holds it shared. Where locks do not work, what
//! is younger than a day is kept: an installation that runs now may be about to link it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use fs_err as fs;

use super::ingest::{GLANCE, PATIENCE};
use super::{Error, Store, journal, read_receipt};
use crate::domain::digest::Digest;
use crate::platform::flock::{self, Attempt, Flock, Mode, Owner};
use crate::platform::fs::{Staging, maker};
use crate::platform::identity;
use crate::progress;

/// Age below which nothing is swept where locks do not work.
pub const YOUNG: Duration = Duration::from_hours(24);

/// Age after which an interrupted download is given up.
pub const GIVEN_UP: Duration = Duration::from_hours(14 * 24);

/// One thing that can go.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Sweepable {
    /// What it is, for people.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// Bytes that are freed: those that no prefix shares.
    pub bytes: u64,
}

/// A lock on the whole store.
#[derive(Debug)]
pub enum Hold {
    /// It is held, and works.
    Held(Flock),
    /// Somebody else has it.
    Busy(Option<Owner>),
    /// Locks do not work here; only what is old may go.
    Unlocked,
}

impl Store {
    /// Keeps gc away from what is being installed; held until something leads to it. Waits for a gc that runs, and says
    /// so. `None` where locks do not work: there gc keeps what is younger than a day.
    pub fn hold_shared(&self, progress: &dyn progress::Progress) -> Option<Flock> {
        let since = Instant::now();
        let mut is_said = false;
        loop {
            match flock::attempt(&self.locks.join("store"), Mode::Shared) {
                Attempt::Held(lock) => return Some(lock),
                Attempt::Unavailable(_) => return None,
                Attempt::Busy(owner) if !is_said && since.elapsed() > PATIENCE => {
                    let whom = owner.map_or_else(String::new, |owner| format!(" ({owner})"));
                    progress.note(&format!("waiting for `cuenv gc`{whom}"));
                    is_said = true;
                }
                Attempt::Busy(_) => {}
            }
            std::thread::sleep(GLANCE);
        }
    }

    /// Takes the store for gc.
    pub fn hold_exclusive(&self) -> Hold {
        match flock::attempt(&self.locks.join("store"), Mode::Exclusive) {
            Attempt::Held(lock) if lock.is_real() => Hold::Held(lock),
            Attempt::Held(_) | Attempt::Unavailable(_) => Hold::Unlocked,
            Attempt::Busy(owner) => Hold::Busy(owner),
        }
    }

    /// Lists what is not needed: entries outside `roots`, staging directories that nobody fills. `older_than` keeps
    /// what is younger.
    pub fn sweepable(
        &self,
        roots: &BTreeSet<Digest>,
        older_than: Duration,
    ) -> Result<Vec<Sweepable>, Error> {
        let mut found = Vec::new();
        for digest in self.digests()? {
            let path = self.root.join(digest.to_string());
            if roots.contains(&digest) || age(&path) < older_than {
                continue;
            }
            let name =
                read_receipt(&path).map_or_else(|_| digest.to_string(), |receipt| receipt.file);
            found.push(Sweepable { name, bytes: own_bytes(&path), path });
        }
        for path in children(&self.tmp) {
            let note = journal::read(&path);
            let owner = note.as_ref().map(|note| note.owner.clone()).or_else(|| owner_of(&path));
            let alive = owner.is_some_and(|owner| !owner.is_dead());
            let age = age(&path);
            let limit = if note.is_some() { GIVEN_UP } else { older_than };
            if age < limit || alive && age < YOUNG {
                continue;
            }
            let what = if note.is_some() { "interrupted download" } else { "left-over staging" };
            let name = format!("{what} {}", file_name(&path));
            found.push(Sweepable { name, bytes: own_bytes(&path), path });
        }
        Ok(found)
    }

    /// Removes what [`Self::sweepable`] found. Each goes in one step, so nobody sees half of it.
    pub fn sweep(&self, what: &[Sweepable]) -> Result<(), Error> {
        for item in what {
            let remove = || {
                let aside = Staging::new(&self.tmp, "removed")?;
                fs::rename(&item.path, aside.path().join("swept"))
            };
            match remove() {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(self.io(error)),
                Ok(()) => {}
            }
        }
        Ok(())
    }
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(Result::ok).map(|entry| entry.path()).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Reads the pid that every staging directory has in its name. It is taken for this host's: a directory of another host is
/// swept a day later.
fn owner_of(path: &Path) -> Option<Owner> {
    let pid = maker(&file_name(path))?;
    Some(Owner { pid, host: identity::host(), percent: None })
}

fn age(path: &Path) -> Duration {
    fs::symlink_metadata(path)
        .and_then(|metadata| metadata.modified())
        .ok()
        .and_then(|at| SystemTime::now().duration_since(at).ok())
        .unwrap_or_default()
}

/// Sizes of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Sizes {
    /// Bytes of all files as a program sees them.
    pub apparent: u64,
    /// Of these, bytes of files that have a name outside the tree.
    pub shared: u64,
    /// Bytes that would be freed without the tree.
    pub own: u64,
}

/// Measures the trees together: a file with two names in them counts once.
pub fn measure(trees: &[&Path]) -> Sizes {
    let mut files: BTreeMap<(u64, u64), (u64, u64, u64)> = BTreeMap::new();
    for tree in trees {
        visit(tree, &mut |metadata| {
            let entry = files.entry((metadata.dev(), metadata.ino())).or_insert((
                0,
                metadata.nlink(),
                metadata.len(),
            ));
            entry.0 += 1;
        });
    }
    let mut sizes = Sizes::default();
    for (seen, links, bytes) in files.into_values() {
        sizes.apparent += bytes;
        if seen < links {
            sizes.shared += bytes;
        } else {
            sizes.own += bytes;
        }
    }
    sizes
}

fn own_bytes(tree: &Path) -> u64 {
    measure(&[tree]).own
}

fn visit(path: &Path, each: &mut dyn FnMut(&std::fs::Metadata)) {
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    if metadata.is_dir() {
        for child in children(path) {
            visit(&child, each);
        }
    } else if metadata.is_file() {
        each(&metadata);
    }
}
