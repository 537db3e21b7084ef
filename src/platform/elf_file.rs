//! A file on disk as the ELF reader wants it: small ranges by `pread`, a few blocks kept.
//!
//! No mapping: it would need `unsafe`, and a file that shrinks under a mapping kills the process.

use std::cell::RefCell;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use super::read;
use crate::domain::elf::ReadAt;

const BLOCK: usize = 16 * 1024;
/// Tables lie in a handful of places of a file; more blocks would only hold what is not asked for again.
const KEPT: usize = 8;

/// An open regular file.
#[derive(Debug)]
pub struct ElfFile {
    file: std::fs::File,
    size: u64,
    identity: (u64, u64),
    blocks: RefCell<Vec<(u64, Vec<u8>)>>,
}

impl ElfFile {
    /// Opens `path`, which must be a regular file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = read::open(path)?;
        let metadata = file.metadata()?;
        let identity = (metadata.dev(), metadata.ino());
        Ok(Self { file, size: metadata.len(), identity, blocks: RefCell::default() })
    }

    /// Returns device and inode: two paths with the same pair are one library to the loader.
    pub fn identity(&self) -> (u64, u64) {
        self.identity
    }

    fn load(&self, start: u64) -> Option<Vec<u8>> {
        let length = usize::try_from(self.size.checked_sub(start)?).map_or(BLOCK, |n| n.min(BLOCK));
        let mut block = vec![0; length];
        self.file.read_exact_at(&mut block, start).ok()?;
        Some(block)
    }
}

impl ReadAt for ElfFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> bool {
        if offset.checked_add(into.len() as u64).is_none_or(|end| end > self.size) {
            return false;
        }
        if into.len() >= BLOCK {
            return self.file.read_exact_at(into, offset).is_ok();
        }
        let mut blocks = self.blocks.borrow_mut();
        let mut done = 0;
        while done < into.len() {
            let at = offset + done as u64;
            let start = at - at % BLOCK as u64;
            if let Some(position) = blocks.iter().position(|(known, _)| *known == start) {
                // The block used last stays longest.
                let block = blocks.remove(position);
                blocks.push(block);
            } else {
                let Some(block) = self.load(start) else { return false };
                if blocks.len() == KEPT {
                    blocks.remove(0);
                }
                blocks.push((start, block));
            }
            let Some((_, block)) = blocks.last() else { return false };
            let Some(rest) = usize::try_from(at - start).ok().and_then(|from| block.get(from..))
            else {
                return false;
            };
            let take = rest.len().min(into.len() - done);
            if take == 0 {
                return false;
            }
            into[done..done + take].copy_from_slice(&rest[..take]);
            done += take;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, ElfFile};
    use crate::domain::elf::{Elf, ReadAt as _};
    use std::path::Path;

    #[test]
    fn reads_this_program() {
        let file = ElfFile::open(Path::new("/proc/self/exe")).expect("this program");
        let elf = Elf::parse(&file).expect("this program");
        assert!(elf.interpreter.is_some());
        assert!(elf.needed.iter().any(|name| name == "libc.so.6"), "{:?}", elf.needed);
        assert!(elf.version_needs.iter().any(|need| need.version.starts_with("GLIBC_2.")));
        let imports = elf.imports(&file);
        assert!(imports.iter().any(|import| import.name == "malloc"));
        let libc = elf.imports(&file).into_iter().find(|import| import.name == "read");
        assert_eq!(
            libc.and_then(|import| import.version).map(|pair| pair.0).as_deref(),
            Some("libc.so.6")
        );
    }

    #[test]
    fn ranges_across_blocks_are_whole() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("f");
        let bytes: Vec<u8> =
            (0..3 * BLOCK + 100).map(|n| u8::try_from(n % 251).expect("small")).collect();
        fs_err::write(&path, &bytes).expect("written");
        let file = ElfFile::open(&path).expect("a file");
        let mut into = vec![0; 300];
        for offset in [0, BLOCK - 150, 2 * BLOCK - 1, 3 * BLOCK - 200] {
            assert!(file.read_at(offset as u64, &mut into));
            assert_eq!(into, bytes[offset..offset + 300]);
        }
        assert!(!file.read_at((3 * BLOCK) as u64, &mut into), "past the end");
        assert!(!file.read_at(u64::MAX, &mut into));
    }

    #[test]
    fn refuses_a_directory_and_a_pipe() {
        let directory = tempfile::tempdir().expect("a directory");
        ElfFile::open(directory.path()).expect_err("a directory");
        let pipe = directory.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).expect("a pipe");
        ElfFile::open(&pipe).expect_err("a pipe");
    }
}
