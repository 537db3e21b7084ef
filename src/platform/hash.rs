//! The sha256 of a file.

use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::read;
use crate::domain::digest::Digest;

/// Returns size and sha256 of a file; `seen` is told of every piece that was read.
pub fn file(path: &Path, seen: &dyn Fn(u64)) -> io::Result<(u64, Digest)> {
    let mut file = read::open(path)?;
    let mut hash = Sha256::new();
    let mut block = vec![0; 256 * 1024];
    let mut size = 0;
    loop {
        let count = file.read(&mut block)?;
        if count == 0 {
            return Ok((size, Digest::from_bytes(hash.finalize().into())));
        }
        hash.update(&block[..count]);
        size += count as u64;
        seen(count as u64);
    }
}
