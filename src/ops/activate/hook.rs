//! `cuenv hook`: the hook's text, what it asks for, and its lines in a start-up file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Serialize;
use shims::dirs::Dirs;
use shims::hook::{Answer, Shell};
use shims::names;

use crate::platform::fs::{rewrite, write_atomic};
use crate::platform::process::Process;
use crate::platform::read;
use crate::render::{rc, shells};

/// Returns the text that a shell evaluates when it starts.
pub fn text(process: &Process, dirs: &Dirs, shell: Shell, quiet: bool) -> Vec<u8> {
    let cli = process.exe().unwrap_or(Path::new("cuenv"));
    // The shim's static binary answers three times as fast; cuenv gives the same answer.
    let placed = dirs.data.join("bin").join(names::SHIM_BINARY);
    let beside = cli.with_file_name(names::SHIM_BINARY);
    let small = [&placed, &beside].into_iter().find(|file| file.is_file());
    let answers = small.map_or(cli, PathBuf::as_path);
    shells::hook(&shells::Hook { shell, answers, cli, quiet })
}

/// Answers a hook.
pub fn answer(process: &Process, dirs: &Dirs, quiet: bool) -> Answer {
    shims::hook::answer(process.env(), process.cwd(), dirs, quiet)
}

/// What became of a start-up file.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The file.
    pub file: PathBuf,
    /// Whether it was changed.
    pub changed: bool,
    /// Whether it loads the hook now.
    pub installed: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match (self.installed, self.changed) {
            (true, true) => writeln!(f, "Added the hook to `{file}`; it holds in new shells"),
            (true, false) => writeln!(f, "`{file}` has the hook already"),
            (false, true) => writeln!(f, "Took the hook out of `{file}`"),
            (false, false) => writeln!(f, "`{file}` has no hook of cuenv's"),
        }
    }
}

/// Why a start-up file was not edited.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody knows the home directory.
    #[error("the home directory is not known")]
    NoHome,
    /// The path of cuenv cannot stand in a start-up file.
    #[error("`{}` is not UTF-8 text", .0.display())]
    Path(PathBuf),
    /// The start-up file is none.
    #[error("`{}` is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// The file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Adds the hook to a shell's start-up file, or takes it out.
pub fn edit(process: &Process, dirs: &Dirs, shell: Shell, install: bool) -> Result<Report, Error> {
    let home = dirs.home.clone().ok_or(Error::NoHome)?;
    let config = process
        .var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .unwrap_or_else(|| home.join(".config"));
    let file = rc::start_up_file(shell, &home, &config, process.var_os("ZDOTDIR"));
    let report = |changed| Report { file: file.clone(), changed, installed: install };
    let cli = process.exe().ok_or(Error::NoHome)?;
    if cli.to_str().is_none() {
        return Err(Error::Path(cli.to_owned()));
    }
    if shell == Shell::Nu {
        // The whole file is the hook.
        return match (install, read::bytes(&file)) {
            (true, before) => {
                let after = text(process, dirs, shell, false);
                let changed = !before.is_ok_and(|before| before == after);
                write_atomic(&file, &after)?;
                Ok(report(changed))
            }
            (false, Ok(_)) => {
                fs::remove_file(&file)?;
                Ok(report(true))
            }
            (false, Err(_)) => Ok(report(false)),
        };
    }
    let before = match fs::metadata(&file) {
        // A FIFO or device would block, or be replaced.
        Ok(seen) if !seen.is_file() => return Err(Error::NotAFile(file)),
        Ok(_) => read::bytes(&file)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let after = if install {
        Some(rc::with_block(&before, &rc::lines(shell, cli)))
    } else {
        rc::without_block(&before)
    };
    let Some(after) = after.filter(|after| *after != before) else { return Ok(report(false)) };
    rewrite(&file, &after)?;
    Ok(report(true))
}
