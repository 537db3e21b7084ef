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

/// One thing that nothing holds and that stays all the same.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Kept {
    /// What it is, for people.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// Bytes that it takes.
    pub bytes: u64,
    /// Why it stays.
    pub why: String,
}

/// What of the store can go, and what nothing holds but stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Can go.
    pub items: Vec<Sweepable>,
    /// Stays.
    pub kept: Vec<Kept>,
}

/// What may go besides what nothing holds.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// What is younger stays.
    pub older_than: Duration,
    /// Interrupted downloads go whatever their age.
    pub downloads: bool,
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

    /// Lists what is not needed: entries outside `roots`, staging directories that nobody fills. `file_of` knows the names
    /// of wheels.
    pub fn sweepable(
        &self,
        roots: &BTreeSet<Digest>,
        reach: Reach,
        file_of: &dyn Fn(&Digest) -> Option<String>,
    ) -> Result<Swept, Error> {
        let mut swept = Swept::default();
        for digest in self.digests()? {
            let path = self.root.join(digest.to_string());
            if roots.contains(&digest) {
                continue;
            }
            let name =
                read_receipt(&path).map_or_else(|_| digest.to_string(), |receipt| receipt.file);
            let why = (age(&path) < reach.older_than).then(|| UNLOCKED.to_owned());
            swept.add(name, path, why);
        }
        for path in children(&self.tmp) {
            let note = journal::read(&path);
            let owner = note.as_ref().map(|note| note.owner.clone()).or_else(|| owner_of(&path));
            let alive = owner.filter(|owner| !owner.is_dead());
            let age = age(&path);
            let staged = file_name(&path);
            let name = match &note {
                None => format!("left-over staging {staged}"),
                Some(_) => {
                    let digest = staged.get(..64).and_then(|digest| digest.parse().ok());
                    let file = digest.and_then(|digest| file_of(&digest)).unwrap_or(staged);
                    format!("interrupted download {file}")
                }
            };
            let why = match alive {
                Some(owner) if age < YOUNG => Some(format!("{owner} may be at work on it")),
                _ if note.is_some() && !reach.downloads && age < GIVEN_UP => {
                    let days = GIVEN_UP.saturating_sub(age).as_secs().div_ceil(24 * 3600);
                    Some(format!("the next installation goes on with it, for {days} more days"))
                }
                _ if note.is_none() && age < reach.older_than => Some(UNLOCKED.to_owned()),
                _ => None,
            };
            swept.add(name, path, why);
        }
        Ok(swept)
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

/// Why what is young stays where nobody can be kept out.
const UNLOCKED: &str = "file locks do not work here, and it is younger than a day";

impl Swept {
    fn add(&mut self, name: String, path: PathBuf, why: Option<String>) {
        let bytes = own_bytes(&path);
        match why {
            Some(why) => self.kept.push(Kept { name, path, bytes, why }),
            None => self.items.push(Sweepable { name, path, bytes }),
        }
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
