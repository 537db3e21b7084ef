//! Reads `/etc/ld.so.cache`, the map from names to files that `ldconfig` writes.
//!
//! Only the current format is read (`glibc-ld.so.cache1.1`, alone or behind the older one); it is written by every glibc
//! since 2.2.

use std::collections::BTreeMap;

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const OLD_MAGIC: &[u8] = b"ld.so-1.7.0\0";
const EXTENSION_MAGIC: u32 = 0xeaa4_2174;
const HEADER: usize = 48;
const ENTRY: usize = 24;
/// Set in an entry whose low word is the number of a `glibc-hwcaps` subdirectory.
const HWCAP_EXTENSION: u64 = 1 << 62;
/// Entries of 64-bit libraries for libc 6: x86_64 and aarch64.
const FLAGS_X86_64: u32 = 0x0303;
const FLAGS_AARCH64: u32 = 0x0a03;

/// The cache's entries for this machine.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    entries: BTreeMap<String, Vec<Entry>>,
}

#[derive(Clone, Debug)]
struct Entry {
    path: String,
    /// The `glibc-hwcaps` subdirectory it stands in.
    level: Option<String>,
}

impl Cache {
    /// Reads the bytes of a cache; what cannot be read is left out.
    pub fn parse(bytes: &[u8], machine: u16) -> Self {
        let mut cache = Self::default();
        let Some(start) = start(bytes) else { return cache };
        let Some(body) = bytes.get(start..) else { return cache };
        let flags = if machine == crate::domain::elf::MACHINE_AARCH64 {
            FLAGS_AARCH64
        } else {
            FLAGS_X86_64
        };
        let levels = levels(body);
        let count = word(body, 20).map_or(0, |count| count as usize).min(body.len() / ENTRY);
        for index in 0..count {
            let at = HEADER + index * ENTRY;
            let (Some(kind), Some(key), Some(value), Some(low), Some(high)) = (
                word(body, at),
                word(body, at + 4),
                word(body, at + 8),
                word(body, at + 16),
                word(body, at + 20),
            ) else {
                break;
            };
            if kind != flags {
                continue;
            }
            let capability = u64::from(high) << 32 | u64::from(low);
            let level = if capability == 0 {
                None
            } else if capability & HWCAP_EXTENSION != 0 {
                let Some(level) = levels.get(low as usize) else { continue };
                Some(level.clone())
            } else {
                // The pre-2.37 capability bits; such entries have not been produced by distributions for years.
                continue;
            };
            if let (Some(name), Some(path)) = (string(body, key), string(body, value)) {
                cache.entries.entry(name).or_default().push(Entry { path, level });
            }
        }
        cache
    }

    /// The file for `name`: the one of the best CPU level in use, else the first without a level.
    pub fn find(&self, name: &str, hwcaps: &[String]) -> Option<&str> {
        let entries = self.entries.get(name)?;
        let best = hwcaps
            .iter()
            .find_map(|level| entries.iter().find(|entry| entry.level.as_ref() == Some(level)))
            .or_else(|| entries.iter().find(|entry| entry.level.is_none()))?;
        Some(&best.path)
    }

    /// All files for `name`, in the order of the cache.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.entries.get(name).into_iter().flatten().map(|entry| entry.path.as_str())
    }

    /// Whether there is no entry at all: no cache, or not one of this kind.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entry, as a test of the search needs it.
    #[cfg(test)]
    pub(super) fn add(&mut self, name: &str, path: &str, level: Option<&str>) {
        let entry = Entry { path: path.to_owned(), level: level.map(str::to_owned) };
        self.entries.entry(name.to_owned()).or_default().push(entry);
    }
}

/// Where the current format begins.
fn start(bytes: &[u8]) -> Option<usize> {
    if bytes.starts_with(MAGIC) {
        return Some(0);
    }
    if bytes.starts_with(OLD_MAGIC) {
        let entries = word(bytes, 12)? as usize;
        let at = entries.checked_mul(12)?.checked_add(16)?.checked_next_multiple_of(8)?;
        return bytes.get(at..)?.starts_with(MAGIC).then_some(at);
    }
    None
}

/// The names of the `glibc-hwcaps` subdirectories, by number.
fn levels(body: &[u8]) -> Vec<String> {
    let read = || {
        let extension = word(body, 32)? as usize;
        if extension == 0 || word(body, extension)? != EXTENSION_MAGIC {
            return None;
        }
        let sections = word(body, extension.checked_add(4)?)?.min(64) as usize;
        let section = (0..sections)
            .map(|index| extension + 8 + index * 16)
            .find(|at| word(body, *at) == Some(1))?;
        let (offset, size) =
            (word(body, section + 8)? as usize, word(body, section + 12)? as usize);
        let count = (size / 4).min(256);
        (0..count).map(|index| string(body, word(body, offset.checked_add(index * 4)?)?)).collect()
    };
    read().unwrap_or_default()
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn string(bytes: &[u8], at: u32) -> Option<String> {
    let text = bytes.get(at as usize..)?;
    let end = text.iter().take(4096).position(|byte| *byte == 0)?;
    std::str::from_utf8(&text[..end]).ok().map(str::to_owned)
}
