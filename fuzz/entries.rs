//! What is fuzzed: one function a format, each with what must hold for whatever it accepts.
//!
//! The fuzz targets beside this file and the deterministic replay (`tests/it/replay.rs`) share it.

use std::io::Cursor;

use cuenv::domain::listing::Location;
use cuenv::domain::lock::Lock;
use cuenv::domain::requirement::{Metadata, Requirement};
use cuenv::domain::spec::Spec;
use cuenv::domain::wheel_name::WheelName;
use cuenv::platform::inflate::{Inflate, Status};
use cuenv::platform::zip::{Limits, Reader};
use cuenv::{index, store};

/// A fuzzed format: its name, which is also the name of its corpus, and the function.
pub type Entry = (&'static str, fn(&[u8]));

/// Every format.
pub const ENTRIES: &[Entry] = &[
    ("listing", listing),
    ("metadata", metadata),
    ("wheel_name", wheel_name),
    ("wheel", wheel),
    ("inflate", inflate),
    ("record", record),
    ("lock", lock),
    ("spec", spec),
    ("pin", pin),
    ("activation", activation),
];

const DISTRIBUTION: &str = "nvidia-cublas-cu12";

/// An index's answer, JSON or HTML.
pub fn listing(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let url = "https://index.example/simple/nvidia-cublas-cu12/";
    let Ok(listing) = index::read_listing(DISTRIBUTION, url, None, text) else { return };
    for wheel in &listing.wheels {
        assert_eq!(wheel.name.distribution, DISTRIBUTION);
        assert!(!wheel.name.file.contains(['/', '\0']));
        let Location::Url(url) = &wheel.location else { panic!("a page lists no local file") };
        assert!(url.starts_with("https://") || url.starts_with("http://"), "{url}");
    }
    let all = listing.candidates(cuenv::domain::listing::Fit::Any, |_| true);
    assert!(all.is_sorted_by(|a, b| a.name.version > b.name.version));
}

/// A distribution's `METADATA`.
pub fn metadata(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(metadata) = Metadata::parse(text) else { return };
    for requirement in &metadata.requires {
        let shown = requirement.to_string();
        let again: Requirement = shown.parse().expect("what is shown can be read");
        assert_eq!(again.specifiers.to_string(), requirement.specifiers.to_string());
    }
}

/// A wheel's file name.
pub fn wheel_name(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(name) = text.parse::<WheelName>() else { return };
    assert_eq!(name.file, text);
    assert!(!name.file.contains('/') && name.file.len() <= 255);
}

/// A wheel: its structure front to back, and its metadata back to front.
pub fn wheel(bytes: &[u8]) {
    let _ = index::read_metadata(bytes);
    let mut reader = Reader::new(Limits::for_archive(bytes.len() as u64));
    let mut input = Cursor::new(bytes);
    loop {
        let offset = input.position();
        match reader.next(&mut input, offset) {
            Ok(Some(member)) => {
                assert!(!member.name.starts_with('/'), "{}", member.name);
                assert!(!member.name.split('/').any(|part| part == ".."), "{}", member.name);
                let Some(next) = input.position().checked_add(member.compressed) else { return };
                input.set_position(next);
            }
            Ok(None) => {
                let _ = reader.finish(&mut input, offset);
                return;
            }
            Err(_) => return,
        }
    }
}

/// A deflate stream behind one byte that says how large the pieces are in which it comes: taken up anew at every block
/// boundary, it gives what another decoder gives at once, or is refused by both.
pub fn inflate(bytes: &[u8]) {
    const LIMIT: usize = 4 << 20;
    let Some((&piece, stream)) = bytes.split_first() else { return };
    let mut other = flate2::Decompress::new(false);
    let mut expected = Vec::with_capacity(LIMIT);
    let status = other.decompress_vec(stream, &mut expected, flate2::FlushDecompress::Finish);
    if expected.len() == LIMIT {
        return;
    }
    let whole =
        matches!(status, Ok(flate2::Status::StreamEnd)) && other.total_in() == stream.len() as u64;
    let found = in_pieces(stream, 1 + 9 * usize::from(piece));
    assert!(found == whole.then_some(expected));
}

fn in_pieces(stream: &[u8], piece: usize) -> Option<Vec<u8>> {
    let mut decoder = Inflate::default();
    let (mut at, mut out) = (0, Vec::new());
    loop {
        decoder.want_boundary();
        let end = stream.len().min(at + piece);
        let (used, status) = decoder.step(&stream[at..end]).ok()?;
        at += used;
        if status == Status::Hungry && at < stream.len() {
            continue;
        }
        out.extend_from_slice(decoder.output());
        decoder.take();
        match status {
            Status::Full => {}
            Status::Boundary => {
                let boundary = decoder.boundary();
                decoder = Inflate::default();
                decoder.resume(boundary, &out);
            }
            Status::Done if at == stream.len() => return Some(out),
            Status::Done | Status::Hungry => return None,
        }
    }
}

/// A wheel's `RECORD`.
pub fn record(bytes: &[u8]) {
    let _ = store::record::parse(bytes);
}

/// A lockfile.
pub fn lock(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let head = shims::lock::Head::parse(text);
    let Ok(lock) = Lock::parse(text) else { return };
    let written = lock.render();
    assert_eq!(Lock::parse(&written).expect("what is written can be read"), lock);
    let again = shims::lock::Head::parse(&written).expect("a shim reads what cuenv writes");
    drop((head, again));
}

/// A spec.
pub fn spec(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match text.parse::<Spec>() {
        Ok(spec) => {
            let again: Spec = spec.to_string().parse().expect("what is shown can be read");
            assert_eq!(again, spec);
        }
        Err(error) => assert!(error.at <= text.len() && text.is_char_boundary(error.at)),
    }
}

/// A `.cuenv` file.
pub fn pin(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(pin) = shims::pin::Pin::parse(text) {
        let _ = pin.spec();
    }
    let _ = shims::pin::cuda_version(text);
    let _ = shims::pin::tool_versions(text);
}

/// An activation file.
pub fn activation(bytes: &[u8]) {
    use shims::activation::Activation;
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(activation) = Activation::parse(text) else { return };
    if let Ok(written) = activation.render() {
        assert_eq!(Activation::parse(&written).expect("what is written can be read"), activation);
    }
}
