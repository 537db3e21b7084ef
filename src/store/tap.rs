//! The bytes of a wheel on their way to the unpacker: counted and hashed exactly as far as they were used.

use std::io::{self, BufRead, Read};

use sha2::{Digest as _, Sha256};

use crate::domain::digest::Digest;

/// Counts and hashes what is consumed.
pub(super) struct Tap<R> {
    inner: R,
    hash: Sha256,
    position: u64,
}

impl<R: BufRead> Tap<R> {
    /// Goes on where another process has stopped; `hash` is what it had hashed.
    pub(super) fn at(inner: R, hash: Sha256, position: u64) -> Self {
        Self { inner, hash, position }
    }

    /// Returns the hash of the bytes used so far, as it stands.
    pub(super) fn hash(&self) -> &Sha256 {
        &self.hash
    }

    /// Returns the number of bytes used so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the source.
    pub(super) fn into_inner(self) -> R {
        self.inner
    }

    /// Returns the digest of the bytes used so far.
    pub(super) fn digest(&self) -> Digest {
        Digest::from_bytes(self.hash.clone().finalize().into())
    }
}

impl<R: BufRead> Read for Tap<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(out.len());
        out[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Tap<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        // `BufRead` promises that this returns the bytes that the caller has just seen.
        if let Ok(bytes) = self.inner.fill_buf() {
            self.hash.update(&bytes[..count]);
        }
        self.position += count as u64;
        self.inner.consume(count);
    }
}
