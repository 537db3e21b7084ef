//! The licence texts that a toolchain's components came with.

use std::fmt;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Serialize;

use super::place;
use crate::context::Context;
use crate::platform::read;

/// Why they cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No toolchain.
    #[error(transparent)]
    Place(#[from] place::Error),
    /// No texts, as in a linked toolkit.
    #[error("`{}` has no `LICENSES`", .0.display())]
    None(PathBuf),
    /// Reading.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The texts of a toolchain.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The spec.
    pub spec: String,
    /// One entry a file, ordered.
    pub licenses: Vec<License>,
    /// Whether `Display` prints the texts or only where they are.
    #[serde(skip)]
    pub list: bool,
}

/// One text.
#[derive(Debug, Serialize)]
pub struct License {
    /// What it is for: its path below `LICENSES`.
    pub component: String,
    /// The file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// Reads the licences of `spec`, or of what holds here.
pub fn licenses(cx: &Context<'_>, spec: Option<&str>, list: bool) -> Result<Report, Error> {
    let found = place::place(cx, spec)?;
    let root = found.prefix.join("LICENSES");
    let mut paths = Vec::new();
    collect(&root, &mut paths).map_err(|_| Error::None(found.prefix.clone()))?;
    paths.sort();
    let licenses = paths
        .into_iter()
        .map(|path| {
            let component = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            let text = String::from_utf8_lossy(&read::bytes(&path)?).into_owned();
            Ok(License { component, path, text })
        })
        .collect::<std::io::Result<_>>()?;
    Ok(Report { spec: found.spec, licenses, list })
}

fn collect(directory: &Path, into: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, into)?;
        } else {
            into.push(path);
        }
    }
    Ok(())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.list {
            return self.licenses.iter().try_for_each(|one| writeln!(f, "{}", one.path.display()));
        }
        // Components share their texts: each is printed once, under all that have it.
        let mut shown: Vec<&str> = Vec::new();
        for license in &self.licenses {
            if shown.contains(&license.text.as_str()) {
                continue;
            }
            shown.push(&license.text);
            let same: Vec<_> = self
                .licenses
                .iter()
                .filter(|other| other.text == license.text)
                .map(|other| other.component.as_str())
                .collect();
            writeln!(f, "== {}\n\n{}\n", same.join(", "), license.text.trim_end())?;
        }
        Ok(())
    }
}
