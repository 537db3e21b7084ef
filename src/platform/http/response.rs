//! An answer: its headers, and its body as a reader.

use std::io::{self, Read};

use flate2::read::GzDecoder;
use reqwest::Url;

use super::auth::safe_url;
use super::error::{Error, chain};
use super::range::ContentRange;
use super::retry;

/// A successful answer (200, 206 or 304). Reading it gives the body as it was sent.
#[derive(Debug)]
pub struct Response {
    inner: reqwest::blocking::Response,
    url: Url,
    received: u64,
}

impl Response {
    /// Lets successes through and turns every other status into an error.
    pub(super) fn accept(inner: reqwest::blocking::Response, url: Url) -> Result<Self, Error> {
        let status = inner.status().as_u16();
        let response = Self { inner, url, received: 0 };
        match status {
            200 | 203 | 206 | 304 => Ok(response),
            416 => Err(Error::Unsatisfiable {
                url: response.shown(),
                total: response
                    .header("content-range")
                    .and_then(ContentRange::total_of_unsatisfied),
            }),
            _ => Err(Error::Status {
                url: response.shown(),
                status,
                retry_after: response.header("retry-after").and_then(retry::parse_retry_after),
            }),
        }
    }

    /// The status code.
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    /// Whether the server says that what the caller has is still current.
    pub fn is_unchanged(&self) -> bool {
        self.status() == 304
    }

    /// Whether the body is the part that was asked for, not the whole file.
    pub fn is_partial(&self) -> bool {
        self.status() == 206
    }

    /// A header's value, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name).and_then(|value| value.to_str().ok())
    }

    /// The number of bytes this answer's body has, where the server says it.
    pub fn content_length(&self) -> Option<u64> {
        self.header("content-length").and_then(|text| text.trim().parse().ok())
    }

    /// Which part of the file the body is.
    pub fn content_range(&self) -> Option<ContentRange> {
        self.header("content-range").and_then(ContentRange::parse)
    }

    /// The size of the whole file, where the server says it.
    pub fn total_size(&self) -> Option<u64> {
        if self.is_partial() {
            return self.content_range().and_then(|range| range.total);
        }
        match self.header("content-encoding") {
            None | Some("identity") => self.content_length(),
            Some(_) => None,
        }
    }

    /// What a later `If-Range` may name: a strong ETag, else the date of last change.
    pub fn validator(&self) -> Option<&str> {
        self.header("etag")
            .filter(|tag| !tag.starts_with("W/"))
            .or_else(|| self.header("last-modified"))
    }

    /// Where the answer came from, after redirects, without user and password. Its query may still be a
    /// signature: show it by [`safe_url`] only.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Reads the whole body as text of at most `limit` bytes, inflating it if it came compressed.
    pub fn text(&mut self, limit: u64) -> Result<String, Error> {
        let url = self.shown();
        let gzip = match self.header("content-encoding") {
            None | Some("" | "identity") => false,
            Some("gzip" | "x-gzip") => true,
            Some(other) => {
                let reason = format!("it came in the encoding `{other}`, which was not asked for");
                return Err(Error::BadBody { url, reason });
            }
        };
        let mut bytes = Vec::new();
        // One byte more than allowed tells "exactly at the limit" from "beyond".
        let outcome = if gzip {
            GzDecoder::new(&mut *self).take(limit + 1).read_to_end(&mut bytes)
        } else {
            self.take(limit + 1).read_to_end(&mut bytes)
        };
        if let Err(error) = outcome {
            return Err(Error::from_io(error).unwrap_or_else(|error| Error::BadBody {
                url,
                reason: format!("its compression is broken: {error}"),
            }));
        }
        if bytes.len() as u64 > limit {
            return Err(Error::TooLarge { url, limit });
        }
        String::from_utf8(bytes)
            .map_err(|error| Error::BadBody { url, reason: error.utf8_error().to_string() })
    }

    fn shown(&self) -> String {
        safe_url(&self.url)
    }
}

impl Read for Response {
    /// Failures are [`Error`]s inside an `io::Error`; [`Error::from_io`] takes them out again.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.inner.read(buffer) {
            Ok(count) => {
                self.received += count as u64;
                Ok(count)
            }
            Err(error) => Err(Error::Interrupted {
                url: self.shown(),
                received: self.received,
                expected: self.content_length(),
                reason: reason(&error),
            }
            .into_io()),
        }
    }
}

fn reason(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<reqwest::Error>()) {
        Some(inner) if inner.is_timeout() => "nothing more came".to_owned(),
        // The outermost message is always the same words about decoding; the causes say what happened.
        Some(inner) => std::error::Error::source(inner).map_or_else(|| inner.to_string(), chain),
        None => error.to_string(),
    }
}
