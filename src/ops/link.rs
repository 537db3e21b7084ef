//! `link`: adopt a toolkit that cuenv did not install. It is never written to; what cuenv keeps is a name, and an
//! activation file with the toolkit's absolute paths under `links/<name>/`.

use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Serialize;
use shims::activation::{self, Activation, ActivationError, Change};

use crate::context::Context;
use crate::domain::spec::Spec;
use crate::domain::version::Version;
use crate::platform::fs::{symlink_atomic, write_atomic};

/// The real files have some kilobytes.
const MAX_VERSION: u64 = 1 << 20;
/// `cuda.h` has a megabyte.
const MAX_HEADER: u64 = 16 << 20;
/// Where the headers say their release.
pub(super) const HEADER: &str = "include/cuda.h";

/// Why a toolkit was not adopted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name could be taken for a release.
    #[error(
        "`{0}` cannot be the name of a toolkit: it begins with a letter and is no release, `auto`, `default` or `system`"
    )]
    Name(String),
    /// There is no toolkit at the path.
    #[error("`{}` is no CUDA toolkit: it has neither `libcudart` and `libnvrtc` in `lib64` or `lib`, nor `bin/nvcc`", .0.display())]
    NotAToolkit(PathBuf),
    /// A directory of the system, whose libraries would shadow every program's own.
    #[error("`{}` is a directory of the system; its libraries are found without cuenv", .0.display())]
    SystemDirectory(PathBuf),
    /// A path that no list can hold.
    #[error("`{}` holds a colon, which separates the paths in PATH and LD_LIBRARY_PATH", .0.display())]
    Colon(PathBuf),
    /// A path that cannot stand in an activation file.
    #[error(transparent)]
    Activation(#[from] ActivationError),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// An adopted toolkit.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// The release that it says it is.
    pub cuda: Option<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let release = self.cuda.as_ref().map(|cuda| format!(" (CUDA {cuda})")).unwrap_or_default();
        writeln!(f, "Linked `{}` to `{}`{release}", self.name, self.path.display())?;
        writeln!(f, "Pin it with `cuenv use {}`", self.name)
    }
}

/// Adopts the toolkit at `path` under `name`.
pub fn link(cx: &Context<'_>, name: &str, path: &Path) -> Result<Report, Error> {
    match name.parse::<Spec>() {
        Ok(Spec::Linked(_)) => {}
        _ => return Err(Error::Name(name.to_owned())),
    }
    let path = cx.cwd().join(path);
    let real = fs::canonicalize(&path)?;
    for place in [path.as_path(), cx.layout.data()] {
        if place.as_os_str().as_bytes().contains(&b':') {
            return Err(Error::Colon(place.to_owned()));
        }
    }
    let system = ["/", "/usr", "/usr/local"].map(Path::new);
    if system.contains(&real.as_path()) {
        return Err(Error::SystemDirectory(path));
    }
    let library = ["lib64", "lib"].into_iter().find(|folder| is_library(&path.join(folder)));
    if library.is_none() && !path.join("bin/nvcc").is_file() {
        return Err(Error::NotAToolkit(path));
    }
    let mut activation = Activation::standard(name, name, path.join("include/cudnn.h").is_file());
    for change in &mut activation.changes {
        absolute(change, &path, library.unwrap_or("lib64"));
    }
    let place = cx.layout.links().join(name);
    write_atomic(&place.join(activation::FILE), activation.render()?.as_bytes())?;
    let to = Path::new("../../links").join(name);
    symlink_atomic(&to, &cx.layout.active(cx.target).join(name))?;
    Ok(Report { name: name.to_owned(), cuda: release_of(&path), path })
}

/// Whether a directory holds the libraries of a toolkit. What pip unpacks for CUDA 13 (`site-packages/nvidia/cu13`) has no
/// names without a version; its folders for CUDA 12 hold one component each and are none.
fn is_library(folder: &Path) -> bool {
    let has = |file: &str| folder.join(file).exists();
    let versioned = |name: &str| {
        let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.any(|entry| entry.file_name().as_bytes().starts_with(name.as_bytes()))
    };
    has("libcudart.so")
        || has("libcublas.so")
        || (versioned("libcudart.so.") && versioned("libnvrtc.so."))
}

fn absolute(change: &mut Change, toolkit: &Path, library: &str) {
    change.path = match change.path.to_str() {
        Some(".") => toolkit.to_owned(),
        Some("lib" | "lib64") => toolkit.join(library),
        _ => toolkit.join(&change.path),
    };
}

/// Returns the release that `version.json` (or, up to CUDA 11.0, `version.txt`, or else the headers) names. The files are another's: whatever
/// they are, they neither block nor end up in a message as more than a version.
pub(super) fn release_of(path: &Path) -> Option<String> {
    let read = |name| Some(shims::read::text(&path.join(name), MAX_VERSION).ok()??.0);
    let said = match read("version.json") {
        Some(text) => {
            let parsed: serde_json::Value = serde_json::from_str(&text).ok()?;
            parsed["cuda"]["version"].as_str()?.to_owned()
        }
        None => match read("version.txt") {
            Some(text) => text.trim().strip_prefix("CUDA Version ")?.to_owned(),
            None => headers_of(path)?.to_string(),
        },
    };
    said.parse::<Version>().is_ok().then_some(said)
}

/// Returns the release that a toolkit's `cuda.h` is of.
pub(super) fn headers_of(toolkit: &Path) -> Option<Version> {
    let (text, _) = shims::read::text(&toolkit.join(HEADER), MAX_HEADER).ok()??;
    let define = text.lines().find_map(|line| line.trim().strip_prefix("#define CUDA_VERSION"))?;
    let number: u64 = define.trim().parse().ok()?;
    Some(Version::from_parts(&[number / 1000, number % 1000 / 10]))
}

/// Returns the adopted toolkits.
pub fn all(cx: &Context<'_>) -> Vec<Report> {
    let Ok(entries) = fs::read_dir(cx.layout.links()) else { return Vec::new() };
    let mut found: Vec<Report> = entries
        .flatten()
        .filter_map(|entry| {
            let activation = Activation::of_prefix(&entry.path()).ok()??;
            let home = activation.changes.iter().find(|change| change.name == "CUDA_HOME")?;
            let path = home.path.clone();
            Some(Report { name: activation.toolchain, cuda: release_of(&path), path })
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Forgets an adopted toolkit, which itself stays as it is; tells whether there was one of that name.
pub fn unlink(cx: &Context<'_>, name: &str) -> Result<bool, std::io::Error> {
    let place = cx.layout.links().join(name);
    if !place.is_dir() {
        return Ok(false);
    }
    let link = cx.layout.active(cx.target).join(name);
    if link.symlink_metadata().is_ok() {
        fs::remove_file(link)?;
    }
    fs::remove_dir_all(place)?;
    Ok(true)
}
