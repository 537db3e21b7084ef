//! Names of shared libraries among a file's constants: what it may `dlopen`.
//!
//! A cheap scan, and a hint at best: it sees literal names only, and the compiler may have glued or split them.

use super::read::Reader;
use super::{Class, Elf, ReadAt};
use std::collections::BTreeSet;

/// No more constants than this are read of one file.
const MOST_BYTES: u64 = 48 << 20;
const CHUNK: usize = 256 * 1024;
/// Names longer than this are no sonames.
const LONGEST_NAME: usize = 96;

/// The library names (`libcudnn.so.9`, `libcublas.so.%d`) that stand in `.rodata`, sorted.
///
/// Empty for a file without section headers: the constants cannot be told from the device code then, of which NVIDIA's
/// libraries have hundreds of megabytes.
pub fn library_names(elf: &Elf, source: &dyn ReadAt) -> BTreeSet<String> {
    let reader = Reader::new(source);
    let mut names = BTreeSet::new();
    if elf.class != Class::Bits64 {
        return names;
    }
    let Some((offset, length)) = rodata(&reader) else {
        return names;
    };
    let length = length.min(MOST_BYTES);
    let mut at = 0;
    let mut buffer = vec![0u8; CHUNK];
    while at < length {
        let take = usize::try_from(length - at).unwrap_or(CHUNK).min(CHUNK);
        let Some(window) = buffer.get_mut(..take) else {
            break;
        };
        if !reader.fill(offset.saturating_add(at), window) {
            break;
        }
        collect(window, &mut names);
        if take < CHUNK {
            break;
        }
        // Windows overlap, so that a name on the border is seen whole once.
        at += (CHUNK - LONGEST_NAME) as u64;
    }
    names
}

fn collect(window: &[u8], names: &mut BTreeSet<String>) {
    let mut at = 0;
    while let Some(found) = find(&window[at..], b".so") {
        let dot = at + found;
        let back = window[..dot]
            .iter()
            .rev()
            .take(LONGEST_NAME)
            .take_while(|byte| is_name(**byte))
            .count();
        let forward =
            window[dot..].iter().take(LONGEST_NAME).take_while(|byte| is_name(**byte)).count();
        let text = &window[dot - back..dot + forward];
        let ends = window.get(dot + forward).is_none_or(|byte| *byte < b' ');
        if ends && let Some(name) = soname(text) {
            names.insert(name.to_owned());
        }
        at = dot + 3;
    }
}

/// The part of `text` from its last `lib` on, if that reads like a library's file name.
fn soname(text: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(text).ok()?;
    let start = text.rfind('/').map_or(0, |slash| slash + 1);
    let name = &text[start..];
    let (stem, tail) = name.split_once(".so")?;
    let stem = &stem[stem.find("lib")?..];
    let version = tail.strip_prefix('.').map_or(tail.is_empty(), |rest| !rest.is_empty());
    (stem.len() > 3 && version).then(|| &name[name.len() - stem.len() - 3 - tail.len()..])
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-+%/".contains(&byte)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

/// Offset and length of the section `.rodata`.
fn rodata(reader: &Reader<'_>) -> Option<(u64, u64)> {
    let (table, size, count, names) =
        (reader.u64(40)?, reader.u16(58)?, reader.u16(60)?, reader.u16(62)?);
    if table == 0 || size != 64 {
        return None;
    }
    let header = |index: u16| table.checked_add(u64::from(index) * 64);
    let names = reader.u64(header(names)?.checked_add(24)?)?;
    for index in 0..count {
        let at = header(index)?;
        let name = names.checked_add(u64::from(reader.u32(at)?))?;
        if reader.string_is(name, ".rodata") {
            return Some((reader.u64(at.checked_add(24)?)?, reader.u64(at.checked_add(32)?)?));
        }
    }
    None
}
