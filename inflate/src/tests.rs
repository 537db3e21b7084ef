use std::io::Write as _;

use super::*;

/// A generator of numbers that are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[3]
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }
}

/// Bytes with the traits of real ones: runs, repeats near and far, text, noise.
fn data(numbers: &mut Numbers, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let count = 1 + numbers.below(400);
        match numbers.below(5) {
            0 => bytes.extend(std::iter::repeat_n(numbers.byte(), count)),
            1 if bytes.len() > 10 => {
                let reach = [8, 300, 40_000][numbers.below(3)];
                let from = bytes.len() - 1 - numbers.below(bytes.len().min(reach));
                for at in from..from + count {
                    bytes.push(bytes[at]);
                }
            }
            2 => bytes.extend((0..count).map(|_| b"etaoin shrdlu"[numbers.below(13)])),
            3 => bytes.extend((0..count).map(|_| numbers.byte() & 0x1f)),
            _ => bytes.extend((0..count).map(|_| numbers.byte())),
        }
    }
    bytes.truncate(length);
    bytes
}

fn deflate(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut encoder =
        flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Inflates with input in pieces of at most `piece` bytes.
fn inflate(packed: &[u8], piece: usize) -> Result<Vec<u8>, InflateError> {
    let mut stream = Inflate::default();
    let mut out = Vec::new();
    let mut at = 0;
    loop {
        let end = packed.len().min(at + piece);
        let (used, status) = stream.step(&packed[at..end])?;
        at += used;
        match status {
            Status::Full => {}
            Status::Hungry if at < packed.len() => continue,
            Status::Hungry => return Err(InflateError),
            Status::Boundary => unreachable!("nobody asked"),
            // What follows the end may come in a later piece.
            Status::Done if at < packed.len() => return Err(InflateError),
            Status::Done => {
                out.extend_from_slice(stream.output());
                return Ok(out);
            }
        }
        out.extend_from_slice(stream.output());
        stream.take();
    }
}

#[test]
fn inflates_what_was_deflated() {
    let mut numbers = Numbers(1);
    for (round, length) in [0, 1, 2, 100, 70_000, 300_000, 1_000_000]
        .into_iter()
        .chain((0..40).map(|n| n * 997))
        .enumerate()
    {
        let bytes = data(&mut numbers, length);
        for level in [0, 1, 6, 9] {
            let packed = deflate(&bytes, level);
            for piece in [usize::MAX / 2, 65_536, 1 + round, 1] {
                if piece > 1 || length < 100_000 {
                    assert!(
                        inflate(&packed, piece) == Ok(bytes.clone()),
                        "{length} {level} {piece}"
                    );
                }
            }
        }
    }
}

#[test]
fn inflates_fixed_codes() {
    // Three literals and one match, as zlib writes them with Z_FIXED.
    let packed = [0x4b, 0x4c, 0x4a, 0x4e, 0x04, 0x23, 0x00];
    assert_eq!(inflate(&packed, 100).unwrap(), b"abcabcabc");
    assert_eq!(inflate(&packed, 1).unwrap(), b"abcabcabc");
}

#[test]
fn agrees_with_another_decoder_on_damaged_streams() {
    let mut numbers = Numbers(7);
    let mut refused = 0;
    for _ in 0..3000 {
        let length = 1 + numbers.below(3000);
        let bytes = data(&mut numbers, length);
        let mut packed = deflate(&bytes, [1, 6, 9][numbers.below(3)]);
        for _ in 0..=numbers.below(3) {
            let at = numbers.below(packed.len());
            packed[at] ^= 1 << numbers.below(8);
        }
        let mut other = flate2::Decompress::new(false);
        let mut expected = vec![0; 2_000_000];
        let status = other.decompress(&packed, &mut expected, flate2::FlushDecompress::Finish);
        let whole = matches!(status, Ok(flate2::Status::StreamEnd))
            && other.total_in() == packed.len() as u64;
        expected.truncate(usize::try_from(other.total_out()).unwrap());
        let found = inflate(&packed, 1 + numbers.below(200)).ok();
        refused += usize::from(found.is_none());
        assert!(found == whole.then_some(expected));
    }
    assert!(refused > 500, "{refused}");
}

#[test]
fn noise_never_panics() {
    let mut numbers = Numbers(3);
    for _ in 0..20_000 {
        let noise: Vec<u8> = (0..=numbers.below(200)).map(|_| numbers.byte()).collect();
        let _ = inflate(&noise, 1 + numbers.below(64));
    }
}

#[test]
fn a_cut_stream_is_hungry_and_a_longer_one_is_refused() {
    let packed = deflate(b"some text that is long enough, some text", 6);
    for end in 0..packed.len() {
        assert_eq!(inflate(&packed[..end], 100), Err(InflateError), "{end}");
    }
    let longer = [&packed[..], &[0]].concat();
    assert_eq!(inflate(&longer, 100), Err(InflateError));
    assert_eq!(inflate(&longer, 1), Err(InflateError));
}

#[test]
fn goes_on_at_a_boundary_in_another_process() {
    let bytes = data(&mut Numbers(5), 2_000_000);
    let packed = deflate(&bytes, 6);
    let mut stream = Inflate::default();
    let (mut at, mut done, mut resumed) = (0, Vec::new(), 0);
    loop {
        stream.want_boundary();
        let end = packed.len().min(at + 50_000);
        let (used, status) = stream.step(&packed[at..end]).unwrap();
        at += used;
        if status == Status::Hungry {
            continue;
        }
        done.extend_from_slice(stream.output());
        stream.take();
        if status == Status::Done {
            break;
        }
        if status == Status::Boundary {
            let boundary = stream.boundary();
            stream = Inflate::default();
            stream.resume(boundary, &done);
            resumed += 1;
        }
    }
    assert!(done == bytes && resumed > 5, "{resumed}");
}
