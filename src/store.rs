//! The store: every wheel unpacked once, under the digest of its file, never changed afterwards.
//!
//! ```text
//! store/<sha256>/        the wheel's files (0444, programs 0555) and `.cuenv-wheel`, its receipt
//! tmp/<sha256>-…/        the same while it is being unpacked; renamed when every check has passed
//! locks/<sha256>         who fetches this wheel just now
//! ```
//!
//! An entry exists exactly when its directory does: it got that name by a rename, after the digest of the wheel, the
//! archive's directory, RECORD and the checksum of each file had all been compared (of a wheel that was unpacked on this
//! machine already: each file with RECORD). Readers therefore take no lock.
//! A store may stand on others that somebody else fills (`/opt/cuenv`); those are only read.

mod adopt;
mod download;
mod error;
mod gc;
mod ingest;
mod journal;
pub mod record;
mod sink;
mod stream;
mod tap;
mod unpack;
mod verify;

use std::path::{Path, PathBuf};

use fs_err as fs;

pub use self::download::Download;
pub use self::error::{Damage, Error, FetchError};
pub use self::gc::{GIVEN_UP, Hold, Kept, Reach, Sizes, Sweepable, Swept, YOUNG, measure};
pub use self::ingest::{How, Ingested, Options};
pub use self::verify::{Fault, FileFault, file_digest};
use crate::domain::digest::Digest;
use crate::domain::layout::Layout;
use crate::domain::receipt::{self, Entry, Receipt};
use crate::platform::http::Url;
use crate::platform::read;

/// Where a wheel can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// An address.
    Url(Url),
    /// A file on this machine.
    File(PathBuf),
}

/// One wheel that is wanted.
#[derive(Clone, Debug)]
pub struct WheelSource {
    /// The wheel's file name.
    pub file: String,
    /// Its sha256; `None` when the index does not say, in which case it is computed and recorded.
    pub digest: Option<Digest>,
    /// Its size, where the index says it.
    pub size: Option<u64>,
    /// Where it can be had, best first.
    pub places: Vec<Place>,
    /// Where somebody has unpacked it already.
    pub unpacked: Option<Unpacked>,
}

/// A wheel that an installer has unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// The directory that holds its files, a `site-packages` for instance.
    pub site: PathBuf,
    /// The RECORD of the wheel itself, from the index: the installer's copy proves nothing.
    pub record: Vec<u8>,
}

/// A store, and those below it.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    tmp: PathBuf,
    locks: PathBuf,
    below: Vec<PathBuf>,
}

impl Store {
    /// Opens the store of `layout`; nothing is created before something is put in. `below` are the data directories
    /// of other stores, which are read and never written.
    pub fn open(layout: &Layout, below: &[PathBuf]) -> Self {
        Self {
            root: layout.store(),
            tmp: layout.tmp(),
            locks: layout.locks(),
            below: below.iter().map(|data| data.join("store")).collect(),
        }
    }

    /// Tells whether the wheel is here or below.
    pub fn contains(&self, digest: &Digest) -> bool {
        self.locate(digest).is_some()
    }

    fn locate(&self, digest: &Digest) -> Option<(PathBuf, bool)> {
        let name = digest.to_string();
        let own = std::iter::once((self.root.join(&name), false));
        let below = self.below.iter().map(|root| (root.join(&name), true));
        own.chain(below).find(|(path, _)| path.join(receipt::NAME).is_file())
    }

    /// Reads the entry of a wheel; `None` when it is not here.
    pub fn entry(&self, digest: &Digest) -> Result<Option<Entry>, Error> {
        let Some((path, foreign)) = self.locate(digest) else { return Ok(None) };
        let receipt = read_receipt(&path)?;
        if receipt.digest != *digest {
            let fault = format!("its receipt is for sha256:{}", receipt.digest);
            return Err(Error::Entry { path, fault });
        }
        Ok(Some(Entry { path, receipt, foreign }))
    }

    /// Returns the digests of this store's own entries.
    pub fn digests(&self) -> Result<Vec<Digest>, Error> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::Store(error)),
        };
        let mut digests: Vec<Digest> =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
        digests.sort_unstable();
        Ok(digests)
    }
}

fn read_receipt(entry: &Path) -> Result<Receipt, Error> {
    let text = read::text(&entry.join(receipt::NAME)).map_err(Error::Store)?;
    Receipt::parse(&text)
        .map_err(|error| Error::Entry { path: entry.to_owned(), fault: error.to_string() })
}

#[cfg(test)]
mod tests;
