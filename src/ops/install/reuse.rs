//! Wheels that lie unpacked on this machine: in the environment that is active, in those of the working directory, in
//! uv's cache. What is found here is only a hint; the store compares every file with the wheel's own RECORD.

use std::path::{Path, PathBuf};

use fs_err as fs;

use super::super::detect::sites;
use crate::domain::listing::{Location, MetadataFile, WheelFile};
use crate::index::Index;
use crate::platform::process::Process;
use crate::store::Unpacked;

/// Below this size, in bytes, asking for RECORD costs as much as the wheel.
const WORTH_IT: u64 = 1 << 20;

/// Directories that hold unpacked wheels.
pub(super) struct Shelves(Vec<PathBuf>);

impl Shelves {
    /// Looks where they are.
    pub(super) fn find(process: &Process) -> Self {
        let of_variable = |name| process.var_os(name).map(PathBuf::from);
        let here = process.cwd();
        let usual = [".venv", "venv", "env"];
        let roots = ["VIRTUAL_ENV", "CONDA_PREFIX"]
            .into_iter()
            .filter_map(of_variable)
            .chain(here.into_iter().flat_map(|here| usual.map(|name| here.join(name))));
        let mut shelves: Vec<PathBuf> = roots.flat_map(|root| sites(&root)).collect();
        let cache = of_variable("UV_CACHE_DIR")
            .or_else(|| Some(of_variable("XDG_CACHE_HOME")?.join("uv")))
            .or_else(|| Some(of_variable("HOME")?.join(".cache/uv")));
        for archive in cache.iter().flat_map(|cache| children(cache)) {
            let name = archive.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with("archive-v") {
                shelves.extend(children(&archive));
            }
        }
        Self(shelves)
    }

    /// Returns where the wheel `file` lies, with its RECORD from the index; `None` where it does not, or where the index
    /// cannot be asked for that.
    pub(super) fn look(
        &self,
        index: &Index<'_>,
        file: &str,
        size: Option<u64>,
        location: &Location,
    ) -> Option<Unpacked> {
        let size = size.filter(|size| *size >= WORTH_IT)?;
        let mut parts = file.split('-');
        let info = format!("{}-{}.dist-info/RECORD", parts.next()?, parts.next()?);
        let site = self.0.iter().find(|site| site.join(&info).is_file())?;
        let wheel = WheelFile {
            name: file.parse().ok()?,
            location: location.clone(),
            size: Some(size),
            digest: None,
            yanked: None,
            uploaded: None,
            metadata: MetadataFile::Unknown,
        };
        // Whatever goes wrong here, the wheel can still be fetched.
        let record = index.record(&wheel).ok().flatten()?;
        Some(Unpacked { site: site.clone(), record })
    }
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(Result::ok).map(|entry| entry.path()).collect()
}
