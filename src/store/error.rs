//! What can go wrong between a wheel's address and its store entry. Facts only.

use std::io;
use std::path::PathBuf;

use super::record::RecordError;
use crate::domain::digest::Digest;
use crate::platform::inflate::InflateError;
use crate::platform::zip::ZipError;

/// Why a wheel was not ingested.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are not the wheel that was asked for, or are no proper wheel.
    #[error("wheel `{file}` from {place} is refused: {damage}")]
    Damaged {
        /// The wheel's file name.
        file: String,
        /// Where it came from.
        place: String,
        /// What is wrong.
        #[source]
        damage: Box<Damage>,
    },
    /// The bytes stopped coming.
    #[error("incomplete download of `{file}` from {place}: {got} of {} bytes", size.map_or("an unknown number of".into(), |size| size.to_string()))]
    Incomplete {
        /// The wheel's file name.
        file: String,
        /// Where it came from.
        place: String,
        /// Bytes that arrived.
        got: u64,
        /// Bytes that were to arrive.
        size: Option<u64>,
        /// What stopped them.
        #[source]
        source: Option<io::Error>,
    },
    /// No place answered.
    #[error("cannot fetch `{file}` from {place}")]
    Fetch {
        /// The wheel's file name.
        file: String,
        /// The last place tried.
        place: String,
        /// Its answer.
        #[source]
        source: FetchError,
    },
    /// A wheel with no place to fetch it from.
    #[error("wheel `{0}` is not in the store and there is no place to fetch it from")]
    NoPlace(String),
    /// The disk or a quota is full.
    #[error("no space left in `{}`", path.display())]
    Space {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The store's own files.
    #[error("cannot write to the store")]
    Store(#[source] io::Error),
    /// An entry that is there but cannot be trusted.
    #[error("store entry `{}` is damaged: {fault}", path.display())]
    Entry {
        /// The entry.
        path: PathBuf,
        /// What is wrong.
        fault: String,
    },
}

/// Why a place did not give bytes. The transport's own error, which the store only carries.
pub type FetchError = Box<dyn std::error::Error + Send + Sync>;

/// What is wrong with the bytes of a wheel.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// Other bytes than the lock or the index promised.
    #[error("its digest is sha256:{found}, expected sha256:{expected}")]
    Digest {
        /// What was promised.
        expected: Digest,
        /// What came.
        found: Digest,
    },
    /// More or fewer bytes than promised.
    #[error("it has {found} bytes, expected {expected}")]
    Size {
        /// What was promised.
        expected: u64,
        /// What came.
        found: u64,
    },
    /// Not an archive, or not a safe one.
    #[error(transparent)]
    Zip(#[from] ZipError),
    /// A member that does not inflate.
    #[error("member `{name}`: {source}")]
    Inflate {
        /// The member.
        name: String,
        /// Why.
        #[source]
        source: InflateError,
    },
    /// A member that is longer or shorter than its header says.
    #[error("member `{name}` has {found} bytes, expected {expected}")]
    MemberSize {
        /// The member.
        name: String,
        /// What its header says.
        expected: u64,
        /// What was found.
        found: u64,
    },
    /// A member whose checksum differs.
    #[error("member `{0}` does not match its checksum")]
    Checksum(String),
    /// No RECORD, or several.
    #[error("it has {0} `dist-info/RECORD` files instead of one")]
    Records(usize),
    /// A RECORD that cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// RECORD and the files disagree.
    #[error("RECORD and file `{name}` disagree: {what}")]
    RecordMismatch {
        /// The file.
        name: String,
        /// In what.
        what: &'static str,
    },
    /// A wheel without a single library, header or program: a placeholder.
    #[error("it has no files but its own description: a placeholder, not a component")]
    Stub,
}

/// Tells whether the disk or the user's quota is full.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
