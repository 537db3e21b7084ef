//! Reads one member of a zip file from its end, fetching only what is needed.
//!
//! The directory of a zip file is at its end; it says where each member is. This reads the end, then the directory,
//! then the one member. It trusts no number in the file: every length has a limit, every sum is checked.

use std::fmt;
use std::io::Read as _;

use flate2::Crc;
use flate2::read::DeflateDecoder;

/// Real directories have at most 248 KB.
const MAX_DIRECTORY: u64 = 32 << 20;

const END_LENGTH: usize = 22;
const END: u64 = END_LENGTH as u64;
const END_64_LOCATOR: u64 = 20;
const END_64: u64 = 56;
const CENTRAL: usize = 46;
const LOCAL: u64 = 30;

/// Something that can be read at an offset. A result shorter than asked for means that there is no more.
pub(super) trait Source {
    type Error;

    fn read(&mut self, start: u64, length: u64) -> Result<Vec<u8>, Self::Error>;
}

#[derive(Debug)]
pub(super) enum Error<E> {
    /// The bytes could not be had.
    Source(E),
    /// The bytes are not what they should be.
    Zip(&'static str),
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Zip(reason) => f.write_str(reason),
        }
    }
}

struct Member {
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    offset: u64,
}

/// Reads the only member whose name `wanted` accepts, at most `limit` bytes of it.
pub(super) fn read_member<S: Source>(
    source: &mut S,
    size: u64,
    wanted: impl Fn(&str) -> bool,
    limit: u64,
) -> Result<Vec<u8>, Error<S::Error>> {
    let (start, length) = directory(source, size)?;
    if length > MAX_DIRECTORY || start.checked_add(length).is_none_or(|end| end > size) {
        return Err(Error::Zip("its directory does not lie inside it"));
    }
    let bytes = exactly(source, start, length)?;
    let member = find(&bytes, wanted).map_err(Error::Zip)?;
    if member.size > limit || member.packed > limit {
        return Err(Error::Zip("its member is larger than any real one"));
    }
    let head = exactly(source, member.offset, LOCAL)?;
    if u32_at(&head, 0) != Some(0x0403_4b50) {
        return Err(Error::Zip("its directory points at no member"));
    }
    let names = u16_at(&head, 26).zip(u16_at(&head, 28));
    let (name, extra) = names.ok_or(Error::Zip("it is cut"))?;
    let data = member.offset.checked_add(LOCAL + u64::from(name) + u64::from(extra));
    let data = data.ok_or(Error::Zip("its directory points beyond its end"))?;
    let packed = exactly(source, data, member.packed)?;
    unpack(&member, &packed).map_err(Error::Zip)
}

fn unpack(member: &Member, packed: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::new();
    match member.method {
        0 => bytes.extend_from_slice(packed),
        8 => {
            let decoder = DeflateDecoder::new(packed);
            let read = decoder.take(member.size + 1).read_to_end(&mut bytes);
            read.map_err(|_| "its member cannot be inflated")?;
        }
        _ => return Err("its member is packed in a way that wheels do not use"),
    }
    let mut crc = Crc::new();
    crc.update(&bytes);
    if bytes.len() as u64 != member.size || crc.sum() != member.crc {
        return Err("its member is damaged");
    }
    Ok(bytes)
}

/// Finds the directory: its offset and length.
fn directory<S: Source>(source: &mut S, size: u64) -> Result<(u64, u64), Error<S::Error>> {
    // Behind the end record there may be a comment of up to 64 KB; wheels have none, so the short read comes first.
    for reach in [END, END + 0xffff] {
        let length = reach.min(size);
        let tail = exactly(source, size - length, length)?;
        let found = (0..tail.len()).rev().find(|&at| {
            let comment = u16_at(&tail, at + 20).map(usize::from);
            u32_at(&tail, at) == Some(0x0605_4b50)
                && comment.is_some_and(|comment| at + END_LENGTH + comment == tail.len())
        });
        let Some(at) = found else { continue };
        let (length, start) =
            u32_at(&tail, at + 12).zip(u32_at(&tail, at + 16)).ok_or(Error::Zip("it is cut"))?;
        if length != u32::MAX && start != u32::MAX {
            return Ok((start.into(), length.into()));
        }
        return directory_64(source, size - (tail.len() - at) as u64);
    }
    Err(Error::Zip("it is not a zip file"))
}

fn directory_64<S: Source>(source: &mut S, end: u64) -> Result<(u64, u64), Error<S::Error>> {
    let bad = || Error::Zip("its zip64 record is damaged");
    let locator =
        exactly(source, end.checked_sub(END_64_LOCATOR).ok_or_else(bad)?, END_64_LOCATOR)?;
    if u32_at(&locator, 0) != Some(0x0706_4b50) {
        return Err(bad());
    }
    let record = exactly(source, u64_at(&locator, 8).ok_or_else(bad)?, END_64)?;
    if u32_at(&record, 0) != Some(0x0606_4b50) {
        return Err(bad());
    }
    let (length, start) = u64_at(&record, 40).zip(u64_at(&record, 48)).ok_or_else(bad)?;
    Ok((start, length))
}

fn find(directory: &[u8], wanted: impl Fn(&str) -> bool) -> Result<Member, &'static str> {
    let mut found = None;
    let mut rest = directory;
    while rest.len() >= CENTRAL {
        let field = |at| u16_at(rest, at).map(usize::from).ok_or("its directory is cut");
        if u32_at(rest, 0) != Some(0x0201_4b50) {
            return Err("its directory is damaged");
        }
        let (name, extra, comment) = (field(28)?, field(30)?, field(32)?);
        let end = CENTRAL + name + extra + comment;
        let entry = rest.get(..end).ok_or("its directory is cut")?;
        if std::str::from_utf8(&entry[CENTRAL..CENTRAL + name]).is_ok_and(&wanted) {
            let extra = &entry[CENTRAL + name..CENTRAL + name + extra];
            let member = member(entry, extra).ok_or("its directory is damaged")?;
            if found.replace(member).is_some() {
                return Err("it has two members of that name");
            }
        }
        rest = &rest[end..];
    }
    found.ok_or("it has no such member")
}

fn member(entry: &[u8], extra: &[u8]) -> Option<Member> {
    let mut member = Member {
        method: u16_at(entry, 10)?,
        crc: u32_at(entry, 16)?,
        packed: u32_at(entry, 20)?.into(),
        size: u32_at(entry, 24)?.into(),
        offset: u32_at(entry, 42)?.into(),
    };
    // Zip64: numbers that did not fit follow in this order in the extra field 1.
    let mut wide = zip64(extra).unwrap_or_default();
    for number in [&mut member.size, &mut member.packed, &mut member.offset] {
        if *number == u64::from(u32::MAX) {
            *number = u64_at(wide, 0)?;
            wide = &wide[8..];
        }
    }
    Some(member)
}

fn zip64(mut extra: &[u8]) -> Option<&[u8]> {
    loop {
        let (kind, length) = (u16_at(extra, 0)?, usize::from(u16_at(extra, 2)?));
        let content = extra.get(4..4 + length)?;
        if kind == 1 {
            return Some(content);
        }
        extra = &extra[4 + length..];
    }
}

fn exactly<S: Source>(source: &mut S, start: u64, length: u64) -> Result<Vec<u8>, Error<S::Error>> {
    let bytes = source.read(start, length).map_err(Error::Source)?;
    if bytes.len() as u64 != length {
        return Err(Error::Zip("it is cut"));
    }
    Ok(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests;
