//! What is installed in a Python environment, read from directory names and metadata files alone.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

/// The distributions of an environment.
#[derive(Debug, Default)]
pub(super) struct Sites {
    directories: Vec<PathBuf>,
    /// Normalised name → version and the directory of its metadata.
    distributions: BTreeMap<String, (String, PathBuf)>,
}

/// Metadata is read up to here; what is required stands in its head.
const METADATA_LINES: usize = 2000;

impl Sites {
    pub(super) fn read(directories: &[PathBuf]) -> Self {
        let mut distributions = BTreeMap::new();
        for directory in directories {
            let Ok(entries) = fs_err::read_dir(directory) else { continue };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(".dist-info"))
                else {
                    continue;
                };
                let Some((name, version)) = stem.rsplit_once('-') else { continue };
                distributions
                    .entry(normal(name))
                    .or_insert_with(|| (version.to_owned(), entry.path()));
            }
        }
        Self { directories: directories.to_vec(), distributions }
    }

    pub(super) fn version(&self, distribution: &str) -> Option<&str> {
        self.distributions.get(&normal(distribution)).map(|(version, _)| version.as_str())
    }

    /// Distributions whose name begins so, with their versions.
    pub(super) fn starting<'a>(
        &'a self,
        start: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.distributions
            .iter()
            .filter(move |(name, _)| name.starts_with(start))
            .map(|(name, (version, _))| (name.as_str(), version.as_str()))
    }

    /// The version that a distribution's metadata requires of a distribution whose name begins so.
    pub(super) fn required(&self, by: &str, start: &str) -> Option<String> {
        let (_, directory) = self.distributions.get(&normal(by))?;
        let (file, _) = shims::read::open(&directory.join("METADATA")).ok()??;
        BufReader::new(file).lines().take(METADATA_LINES).map_while(Result::ok).find_map(|line| {
            let requirement = line.strip_prefix("Requires-Dist: ")?;
            if !requirement.starts_with(start) {
                return None;
            }
            let version = requirement.split_once("==")?.1;
            let end = version.find(|next: char| !next.is_ascii_digit() && next != '.');
            Some(version[..end.unwrap_or(version.len())].to_owned())
        })
    }

    /// The files that a pattern names: `/`-separated, with at most one `*` in its last part.
    pub(super) fn files(&self, pattern: &str) -> Vec<PathBuf> {
        let (directory, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
        let mut found = Vec::new();
        for site in &self.directories {
            let directory = site.join(directory);
            let Some((start, end)) = name.split_once('*') else {
                found.extend(Some(directory.join(name)).filter(|file| file.is_file()));
                continue;
            };
            let Ok(entries) = fs_err::read_dir(&directory) else { continue };
            found.extend(entries.flatten().map(|entry| entry.path()).filter(|path| {
                path.file_name().and_then(|name| name.to_str()).is_some_and(|name| {
                    name.len() >= start.len() + end.len()
                        && name.starts_with(start)
                        && name.ends_with(end)
                })
            }));
        }
        found.sort();
        found
    }

    /// Whether a path lies in the environment.
    pub(super) fn holds(&self, path: &Path) -> bool {
        self.directories.iter().any(|directory| path.starts_with(directory))
    }
}

fn normal(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}
