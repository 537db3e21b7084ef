//! The `METADATA` of one wheel, with as few bytes moved as the server allows.
//!
//! In this order: the separate file beside the wheel (PEP 658) where the index promises one; the whole wheel where
//! it is small, which the metapackage is; the end of the wheel by range requests; the whole wheel up to a limit
//! from a server without ranges. A promise that the server does not keep is no error: mirrors copy the promise
//! without the file, or with another file's digest.

use std::convert::Infallible;
use std::io::Read as _;
use std::path::Path;

use crate::domain::digest::Digest;
use crate::domain::listing::{Location, MetadataFile, WheelFile};
use crate::platform::http::{ByteRange, Error as HttpError, Http, Response, Url, safe_url};
use crate::platform::read;

use super::Error;
use super::zip_tail::{self, Source};

/// Up to this size a wheel is fetched whole: one request, and its digest can be checked.
const SMALL: u64 = 64 << 10;

/// How much of the end is asked for first. Half of the real wheels have a directory of 1.2 KB, and its largest is 248 KB.
const TAIL: u64 = 64 << 10;

/// Up to this size a server without ranges may send the whole wheel for the sake of its metadata.
const MAX_WHOLE: u64 = 32 << 20;

/// No real `METADATA` has more than 50 KB.
const MAX_METADATA: u64 = 8 << 20;

pub(super) fn fetch(http: &Http, wheel: &WheelFile) -> Result<String, Error> {
    let bytes = match &wheel.location {
        Location::File(path) => from_file(path, wheel)?,
        Location::Url(url) => {
            let url = Http::url(url)?;
            match beside(http, &url, wheel.metadata)? {
                Some(text) => return Ok(text),
                None => from_wheel(http, &url, wheel)?,
            }
        }
    };
    String::from_utf8(bytes).map_err(|_| fault(wheel, "it is not UTF-8"))
}

pub(super) fn from_bytes(wheel: &[u8]) -> Result<Vec<u8>, &'static str> {
    let size = wheel.len() as u64;
    let mut source = SliceSource(wheel);
    zip_tail::read_member(&mut source, size, is_metadata, MAX_METADATA).map_err(|error| match error
    {
        zip_tail::Error::Zip(reason) => reason,
        zip_tail::Error::Source(never) => match never {},
    })
}

fn fault(wheel: &WheelFile, reason: impl Into<String>) -> Error {
    Error::Metadata { file: wheel.name.file.clone(), reason: reason.into() }
}

fn beside(http: &Http, wheel: &Url, promised: MetadataFile) -> Result<Option<String>, Error> {
    let MetadataFile::Beside(digest) = promised else { return Ok(None) };
    let mut url = wheel.clone();
    url.set_path(&format!("{}.metadata", wheel.path()));
    let text = match http.get_text(&url, &[], MAX_METADATA) {
        Ok((_, text)) => text,
        Err(error) if error.status().is_some() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let right = digest.is_none_or(|expected| Digest::of(text.as_bytes()) == expected);
    Ok(right.then_some(text))
}

fn from_file(path: &Path, wheel: &WheelFile) -> Result<Vec<u8>, Error> {
    let file = read::open(path)?;
    let size = file.metadata()?.len();
    let mut source = FileSource { file };
    member(&mut source, size, wheel, is_metadata)
}

fn from_wheel(http: &Http, url: &Url, wheel: &WheelFile) -> Result<Vec<u8>, Error> {
    if wheel.size.is_some_and(|size| size <= SMALL) {
        return from_whole(http.get(url, &[("accept-encoding", "identity")])?, wheel);
    }
    match end_of(http, url, wheel)? {
        End::Part(mut source, size) => member(&mut source, size, wheel, is_metadata),
        End::Whole(response) => from_whole(response, wheel),
    }
}

/// Returns the `RECORD` of a remote wheel by range requests; `None` from a server without ranges.
pub(super) fn record(http: &Http, wheel: &WheelFile) -> Result<Option<Vec<u8>>, Error> {
    let Location::Url(url) = &wheel.location else { return Ok(None) };
    let url = Http::url(url)?;
    if wheel.size.is_none_or(|size| size <= SMALL) {
        return Ok(None);
    }
    match end_of(http, &url, wheel)? {
        End::Part(mut source, size) => member(&mut source, size, wheel, is_record).map(Some),
        End::Whole(_) => Ok(None),
    }
}

/// What a server sends when it is asked for the end of a wheel.
enum End<'a> {
    /// The end, and the size of the whole.
    Part(RemoteSource<'a>, u64),
    /// It knows no ranges.
    Whole(Response),
}

fn end_of<'a>(http: &'a Http, url: &'a Url, wheel: &WheelFile) -> Result<End<'a>, Error> {
    // Some servers know no range that counts from the end; with the size, none is needed.
    let range = match wheel.size {
        Some(size) => ByteRange::From(size - TAIL),
        None => ByteRange::Last(TAIL),
    };
    let response = match http.get_range(url, range, None) {
        Err(HttpError::Unsatisfiable { .. } | HttpError::BadRange { .. }) => {
            http.get(url, &[("accept-encoding", "identity")])?
        }
        response => response?,
    };
    let Some(part) = response.content_range().filter(|_| response.is_partial()) else {
        return Ok(End::Whole(response));
    };
    let size = part
        .total
        .or(wheel.size)
        .ok_or_else(|| fault(wheel, "the server does not tell its size"))?;
    let tail = read(response, part.end - part.start, wheel)?;
    Ok(End::Part(RemoteSource { http, url, start: part.start, tail }, size))
}

/// Reads the wheel itself. A wheel that has another digest than listed tells nothing.
fn from_whole(response: Response, wheel: &WheelFile) -> Result<Vec<u8>, Error> {
    let bytes = read(response, MAX_WHOLE, wheel)?;
    if let Some(expected) = wheel.digest {
        let found = Digest::of(&bytes);
        if found != expected {
            let place = wheel.location.shown();
            let reason = format!("the file at {place} has sha256 {found}, listed is {expected}");
            return Err(fault(wheel, reason));
        }
    }
    from_bytes(&bytes).map_err(|reason| fault(wheel, reason))
}

fn read(response: Response, limit: u64, wheel: &WheelFile) -> Result<Vec<u8>, Error> {
    if response.content_length().is_some_and(|length| length > limit) {
        return Err(fault(
            wheel,
            "the server sends no parts of it, and it is too large to fetch for that",
        ));
    }
    let mut bytes = Vec::new();
    response.take(limit + 1).read_to_end(&mut bytes).map_err(from_io)?;
    if bytes.len() as u64 > limit {
        return Err(fault(wheel, "the server sends more than it says"));
    }
    Ok(bytes)
}

fn from_io(error: std::io::Error) -> Error {
    match HttpError::from_io(error) {
        Ok(error) => Error::Http(error),
        Err(error) => Error::Io(error),
    }
}

fn member(
    source: &mut impl Source<Error = Error>,
    size: u64,
    wheel: &WheelFile,
    wanted: fn(&str) -> bool,
) -> Result<Vec<u8>, Error> {
    zip_tail::read_member(source, size, wanted, MAX_METADATA).map_err(|error| match error {
        zip_tail::Error::Source(error) => error,
        zip_tail::Error::Zip(reason) => fault(wheel, reason),
    })
}

fn is_metadata(name: &str) -> bool {
    is_info(name, ".dist-info/METADATA")
}

fn is_record(name: &str) -> bool {
    is_info(name, ".dist-info/RECORD")
}

fn is_info(name: &str, file: &str) -> bool {
    name.strip_suffix(file).is_some_and(|rest| !rest.is_empty() && !rest.contains('/'))
}

struct SliceSource<'a>(&'a [u8]);

impl Source for SliceSource<'_> {
    type Error = Infallible;

    fn read(&mut self, start: u64, length: u64) -> Result<Vec<u8>, Infallible> {
        Ok(slice(self.0, 0, start, length).unwrap_or_default().to_vec())
    }
}

struct FileSource {
    file: std::fs::File,
}

impl Source for FileSource {
    type Error = Error;

    fn read(&mut self, start: u64, length: u64) -> Result<Vec<u8>, Error> {
        use std::os::unix::fs::FileExt as _;
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes)
    }
}

/// The end of a remote wheel is here already; what lies before it is asked for.
struct RemoteSource<'a> {
    http: &'a Http,
    url: &'a Url,
    start: u64,
    tail: Vec<u8>,
}

impl Source for RemoteSource<'_> {
    type Error = Error;

    fn read(&mut self, start: u64, length: u64) -> Result<Vec<u8>, Error> {
        if let Some(part) = slice(&self.tail, self.start, start, length) {
            return Ok(part.to_vec());
        }
        let response =
            self.http.get_range(self.url, ByteRange::Span(start, start + length), None)?;
        let mut bytes = Vec::new();
        if !response.is_partial() {
            // A server that sent a part before sends the whole now, from its first byte on.
            if start + length > MAX_WHOLE {
                let asked = ByteRange::Span(start, start + length).to_string();
                let got = "the whole file".to_owned();
                return Err(HttpError::BadRange { url: safe_url(self.url), asked, got }.into());
            }
            response.take(start + length).read_to_end(&mut bytes).map_err(from_io)?;
            let part = slice(&bytes, 0, start, length).unwrap_or_default();
            return Ok(part.to_vec());
        }
        response.take(length).read_to_end(&mut bytes).map_err(from_io)?;
        Ok(bytes)
    }
}

fn slice(bytes: &[u8], offset: u64, start: u64, length: u64) -> Option<&[u8]> {
    let from = usize::try_from(start.checked_sub(offset)?).ok()?;
    let to = from.checked_add(usize::try_from(length).ok()?)?;
    bytes.get(from..to)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::*;
    use crate::platform::http::Config;

    #[test]
    fn the_whole_in_place_of_a_part_is_read_from_its_beginning() {
        let server = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let url = format!("http://{}/x.whl", server.local_addr().expect("bound"));
        let served = std::thread::spawn(move || {
            let (mut client, _) = server.accept().expect("a request");
            let mut request = [0; 4096];
            let length = client.read(&mut request).expect("a request");
            assert!(String::from_utf8_lossy(&request[..length]).contains("bytes=3-6"));
            let answer =
                "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n0123456789";
            client.write_all(answer.as_bytes()).expect("an answer");
        });
        let http = Http::new(Config::default());
        let url = Http::url(&url).expect("an address");
        let mut source = RemoteSource { http: &http, url: &url, start: 8, tail: b"89".to_vec() };
        assert_eq!(source.read(8, 2).expect("here already"), b"89");
        assert_eq!(source.read(3, 4).expect("an answer"), b"3456");
        served.join().expect("no panic");
    }
}
