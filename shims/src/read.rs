//! Reading small files that someone else may have put there.
//!
//! A pin may be a FIFO, a device, a directory, a link to any of these, or a gigabyte: none of them may block,
//! have a side effect or fill memory. So the file is looked at before it is opened, opened without blocking,
//! looked at again through the open handle, and read up to a limit.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::shown;

/// `O_NONBLOCK | O_NOCTTY`, the same numbers on x86_64 and aarch64 Linux.
const SAFE_OPEN: i32 = 0o4000 | 0o400;

/// Why a file was not read.
#[derive(Debug)]
pub enum ReadError {
    /// It is something else: a directory, FIFO, socket or device, by name.
    NotAFile(&'static str),
    /// It is a link to this, which is not there.
    Dangling(PathBuf),
    /// It is longer than the limit, in bytes.
    TooLarge(u64),
    /// It is not UTF-8 text.
    NotText,
    /// The system refused.
    Io(io::Error),
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotAFile(kind) => write!(f, "it is {kind}, not a file"),
            Self::Dangling(to) => {
                write!(f, "it is a link to `{}`, which is not there", shown::path(to))
            }
            Self::TooLarge(limit) => write!(f, "it is larger than {limit} bytes"),
            Self::NotText => f.write_str("it is not UTF-8 text"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

/// Opens a regular file without side effects; `Ok(None)` when there is none. A link that leads nowhere is no absent
/// file: somebody wanted one to be there.
pub fn open(path: &Path) -> Result<Option<(File, Metadata)>, ReadError> {
    match std::fs::metadata(path) {
        Ok(seen) if !seen.is_file() => return Err(ReadError::NotAFile(kind(&seen))),
        Ok(_) => {}
        Err(error) if is_absent(&error) => {
            return match std::fs::read_link(path) {
                Ok(to) => Err(ReadError::Dangling(to)),
                Err(_) => Ok(None),
            };
        }
        Err(error) => return Err(ReadError::Io(error)),
    }
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(ReadError::Io(error)),
    };
    let metadata = file.metadata().map_err(ReadError::Io)?;
    if !metadata.is_file() {
        return Err(ReadError::NotAFile(kind(&metadata)));
    }
    Ok(Some((file, metadata)))
}

fn kind(seen: &Metadata) -> &'static str {
    let kind = seen.file_type();
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// Opens a file that was seen to be a regular one; were it exchanged for another since, nothing would block.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(SAFE_OPEN).open(path)
}

/// Reads a whole text file of at most `limit` bytes; `Ok(None)` when there is none.
pub fn text(path: &Path, limit: u64) -> Result<Option<(String, Metadata)>, ReadError> {
    let Some((file, metadata)) = open(path)? else { return Ok(None) };
    if metadata.len() > limit {
        return Err(ReadError::TooLarge(limit));
    }
    let bytes = take(file, limit + 1)?;
    if bytes.len() as u64 > limit {
        return Err(ReadError::TooLarge(limit));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some((text, metadata))),
        Err(_) => Err(ReadError::NotText),
    }
}

/// Reads the first `limit` bytes of a text file, up to the last whole line when it is longer.
pub fn head(path: &Path, limit: u64) -> Result<Option<String>, ReadError> {
    let Some((file, metadata)) = open(path)? else { return Ok(None) };
    let mut bytes = take(file, limit)?;
    if metadata.len() > bytes.len() as u64 {
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(end);
    }
    String::from_utf8(bytes).map(Some).map_err(|_| ReadError::NotText)
}

fn take(file: File, limit: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::with_capacity(512);
    file.take(limit).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    Ok(bytes)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::tests::Temp;

    #[test]
    fn odd_files_are_refused_and_do_not_block() {
        let temp = Temp::new("read");
        let fifo = temp.path("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        assert!(matches!(text(&fifo, 10), Err(ReadError::NotAFile("a FIFO"))));
        std::os::unix::fs::symlink(&fifo, temp.path("link")).unwrap();
        assert!(matches!(text(&temp.path("link"), 10), Err(ReadError::NotAFile(_))));
        assert!(matches!(text(temp.root(), 10), Err(ReadError::NotAFile("a directory"))));
        assert!(matches!(text(Path::new("/dev/zero"), 10), Err(ReadError::NotAFile("a device"))));
        std::os::unix::fs::symlink("loop", temp.path("loop")).unwrap();
        assert!(matches!(text(&temp.path("loop"), 10), Err(ReadError::Io(_))));
        std::os::unix::fs::symlink("nowhere", temp.path("dangling")).unwrap();
        let error = text(&temp.path("dangling"), 10).unwrap_err();
        assert_eq!(error.to_string(), "it is a link to `nowhere`, which is not there");
        assert!(text(&temp.path("absent"), 10).unwrap().is_none());
        temp.write("plain/file", "x");
        assert!(text(&temp.path("plain/file/below"), 10).unwrap().is_none());
    }

    #[test]
    fn the_limit_holds() {
        let temp = Temp::new("limit");
        temp.write("ten", "0123456789");
        assert_eq!(text(&temp.path("ten"), 10).unwrap().unwrap().0, "0123456789");
        assert!(matches!(text(&temp.path("ten"), 9), Err(ReadError::TooLarge(9))));
        temp.write("lines", "one\ntwo\nthree\n");
        assert_eq!(head(&temp.path("lines"), 9).unwrap().unwrap(), "one\ntwo\n");
        assert_eq!(head(&temp.path("lines"), 99).unwrap().unwrap(), "one\ntwo\nthree\n");
        // A file without a size, such as those of /proc, is still read.
        assert!(matches!(text(Path::new("/proc/self/status"), 10), Err(ReadError::TooLarge(10))));
    }
}
