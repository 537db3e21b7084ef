//! What a prefix says about itself: `<prefix>/.cuenv/receipt.json`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Error;
use crate::domain::digest::Digest;
use crate::domain::target::Target;
use crate::platform::read;

/// The directory of cuenv's own files inside a prefix.
pub const FOLDER: &str = ".cuenv";

/// The receipt's path inside a prefix.
pub const PATH: &str = ".cuenv/receipt.json";

/// The activation file's path inside a prefix.
pub const ACTIVATION: &str = shims::activation::FILE;

/// The receipt's version; a newer one is still read for the fields known here.
pub const VERSION: u32 = 1;

/// The receipt of a prefix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The format version.
    pub version: u32,
    /// The prefix's name.
    pub name: String,
    /// The toolchain's name.
    pub toolchain: String,
    /// The CUDA release.
    pub cuda: String,
    /// The platform.
    pub target: Target,
    /// The profile its wheels were chosen for.
    pub profile: String,
    /// How many files came as hard links, reflinks, copies, symbolic links.
    pub placed: BTreeMap<String, u64>,
    /// The wheels.
    pub wheels: Vec<Wheel>,
}

/// One wheel of a prefix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wheel {
    /// The distribution, as the file name spells it.
    pub distribution: String,
    /// Its version.
    pub version: String,
    /// The wheel's file name.
    pub file: String,
    /// The wheel's size.
    pub size: u64,
    /// Its sha256.
    pub sha256: Digest,
    /// Its bytes when unpacked.
    pub unpacked: u64,
}

impl Receipt {
    /// Reads the receipt of the prefix at `prefix`.
    pub fn read(prefix: &Path) -> Result<Self, Error> {
        let fail = |source| Error::Receipt { path: prefix.to_owned(), source };
        let text = read::text(&prefix.join(PATH)).map_err(fail)?;
        serde_json::from_str(&text).map_err(|error| fail(error.into()))
    }
}
