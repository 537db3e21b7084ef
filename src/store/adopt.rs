//! A wheel that somebody has unpacked already, in a venv or in uv's cache: taken instead of fetched.
//!
//! The wheel's own sha256 cannot be computed from its files. What stands in for it is the wheel's RECORD, read by the caller
//! from the end of the wheel at the index: every file must have the sha256 and size that it lists. The files are hashed under
//! their new names, so nothing can be exchanged between the look and the copy.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use fs_err as fs;

use super::error::is_full;
use super::record::{self, Listed};
use super::sink::{in_program_folder, is_program};
use super::{Error, Store, Unpacked, WheelSource, file_digest};
use crate::domain::digest::Digest;
use crate::domain::receipt::{File, Receipt};
use crate::platform::bulk::settle;
use crate::platform::fs::Staging;
use crate::platform::read::open;
use crate::platform::{identity, link, zip};
use crate::progress::Task;

impl Store {
    /// Files what `unpacked` holds under the digest of `source`. `false` when a file is missing there or differs; then
    /// nothing has changed.
    pub(super) fn adopt(
        &self,
        source: &WheelSource,
        digest: Digest,
        unpacked: &Unpacked,
        task: &dyn Task,
    ) -> Result<bool, Error> {
        let Some(size) = source.size else { return Ok(false) };
        let Some(listed) = plan(unpacked) else { return Ok(false) };
        let staging =
            Staging::new(&self.tmp, &digest.to_string()).map_err(|error| self.io(error))?;
        let mut files = Vec::with_capacity(listed.len());
        let total: u64 = listed.iter().filter_map(|(_, listed)| listed.size).sum();
        let mut done = 0;
        for (path, listed) in listed {
            let to = staging.path().join(&path);
            let file = match take(unpacked, &path, &listed, &to) {
                Ok(Some(file)) => file,
                Err(error) if is_full(&error) => return Err(self.io(error)),
                // Whatever is the matter with that file, the wheel can be fetched.
                Ok(None) | Err(_) => return Ok(false),
            };
            done += file.size;
            // The bar counts the wheel's bytes.
            task.set(size.saturating_mul(done) / total.max(1));
            files.push(file);
        }
        // The copies, and what an installer has just written.
        settle(staging.path(), files.iter().map(|file| file.path.as_str()))
            .map_err(|error| self.io(error))?;
        let file = source.file.clone();
        let receipt = Receipt { file, size, digest, boot: identity::boot(), files };
        self.publish(staging, &receipt).map_err(|error| self.io(error))?;
        Ok(true)
    }
}

/// Returns what RECORD lists, in order of path; `None` when it is no list that can prove anything.
fn plan(unpacked: &Unpacked) -> Option<Vec<(String, Listed)>> {
    let mut listed: Vec<_> = record::parse(&unpacked.record).ok()?.into_iter().collect();
    listed.sort_by(|a, b| a.0.cmp(&b.0));
    let is_proven = |(path, listed): &(String, Listed)| {
        zip::check_name(path).is_ok()
            && (is_record(path) || listed.digest.is_some() && listed.size.is_some())
    };
    (listed.iter().all(is_proven) && listed.iter().any(|(path, _)| is_record(path)))
        .then_some(listed)
}

fn is_record(path: &str) -> bool {
    path.strip_suffix(".dist-info/RECORD").is_some_and(|rest| !rest.contains('/'))
}

/// Puts one file at `to` and returns what it is; `None` when it is not the one that RECORD lists.
fn take(
    unpacked: &Unpacked,
    path: &str,
    listed: &Listed,
    to: &Path,
) -> std::io::Result<Option<File>> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    if is_record(path) {
        // An installer adds rows to its own copy.
        fs::write(to, &unpacked.record)?;
        fs::set_permissions(to, std::fs::Permissions::from_mode(0o444))?;
        let (path, digest) = (path.to_owned(), Digest::of(&unpacked.record));
        return Ok(Some(File {
            path,
            size: unpacked.record.len() as u64,
            digest,
            executable: false,
        }));
    }
    // A venv may hold links into a cache.
    let Ok(from) = fs::canonicalize(unpacked.site.join(path)) else { return Ok(None) };
    let Ok(metadata) = fs::metadata(&from) else { return Ok(None) };
    if !metadata.is_file() || Some(metadata.len()) != listed.size {
        return Ok(None);
    }
    let executable = in_program_folder(path) && starts_as_program(&from);
    // Whoever may write the file would change the store with it (a venv is stripped, patched, edited), so only what nobody
    // writes is linked. A copy shares its blocks where the file system can.
    let mode = metadata.permissions().mode();
    if mode & 0o222 == 0 && (!executable || mode & 0o100 != 0) {
        link::place(&from, to)?;
    } else {
        link::copy(&from, to)?;
        let mode = if executable { 0o555 } else { 0o444 };
        fs::set_permissions(to, std::fs::Permissions::from_mode(mode))?;
    }
    let (size, digest) = file_digest(to, &|_| ())?;
    let is_same = Some(size) == listed.size && Some(digest) == listed.digest;
    Ok(is_same.then(|| File { path: path.to_owned(), size, digest, executable }))
}

fn starts_as_program(path: &Path) -> bool {
    let mut start = [0; 4];
    let read = open(path).and_then(|mut file| file.read(&mut start));
    read.is_ok_and(|count| is_program(&start[..count]))
}
