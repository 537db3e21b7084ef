//! Dynamic symbols: is one defined, and which are wanted.

use super::Elf;
use super::read::Reader;

/// A symbol that a file wants from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The symbol's name.
    pub name: String,
    /// The file and version it is bound to, if it has one.
    pub version: Option<(String, String)>,
    /// A weak import may stay unresolved.
    pub weak: bool,
}

const SYMBOL: u64 = 24;
/// Bounds for hostile files: symbols looked at, and steps along one hash chain.
const MOST_SYMBOLS: u64 = 4 << 20;
const LONGEST_CHAIN: u32 = 1 << 16;
/// The top bit of a version index hides a symbol from unversioned look-ups.
const INDEX: u16 = 0x7fff;
const STB_WEAK: u8 = 2;

pub(super) fn defines(reader: &Reader<'_>, elf: &Elf, name: &str, version: Option<&str>) -> bool {
    let tables = &elf.tables;
    if tables.symbols == 0 || tables.strings == 0 {
        return false;
    }
    let fits = |index: u32| {
        let at = tables.symbols.saturating_add(u64::from(index).saturating_mul(SYMBOL));
        let (Some(text), Some(section)) = (reader.u32(at), reader.u16(at.saturating_add(6))) else {
            return false;
        };
        section != 0
            && reader.string_is(tables.strings.saturating_add(u64::from(text)), name)
            && version.is_none_or(|wanted| has_version(reader, elf, index, wanted))
    };
    if tables.gnu_hash != 0 {
        by_gnu_hash(reader, tables.gnu_hash, name, &fits).unwrap_or(false)
    } else if tables.sysv_hash != 0 {
        by_sysv_hash(reader, tables.sysv_hash, name, &fits).unwrap_or(false)
    } else {
        false
    }
}

fn has_version(reader: &Reader<'_>, elf: &Elf, index: u32, wanted: &str) -> bool {
    if elf.tables.symbol_versions == 0 || elf.version_defs.is_empty() {
        return true;
    }
    let at = elf.tables.symbol_versions.saturating_add(u64::from(index) * 2);
    let Some(number) = reader.u16(at) else {
        return false;
    };
    elf.version_defs.iter().any(|def| def.index == number & INDEX && def.version == wanted)
}

fn by_gnu_hash(
    reader: &Reader<'_>,
    table: u64,
    name: &str,
    fits: &dyn Fn(u32) -> bool,
) -> Option<bool> {
    let hash = name
        .bytes()
        .fold(5381u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)));
    let (buckets, first, blooms) = (
        reader.u32(table)?,
        reader.u32(table.checked_add(4)?)?,
        reader.u32(table.checked_add(8)?)?,
    );
    let bucket_table = table.checked_add(16)?.checked_add(u64::from(blooms).checked_mul(8)?)?;
    let slot = hash.checked_rem(buckets)?;
    let mut index = reader.u32(bucket_table.checked_add(u64::from(slot) * 4)?)?;
    if index < first {
        return Some(false);
    }
    let chain_table = bucket_table.checked_add(u64::from(buckets) * 4)?;
    for _ in 0..LONGEST_CHAIN {
        let value = reader.u32(chain_table.checked_add(u64::from(index - first) * 4)?)?;
        if value | 1 == hash | 1 && fits(index) {
            return Some(true);
        }
        if value & 1 == 1 {
            break;
        }
        index = index.checked_add(1)?;
    }
    Some(false)
}

fn by_sysv_hash(
    reader: &Reader<'_>,
    table: u64,
    name: &str,
    fits: &dyn Fn(u32) -> bool,
) -> Option<bool> {
    let hash = name.bytes().fold(0u32, |hash, byte| {
        let hash = hash.wrapping_shl(4).wrapping_add(u32::from(byte));
        let high = hash & 0xf000_0000;
        (hash ^ (high >> 24)) & !high
    });
    let buckets = reader.u32(table)?;
    let slot = hash.checked_rem(buckets)?;
    let at = |index: u64| table.checked_add(8)?.checked_add(index.checked_mul(4)?);
    let mut index = reader.u32(at(u64::from(slot))?)?;
    for _ in 0..LONGEST_CHAIN {
        if index == 0 {
            break;
        }
        if fits(index) {
            return Some(true);
        }
        index = reader.u32(at(u64::from(buckets) + u64::from(index))?)?;
    }
    Some(false)
}

pub(super) fn imports(reader: &Reader<'_>, elf: &Elf) -> Vec<Import> {
    let tables = &elf.tables;
    let mut found = Vec::new();
    let count = count(reader, elf).min(MOST_SYMBOLS);
    for index in 1..count {
        let at = tables.symbols.saturating_add(index * SYMBOL);
        let mut entry = [0u8; 8];
        if !reader.fill(at, &mut entry) {
            break;
        }
        let section = u16::from_le_bytes([entry[6], entry[7]]);
        if section != 0 {
            continue;
        }
        let text = u64::from(u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]));
        let Some(name) = reader.string(tables.strings.saturating_add(text), tables.strings_end)
        else {
            continue;
        };
        let version = (tables.symbol_versions != 0)
            .then(|| reader.u16(tables.symbol_versions.saturating_add(index * 2)))
            .flatten()
            .and_then(|number| {
                elf.version_needs.iter().find(|need| need.index & INDEX == number & INDEX)
            })
            .map(|need| (need.file.clone(), need.version.clone()));
        found.push(Import { name, version, weak: entry[4] >> 4 == STB_WEAK });
    }
    found
}

/// How many symbols have to be looked at for all undefined ones.
fn count(reader: &Reader<'_>, elf: &Elf) -> u64 {
    let tables = &elf.tables;
    if tables.symbols == 0 || tables.strings == 0 {
        return 0;
    }
    // Linkers put the hashed, hence defined, symbols last, so that the first hashed one ends the undefined ones.
    // An empty table says 1 whatever follows.
    let first_hashed = (tables.gnu_hash != 0)
        .then(|| reader.u32(tables.gnu_hash.saturating_add(4)))
        .flatten()
        .filter(|first| *first > 1);
    if let Some(first) = first_hashed {
        return u64::from(first);
    }
    if tables.sysv_hash != 0
        && let Some(chains) = reader.u32(tables.sysv_hash.saturating_add(4))
    {
        return u64::from(chains);
    }
    // Without a usable table: the strings follow the symbols in every linker's output.
    tables.strings.saturating_sub(tables.symbols) / SYMBOL
}
