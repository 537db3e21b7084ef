//! `.tar.zst` and `.tar.gz`: written for bundles, read for bundles and releases, one plain file at a time.
//!
//! Reading never writes: who reads gets a name that was checked and a reader, and decides. Links, devices, absolute
//! names and `..` are refused, so no archive can point outside of itself.

use std::io::{self, Read, Write};
use std::path::Path;

use super::read;

/// Wheels are compressed already; the lowest level finds that out quickest.
const LEVEL: i32 = 1;

/// Why an archive was not read.
#[derive(Debug, thiserror::Error)]
pub enum TarError {
    /// Reading failed, or it is no archive.
    #[error("`{path}` cannot be read")]
    Read {
        /// The archive.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// An entry that is not a plain file inside the archive.
    #[error("`{path}` is refused: its entry `{}` is {what}", entry.escape_debug())]
    Unsafe {
        /// The archive.
        path: String,
        /// The entry's name.
        entry: String,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// A `.tar.zst` that is being written.
pub struct Writer<W: Write> {
    tar: tar::Builder<zstd::Encoder<'static, W>>,
    time: u64,
}

impl<W: Write> Writer<W> {
    /// Starts an archive. `time` is written as every entry's time, so that the same content gives the same bytes.
    pub fn new(into: W, time: u64) -> io::Result<Self> {
        let encoder = zstd::Encoder::new(into, LEVEL)?;
        Ok(Self { tar: tar::Builder::new(encoder), time })
    }

    /// Adds a file of exactly `size` bytes.
    pub fn add(&mut self, name: &str, size: u64, content: &mut dyn Read) -> io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_size(size);
        header.set_mode(0o644);
        header.set_mtime(self.time);
        let mut counted = Counted { content, left: size };
        self.tar.append_data(&mut header, name, &mut counted)?;
        if counted.left > 0 {
            let message = format!("`{name}` ended {} bytes early", counted.left);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        }
        Ok(())
    }

    /// Ends the archive and returns what it was written into.
    pub fn finish(self) -> io::Result<W> {
        self.tar.into_inner()?.finish()
    }
}

/// Stops after the size that the header promises: one byte more would shift every entry behind it.
struct Counted<'a> {
    content: &'a mut dyn Read,
    left: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(out.len());
        let count = self.content.read(&mut out[..most])?;
        self.left -= count as u64;
        Ok(count)
    }
}

/// One file of an archive.
pub struct Entry<'a> {
    /// Its name: relative, and no part of it is `..`.
    pub name: String,
    /// Its size.
    pub size: u64,
    /// Its bytes.
    pub content: &'a mut dyn Read,
}

/// Calls `each` for every file of the archive at `path`, in order, until it fails or says that it has had enough.
pub fn read<E: From<TarError>>(
    path: &Path,
    mut each: impl FnMut(Entry<'_>) -> Result<bool, E>,
) -> Result<(), E> {
    let shown = path.display().to_string();
    let fail = |source| TarError::Read { path: shown.clone(), source };
    let mut file = read::open(path).map_err(fail)?;
    let mut head = [0; 4];
    let got = file.read(&mut head).map_err(fail)?;
    io::Seek::rewind(&mut file).map_err(fail)?;
    let plain: Box<dyn Read> = if head[..got].starts_with(&[0x1f, 0x8b]) {
        Box::new(flate2::read::MultiGzDecoder::new(file))
    } else {
        Box::new(zstd::Decoder::new(file).map_err(fail)?)
    };
    let mut archive = tar::Archive::new(plain);
    for entry in archive.entries().map_err(fail)? {
        let mut entry = entry.map_err(fail)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let refuse = |what| TarError::Unsafe { path: shown.clone(), entry: name.clone(), what };
        if entry.header().entry_type().is_dir() {
            continue;
        }
        if !entry.header().entry_type().is_file() {
            return Err(refuse("not a plain file").into());
        }
        let is_plain =
            |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
        if name.is_empty() || !Path::new(&name).components().all(is_plain) {
            return Err(refuse("a name that leads elsewhere").into());
        }
        let size = entry.size();
        if !each(Entry { name, size, content: &mut entry })? {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &Path) -> Result<Vec<(String, Vec<u8>)>, TarError> {
        let mut found = Vec::new();
        read::<TarError>(path, |entry| {
            let mut bytes = Vec::new();
            entry.content.read_to_end(&mut bytes).unwrap();
            found.push((entry.name, bytes));
            Ok(true)
        })?;
        Ok(found)
    }

    #[test]
    fn reads_what_it_writes_and_gives_the_same_bytes_twice() {
        let dir = tempfile::tempdir().unwrap();
        let write = || {
            let mut writer = Writer::new(Vec::new(), 1).unwrap();
            writer.add("lock", 3, &mut &b"abc"[..]).unwrap();
            writer.add("wheels/x.whl", 0, &mut &b""[..]).unwrap();
            writer.finish().unwrap()
        };
        assert_eq!(write(), write());
        let path = dir.path().join("b.tar.zst");
        fs_err::write(&path, write()).unwrap();
        let expected =
            [("lock".to_owned(), b"abc".to_vec()), ("wheels/x.whl".to_owned(), Vec::new())];
        assert_eq!(names(&path).unwrap(), expected);
        // Cut in the middle, and not an archive at all.
        fs_err::write(&path, &write()[..20]).unwrap();
        assert!(names(&path).is_err());
        fs_err::write(&path, b"hello").unwrap();
        assert!(names(&path).is_err());
    }

    #[test]
    fn a_file_that_is_shorter_or_longer_than_promised_does_not_shift_the_others() {
        let mut writer = Writer::new(Vec::new(), 1).unwrap();
        assert!(writer.add("short", 9, &mut &b"abc"[..]).is_err());
        let mut writer = Writer::new(Vec::new(), 1).unwrap();
        writer.add("long", 2, &mut &b"abc"[..]).unwrap();
        writer.add("next", 1, &mut &b"n"[..]).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b");
        fs_err::write(&path, writer.finish().unwrap()).unwrap();
        assert_eq!(names(&path).unwrap()[1], ("next".to_owned(), b"n".to_vec()));
    }

    #[test]
    fn refuses_links_devices_and_names_that_lead_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.tar.zst");
        for (name, kind) in [
            ("../../etc/passwd", tar::EntryType::Regular),
            ("/etc/passwd", tar::EntryType::Regular),
            ("a/../../b", tar::EntryType::Regular),
            ("link", tar::EntryType::Symlink),
            ("hard", tar::EntryType::Link),
            ("pipe", tar::EntryType::Fifo),
            ("null", tar::EntryType::Char),
        ] {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_size(0);
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            let mut tar = tar::Builder::new(Vec::new());
            tar.append(&header, &b""[..]).unwrap();
            let bytes = zstd::encode_all(&tar.into_inner().unwrap()[..], 1).unwrap();
            fs_err::write(&path, bytes).unwrap();
            assert!(matches!(names(&path), Err(TarError::Unsafe { .. })), "{name}");
        }
    }
}
