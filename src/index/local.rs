//! A directory of wheels as a source: for machines without a network and for wheels that a company built itself.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::domain::digest::Digest;
use crate::domain::listing::{Location, MetadataFile, WheelFile};
use crate::domain::wheel_name::WheelName;

/// Returns the wheels of `distribution` in `directories`, in the order of the directories.
///
/// Digests are not computed here: hashing every wheel of a directory to list one would take seconds.
pub(super) fn wheels(
    directories: &[PathBuf],
    distribution: &str,
) -> Result<Vec<WheelFile>, std::io::Error> {
    let mut wheels = Vec::new();
    for directory in directories {
        let first = wheels.len();
        for entry in fs_err::read_dir(directory)? {
            let entry = entry?;
            let Some(Ok(name)) = entry.file_name().to_str().map(str::parse::<WheelName>) else {
                continue;
            };
            if name.distribution != distribution {
                continue;
            }
            let about = fs_err::metadata(entry.path())?;
            if about.is_file() {
                wheels.push(WheelFile {
                    name,
                    location: Location::File(entry.path()),
                    size: Some(about.len()),
                    digest: None,
                    yanked: None,
                    uploaded: None,
                    metadata: MetadataFile::Unknown,
                });
            }
        }
        // Directories list their files in no order at all.
        wheels[first..].sort_by(|a, b| a.name.file.cmp(&b.name.file));
    }
    Ok(wheels)
}

/// Hashes a file.
pub(super) fn digest(path: &Path) -> Result<Digest, std::io::Error> {
    let mut file = fs_err::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Digest::from_bytes(hasher.finalize().into())),
            count => hasher.update(&buffer[..count]),
        }
    }
}
