//! The bytes of one wheel, in order, however often the connection breaks.
//!
//! Whoever reads sees one uninterrupted stream. Below, a broken transfer goes on where it stopped (`Range` with
//! `If-Range`); a server without ranges, or one whose file has changed, sends the whole again, and what was already
//! used is skipped: the digest of the whole decides in the end whether the pieces belonged together. When one place
//! gives up, the next is tried from the same byte.

use std::io::{self, BufRead, Read, Seek as _, SeekFrom};

use super::error::{Error, FetchError};
use super::{Place, WheelSource};
use crate::platform::http::{self, Backoff, ByteRange, Http, safe_url};
use crate::platform::read;
use crate::progress::Task;

/// Bytes read from the source at a time.
const BUFFER: usize = 256 * 1024;

/// A reader over all places of one wheel.
pub(super) struct Stream<'a> {
    source: &'a WheelSource,
    http: &'a Http,
    task: &'a dyn Task,
    /// Which place is read.
    place: usize,
    body: Option<Box<dyn Read + 'a>>,
    backoff: Backoff,
    validator: Option<String>,
    /// Offset of the next byte that the body gives.
    position: u64,
    size: Option<u64>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    fault: Option<Error>,
    /// Proxies and mirrors are asked for the bytes of the origin.
    past_caches: bool,
    /// What was read came in several pieces, which may not belong together.
    pieced: bool,
}

impl<'a> Stream<'a> {
    /// Reads from `position` on; `past_caches` asks proxies not to answer by themselves.
    pub(super) fn new(
        source: &'a WheelSource,
        http: &'a Http,
        task: &'a dyn Task,
        position: u64,
        past_caches: bool,
    ) -> Self {
        Self {
            source,
            http,
            task,
            place: 0,
            body: None,
            backoff: http.backoff(),
            validator: None,
            position,
            size: source.size,
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            fault: None,
            past_caches,
            pieced: position > 0,
        }
    }

    /// Tells whether what was read came in several pieces.
    pub(super) fn is_pieced(&self) -> bool {
        self.pieced
    }

    /// Tells whether the place that was read last is a server.
    pub(super) fn is_remote(&self) -> bool {
        !self.is_file()
    }

    /// Returns the place that was read last, without credentials.
    pub(super) fn place(&self) -> String {
        let last = self.source.places.len().saturating_sub(1);
        match self.source.places.get(self.place.min(last)) {
            Some(Place::Url(url)) => format!("`{}`", safe_url(url)),
            Some(Place::File(path)) => format!("`{}`", path.display()),
            None => "nowhere".to_owned(),
        }
    }

    /// Takes the error that reading ended with.
    pub(super) fn fault(&mut self) -> Option<Error> {
        self.fault.take()
    }

    /// Tells whether there is more than was promised.
    pub(super) fn has_more(&mut self) -> bool {
        let mut one = [0];
        self.body.as_mut().is_some_and(|body| matches!(body.read(&mut one), Ok(1)))
    }

    fn open(&mut self) -> Result<(), Failed> {
        let Some(place) = self.source.places.get(self.place) else {
            return Err(Failed::Place(format!("`{}` has no place", self.source.file).into()));
        };
        match place {
            Place::File(path) => {
                let mut file = read::open(path).map_err(|e| Failed::Place(e.into()))?;
                if self.size.is_none() {
                    self.size = file.metadata().ok().map(|metadata| metadata.len());
                }
                file.seek(SeekFrom::Start(self.position)).map_err(|e| Failed::Place(e.into()))?;
                self.body = Some(Box::new(file));
            }
            Place::Url(url) => {
                let response = if self.position == 0 {
                    let mut headers = vec![("accept-encoding", "identity")];
                    if self.past_caches {
                        headers.push(("cache-control", "no-cache"));
                    }
                    self.http.get_once(url, &headers)
                } else {
                    let range = ByteRange::From(self.position);
                    self.http.get_range_once(url, range, self.validator.as_deref())
                }
                .map_err(Failed::Http)?;
                self.validator = response.validator().map(str::to_owned);
                if self.size.is_none() {
                    self.size = response.total_size();
                }
                let skip = if response.is_partial() { 0 } else { self.position };
                let mut body: Box<dyn Read> = Box::new(response);
                let skipped = io::copy(&mut body.by_ref().take(skip), &mut io::sink())
                    .map_err(Failed::from_io)?;
                if skipped < skip {
                    return Err(Failed::Place("the file became shorter".into()));
                }
                self.body = Some(body);
            }
        }
        Ok(())
    }

    fn read_some(&mut self) -> Result<usize, Failed> {
        let wanted = match self.size {
            Some(size) => usize::try_from(size - self.position).unwrap_or(usize::MAX).min(BUFFER),
            None => BUFFER,
        };
        if wanted == 0 {
            return Ok(0);
        }
        if self.body.is_none() {
            self.open()?;
        }
        let Some(body) = &mut self.body else { return Ok(0) };
        let count = body.read(&mut self.buffer[..wanted]).map_err(Failed::from_io)?;
        if count == 0 && self.size.is_some() {
            return Err(Failed::Short);
        }
        Ok(count)
    }

    /// Decides what follows a failure: another try, another place, or the end.
    fn recover(&mut self, failed: Failed) -> Result<(), Error> {
        self.body = None;
        self.pieced |= self.position > 0;
        let (got, size) = (self.position, self.size);
        let (file, place) = (self.source.file.clone(), self.place());
        let error: FetchError = match failed {
            Failed::Http(error) => match self.backoff.again(error) {
                Ok(()) => {
                    self.task.status("trying again");
                    return Ok(());
                }
                Err(error) => error.into(),
            },
            Failed::Short => {
                let broken = http::Error::Interrupted {
                    url: place.trim_matches('`').to_owned(),
                    received: got,
                    expected: size,
                    reason: "the end came early".to_owned(),
                };
                match self.backoff.again(broken) {
                    Ok(()) if !self.is_file() => return Ok(()),
                    Ok(()) => "the file is shorter than it should be".into(),
                    Err(error) => error.into(),
                }
            }
            Failed::Place(error) => error,
        };
        if self.place + 1 < self.source.places.len() {
            self.place += 1;
            self.validator = None;
            self.backoff.reset();
            return Ok(());
        }
        Err(if got > 0 {
            Error::Incomplete { file, place, got, size, source: Some(io::Error::other(error)) }
        } else {
            Error::Fetch { file, place, source: error }
        })
    }

    fn is_file(&self) -> bool {
        matches!(self.source.places.get(self.place), Some(Place::File(_)))
    }
}

enum Failed {
    Http(http::Error),
    Short,
    Place(FetchError),
}

impl Failed {
    fn from_io(error: io::Error) -> Self {
        match http::Error::from_io(error) {
            Ok(error) => Self::Http(error),
            Err(error) => Self::Place(error.into()),
        }
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(out.len());
        out[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Stream<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.start == self.end {
            match self.read_some() {
                Ok(0) => break,
                Ok(count) => {
                    (self.start, self.end) = (0, count);
                    self.position += count as u64;
                    self.task.advance(count as u64);
                    self.backoff.reset();
                }
                Err(failed) => {
                    if let Err(error) = self.recover(failed) {
                        self.fault = Some(error);
                        return Err(io::Error::other("the wheel cannot be read any further"));
                    }
                }
            }
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }
}
