//! The one question that activation asks of an ELF file: does it carry `DT_RPATH`, and which?
//!
//! `DT_RPATH` is searched before `LD_LIBRARY_PATH`, `DT_RUNPATH` after it. A library with the first cannot be
//! given other libraries through the environment, so `override` must refuse where it matters. (A `DT_RPATH` beside
//! a `DT_RUNPATH` is ignored by the loader, and so it is here.) 64-bit little-endian only: that is what there is.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_STRTAB: u64 = 5;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
const MAX_TABLE: u64 = 1 << 20;

/// Returns the `DT_RPATH` that the loader will use, `None` when there is none or the file is not a library.
pub fn rpath(path: &Path) -> Option<String> {
    let (file, _) = crate::read::open(path).ok()??;
    Elf { file }.rpath()
}

struct Elf {
    file: File,
}

impl Elf {
    fn rpath(&self) -> Option<String> {
        let head = self.bytes(0, 64)?;
        if head[..6] != *b"\x7fELF\x02\x01" {
            return None;
        }
        let (table, size, count) =
            (u64_at(&head, 32)?, u64::from(u16_at(&head, 54)?), u16_at(&head, 56)?);
        let headers = self.bytes(table, (size * u64::from(count)).min(MAX_TABLE))?;
        let mut loads = Vec::new();
        let mut dynamic = None;
        for header in headers.chunks_exact(usize::try_from(size).ok()?.max(56)) {
            let (offset, address, length) =
                (u64_at(header, 8)?, u64_at(header, 16)?, u64_at(header, 32)?);
            match u32_at(header, 0)? {
                PT_LOAD => loads.push((offset, address, length)),
                PT_DYNAMIC => dynamic = Some((offset, length)),
                _ => {}
            }
        }
        let (offset, length) = dynamic?;
        let (mut strings, mut rpath) = (None, None);
        for entry in self.bytes(offset, length.min(MAX_TABLE))?.chunks_exact(16) {
            let (tag, value) = (u64_at(entry, 0)?, u64_at(entry, 8)?);
            match tag {
                0 => break,
                DT_STRTAB => strings = Some(value),
                DT_RPATH => rpath = Some(value),
                DT_RUNPATH => return None,
                _ => {}
            }
        }
        let (rpath, strings) = (rpath?, strings?);
        let (offset, address, _) = loads.into_iter().find(|(_, address, length)| {
            (*address..address.saturating_add(*length)).contains(&strings)
        })?;
        self.string((strings - address).checked_add(offset)?.checked_add(rpath)?)
    }

    fn bytes(&self, offset: u64, length: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }

    fn string(&self, offset: u64) -> Option<String> {
        let mut bytes = vec![0; 8192];
        let read = self.file.read_at(&mut bytes, offset).ok()?;
        let end = bytes[..read].iter().position(|byte| *byte == 0)?;
        String::from_utf8(bytes[..end].to_vec()).ok()
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::tests::Temp;

    #[test]
    fn reads_what_the_linker_wrote() {
        let temp = Temp::new("elf");
        let source = temp.write("a.c", "int a(void) { return 1; }\n");
        let link = |name: &str, flags: &[&str]| {
            let out = temp.path(name);
            let done = std::process::Command::new("gcc")
                .args(["-shared", "-fPIC", "-o"])
                .arg(&out)
                .arg(&source)
                .args(flags)
                .status();
            match done {
                Ok(status) => assert!(status.success()),
                Err(_) => return None,
            }
            Some(out)
        };
        let path = "-Wl,-rpath,$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN";
        let Some(old) = link("old.so", &[path, "-Wl,--disable-new-dtags"]) else {
            println!("skipped: no gcc");
            return;
        };
        assert_eq!(rpath(&old).as_deref(), Some("$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN"));
        assert_eq!(rpath(&link("new.so", &[path, "-Wl,--enable-new-dtags"]).unwrap()), None);
        assert_eq!(rpath(&link("none.so", &[]).unwrap()), None);
    }

    #[test]
    fn what_is_no_library_has_no_rpath() {
        let temp = Temp::new("noelf");
        for (name, text) in [("empty", ""), ("text", "#!/bin/sh\n"), ("cut", "\x7fELF\x02\x01")] {
            assert_eq!(rpath(&temp.write(name, text)), None);
        }
        let mut lies = vec![0xff; 64];
        lies[..6].copy_from_slice(b"\x7fELF\x02\x01");
        std::fs::write(temp.path("lies"), lies).unwrap();
        assert_eq!(rpath(&temp.path("lies")), None);
    }
}
