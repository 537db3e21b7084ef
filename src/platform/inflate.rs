//! Inflates a deflate stream (RFC 1951) piece by piece.

use flate2::{Decompress, FlushDecompress, Status};

/// The stream is not deflate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the compressed data is damaged")]
pub struct InflateError;

/// What one step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Bytes taken from the input.
    pub consumed: usize,
    /// Bytes put into the output.
    pub produced: usize,
    /// The stream's last block has ended.
    pub done: bool,
}

/// One stream.
#[derive(Debug)]
pub struct Inflate(Decompress);

impl Default for Inflate {
    fn default() -> Self {
        Self(Decompress::new(false))
    }
}

impl Inflate {
    /// Starts another stream, keeping the buffers.
    pub fn reset(&mut self) {
        self.0.reset(false);
    }

    /// Inflates from `input` into `output` as far as both reach.
    pub fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, InflateError> {
        let (before_in, before_out) = (self.0.total_in(), self.0.total_out());
        let status =
            self.0.decompress(input, output, FlushDecompress::None).map_err(|_| InflateError)?;
        let moved = |after: u64, before: u64| usize::try_from(after - before).unwrap_or(usize::MAX);
        Ok(Step {
            consumed: moved(self.0.total_in(), before_in),
            produced: moved(self.0.total_out(), before_out),
            done: status == Status::StreamEnd,
        })
    }
}
