//! Puts a file of the store into a prefix without a second copy where that can be had: hard link, else reflink,
//! else copy; a symbolic link where the store belongs to another owner. Says which it was.

use std::fmt;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use fs_err as fs;

use super::read;

/// How a file came into place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum How {
    /// Another name of the same file.
    Hardlink,
    /// A copy that shares its blocks.
    Reflink,
    /// A copy.
    Copy,
    /// A symbolic link.
    Symlink,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hardlink => "hardlink",
            Self::Reflink => "reflink",
            Self::Copy => "copy",
            Self::Symlink => "symlink",
        })
    }
}

/// Puts `from` at `to`, which must not exist.
pub fn place(from: &Path, to: &Path) -> io::Result<How> {
    match fs::hard_link(from, to) {
        Ok(()) => return Ok(How::Hardlink),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
        // EXDEV, EPERM (protected or unsupported), EMLINK: there are other ways.
        Err(_) => {}
    }
    copy(from, to)
}

/// Copies `from` to `to`, sharing the blocks where the file system can.
pub fn copy(from: &Path, to: &Path) -> io::Result<How> {
    let source = read::open(from)?;
    let target = fs::OpenOptions::new().write(true).create_new(true).open(to)?;
    let how = if rustix::fs::ioctl_ficlone(target.file(), &source).is_ok() {
        How::Reflink
    } else {
        // `io::copy` uses copy_file_range, which stays inside the kernel.
        io::copy(&mut &source, &mut &target)?;
        How::Copy
    };
    let mode = source.metadata()?.permissions().mode();
    target.set_permissions(std::fs::Permissions::from_mode(mode))?;
    Ok(how)
}

/// Points `to` at `from`, an absolute path.
pub fn point(from: &Path, to: &Path) -> io::Result<How> {
    fs_err::os::unix::fs::symlink(from, to)?;
    Ok(How::Symlink)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn links_and_copies_keep_bytes_and_mode() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::write(&from, b"abc").unwrap();
        fs::set_permissions(&from, std::fs::Permissions::from_mode(0o555)).unwrap();
        let to = dir.path().join("to");
        assert_eq!(place(&from, &to).unwrap(), How::Hardlink);
        assert_eq!(fs::metadata(&from).unwrap().nlink(), 2);
        assert!(place(&from, &to).is_err());
        let copied = dir.path().join("copied");
        copy(&from, &copied).unwrap();
        assert_eq!(fs::read(&copied).unwrap(), b"abc");
        assert_eq!(fs::metadata(&copied).unwrap().permissions().mode() & 0o777, 0o555);
        assert_eq!(fs::metadata(&from).unwrap().nlink(), 2);
    }
}
