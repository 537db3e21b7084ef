//! A zip file written by hand, whole and damaged in every place.

use std::convert::Infallible;

use super::*;

struct Bytes<'a> {
    bytes: &'a [u8],
    /// Every part that was read.
    read: Vec<(u64, u64)>,
}

impl Source for Bytes<'_> {
    type Error = Infallible;

    fn read(&mut self, start: u64, length: u64) -> Result<Vec<u8>, Infallible> {
        self.read.push((start, length));
        let from = usize::try_from(start).unwrap_or(usize::MAX).min(self.bytes.len());
        let to = from
            .saturating_add(usize::try_from(length).unwrap_or(usize::MAX))
            .min(self.bytes.len());
        Ok(self.bytes[from..to].to_vec())
    }
}

fn read(bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut source = Bytes { bytes, read: Vec::new() };
    let size = bytes.len() as u64;
    read_member(&mut source, size, |name| name == "METADATA", 1 << 20).map_err(
        |error| match error {
            Error::Zip(reason) => reason,
            Error::Source(never) => match never {},
        },
    )
}

/// Stored members with these names; `wide` writes the directory's place as zip64.
fn zip(members: &[(&str, &[u8])], wide: bool, comment: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for (name, data) in members {
        let offset = u32::try_from(out.len()).unwrap();
        let length = u32::try_from(data.len()).unwrap().to_le_bytes();
        let mut crc = Crc::new();
        crc.update(data);
        let mut shared = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        shared.extend(crc.sum().to_le_bytes());
        shared.extend(length);
        shared.extend(length);
        shared.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        shared.extend([0, 0]);
        out.extend(b"PK\x03\x04");
        out.extend(&shared);
        out.extend(name.as_bytes());
        out.extend(*data);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&shared);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, length) = (out.len() as u64, directory.len() as u64);
    out.extend(directory);
    if wide {
        let record = out.len() as u64;
        out.extend(b"PK\x06\x06");
        out.extend([0; 36]);
        out.extend(length.to_le_bytes());
        out.extend(start.to_le_bytes());
        out.extend(b"PK\x06\x07");
        out.extend([0; 4]);
        out.extend(record.to_le_bytes());
        out.extend([0; 4]);
    }
    let narrow = |number: u64| if wide { u32::MAX } else { u32::try_from(number).unwrap() };
    out.extend(b"PK\x05\x06");
    out.extend([0; 8]);
    out.extend(narrow(length).to_le_bytes());
    out.extend(narrow(start).to_le_bytes());
    out.extend(u16::try_from(comment.len()).unwrap().to_le_bytes());
    out.extend(comment);
    out
}

const MEMBERS: [(&str, &[u8]); 3] =
    [("lib.so", b"ELF"), ("METADATA", b"Name: a\n"), ("RECORD", b"")];

#[test]
fn every_form_of_the_end_is_found() {
    for wide in [false, true] {
        for comment in [&b""[..], b"a comment with PK\x05\x06 inside"] {
            assert_eq!(read(&zip(&MEMBERS, wide, comment)).as_deref(), Ok(&b"Name: a\n"[..]));
        }
    }
}

#[test]
fn only_the_parts_that_are_needed_are_read() {
    let big = vec![7; 1 << 20];
    let bytes = zip(&[("lib.so", &big), MEMBERS[1], MEMBERS[2]], false, b"");
    let mut source = Bytes { bytes: &bytes, read: Vec::new() };
    let size = bytes.len() as u64;
    assert!(read_member(&mut source, size, |name| name == "METADATA", 100).is_ok());
    let total: u64 = source.read.iter().map(|(_, length)| length).sum();
    assert!(total < 400, "{:?}", source.read);
}

#[test]
fn what_is_wrong_is_named() {
    for (bytes, reason) in [
        (Vec::new(), "it is not a zip file"),
        (b"PK\x05\x06".to_vec(), "it is not a zip file"),
        (vec![0; 100_000], "it is not a zip file"),
        (zip(&MEMBERS[..1], false, b""), "it has no such member"),
        (zip(&[MEMBERS[1], MEMBERS[1]], false, b""), "it has two members of that name"),
        (
            zip(&[("METADATA", &vec![0; 2 << 20])], false, b""),
            "its member is larger than any real one",
        ),
    ] {
        assert_eq!(read(&bytes), Err(reason));
    }
}

#[test]
fn no_changed_byte_gives_another_text_and_none_panics() {
    for wide in [false, true] {
        let whole = zip(&MEMBERS, wide, b"");
        for at in 0..whole.len() {
            assert!(read(&whole[..at]).is_err(), "cut at {at}");
            for change in [1, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= change;
                if let Ok(text) = read(&bytes) {
                    assert_eq!(text, b"Name: a\n", "byte {at}");
                }
            }
        }
    }
}

#[test]
fn never_panics_on_any_bytes() {
    arbtest::arbtest(|u| {
        let mut bytes = zip(&MEMBERS, u.arbitrary()?, b"");
        for _ in 0..u.int_in_range(1..=12)? {
            let at = u.int_in_range(0..=bytes.len() - 1)?;
            bytes[at] = u.arbitrary()?;
        }
        let _ = read(&bytes);
        Ok(())
    });
}
