//! The bytes of zip headers (PKWARE's APPNOTE, sections 4.3 and 4.5).

use std::io::{self, BufRead, Read as _};

use super::{Member, Method, ZipError};

pub(super) const LOCAL: u32 = 0x0403_4b50;
pub(super) const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const LOCATOR64: u32 = 0x0706_4b50;

const ENCRYPTED: u16 = 1;
const SIZES_FOLLOW: u16 = 1 << 3;
const PATCH: u16 = 1 << 5;
const STRONG: u16 = 1 << 6;
const MASKED: u16 = 1 << 13;

/// File type bits of a Unix mode, in the upper half of the external attributes.
const TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;

/// Little-endian fields from a reader whose position is known.
pub(super) struct Cursor<'a, R> {
    input: &'a mut R,
    position: u64,
}

impl<'a, R: BufRead> Cursor<'a, R> {
    pub(super) fn new(input: &'a mut R, position: u64) -> Self {
        Self { input, position }
    }

    fn exact<const N: usize>(&mut self) -> Result<[u8; N], ZipError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), ZipError> {
        match self.input.read_exact(bytes) {
            Ok(()) => {
                self.position += bytes.len() as u64;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(ZipError::Truncated(self.position))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn u16(&mut self) -> Result<u16, ZipError> {
        Ok(u16::from_le_bytes(self.exact()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32, ZipError> {
        Ok(u32::from_le_bytes(self.exact()?))
    }

    fn u64(&mut self) -> Result<u64, ZipError> {
        Ok(u64::from_le_bytes(self.exact()?))
    }

    fn text(&mut self, length: u16) -> Result<String, ZipError> {
        let mut bytes = vec![0; length.into()];
        self.fill(&mut bytes)?;
        String::from_utf8(bytes).map_err(|error| ZipError::Name {
            name: String::from_utf8_lossy(error.as_bytes()).into_owned(),
            fault: super::NameFault::Character,
        })
    }

    fn skip(&mut self, length: u64) -> Result<(), ZipError> {
        let skipped = io::copy(&mut self.input.by_ref().take(length), &mut io::sink())?;
        self.position += skipped;
        if skipped == length { Ok(()) } else { Err(ZipError::Truncated(self.position)) }
    }

    /// Returns the first bytes of something that is not an archive, for the message.
    pub(super) fn printable(&mut self, first: u32) -> String {
        let mut bytes = first.to_le_bytes().to_vec();
        if let Ok(rest) = self.input.fill_buf() {
            bytes.extend_from_slice(&rest[..rest.len().min(16)]);
        }
        bytes.escape_ascii().to_string()
    }
}

/// Sizes, as the fixed header or the `zip64` extra field has them.
struct Sizes {
    compressed: u64,
    size: u64,
    offset: u64,
}

fn zip64<R: BufRead>(
    input: &mut Cursor<'_, R>,
    mut length: u64,
    mut sizes: Sizes,
) -> Result<Sizes, ZipError> {
    while length >= 4 {
        let (id, mut rest) = (input.u16()?, u64::from(input.u16()?));
        length = length.checked_sub(4 + rest).ok_or(ZipError::Signature(input.position))?;
        if id == 1 {
            for field in [&mut sizes.size, &mut sizes.compressed, &mut sizes.offset] {
                if *field == u64::from(u32::MAX) && rest >= 8 {
                    *field = input.u64()?;
                    rest -= 8;
                }
            }
        }
        input.skip(rest)?;
    }
    input.skip(length)?;
    Ok(sizes)
}

fn method(name: &str, flags: u16, number: u16) -> Result<Method, ZipError> {
    let refuse = |feature| Err(ZipError::Unsupported { name: name.to_owned(), feature });
    if flags & (ENCRYPTED | STRONG | MASKED) != 0 {
        return refuse("encryption");
    }
    if flags & SIZES_FOLLOW != 0 {
        return refuse("sizes that follow the data");
    }
    if flags & PATCH != 0 {
        return refuse("patch data");
    }
    match number {
        0 => Ok(Method::Stored),
        8 => Ok(Method::Deflate),
        _ => refuse("a compression other than deflate"),
    }
}

/// Reads a local header after its signature.
pub(super) fn local<R: BufRead>(
    input: &mut Cursor<'_, R>,
    offset: u64,
) -> Result<Member, ZipError> {
    let _version = input.u16()?;
    let (flags, number) = (input.u16()?, input.u16()?);
    let _time = input.u32()?;
    let crc32 = input.u32()?;
    let (compressed, size) = (input.u32()?.into(), input.u32()?.into());
    let (name_length, extra) = (input.u16()?, input.u16()?);
    let name = input.text(name_length)?;
    let method = method(&name, flags, number)?;
    let sizes = zip64(input, extra.into(), Sizes { compressed, size, offset: 0 })?;
    let contradiction = ZipError::Contradiction { name: name.clone(), field: "size" };
    let member =
        Member { name, method, crc32, compressed: sizes.compressed, size: sizes.size, offset };
    let plain = method == Method::Stored || member.is_directory();
    if plain && member.compressed != member.size || member.is_directory() && member.size != 0 {
        return Err(contradiction);
    }
    Ok(member)
}

/// One entry of the directory.
pub(super) struct Entry {
    pub(super) member: Member,
    mode: Option<u32>,
}

impl Entry {
    /// Checks that the directory and the local header agree.
    pub(super) fn agree(&self, member: &Member) -> Result<(), ZipError> {
        let fields = [
            ("offset", self.member.offset == member.offset),
            ("method", self.member.method == member.method),
            ("checksum", self.member.crc32 == member.crc32),
            ("size", self.member.size == member.size),
            ("compressed size", self.member.compressed == member.compressed),
        ];
        if let Some((field, _)) = fields.into_iter().find(|(_, same)| !same) {
            return Err(ZipError::Contradiction { name: member.name.clone(), field });
        }
        // Old wheels carry permission bits without a type; type 0 is a file.
        match self.mode.map_or(0, |mode| mode & TYPE) {
            0 | REGULAR => Ok(()),
            DIRECTORY if member.is_directory() => Ok(()),
            _ => Err(ZipError::NotAFile(member.name.clone())),
        }
    }
}

/// Reads an entry of the directory after its signature.
pub(super) fn central<R: BufRead>(input: &mut Cursor<'_, R>) -> Result<Entry, ZipError> {
    let made_by = input.u16()?;
    let _version = input.u16()?;
    let (flags, number) = (input.u16()?, input.u16()?);
    let _time = input.u32()?;
    let crc32 = input.u32()?;
    let (compressed, size) = (input.u32()?.into(), input.u32()?.into());
    let (name_length, extra, comment) = (input.u16()?, input.u16()?, input.u16()?);
    let disk = input.u16()?;
    let _internal = input.u16()?;
    let external = input.u32()?;
    let offset = input.u32()?.into();
    let name = input.text(name_length)?;
    let method = method(&name, flags, number)?;
    let sizes = zip64(input, extra.into(), Sizes { compressed, size, offset })?;
    input.skip(comment.into())?;
    if disk != 0 {
        return Err(ZipError::Unsupported { name, feature: "several volumes" });
    }
    // Only Unix (3) and macOS (19) keep a mode in the upper half.
    let mode = matches!(made_by >> 8, 3 | 19).then_some(external >> 16);
    let Sizes { compressed, size, offset } = sizes;
    Ok(Entry { member: Member { name, method, crc32, compressed, size, offset }, mode })
}

/// Reads what follows the last entry; `signature` has been read and `directory` is where the directory begins.
pub(super) fn end<R: BufRead>(
    input: &mut Cursor<'_, R>,
    mut signature: u32,
    directory: u64,
) -> Result<(), ZipError> {
    let length = input.position - 4 - directory;
    let stray = |input: &Cursor<'_, R>| ZipError::Signature(input.position - 4);
    let mut wide = None;
    if signature == END64 {
        let size = input.u64()?;
        let rest = size.checked_sub(44).ok_or_else(|| stray(input))?;
        input.skip(2 + 2 + 4 + 4 + 8 + 8)?;
        wide = Some((input.u64()?, input.u64()?));
        input.skip(rest)?;
        if input.u32()? != LOCATOR64 {
            return Err(stray(input));
        }
        input.skip(4 + 8 + 4)?;
        signature = input.u32()?;
    }
    if signature != END {
        return Err(stray(input));
    }
    input.skip(2 + 2 + 2 + 2)?;
    let narrow = (u64::from(input.u32()?), u64::from(input.u32()?));
    let comment = input.u16()?;
    input.skip(comment.into())?;
    let pick = |narrow: u64, wide: Option<u64>| match wide {
        Some(wide) if narrow == u64::from(u32::MAX) => wide,
        _ => narrow,
    };
    let told = (pick(narrow.0, wide.map(|w| w.0)), pick(narrow.1, wide.map(|w| w.1)));
    if told != (length, directory) {
        return Err(ZipError::Contradiction { name: String::new(), field: "directory's place" });
    }
    match input.input.fill_buf() {
        Ok([]) => Ok(()),
        Ok(_) => Err(ZipError::Trailing),
        Err(error) => Err(error.into()),
    }
}
