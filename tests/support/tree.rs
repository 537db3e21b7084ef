//! What a directory tree looks like, for comparing before and after.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Path -> what is there: kind, mode, size, change time, and where a link points.
pub fn of(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    walk(root, root, &mut found);
    found
}

fn walk(root: &Path, directory: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let link = fs::read_link(&path).map(|to| to.display().to_string()).unwrap_or_default();
        let told = format!(
            "{:o} {} {}.{} {link}",
            meta.mode(),
            meta.len(),
            meta.mtime(),
            meta.mtime_nsec()
        );
        found.insert(path.strip_prefix(root).unwrap().to_owned(), told);
        if meta.is_dir() {
            walk(root, &path, found);
        }
    }
}

/// Path -> content or link target, for comparing two trees that were made at different times.
pub fn contents(root: &Path) -> BTreeMap<PathBuf, String> {
    of(root)
        .into_keys()
        .map(|path| {
            let full = root.join(&path);
            let meta = fs::symlink_metadata(&full).unwrap();
            let told = if meta.is_symlink() {
                format!("-> {}", fs::read_link(&full).unwrap().display())
            } else if meta.is_dir() {
                "directory".to_owned()
            } else {
                let bytes = fs::read(&full).unwrap();
                format!("{:o} {}", meta.mode(), cuenv::domain::digest::Digest::of(&bytes))
            };
            (path, told)
        })
        .collect()
}
