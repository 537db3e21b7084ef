use super::*;

/// Writes a zip archive; the fields that tests bend are parameters.
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
    central: Vec<u8>,
    count: u16,
    /// Mode in the upper half of the external attributes of the next member.
    pub(crate) mode: u32,
    /// General purpose flags of the next member.
    pub(crate) flags: u16,
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::new(), central: Vec::new(), count: 0, mode: 0o100_644, flags: 0 }
    }

    pub(crate) fn stored(&mut self, name: &str, data: &[u8]) -> &mut Self {
        self.raw(name, 0, data, data.len())
    }

    pub(crate) fn deflated(&mut self, name: &str, data: &[u8]) -> &mut Self {
        use std::io::Write as _;
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(6));
        encoder.write_all(data).unwrap();
        let packed = encoder.finish().unwrap();
        let mut crc = flate2::Crc::new();
        crc.update(data);
        self.entry(name, 8, &packed, data.len(), crc.sum())
    }

    fn raw(&mut self, name: &str, method: u16, data: &[u8], size: usize) -> &mut Self {
        let mut crc = flate2::Crc::new();
        crc.update(data);
        self.entry(name, method, data, size, crc.sum())
    }

    pub(crate) fn entry(
        &mut self,
        name: &str,
        method: u16,
        data: &[u8],
        size: usize,
        crc: u32,
    ) -> &mut Self {
        let offset = u32::try_from(self.bytes.len()).unwrap();
        let mut common = Vec::new();
        for field in [20, self.flags, method, 0, 0] {
            common.extend(u16::to_le_bytes(field));
        }
        common.extend(crc.to_le_bytes());
        common.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
        common.extend(u32::try_from(size).unwrap().to_le_bytes());
        common.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        common.extend([0, 0]);
        self.bytes.extend(wire::LOCAL.to_le_bytes());
        self.bytes.extend(&common);
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(data);
        self.central.extend(wire::CENTRAL.to_le_bytes());
        self.central.extend(0x0314u16.to_le_bytes());
        self.central.extend(&common);
        self.central.extend([0; 6]);
        self.central.extend((self.mode << 16).to_le_bytes());
        self.central.extend(offset.to_le_bytes());
        self.central.extend(name.as_bytes());
        self.count += 1;
        self
    }

    pub(crate) fn finish(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let directory = u32::try_from(bytes.len()).unwrap();
        bytes.extend(&self.central);
        bytes.extend(0x0605_4b50u32.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(u32::try_from(self.central.len()).unwrap().to_le_bytes());
        bytes.extend(directory.to_le_bytes());
        bytes.extend([0; 2]);
        bytes
    }
}

/// Walks an archive without looking at the members' bytes.
fn walk(bytes: &[u8]) -> Result<Vec<Member>, ZipError> {
    let mut reader = Reader::new(Limits { members: 100, size: 1 << 20 });
    let mut input = bytes;
    loop {
        let offset = (bytes.len() - input.len()) as u64;
        let Some(member) = reader.next(&mut input, offset)? else {
            reader.finish(&mut input, offset)?;
            return Ok(reader.members().to_vec());
        };
        let skip = usize::try_from(member.compressed).unwrap();
        if input.len() < skip {
            return Err(ZipError::Truncated(offset));
        }
        input = &input[skip..];
    }
}

fn sample() -> Writer {
    let mut writer = Writer::new();
    writer.stored("a/one", b"one").deflated("a/two", &[7; 1000]);
    writer
}

#[test]
fn reads_members_in_order() {
    let members = walk(&sample().finish()).unwrap();
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    assert_eq!(names, ["a/one", "a/two"]);
    assert_eq!((members[1].size, members[1].method), (1000, Method::Deflate));
}

#[test]
fn modes_without_a_type_are_files() {
    let mut writer = Writer::new();
    writer.mode = 0o664;
    writer.stored("x", b"x");
    assert!(walk(&writer.finish()).is_ok());
}

#[test]
fn links_and_devices_are_refused() {
    for mode in [0o120_777, 0o060_000, 0o010_644, 0o040_755] {
        let mut writer = Writer::new();
        writer.mode = mode;
        writer.stored("x", b"/etc");
        assert!(matches!(walk(&writer.finish()), Err(ZipError::NotAFile(_))), "{mode:o}");
    }
}

#[test]
fn every_cut_is_seen() {
    let bytes = sample().finish();
    for end in 0..bytes.len() {
        let outcome = walk(&bytes[..end]);
        assert!(matches!(outcome, Err(ZipError::Truncated(_))), "{end}: {outcome:?}");
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(matches!(walk(&longer), Err(ZipError::Trailing)));
}

#[test]
fn no_flipped_bit_of_a_header_passes_for_another_archive() {
    let bytes = sample().finish();
    let members = walk(&bytes).unwrap();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            // What does not matter may differ: times, versions, the members' own bytes.
            if let Ok(found) = walk(&flipped) {
                assert_eq!(found, members, "byte {at} bit {bit}");
            }
        }
    }
}

#[test]
fn two_stories_are_refused() {
    let mut twice = Writer::new();
    twice.stored("x", b"1").stored("x", b"2");
    assert!(matches!(walk(&twice.finish()), Err(ZipError::Duplicate(_))));
    for (first, second) in [("a", "a/b"), ("a/b", "a"), ("a/b/c", "a/b"), ("a/", "a")] {
        let mut clash = Writer::new();
        clash.stored(first, b"").stored(second, b"");
        assert!(matches!(walk(&clash.finish()), Err(ZipError::Duplicate(_))), "{first} {second}");
    }
    let mut hidden = sample();
    let listed = hidden.finish();
    hidden.stored("b", b"hidden from the directory");
    let with_more = [&hidden.bytes[..], &listed[sample().bytes.len()..]].concat();
    assert!(walk(&with_more).is_err());
}

#[test]
fn what_needs_trust_is_refused() {
    for flags in [1, 1 << 3, 1 << 5, 1 << 6, 1 << 13] {
        let mut writer = Writer::new();
        writer.flags = flags;
        writer.stored("x", b"x");
        assert!(matches!(walk(&writer.finish()), Err(ZipError::Unsupported { .. })), "{flags}");
    }
    let mut writer = Writer::new();
    writer.entry("x", 12, b"x", 1, 0);
    assert!(matches!(walk(&writer.finish()), Err(ZipError::Unsupported { .. })));
    let mut writer = Writer::new();
    writer.stored("../x", b"x");
    assert!(matches!(walk(&writer.finish()), Err(ZipError::Name { .. })));
}

#[test]
fn bombs_are_refused_before_they_are_inflated() {
    let mut lying = Writer::new();
    lying.entry("x", 8, &[0; 10], 1 << 19, 0);
    assert!(matches!(walk(&lying.finish()), Err(ZipError::Limit { .. })));
    let mut large = Writer::new();
    large.deflated("x", &vec![0; (1 << 20) + 1]);
    assert!(matches!(walk(&large.finish()), Err(ZipError::Limit { .. })));
    let mut many = Writer::new();
    for index in 0..101 {
        many.stored(&format!("{index}"), b"");
    }
    assert!(matches!(walk(&many.finish()), Err(ZipError::Limit { .. })));
}

#[test]
fn what_is_no_archive_is_shown() {
    let error = walk(b"<!DOCTYPE html><p>log in</p>").unwrap_err();
    assert_eq!(error.to_string(), "it is not a zip archive: it begins with `<!DOCTYPE html><p>lo`");
}
