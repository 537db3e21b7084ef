//! The few questions that activation asks of an ELF file: does it carry `DT_RPATH`, which libraries does it need, which
//! symbols of them, and does it define a symbol?
//!
//! `DT_RPATH` is searched before `LD_LIBRARY_PATH`, `DT_RUNPATH` after it. A library with the first cannot be
//! given other libraries through the environment, so `override` must refuse where it matters. (A `DT_RPATH` beside
//! a `DT_RUNPATH` is ignored by the loader, and so it is here.) 64-bit little-endian only: that is what there is.
//!
//! A file may be hundreds of megabytes with its tables anywhere: only the blocks that hold them are read.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_NEEDED: u64 = 1;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_VERNEED: u64 = 0x6fff_fffe;
const SYMBOL: u64 = 24;
const STB_WEAK: u8 = 2;

const BLOCK: u64 = 16 * 1024;
/// Bounds for a file that lies about itself.
const MOST_BYTES: u64 = 8 << 20;
const MOST_ENTRIES: usize = 1 << 16;
const LONGEST_TEXT: u64 = 64 * 1024;

/// A shared library, read in parts.
#[derive(Debug)]
pub struct Library {
    file: File,
    blocks: BTreeMap<u64, Vec<u8>>,
    /// Loaded segments: offset, address, length.
    loads: Vec<(u64, u64, u64)>,
    dynamic: Vec<(u64, u64)>,
}

impl Library {
    /// Opens a library; `None` when the file is not one.
    pub fn open(path: &Path) -> Option<Self> {
        let (file, _) = crate::read::open(path).ok()??;
        let mut library =
            Self { file, blocks: BTreeMap::new(), loads: Vec::new(), dynamic: Vec::new() };
        library.load()?;
        Some(library)
    }

    fn load(&mut self) -> Option<()> {
        let head = self.bytes(0, 64)?;
        if head[..6] != *b"\x7fELF\x02\x01" {
            return None;
        }
        let (table, size, count) =
            (u64_at(&head, 32)?, u64::from(u16_at(&head, 54)?), u16_at(&head, 56)?);
        let headers = self.bytes(table, size * u64::from(count))?;
        let mut dynamic = None;
        for header in headers.chunks_exact(usize::try_from(size).ok()?.max(56)) {
            let (offset, address, length) =
                (u64_at(header, 8)?, u64_at(header, 16)?, u64_at(header, 32)?);
            match u32_at(header, 0)? {
                PT_LOAD => self.loads.push((offset, address, length)),
                PT_DYNAMIC => dynamic = Some((offset, length)),
                _ => {}
            }
        }
        let (offset, length) = dynamic?;
        for entry in self.bytes(offset, length)?.chunks_exact(16) {
            let (tag, value) = (u64_at(entry, 0)?, u64_at(entry, 8)?);
            if tag == 0 {
                break;
            }
            self.dynamic.push((tag, value));
        }
        Some(())
    }

    /// Returns the `DT_RPATH` that the loader will use, `None` when there is none.
    pub fn rpath(&mut self) -> Option<String> {
        let at = self.tag(DT_RPATH)?;
        if self.tag(DT_RUNPATH).is_some() {
            return None;
        }
        self.text(at)
    }

    /// Returns the names of the libraries it needs.
    pub fn needed(&mut self) -> Vec<String> {
        let needs: Vec<u64> = self
            .dynamic
            .iter()
            .filter(|(tag, _)| *tag == DT_NEEDED)
            .map(|(_, value)| *value)
            .collect();
        needs.into_iter().filter_map(|at| self.text(at)).collect()
    }

    /// Returns the symbols that it must find in the library of this name: those bound to a version of it. Where nothing
    /// is bound, nothing is known and nothing returned.
    pub fn wants_of(&mut self, name: &str) -> Vec<String> {
        self.bound_to(name).unwrap_or_default()
    }

    fn bound_to(&mut self, name: &str) -> Option<Vec<String>> {
        let versions = self.versions_of(name)?;
        let (symbols, indexes) = (self.place(DT_SYMTAB)?, self.place(DT_VERSYM)?);
        let count = match (self.place(DT_GNU_HASH), self.place(DT_HASH)) {
            // What is defined is hashed and stands behind what is wanted.
            (Some(table), _) | (None, Some(table)) => u64::from(self.word(table, 1)?),
            (None, None) => return None,
        };
        let indexes = self.bytes(indexes, count.checked_mul(2)?)?;
        let symbols = self.bytes(symbols, count.checked_mul(SYMBOL)?)?;
        let mut wanted = Vec::new();
        for (at, symbol) in symbols.chunks_exact(24).enumerate() {
            let (kind, section) = (symbol[4] >> 4, u16_at(symbol, 6)?);
            let version = u16_at(&indexes, at * 2)? & 0x7fff;
            if section == 0 && kind != STB_WEAK && versions.contains(&version) {
                wanted.push(self.text(u64::from(u32_at(symbol, 0)?))?);
            }
        }
        Some(wanted)
    }

    /// Returns the version numbers that stand for a version of a library.
    fn versions_of(&mut self, name: &str) -> Option<Vec<u16>> {
        let mut at = self.place(DT_VERNEED)?;
        let mut versions = Vec::new();
        for _ in 0..MOST_ENTRIES {
            let entry = self.bytes(at, 16)?;
            let (count, file) = (u16_at(&entry, 2)?, u32_at(&entry, 4)?);
            let (first, next) = (u32_at(&entry, 8)?, u32_at(&entry, 12)?);
            if self.text(u64::from(file))? == name {
                let mut at = at.checked_add(u64::from(first))?;
                for _ in 0..count {
                    let version = self.bytes(at, 16)?;
                    versions.push(u16_at(&version, 6)?);
                    at = at.checked_add(u64::from(u32_at(&version, 12)?))?;
                }
            }
            if next == 0 {
                break;
            }
            at = at.checked_add(u64::from(next))?;
        }
        Some(versions)
    }

    /// Tells whether it defines a symbol; `None` when that cannot be told.
    pub fn defines(&mut self, symbol: &str) -> Option<bool> {
        // nvJitLink of CUDA 12.1 has the old table alone.
        match (self.place(DT_GNU_HASH), self.place(DT_HASH)) {
            (Some(table), _) => self.in_gnu_hash(table, symbol),
            (None, Some(table)) => self.in_old_hash(table, symbol),
            (None, None) => None,
        }
    }

    fn in_gnu_hash(&mut self, table: u64, symbol: &str) -> Option<bool> {
        let hash = symbol
            .bytes()
            .fold(5381_u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)));
        let (buckets, first, blooms) =
            (self.word(table, 0)?, self.word(table, 1)?, self.word(table, 2)?);
        let bucket_table = table.checked_add(16)?.checked_add(u64::from(blooms) * 8)?;
        let chain = bucket_table.checked_add(u64::from(buckets) * 4)?;
        let mut index = self.word(bucket_table, hash.checked_rem(buckets)?)?;
        for _ in 0..MOST_ENTRIES {
            let Some(place) = index.checked_sub(first) else { return Some(false) };
            let value = self.word(chain, place)?;
            if value | 1 == hash | 1 && self.is_defined(index, symbol)? {
                return Some(true);
            }
            if value & 1 == 1 {
                return Some(false);
            }
            index = index.checked_add(1)?;
        }
        None
    }

    fn in_old_hash(&mut self, table: u64, symbol: &str) -> Option<bool> {
        let hash = symbol.bytes().fold(0_u32, |hash, byte| {
            let hash = hash.wrapping_shl(4).wrapping_add(u32::from(byte));
            let high = hash & 0xf000_0000;
            (hash ^ (high >> 24)) & !high
        });
        let buckets = self.word(table, 0)?;
        let bucket_table = table.checked_add(8)?;
        let chain = bucket_table.checked_add(u64::from(buckets) * 4)?;
        let mut index = self.word(bucket_table, hash.checked_rem(buckets)?)?;
        for _ in 0..MOST_ENTRIES {
            if index == 0 {
                return Some(false);
            }
            if self.is_defined(index, symbol)? {
                return Some(true);
            }
            index = self.word(chain, index)?;
        }
        None
    }

    /// Tells whether the symbol at a place of the table has this name and is defined.
    fn is_defined(&mut self, index: u32, name: &str) -> Option<bool> {
        let at = self.place(DT_SYMTAB)?.checked_add(u64::from(index) * SYMBOL)?;
        let entry = self.bytes(at, 8)?;
        let is_here = u16_at(&entry, 6)? != 0;
        Some(is_here && self.text(u64::from(u32_at(&entry, 0)?))? == name)
    }

    /// Returns a word of a table of words.
    fn word(&mut self, table: u64, index: u32) -> Option<u32> {
        u32_at(&self.bytes(table.checked_add(u64::from(index) * 4)?, 4)?, 0)
    }

    fn tag(&self, wanted: u64) -> Option<u64> {
        self.dynamic.iter().find(|(tag, _)| *tag == wanted).map(|(_, value)| *value)
    }

    /// Returns where in the file the table of a tag is.
    fn place(&self, tag: u64) -> Option<u64> {
        let address = self.tag(tag)?;
        let (offset, start, _) = self.loads.iter().find(|(_, start, length)| {
            (*start..start.saturating_add(*length)).contains(&address)
        })?;
        (address - start).checked_add(*offset)
    }

    /// Returns the text at a place of the string table.
    fn text(&mut self, at: u64) -> Option<String> {
        let mut at = self.place(DT_STRTAB)?.checked_add(at)?;
        let mut out = Vec::new();
        while out.len() as u64 <= LONGEST_TEXT {
            let left = BLOCK - at % BLOCK;
            let block = self.block(at / BLOCK)?;
            let part = block.get(usize::try_from(at % BLOCK).ok()?..)?;
            match part.iter().position(|byte| *byte == 0) {
                Some(end) => {
                    out.extend_from_slice(&part[..end]);
                    return String::from_utf8(out).ok();
                }
                None if part.is_empty() => return None,
                None => out.extend_from_slice(part),
            }
            at = at.checked_add(left)?;
        }
        None
    }

    fn bytes(&mut self, mut at: u64, length: u64) -> Option<Vec<u8>> {
        if length > MOST_BYTES {
            return None;
        }
        let end = at.checked_add(length)?;
        let mut out = Vec::with_capacity(usize::try_from(length).ok()?);
        while at < end {
            let start = usize::try_from(at % BLOCK).ok()?;
            let take = usize::try_from((end - at).min(BLOCK - at % BLOCK)).ok()?;
            out.extend_from_slice(self.block(at / BLOCK)?.get(start..start + take)?);
            at += take as u64;
        }
        Some(out)
    }

    fn block(&mut self, number: u64) -> Option<&[u8]> {
        if !self.blocks.contains_key(&number) {
            let mut bytes = vec![0; usize::try_from(BLOCK).ok()?];
            let mut filled = 0;
            while filled < bytes.len() {
                let at = number.checked_mul(BLOCK)?.checked_add(filled as u64)?;
                match self.file.read_at(&mut bytes[filled..], at).ok()? {
                    0 => break,
                    count => filled += count,
                }
            }
            bytes.truncate(filled);
            self.blocks.insert(number, bytes);
        }
        self.blocks.get(&number).map(Vec::as_slice)
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
pub(crate) mod tests {
    use std::fmt::Write as _;
    use std::path::PathBuf;

    use super::*;
    use crate::walk::tests::Temp;

    /// Links a shared object; `None` where there is no compiler.
    pub(crate) fn link(temp: &Temp, below: &str, code: &str, flags: &[&str]) -> Option<PathBuf> {
        let source = temp.write("source.c", code);
        let out = temp.path(below);
        std::fs::create_dir_all(out.parent().unwrap()).unwrap();
        let done = std::process::Command::new("gcc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(&out)
            .arg(&source)
            .args(flags)
            .status();
        match done {
            Ok(status) => assert!(status.success()),
            Err(_) => {
                println!("skipped: no gcc");
                return None;
            }
        }
        Some(out)
    }

    fn rpath(path: &Path) -> Option<String> {
        Library::open(path)?.rpath()
    }

    #[test]
    fn reads_what_the_linker_wrote() {
        let temp = Temp::new("elf");
        let link = |name: &str, flags: &[&str]| {
            super::tests::link(&temp, name, "int a(void) { return 1; }\n", flags)
        };
        let path = "-Wl,-rpath,$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN";
        let Some(old) = link("old.so", &[path, "-Wl,--disable-new-dtags"]) else { return };
        assert_eq!(rpath(&old).as_deref(), Some("$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN"));
        assert_eq!(rpath(&link("new.so", &[path, "-Wl,--enable-new-dtags"]).unwrap()), None);
        assert_eq!(rpath(&link("none.so", &[]).unwrap()), None);
    }

    #[test]
    fn what_is_wanted_of_a_library_and_what_it_defines() {
        let temp = Temp::new("symbols");
        let map = temp.write("map", "liba.so.1 { global: *; };\n");
        let script = format!("-Wl,--version-script={}", map.display());
        let mut many = String::new();
        for at in 0..500 {
            let _ = writeln!(many, "int f{at}(void) {{ return {at}; }}");
        }
        let code = "int f7(void); int f499(void); int weak(void) __attribute__((weak));\n\
                    int other(void); int b(void) { return f7() + f499() + (weak ? weak() : 0) + other(); }\n";
        for hash in ["-Wl,--hash-style=gnu", "-Wl,--hash-style=sysv", "-Wl,--hash-style=both"] {
            let flags = ["-Wl,-soname,liba.so.1", &script, hash];
            let Some(a) = link(&temp, "liba.so.1", &many, &flags) else { return };
            let b = link(&temp, "libb.so", code, &[a.to_str().unwrap(), hash]).unwrap();
            let mut user = Library::open(&b).unwrap();
            assert!(user.needed().contains(&"liba.so.1".to_owned()));
            let mut wanted = user.wants_of("liba.so.1");
            wanted.sort();
            assert_eq!(wanted, ["f499", "f7"], "{hash}");
            assert_eq!(user.wants_of("libz.so.1"), Vec::<String>::new());
            let mut library = Library::open(&a).unwrap();
            for (symbol, here) in [("f0", true), ("f499", true), ("f500", false), ("other", false)]
            {
                assert_eq!(library.defines(symbol), Some(here), "{hash}: {symbol}");
            }
            assert_eq!(user.defines("f7"), Some(false), "{hash}: wanted is not defined");
        }
    }

    #[test]
    fn what_is_no_library_says_nothing() {
        let temp = Temp::new("noelf");
        for (name, text) in [("empty", ""), ("text", "#!/bin/sh\n"), ("cut", "\x7fELF\x02\x01")] {
            assert!(Library::open(&temp.write(name, text)).is_none());
        }
        let mut lies = vec![0xff; 64];
        lies[..6].copy_from_slice(b"\x7fELF\x02\x01");
        std::fs::write(temp.path("lies"), lies).unwrap();
        assert!(Library::open(&temp.path("lies")).is_none());
    }
}
