//! Leaves: takes away what the installer recorded and cuenv's own four directories, and nothing else.
//!
//! What a user made stays: pins and locks in projects, linked toolkits, shell lines that cuenv did not mark.
//! The program itself goes last, so that a removal that fails halfway can be run again.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Serialize;

use shims::hook::Shell;

use crate::context::Context;
use crate::domain::installation::{Installation, InstallationError, without_marked_lines};
use crate::domain::layout::Layout;
use crate::platform::fs::rewrite;
use crate::platform::read;
use crate::render::rc;

/// What to leave in place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// Only say what would go.
    pub dry_run: bool,
    /// Keep toolchains, cache, state and settings.
    pub keep_data: bool,
}

/// What went, or would go.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Whether nothing was done.
    pub dry_run: bool,
    /// Files and trees.
    pub removed: Vec<PathBuf>,
    /// Start-up files whose marked lines went.
    pub edited: Vec<PathBuf>,
}

/// Why it could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No receipt: a package manager, cargo or a person put the program there.
    #[error("`{}` was not put there by cuenv's installer: there is no `{}`", exe.display(), receipt.display())]
    NotOurs {
        /// The running program.
        exe: PathBuf,
        /// Where the receipt would be.
        receipt: PathBuf,
    },
    /// The receipt cannot be used.
    #[error("`{}` cannot be used", path.display())]
    Receipt {
        /// The receipt.
        path: PathBuf,
        /// Why.
        #[source]
        source: InstallationError,
    },
    /// The receipt is for another copy of the program than the one that runs.
    #[error("`{}` is not the installed cuenv, which is in `{}`", exe.display(), bin.display())]
    OtherCopy {
        /// The running program.
        exe: PathBuf,
        /// Where the installer put it.
        bin: PathBuf,
    },
    /// Reading or removing failed; the message has the path.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads the receipt of the installation that this program belongs to.
pub fn installation(cx: &Context<'_>) -> Result<Installation, Error> {
    let receipt = cx.layout.install_receipt();
    let exe = cx.process.exe().unwrap_or(Path::new("cuenv")).to_owned();
    let text = match read::text(&receipt) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Error::NotOurs { exe, receipt });
        }
        Err(error) => return Err(error.into()),
    };
    let found =
        Installation::parse(&text).map_err(|source| Error::Receipt { path: receipt, source })?;
    let installed = found.bin.join("cuenv");
    // Without /proc nobody knows where the running program is; the receipt is then all there is to go by.
    let same = cx.process.exe().is_none()
        || fs::canonicalize(&installed).ok() == fs::canonicalize(&exe).ok();
    if same { Ok(found) } else { Err(Error::OtherCopy { exe, bin: found.bin }) }
}

/// Takes cuenv away.
pub fn uninstall(cx: &Context<'_>, request: Request) -> Result<Report, Error> {
    let found = installation(cx)?;
    let mut report = Report { dry_run: request.dry_run, removed: Vec::new(), edited: Vec::new() };
    for path in &found.start_up_files {
        let Some(text) = start_up_text(path) else { continue };
        if let Some(kept) = without_marked_lines(&text) {
            if !request.dry_run {
                rewrite(path, &kept)?;
            }
            report.edited.push(path.clone());
        }
    }
    for path in hooked(cx) {
        let Some(text) = start_up_text(&path) else { continue };
        if let Some(kept) = rc::without_block(&text) {
            if !request.dry_run {
                rewrite(&path, &kept)?;
            }
            report.edited.push(path);
        }
    }
    let roots = roots(cx);
    if !request.keep_data {
        for root in &roots {
            discard_tree(&cx.layout, root, request.dry_run, &mut report)?;
        }
    }
    let receipt = cx.layout.install_receipt();
    let (program, rest): (Vec<_>, Vec<_>) =
        found.files.iter().partition(|path| path.parent() == Some(&found.bin));
    for path in rest.into_iter().chain([&receipt]).chain(program) {
        discard(path, request.dry_run, &mut report)?;
    }
    if !request.dry_run {
        for path in &found.new_files {
            if fs::metadata(path).is_ok_and(|meta| meta.len() == 0) {
                fs::remove_file(path)?;
            }
        }
        // Innermost first; one that is not empty holds something of the user's and stays.
        for path in found.directories.iter().rev() {
            let _ = fs::remove_dir(path);
        }
    }
    Ok(report)
}

/// The bytes of a start-up file; none where there is no file that can be read.
fn start_up_text(path: &Path) -> Option<Vec<u8>> {
    read::bytes(path).ok()
}

/// The start-up files that `cuenv hook SHELL --install` writes to.
fn hooked(cx: &Context<'_>) -> Vec<PathBuf> {
    let Some(home) = &cx.dirs.home else { return Vec::new() };
    let absolute = |name| cx.process.var_os(name).map(Path::new).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), Path::to_owned);
    let zdotdir = cx.process.var_os("ZDOTDIR");
    Shell::ALL.into_iter().map(|shell| rc::start_up_file(shell, home, &config, zdotdir)).collect()
}

/// The four roots, with those that lie inside another one left out.
fn roots(cx: &Context<'_>) -> Vec<PathBuf> {
    let all = [cx.layout.data(), cx.layout.cache(), cx.layout.state(), cx.layout.config()];
    let inside = |path: &Path| all.iter().any(|other| path != *other && path.starts_with(other));
    all.iter().filter(|path| !inside(path)).map(|path| (*path).to_owned()).collect()
}

fn discard_tree(
    layout: &Layout,
    root: &Path,
    dry_run: bool,
    report: &mut Report,
) -> io::Result<()> {
    match fs::symlink_metadata(root) {
        Ok(meta) if meta.is_dir() => {}
        // A root that is a link was made by the user; what it points to is theirs to remove.
        _ => return Ok(()),
    }
    let one_root = layout.config().starts_with(layout.data());
    if !one_root && root.file_name().is_some_and(|name| name == "cuenv") {
        if !dry_run {
            fs::remove_dir_all(root)?;
        }
        report.removed.push(root.to_owned());
        return Ok(());
    }
    // `CUENV_HOME` may be any directory, one called `cuenv` too, so only what cuenv itself puts there goes.
    for name in Layout::ROOT_ENTRIES {
        let path = root.join(name);
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        match (dry_run, meta.is_dir()) {
            (true, _) => {}
            (false, true) => fs::remove_dir_all(&path)?,
            (false, false) => fs::remove_file(&path)?,
        }
        report.removed.push(path);
    }
    Ok(())
}

fn discard(path: &Path, dry_run: bool, report: &mut Report) -> io::Result<()> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    if !dry_run {
        fs::remove_file(path)?;
    }
    report.removed.push(path.to_owned());
    Ok(())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (removed, took) =
            if self.dry_run { ("Would remove", "Would take") } else { ("Removed", "Took") };
        for path in &self.removed {
            writeln!(f, "{removed} `{}`", path.display())?;
        }
        for path in &self.edited {
            writeln!(f, "{took} cuenv's lines out of `{}`", path.display())?;
        }
        write!(f, "Left alone: `.cuenv` and `.cuenv.lock` in your projects")
    }
}
