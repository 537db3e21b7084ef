//! A wheel as it is, for who passes it on: the same places, resumption and checks as ingesting, nothing unpacked.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

use super::WheelSource;
use super::error::{Damage, Error};
use super::stream::Stream;
use crate::domain::digest::Digest;
use crate::platform::http::Http;
use crate::progress::Task;

/// A reader of a wheel's bytes. What was read counts only when [`Download::finish`] says so.
pub struct Download<'a> {
    source: &'a WheelSource,
    stream: Stream<'a>,
    hash: Sha256,
    got: u64,
}

impl<'a> Download<'a> {
    /// Starts to fetch `source`.
    pub fn new(source: &'a WheelSource, http: &'a Http, task: &'a dyn Task) -> Self {
        let stream = Stream::new(source, http, task, 0, false);
        Self { source, stream, hash: Sha256::new(), got: 0 }
    }

    /// Returns the store's own reason for an error that reading ended with.
    pub fn fault(&mut self) -> Option<Error> {
        self.stream.fault()
    }

    /// Compares what was read with what was promised.
    pub fn finish(mut self) -> Result<(), Error> {
        let damage = match (self.source.size, self.source.digest) {
            (Some(expected), _) if expected != self.got || self.stream.has_more() => {
                Some(Damage::Size { expected, found: self.got })
            }
            (_, Some(expected)) => {
                let found = Digest::from_bytes(self.hash.finalize().into());
                (found != expected).then_some(Damage::Digest { expected, found })
            }
            _ => None,
        };
        match damage {
            None => Ok(()),
            Some(damage) => Err(Error::Damaged {
                file: self.source.file.clone(),
                place: self.stream.place(),
                damage: Box::new(damage),
            }),
        }
    }
}

impl Read for Download<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(out)?;
        self.hash.update(&out[..count]);
        self.got += count as u64;
        Ok(count)
    }
}
