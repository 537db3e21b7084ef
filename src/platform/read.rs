//! Reading files that may not be what their names say.
//!
//! In a cache, a home or a clone anybody may have put a FIFO, a device, a socket or a directory where a file is looked for.
//! Opening one may block for ever or have effects. All reading goes through here (`tests/layers.rs` looks for other ways),
//! so that it is an error like any other, with the path and what is there instead.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use shims::read::ReadError;

/// Opens a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let failed = |kind, what: &dyn std::fmt::Display| {
        io::Error::new(kind, format!("cannot read `{}`: {what}", path.display()))
    };
    match shims::read::open(path) {
        Ok(Some((file, _))) => Ok(file),
        Ok(None) => Err(failed(io::ErrorKind::NotFound, &"it is not there")),
        Err(ReadError::Io(error)) => Err(failed(error.kind(), &error)),
        Err(ReadError::Dangling(to)) => {
            Err(failed(io::ErrorKind::NotFound, &ReadError::Dangling(to)))
        }
        Err(other) => Err(failed(io::ErrorKind::InvalidInput, &other)),
    }
}

/// Reads a regular file.
pub fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| of(path, &error))?;
    Ok(bytes)
}

/// Reads a regular file that holds text.
pub fn text(path: &Path) -> io::Result<String> {
    String::from_utf8(bytes(path)?).map_err(|_| {
        let error = io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
        of(path, &error)
    })
}

fn of(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot read `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_path_and_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let error = bytes(&socket).unwrap_err();
        let expected = format!("cannot read `{}`: it is a socket, not a file", socket.display());
        assert_eq!((error.kind(), error.to_string()), (io::ErrorKind::InvalidInput, expected));
        assert!(open(dir.path()).unwrap_err().to_string().ends_with("a directory, not a file"));
        assert_eq!(text(&dir.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        let latin = dir.path().join("latin");
        fs_err::write(&latin, b"\xff").unwrap();
        assert_eq!(bytes(&latin).unwrap(), b"\xff");
        assert_eq!(text(&latin).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
