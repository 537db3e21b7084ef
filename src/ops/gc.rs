//! `gc`: drop what nothing pins, runs or fetches.
//!
//! A prefix stays when a known project's pin or lock or the default leads to it, or a process has one of its files mapped.
//! A wheel stays when such a prefix or the lock of a known project names it, or a process has one of its files mapped.
//! A broken lock keeps whatever its text names. A pin or lock whose text cannot be had ends the run.

use std::collections::{BTreeMap, BTreeSet};
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
use crate::store::{self, Hold, Kept, Reach, Store, Sweepable};
use crate::{prefix, project};

/// What to drop, and how far to go.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Whether to change nothing.
    pub dry_run: bool,
    /// Whether interrupted downloads go, which the next installation would go on with.
    pub downloads: bool,
}

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
    /// Downloads and staging directories that nothing holds and that stay.
    pub kept: Vec<Kept>,
    /// Projects whose lock cannot be used: what it names stays.
    pub unclear: Vec<Unclear>,
}

/// A project of which it is not known what it needs.
#[derive(Debug, Serialize)]
pub struct Unclear {
    /// Its directory.
    pub project: PathBuf,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for item in &self.items {
            writeln!(f, "{:>10}  {}", megabytes(item.bytes), item.name)?;
        }
        if self.items.is_empty() {
            writeln!(f, "Nothing to remove")?;
        } else {
            let verb = if self.dry_run { "can be freed" } else { "freed" };
            writeln!(f, "{:>10}  {verb}", megabytes(self.bytes))?;
        }
        for Kept { name, bytes, why, .. } in &self.kept {
            writeln!(f, "{:>10}  kept: {name} ({why})", megabytes(*bytes))?;
        }
        Ok(())
    }
}

/// Finds what nothing needs and, unless it is a dry run, removes it.
pub fn gc(cx: &Context<'_>, request: &Request) -> Result<Report, Error> {
    let dry_run = request.dry_run;
    let store = Store::open(&cx.layout, &[]);
    let mut reach = Reach { older_than: Duration::ZERO, downloads: request.downloads };
    let lock = match store.hold_exclusive() {
        Hold::Held(lock) => Some(lock),
        Hold::Busy(_) if dry_run => None,
        Hold::Busy(owner) => return Err(Error::Busy { owner }),
        Hold::Unlocked => {
            reach.older_than = store::YOUNG;
            None
        }
    };
    let mapped: BTreeSet<PathBuf> =
        maps::mapped_below(cx.layout.data()).into_iter().map(|one| one.path).collect();
    let needs = Needs::read(cx)?;
    let mut roots = needs.wheels;
    let mut report = Report {
        items: Vec::new(),
        bytes: 0,
        dry_run,
        running: Vec::new(),
        kept: Vec::new(),
        unclear: needs.unclear,
    };
    let mut files = needs.files;
    let default = selection::default_spec(cx)?.unwrap_or_default();
    let mut links = Vec::new();
    for one in list::installed(cx).toolchains {
        let is_running = mapped.iter().any(|path| path.starts_with(&one.prefix));
        // A spec's link alone keeps nothing: it stays behind when a project is pinned anew or goes away.
        let is_named = || needs.texts.iter().any(|text| text.contains(&one.name));
        let is_pinned = !one.projects.is_empty() || one.specs.contains(&default) || is_named();
        files.extend(one.wheels.iter().map(|wheel| (wheel.sha256, wheel.file.clone())));
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
    let file_of = |digest: &Digest| files.get(digest).cloned();
    let store::Swept { items: mut swept, kept } = store.sweepable(&roots, reach, &file_of)?;
    report.kept = kept;
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

/// What the known projects need.
#[derive(Default)]
struct Needs {
    /// Wheels that locks name.
    wheels: BTreeSet<Digest>,
    /// The names of those.
    files: BTreeMap<Digest, String>,
    /// Projects whose lock cannot be used,
    unclear: Vec<Unclear>,
    /// and what is in the place of those locks.
    texts: Vec<String>,
}

impl Needs {
    /// A pin that says nothing, or a lock of which not even the text can be had, ends the run: what they need must not go
    /// because of a typing error or a sleeping file server.
    fn read(cx: &Context<'_>) -> Result<Self, Error> {
        let mut needs = Self::default();
        for project in project::known(&cx.layout) {
            let directory = project.directory();
            project.read_pin()?;
            match project.read_lock() {
                Ok(lock) => {
                    for wheel in lock.into_iter().flat_map(|lock| lock.wheels) {
                        needs.wheels.insert(wheel.sha256);
                        needs.files.insert(wheel.sha256, wheel.file);
                    }
                }
                Err(error) => {
                    let Some(text) = project.lock_text() else { return Err(error.into()) };
                    needs.wheels.extend(digests_in(&text));
                    needs.texts.push(text);
                    let why = error.to_string();
                    needs.unclear.push(Unclear { project: directory.to_owned(), why });
                }
            }
        }
        Ok(needs)
    }
}

/// Returns whatever reads as a sha256: a lock in which a merge has left its marks names its wheels all the same.
fn digests_in(text: &str) -> impl Iterator<Item = Digest> {
    text.split(|c: char| !c.is_ascii_hexdigit()).filter_map(|word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_conflict_names_both_sides() {
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        let text = format!("<<<<<<< ours\nsha256 = \"{a}\"\n=======\nsha256 = \"{b}\"\n>>>>>>>\n");
        assert_eq!(digests_in(&text).collect::<Vec<_>>(), [a, b]);
    }
}
