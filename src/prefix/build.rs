//! Carries out a plan: links the wheels of a toolchain into one tree and publishes it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;

use super::plan::{Plan, Step, plan};
use super::receipt::{self, Receipt, Wheel};
use super::{Error, activation};
use crate::domain::layout::Layout;
use crate::domain::receipt::Entry;
use crate::domain::target::Target;
use crate::platform::bulk::{settle, write_new};
use crate::platform::checkpoint::checkpoint;
use crate::platform::fs::{Published, Staging};
use crate::platform::link::{self, How};

/// Which prefix to build, and of what.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The prefix's name, `12.4.1+cudnn9.1.0.70-3f2a91c0de44`.
    pub name: &'a str,
    /// The toolchain's name, `12.4.1+cudnn9.1.0.70`.
    pub toolchain: &'a str,
    /// The CUDA release, `12.4.1`.
    pub cuda: &'a str,
    /// The platform.
    pub target: Target,
    /// The profile the wheels were chosen for.
    pub profile: &'a str,
    /// The unpacked wheels.
    pub wheels: &'a [Entry],
}

/// A prefix that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Its path.
    pub path: PathBuf,
    /// Whether it was there before.
    pub present: bool,
    /// Its receipt.
    pub receipt: Receipt,
}

/// Builds a prefix, or returns the one that is there.
pub fn build(layout: &Layout, request: &Request<'_>) -> Result<Built, Error> {
    let path = layout.prefix(request.target, request.name);
    if path.exists() {
        if let Ok(receipt) = Receipt::read(&path)
            && super::is_whole(&path)
        {
            return Ok(Built { path, present: true, receipt });
        }
        // Published prefixes are whole, so this one was damaged later; its place is needed.
        discard(&path, layout).map_err(|error| failed(error, layout))?;
    }
    let plan = plan(request.wheels, request.cuda, request.target)?;
    let stem = format!("prefix-{}", request.name);
    let write = || {
        let staging = Staging::new(&layout.tmp(), &stem)?;
        let placed = carry_out(&plan, request.wheels, staging.path())?;
        checkpoint("prefix-linked");
        let receipt = describe(request, placed);
        component_links(request, &plan, staging.path())?;
        let activation = activation::render(request, &plan).map_err(io::Error::other)?;
        write_new(&staging.path().join(receipt::ACTIVATION), activation.as_bytes())?;
        let text = serde_json::to_string_pretty(&receipt).map_err(io::Error::from)?;
        write_new(&staging.path().join(receipt::PATH), (text + "\n").as_bytes())?;
        checkpoint("prefix-staged");
        let published = staging.publish(&path)?;
        checkpoint("prefix-published");
        Ok((published, receipt))
    };
    match write() {
        Ok((published, receipt)) => {
            Ok(Built { path, present: published == Published::AlreadyThere, receipt })
        }
        Err(error) => Err(failed(error, layout)),
    }
}

/// Takes a prefix away in one step, then removes it.
pub(super) fn discard(path: &Path, layout: &Layout) -> io::Result<()> {
    let aside = Staging::new(&layout.tmp(), "removed")?;
    let inside = aside.path().join("prefix");
    fs::rename(path, &inside)
}

pub(super) fn failed(error: io::Error, layout: &Layout) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::Space { path: layout.data().to_owned(), source: error }
        }
        _ => Error::Write(error),
    }
}

fn carry_out(plan: &Plan, wheels: &[Entry], into: &Path) -> io::Result<BTreeMap<How, u64>> {
    let mut placed = BTreeMap::new();
    let mut copies = Vec::new();
    let folders: BTreeSet<&str> = plan
        .steps
        .keys()
        .filter_map(|path| path.rsplit_once('/'))
        .map(|(folder, _)| folder)
        .collect();
    for folder in folders {
        fs::create_dir_all(into.join(folder))?;
    }
    for (path, step) in &plan.steps {
        let to = into.join(path);
        match step {
            Step::File(origin) => {
                let entry = &wheels[origin.wheel];
                let from = entry.path.join(&entry.receipt.files[origin.file].path);
                let how = if entry.foreign {
                    // Another owner's files cannot be linked to (protected_hardlinks) and need not be copied.
                    link::point(&from, &to)?
                } else {
                    link::place(&from, &to)?
                };
                *placed.entry(how).or_default() += 1;
                if how == How::Copy {
                    copies.push(path.as_str());
                }
            }
            Step::Link(target) => fs_err::os::unix::fs::symlink(target, &to)?,
            Step::Text(text) => write_new(&to, text.as_bytes())?,
        }
    }
    settle(into, copies.into_iter())?;
    Ok(placed)
}

/// Makes the directories that show one component's libraries alone, for venvs that bring some of their own.
fn component_links(request: &Request<'_>, plan: &Plan, into: &Path) -> io::Result<()> {
    for (component, libraries) in activation::components(request, plan) {
        let folder = into.join(receipt::FOLDER).join("lib").join(component);
        fs::create_dir_all(&folder)?;
        for name in libraries {
            let target = Path::new("../../../lib").join(&name);
            fs_err::os::unix::fs::symlink(target, folder.join(name))?;
        }
    }
    fs::create_dir_all(into.join(receipt::FOLDER))
}

fn describe(request: &Request<'_>, placed: BTreeMap<How, u64>) -> Receipt {
    let wheels = request.wheels.iter().map(|entry| {
        let (distribution, version) = entry.receipt.distribution();
        Wheel {
            distribution: distribution.to_owned(),
            version: version.to_owned(),
            file: entry.receipt.file.clone(),
            size: entry.receipt.size,
            sha256: entry.receipt.digest,
            unpacked: entry.receipt.unpacked(),
        }
    });
    Receipt {
        version: receipt::VERSION,
        name: request.name.to_owned(),
        toolchain: request.toolchain.to_owned(),
        cuda: request.cuda.to_owned(),
        target: request.target,
        profile: request.profile.to_owned(),
        placed: placed.into_iter().map(|(how, count)| (how.to_string(), count)).collect(),
        wheels: wheels.collect(),
    }
}
