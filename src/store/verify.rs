//! Compares entries with their receipts, and takes broken ones away so that they are fetched anew.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use fs_err as fs;

use super::{Error, Store};
use crate::domain::digest::Digest;
use crate::domain::receipt::{self, Entry};
use crate::platform::fs::Aside;
use crate::platform::hash;

/// What is wrong with one file of an entry.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FileFault {
    /// Path inside the entry.
    pub path: String,
    /// What is wrong.
    pub fault: Fault,
}

/// A way in which a file differs from its receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It is not there, or cannot be read.
    #[error("is missing or cannot be read")]
    Missing,
    /// Its size differs.
    #[error("has another size")]
    Size,
    /// Its bytes differ.
    #[error("has other bytes")]
    Bytes,
    /// The receipt does not know it.
    #[error("does not belong there")]
    Stray,
}

impl Store {
    /// Reads every file of an entry and compares it with the receipt; `seen` is told the bytes that were read.
    pub fn check(&self, entry: &Entry, seen: &dyn Fn(u64)) -> Vec<FileFault> {
        let mut faults = Vec::new();
        let mut known = BTreeSet::from([receipt::NAME.to_owned()]);
        for file in &entry.receipt.files {
            known.insert(file.path.clone());
            let fault = match file_digest(&entry.path.join(&file.path), seen) {
                Err(_) => Fault::Missing,
                Ok((size, _)) if size != file.size => Fault::Size,
                Ok((_, digest)) if digest != file.digest => Fault::Bytes,
                Ok(_) => continue,
            };
            faults.push(FileFault { path: file.path.clone(), fault });
        }
        let mut strays = Vec::new();
        walk(&entry.path, "", &mut |path| {
            if !known.contains(path) {
                strays.push(FileFault { path: path.to_owned(), fault: Fault::Stray });
            }
        });
        faults.extend(strays);
        faults
    }

    /// Returns a store that fills `root` instead, by way of the same staging directory and locks, and stands on no other.
    #[must_use]
    pub fn apart(&self, root: &Path) -> Self {
        Self { root: root.to_owned(), below: Vec::new(), ..self.clone() }
    }

    /// Puts the entry of `fresh` in the place of this store's own, if it has one. Prefixes that were linked to the old one
    /// keep their files.
    pub fn replace(&self, digest: &Digest, fresh: &Self) -> Result<(), Error> {
        let name = digest.to_string();
        let place = self.root.join(&name);
        let exchange = || {
            fs::create_dir_all(&self.root)?;
            let _old = place.exists().then(|| Aside::take(&place, &self.tmp)).transpose()?;
            fs::rename(fresh.root.join(&name), &place)
        };
        exchange().map_err(|error| self.io(error))
    }
}

/// Returns size and sha256 of a file that is no link.
pub fn file_digest(path: &Path, seen: &dyn Fn(u64)) -> io::Result<(u64, Digest)> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("not a plain file"));
    }
    hash::file(path, seen)
}

/// Calls `visit` with the path of everything below `folder` that is no directory.
fn walk(folder: &Path, prefix: &str, visit: &mut dyn FnMut(&str)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&entry.path(), &path, visit);
        } else {
            visit(&path);
        }
    }
}
