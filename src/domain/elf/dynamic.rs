//! Program headers and the dynamic section.

use super::read::Reader;
use super::{Elf, ElfError, versions};

/// Where the tables of one file lie, as file offsets; 0 = absent (no table starts at the ELF header).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tables {
    pub(super) strings: u64,
    pub(super) strings_end: u64,
    pub(super) symbols: u64,
    pub(super) symbol_versions: u64,
    pub(super) gnu_hash: u64,
    pub(super) sysv_hash: u64,
}

/// A loadable segment: virtual address, file offset, bytes in the file.
struct Segment {
    address: u64,
    offset: u64,
    length: u64,
}

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;

/// More entries than any linker writes; a bound for hostile files.
const MOST_DYNAMIC: u64 = 16 * 1024;

pub(super) fn read(reader: &Reader<'_>, header: &[u8; 64], elf: &mut Elf) -> Result<(), ElfError> {
    let field = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let mut offset_bytes = [0u8; 8];
    offset_bytes.copy_from_slice(&header[32..40]);
    let table = u64::from_le_bytes(offset_bytes);
    let (size, count) = (field(54), field(56));
    if count == 0 {
        return Ok(());
    }
    if size != 56 {
        return Err(ElfError::ProgramHeaders);
    }
    let mut segments = Vec::new();
    let mut dynamic = None;
    for index in 0..u64::from(count) {
        let mut entry = [0u8; 56];
        let at = table.saturating_add(index * 56);
        if !reader.fill(at, &mut entry) {
            return Err(ElfError::ProgramHeaders);
        }
        let word = |at: usize| {
            let mut bytes = [0u8; 8];
            bytes.copy_from_slice(&entry[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let segment = Segment { offset: word(8), address: word(16), length: word(32) };
        match u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]) {
            PT_LOAD => segments.push(segment),
            PT_DYNAMIC => dynamic = Some(segment),
            PT_INTERP => {
                let end = segment.offset.saturating_add(segment.length);
                elf.interpreter = reader.string(segment.offset, end);
            }
            _ => {}
        }
    }
    if let Some(dynamic) = dynamic {
        entries(reader, &dynamic, &segments, elf);
    }
    Ok(())
}

fn entries(reader: &Reader<'_>, dynamic: &Segment, segments: &[Segment], elf: &mut Elf) {
    let to_offset = |address: u64| {
        segments
            .iter()
            .find(|part| address >= part.address && address - part.address < part.length)
            .and_then(|part| part.offset.checked_add(address - part.address))
    };
    let (mut needed, mut soname, mut rpath, mut runpath) = (Vec::new(), None, None, None);
    let (mut strings, mut strings_length) = (None, 0);
    let (mut need, mut need_count, mut define, mut define_count) = (None, 0, None, 0);
    for index in 0..(dynamic.length / 16).min(MOST_DYNAMIC) {
        let at = dynamic.offset.saturating_add(index * 16);
        let (Some(tag), Some(value)) = (reader.u64(at), reader.u64(at.saturating_add(8))) else {
            break;
        };
        match tag {
            0 => break,
            1 => needed.push(value),
            4 => elf.tables.sysv_hash = to_offset(value).unwrap_or(0),
            5 => strings = to_offset(value),
            6 => elf.tables.symbols = to_offset(value).unwrap_or(0),
            10 => strings_length = value,
            14 => soname = Some(value),
            15 => rpath = Some(value),
            29 => runpath = Some(value),
            0x6fff_fef5 => elf.tables.gnu_hash = to_offset(value).unwrap_or(0),
            0x6fff_fff0 => elf.tables.symbol_versions = to_offset(value).unwrap_or(0),
            0x6fff_fffb => {
                elf.no_default_lib = value & 0x800 != 0;
                elf.pie = value & 0x0800_0000 != 0;
            }
            0x6fff_fffc => define = to_offset(value),
            0x6fff_fffd => define_count = value,
            0x6fff_fffe => need = to_offset(value),
            0x6fff_ffff => need_count = value,
            _ => {}
        }
    }
    let Some(strings) = strings else { return };
    elf.tables.strings = strings;
    elf.tables.strings_end = strings.saturating_add(strings_length);
    let end = elf.tables.strings_end;
    let string = |at: u64| reader.string(strings.saturating_add(at), end);
    elf.needed = needed.into_iter().filter_map(string).collect();
    elf.soname = soname.and_then(string);
    elf.rpath = rpath.and_then(string);
    elf.runpath = runpath.and_then(string);
    if let Some(at) = need {
        elf.version_needs = versions::needs(reader, at, need_count, &string);
    }
    if let Some(at) = define {
        elf.version_defs = versions::defs(reader, at, define_count, &string);
    }
}
