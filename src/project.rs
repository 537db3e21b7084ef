//! A project's two files, and the registry of known projects.
//!
//! `.cuenv` says what is wanted, `.cuenv.lock` which wheels answer it. Both are replaced in one step. The registry
//! (`state/projects/`) lets `list` and `gc` know who uses a toolchain; an entry is one file that holds a path, so that
//! two processes never write the same one differently.

mod pin_text;

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use fs_err as fs;
use shims::names::{LOCK_FILE, PIN_FILE};
use shims::pin::{Pin, PinError};
use shims::read::ReadError;

use crate::domain::digest::Digest;
use crate::domain::layout::Layout;
use crate::domain::lock::{Lock, LockError};
use crate::platform::fs::{rewrite, try_writing, write_atomic};
use crate::platform::read;

/// Locks are some kilobytes; this bounds what a hostile clone can make cuenv read.
const MAX_LOCK: u64 = 4 << 20;

/// Why a project's files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The pin cannot be read as one.
    #[error("cannot use the pin `{}`", path.display())]
    Pin {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: PinError,
    },
    /// `.cuenv` is a directory: another tool of the same name keeps its files there.
    #[error("`{}` is a directory, perhaps another tool's; a pin cannot be written there", .0.display())]
    PinIsDirectory(PathBuf),
    /// The lock cannot be read as one.
    #[error("cannot use the lock `{}`", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: LockError,
    },
    /// A file that is too large to be what it claims.
    #[error("`{}` is larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// A file that cannot be read as text.
    #[error("cannot read `{}`: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The directory may not be written.
    #[error("cannot write into `{}`", path.display())]
    ReadOnly {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The directory that holds a pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    directory: PathBuf,
}

impl Project {
    /// Names the project in `directory`; reads nothing.
    pub fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// Returns its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the pin's path.
    pub fn pin_path(&self) -> PathBuf {
        self.directory.join(PIN_FILE)
    }

    /// Returns the lock's path.
    pub fn lock_path(&self) -> PathBuf {
        self.directory.join(LOCK_FILE)
    }

    /// Reads the pin; `None` when there is none (a `.cuenv` directory is none).
    pub fn read_pin(&self) -> Result<Option<Pin>, Error> {
        let path = self.pin_path();
        match read_limited(&path, shims::pin::LIMIT)? {
            None => Ok(None),
            Some(text) => Pin::parse(&text).map(Some).map_err(|source| Error::Pin { path, source }),
        }
    }

    /// Writes the pin, keeping its comments, its venv policy and keys that cuenv does not know.
    pub fn write_pin(&self, spec: &str, venv: Option<&str>) -> Result<(), Error> {
        let path = self.pin_path();
        if path.is_dir() {
            return Err(Error::PinIsDirectory(path));
        }
        let before = read_limited(&path, shims::pin::LIMIT)?;
        let text = pin_text::rewrite(before.as_deref(), spec, venv);
        if before.as_deref() != Some(text.as_str()) {
            // A pin that several directories share is a link to one file, and stays one.
            rewrite(&path, text.as_bytes())?;
        }
        Ok(())
    }

    /// Fails where the two files could not be written, so that it is known before gigabytes are fetched for them.
    pub fn check_writable(&self) -> Result<(), Error> {
        if self.pin_path().is_dir() {
            return Err(Error::PinIsDirectory(self.pin_path()));
        }
        read_limited(&self.pin_path(), shims::pin::LIMIT)?;
        match read_limited(&self.lock_path(), MAX_LOCK) {
            Ok(_) if self.lock_path().is_dir() => {
                let reason = "it is a directory, not a file".to_owned();
                return Err(Error::Unreadable { path: self.lock_path(), reason });
            }
            // What it says does not matter: it is written anew.
            Err(error) if !self.lock_path().is_file() => return Err(error),
            Err(error @ Error::TooLarge { .. }) => return Err(error),
            _ => {}
        }
        try_writing(&self.directory)
            .map_err(|source| Error::ReadOnly { path: self.directory.clone(), source })
    }

    /// Takes back a lock whose pin could not be written: `before` is what was there.
    pub fn restore_lock(&self, before: Option<&[u8]>) {
        let _ = match before {
            Some(bytes) => rewrite(&self.lock_path(), bytes),
            None => fs::remove_file(self.lock_path()),
        };
    }

    /// The bytes of the lock, whatever they say; [`Self::check_writable`] has bounded them.
    pub fn lock_bytes(&self) -> Option<Vec<u8>> {
        read::bytes(&self.lock_path()).ok()
    }

    /// Reads the lock; `None` when there is none.
    pub fn read_lock(&self) -> Result<Option<Lock>, Error> {
        let path = self.lock_path();
        match read_limited(&path, MAX_LOCK)? {
            None => Ok(None),
            Some(text) => {
                Lock::parse(&text).map(Some).map_err(|source| Error::Lock { path, source })
            }
        }
    }

    /// Writes the lock unless it already says the same.
    pub fn write_lock(&self, lock: &Lock) -> Result<(), Error> {
        let path = self.lock_path();
        let text = lock.render();
        let before = read_limited(&path, MAX_LOCK).ok().flatten();
        if before.as_deref() != Some(text.as_str()) {
            rewrite(&path, text.as_bytes())?;
        }
        Ok(())
    }

    /// Reads the lock as text, whatever it says.
    pub fn lock_text(&self) -> Option<String> {
        read_limited(&self.lock_path(), MAX_LOCK).ok().flatten()
    }

    /// Writes this project into the registry.
    pub fn remember(&self, layout: &Layout) -> Result<(), Error> {
        let bytes = self.directory.as_os_str().as_bytes();
        let entry = layout.projects().join(Digest::of(bytes).short());
        if read::bytes(&entry).is_ok_and(|known| known == bytes) {
            return Ok(());
        }
        Ok(write_atomic(&entry, bytes)?)
    }
}

/// Returns the known projects whose pin is still there, in order of path. One that cannot be looked at (a file server that
/// does not answer, a directory that was closed) is there: `gc` must not take what it needs.
pub fn known(layout: &Layout) -> Vec<Project> {
    let Ok(entries) = fs::read_dir(layout.projects()) else { return Vec::new() };
    let mut projects: Vec<Project> = entries
        .filter_map(|entry| {
            let path = OsString::from_vec(read::bytes(&entry.ok()?.path()).ok()?);
            let project = Project::at(Path::new(&path));
            // A link whose target is not mounted just now is there.
            let gone = match fs::symlink_metadata(project.pin_path()) {
                Ok(_) => project.pin_path().is_dir(),
                Err(error) => {
                    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
                }
            };
            (!gone).then_some(project)
        })
        .collect();
    projects.sort_by(|a, b| a.directory.cmp(&b.directory));
    projects
}

/// Reads a regular file of at most `limit` bytes; `None` when there is none or it is a directory.
fn read_limited(path: &Path, limit: u64) -> Result<Option<String>, Error> {
    match shims::read::text(path, limit) {
        Ok(found) => Ok(found.map(|(text, _)| text)),
        Err(_) if path.is_dir() => Ok(None),
        Err(ReadError::TooLarge(limit)) => Err(Error::TooLarge { path: path.to_owned(), limit }),
        Err(error) => Err(Error::Unreadable { path: path.to_owned(), reason: error.to_string() }),
    }
}
