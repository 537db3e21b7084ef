//! Symbol versions: `DT_VERNEED` and `DT_VERDEF`.

use super::read::Reader;

/// A version that a file wants from another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionNeed {
    /// The file, as in `DT_NEEDED`: `libnvJitLink.so.12`.
    pub file: String,
    /// The version's name: `GLIBC_2.27`.
    pub version: String,
    /// A weak need does not stop the loader.
    pub weak: bool,
    /// The number by which the symbol table refers to it.
    pub index: u16,
}

/// A version that a file offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionDef {
    /// The version's name.
    pub version: String,
    /// The number by which the symbol table refers to it.
    pub index: u16,
}

/// More than any real library has; a bound for hostile files.
const MOST: u64 = 4096;
const WEAK: u16 = 2;
const BASE: u16 = 1;

pub(super) fn needs(
    reader: &Reader<'_>,
    table: u64,
    count: u64,
    string: &dyn Fn(u64) -> Option<String>,
) -> Vec<VersionNeed> {
    let mut found = Vec::new();
    let mut at = table;
    for _ in 0..count.min(MOST) {
        let (Some(parts), Some(file), Some(first), Some(next)) = (
            reader.u16(at.saturating_add(2)),
            reader.u32(at.saturating_add(4)),
            reader.u32(at.saturating_add(8)),
            reader.u32(at.saturating_add(12)),
        ) else {
            break;
        };
        if let Some(file) = string(u64::from(file)) {
            need_parts(reader, at.saturating_add(u64::from(first)), parts, |name, flags, index| {
                if let Some(version) = string(u64::from(name)) {
                    found.push(VersionNeed {
                        file: file.clone(),
                        version,
                        weak: flags & WEAK != 0,
                        index,
                    });
                }
                (found.len() as u64) < MOST
            });
        }
        if next == 0 {
            break;
        }
        at = at.saturating_add(u64::from(next));
    }
    found
}

fn need_parts(
    reader: &Reader<'_>,
    mut at: u64,
    count: u16,
    mut each: impl FnMut(u32, u16, u16) -> bool,
) {
    for _ in 0..count {
        let (Some(flags), Some(index), Some(name), Some(next)) = (
            reader.u16(at.saturating_add(4)),
            reader.u16(at.saturating_add(6)),
            reader.u32(at.saturating_add(8)),
            reader.u32(at.saturating_add(12)),
        ) else {
            return;
        };
        if !each(name, flags, index) || next == 0 {
            return;
        }
        at = at.saturating_add(u64::from(next));
    }
}

pub(super) fn defs(
    reader: &Reader<'_>,
    table: u64,
    count: u64,
    string: &dyn Fn(u64) -> Option<String>,
) -> Vec<VersionDef> {
    let mut found = Vec::new();
    let mut at = table;
    for _ in 0..count.min(MOST) {
        let (Some(flags), Some(index), Some(first), Some(next)) = (
            reader.u16(at.saturating_add(2)),
            reader.u16(at.saturating_add(4)),
            reader.u32(at.saturating_add(12)),
            reader.u32(at.saturating_add(16)),
        ) else {
            break;
        };
        // The base definition is the file's own name, not a version of a symbol.
        if flags & BASE == 0
            && let Some(name) = reader.u32(at.saturating_add(u64::from(first)))
            && let Some(version) = string(u64::from(name))
        {
            found.push(VersionDef { version, index });
        }
        if next == 0 {
            break;
        }
        at = at.saturating_add(u64::from(next));
    }
    found
}
