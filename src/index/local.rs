//! A directory of wheels as a source: for machines without a network and for wheels that a company built itself.

use std::path::PathBuf;

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
