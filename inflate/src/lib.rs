//! Inflates a deflate stream (RFC 1951) piece by piece, fast.
//!
//! Inflating decides how long an installation takes, so this is written for NVIDIA's libraries: many literals, short
//! matches, streams of hundreds of megabytes (docs/performance.md compares it with zlib-rs and libdeflate). It follows
//! the known recipe for a fast decoder: a 64-bit bit buffer that is refilled eight bytes at a time, one table look-up a
//! symbol with the extra bits' width in the entry, and a fast loop as long as input and output have room for the worst
//! case; near the edges a careful loop takes over, which can stop anywhere. It is safe Rust throughout.
//!
//! Output is written into a window of its own, so matches need no second buffer. Two things that general libraries do
//! not offer: a stream may stop at a block boundary and be taken up there by another process ([`Inflate::boundary`],
//! [`Inflate::resume`]), and what follows the stream is an error, because a zip member ends where its header says.

mod fast;
mod huffman;

/// A match reaches back this far.
pub const WINDOW: usize = 32 * 1024;

/// Output that is kept for one turn.
const BLOCK: usize = 256 * 1024;

/// The longest match.
const LONGEST: usize = 258;

/// Output stops here, or less than one round of the fast loop behind it.
const LIMIT: usize = WINDOW + BLOCK;

/// Room for the output: behind [`LIMIT`] there is space for one round, which may write some bytes too many.
const ROOM: usize = LIMIT + LONGEST + 64;

/// The stream is not deflate, or has something behind its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the compressed data is damaged")]
pub struct InflateError;

/// Why a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All input is used.
    Hungry,
    /// The output must be taken.
    Full,
    /// A block has ended and the caller wanted to know.
    Boundary,
    /// The stream has ended.
    Done,
}

/// The bits of a byte that a block boundary divides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// Bits that were read and not used.
    pub bits: u64,
    /// Their number, less than 64.
    pub count: u32,
}

/// What is read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    BlockHead,
    StoredHead,
    Stored { left: usize },
    DynamicHead,
    CodeLengths { read: usize },
    Lengths { read: usize },
    Symbols,
    Done,
}

/// How one turn of the machine ended.
enum Turn {
    Next,
    Stop(Status),
}

/// One stream.
pub struct Inflate {
    /// The bit buffer: the lowest `count` bits come next. Higher bits may be set; they are those of bytes that follow
    /// and are not counted yet.
    bits: u64,
    count: u32,
    state: State,
    /// The block that is read is the last one.
    last: bool,
    literals: Box<huffman::Literals>,
    distances: Box<huffman::Distances>,
    /// The tables are those of the fixed codes.
    fixed: bool,
    head: Head,
    out: Box<[u8; ROOM]>,
    /// Where the output that was not taken yet begins, and where it ends.
    taken: usize,
    end: usize,
    wants_boundary: bool,
}

/// The head of a dynamic block while it is read.
struct Head {
    literals: usize,
    distances: usize,
    codes: usize,
    code_lengths: [u8; 19],
    lengths: [u8; 320],
}

/// The caller's bytes.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Default for Inflate {
    fn default() -> Self {
        let out = vec![0; ROOM].into_boxed_slice();
        Self {
            bits: 0,
            count: 0,
            state: State::BlockHead,
            last: false,
            literals: Box::default(),
            distances: Box::default(),
            fixed: false,
            head: Head {
                literals: 0,
                distances: 0,
                codes: 0,
                code_lengths: [0; 19],
                lengths: [0; 320],
            },
            out: out.try_into().expect("it was made with this length"),
            taken: 0,
            end: 0,
            wants_boundary: false,
        }
    }
}

impl Inflate {
    /// Starts another stream, keeping the memory.
    pub fn reset(&mut self) {
        (self.bits, self.count) = (0, 0);
        self.state = State::BlockHead;
        self.last = false;
        (self.taken, self.end) = (0, 0);
        self.wants_boundary = false;
    }

    /// Takes a stream up at a block boundary; `window` is the output before it, of which the last [`WINDOW`] bytes
    /// matter.
    pub fn resume(&mut self, at: Boundary, window: &[u8]) {
        self.reset();
        self.count = at.count.min(63);
        self.bits = at.bits & low(self.count);
        let window = &window[window.len().saturating_sub(WINDOW)..];
        self.out[..window.len()].copy_from_slice(window);
        (self.taken, self.end) = (window.len(), window.len());
    }

    /// Asks to stop at the next block boundary, with [`Status::Boundary`].
    pub fn want_boundary(&mut self) {
        self.wants_boundary = true;
    }

    /// Returns the bits at a block boundary: what [`Self::resume`] needs, right after [`Status::Boundary`].
    pub fn boundary(&self) -> Boundary {
        Boundary { bits: self.bits & low(self.count), count: self.count }
    }

    /// Returns the output that was not taken yet.
    pub fn output(&self) -> &[u8] {
        &self.out[self.taken..self.end]
    }

    /// Marks all output as taken.
    pub fn take(&mut self) {
        if self.end >= LIMIT {
            self.out.copy_within(self.end - WINDOW..self.end, 0);
            self.end = WINDOW;
        }
        self.taken = self.end;
    }

    /// Inflates as much of `input`, which must not reach beyond the stream, as there is room for. Returns how many
    /// bytes were used and why it stopped.
    pub fn step(&mut self, input: &[u8]) -> Result<(usize, Status), InflateError> {
        let mut input = Input { bytes: input, at: 0 };
        loop {
            let turn = match self.state {
                State::BlockHead => self.block_head(&mut input)?,
                State::StoredHead => self.stored_head(&mut input)?,
                State::Stored { left } => self.stored(&mut input, left),
                State::DynamicHead => self.dynamic_head(&mut input)?,
                State::CodeLengths { read } => self.code_lengths(&mut input, read)?,
                State::Lengths { read } => self.lengths(&mut input, read)?,
                State::Symbols => {
                    self.fast(&mut input)?;
                    self.careful(&mut input)?
                }
                State::Done if self.count >= 8 || input.at < input.bytes.len() => {
                    return Err(InflateError);
                }
                State::Done => Turn::Stop(Status::Done),
            };
            if let Turn::Stop(status) = turn {
                return Ok((input.at, status));
            }
        }
    }

    /// Returns the next `count` bits without using them; `None` when the input ends before.
    fn peek(&mut self, input: &mut Input<'_>, count: u32) -> Option<usize> {
        self.refill(input);
        (self.count >= count).then(|| usize::try_from(self.bits & low(count)).unwrap_or_default())
    }

    /// Fills the bit buffer with at least 56 bits, or as far as the input reaches.
    fn refill(&mut self, input: &mut Input<'_>) {
        while self.count <= 55
            && let Some(&byte) = input.bytes.get(input.at)
        {
            self.bits |= u64::from(byte) << self.count;
            self.count += 8;
            input.at += 1;
        }
    }

    fn use_up(&mut self, count: u32) {
        self.bits >>= count;
        self.count -= count;
    }

    fn block_head(&mut self, input: &mut Input<'_>) -> Result<Turn, InflateError> {
        if self.last {
            self.state = State::Done;
            return Ok(Turn::Next);
        }
        // Without new output this is where the last stop was.
        if self.wants_boundary && self.end > self.taken {
            self.wants_boundary = false;
            return Ok(Turn::Stop(Status::Boundary));
        }
        let Some(head) = self.peek(input, 3) else { return Ok(Turn::Stop(Status::Hungry)) };
        self.use_up(3);
        self.last = head & 1 == 1;
        self.state = match head >> 1 {
            0 => {
                self.use_up(self.count % 8);
                State::StoredHead
            }
            1 => {
                self.fixed_tables()?;
                State::Symbols
            }
            2 => State::DynamicHead,
            _ => return Err(InflateError),
        };
        Ok(Turn::Next)
    }

    fn fixed_tables(&mut self) -> Result<(), InflateError> {
        if self.fixed {
            return Ok(());
        }
        let mut lengths = [8u8; 288];
        lengths[144..256].fill(9);
        lengths[256..280].fill(7);
        self.literals.build(&lengths, huffman::literal)?;
        self.distances.build(&[5; 32], huffman::distance)?;
        self.fixed = true;
        Ok(())
    }

    fn stored_head(&mut self, input: &mut Input<'_>) -> Result<Turn, InflateError> {
        let Some(head) = self.peek(input, 32) else { return Ok(Turn::Stop(Status::Hungry)) };
        let (left, check) = (head & 0xffff, head >> 16);
        if left != check ^ 0xffff {
            return Err(InflateError);
        }
        self.use_up(32);
        self.state = State::Stored { left };
        Ok(Turn::Next)
    }

    fn stored(&mut self, input: &mut Input<'_>, mut left: usize) -> Turn {
        // What is in the bit buffer comes first; it is whole bytes since the head was read.
        while left > 0 && self.count >= 8 && self.end < LIMIT {
            self.out[self.end] = self.bits.to_le_bytes()[0];
            self.use_up(8);
            self.end += 1;
            left -= 1;
        }
        if left > 0 && self.count == 0 {
            // The bits above the count belong to bytes that are now taken past the bit buffer.
            self.bits = 0;
            let rest = &input.bytes[input.at..];
            let count = left.min(rest.len()).min(LIMIT.saturating_sub(self.end));
            self.out[self.end..self.end + count].copy_from_slice(&rest[..count]);
            input.at += count;
            self.end += count;
            left -= count;
        }
        if left == 0 {
            self.state = State::BlockHead;
            return Turn::Next;
        }
        self.state = State::Stored { left };
        Turn::Stop(if self.end >= LIMIT { Status::Full } else { Status::Hungry })
    }

    fn dynamic_head(&mut self, input: &mut Input<'_>) -> Result<Turn, InflateError> {
        let Some(head) = self.peek(input, 14) else { return Ok(Turn::Stop(Status::Hungry)) };
        self.use_up(14);
        self.head.literals = (head & 31) + 257;
        self.head.distances = (head >> 5 & 31) + 1;
        self.head.codes = (head >> 10) + 4;
        if self.head.literals > 286 || self.head.distances > 30 {
            return Err(InflateError);
        }
        self.head.code_lengths = [0; 19];
        self.state = State::CodeLengths { read: 0 };
        Ok(Turn::Next)
    }

    fn code_lengths(
        &mut self,
        input: &mut Input<'_>,
        mut read: usize,
    ) -> Result<Turn, InflateError> {
        const ORDER: [usize; 19] =
            [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
        while read < self.head.codes {
            let Some(length) = self.peek(input, 3) else {
                self.state = State::CodeLengths { read };
                return Ok(Turn::Stop(Status::Hungry));
            };
            self.use_up(3);
            self.head.code_lengths[ORDER[read]] = u8::try_from(length).map_err(|_| InflateError)?;
            read += 1;
        }
        // The code of the code lengths is needed only until the distances' own table is built, so it borrows its place.
        self.fixed = false;
        self.distances.build(&self.head.code_lengths, huffman::length_of_code)?;
        self.state = State::Lengths { read: 0 };
        Ok(Turn::Next)
    }

    fn lengths(&mut self, input: &mut Input<'_>, mut read: usize) -> Result<Turn, InflateError> {
        let all = self.head.literals + self.head.distances;
        while read < all {
            self.refill(input);
            let entry = self.distances.root(self.bits);
            let symbol = huffman::value(entry);
            let width = huffman::width(entry);
            let (extra, base) = match symbol {
                16 => (2, 3),
                17 => (3, 3),
                18 => (7, 11),
                _ => (0, 1),
            };
            if self.count < width + extra {
                self.state = State::Lengths { read };
                return Ok(Turn::Stop(Status::Hungry));
            }
            if huffman::is_invalid(entry) {
                return Err(InflateError);
            }
            self.use_up(width);
            let repeat = base + usize::try_from(self.bits & low(extra)).unwrap_or_default();
            self.use_up(extra);
            let length = match symbol {
                16 => *self.head.lengths[..read].last().ok_or(InflateError)?,
                17 | 18 => 0,
                _ => u8::try_from(symbol).map_err(|_| InflateError)?,
            };
            if read + repeat > all {
                return Err(InflateError);
            }
            self.head.lengths[read..read + repeat].fill(length);
            read += repeat;
        }
        let (literals, distances) = self.head.lengths[..all].split_at(self.head.literals);
        // A block that cannot end is not a block.
        if literals[256] == 0 {
            return Err(InflateError);
        }
        self.literals.build(literals, huffman::literal)?;
        self.distances.build(distances, huffman::distance)?;
        self.state = State::Symbols;
        Ok(Turn::Next)
    }

    /// Decodes symbols one by one near the edges of input and output, where the fast loop has no room.
    fn careful(&mut self, input: &mut Input<'_>) -> Result<Turn, InflateError> {
        loop {
            if self.end >= LIMIT {
                return Ok(Turn::Stop(Status::Full));
            }
            if self.has_room(input) {
                return Ok(Turn::Next);
            }
            self.refill(input);
            let (mut bits, mut left) = (self.bits, self.count);
            let mut next = |entry: huffman::Entry| {
                let extra = huffman::extra(entry, bits);
                left = left.checked_sub(huffman::width(entry))?;
                bits >>= huffman::width(entry);
                Some(extra)
            };
            let hungry = Ok(Turn::Stop(Status::Hungry));
            let (prefix, entry) = self.literals.find(self.bits);
            if prefix > 0 && next(prefix).is_none() {
                return hungry;
            }
            let Some(extra) = next(entry) else { return hungry };
            if huffman::is_literal(entry) {
                (self.bits, self.count) = (bits, left);
                self.out[self.end] = huffman::value(entry).to_le_bytes()[0];
                self.end += 1;
                continue;
            }
            if huffman::is_end(entry) {
                (self.bits, self.count) = (bits, left);
                self.state = State::BlockHead;
                return Ok(Turn::Next);
            }
            if huffman::is_invalid(entry) {
                return Err(InflateError);
            }
            let length = huffman::value(entry) as usize + extra;
            let (prefix, entry) = self.distances.find(bits);
            let mut next = |entry: huffman::Entry| {
                let extra = huffman::extra(entry, bits);
                left = left.checked_sub(huffman::width(entry))?;
                bits >>= huffman::width(entry);
                Some(extra)
            };
            if prefix > 0 && next(prefix).is_none() {
                return hungry;
            }
            let Some(extra) = next(entry) else { return hungry };
            if huffman::is_invalid(entry) {
                return Err(InflateError);
            }
            let distance = huffman::value(entry) as usize + extra;
            if distance > self.end {
                return Err(InflateError);
            }
            (self.bits, self.count) = (bits, left);
            for at in self.end..self.end + length {
                self.out[at] = self.out[at - distance];
            }
            self.end += length;
        }
    }
}

/// Returns a mask of the lowest `count` bits, `count` less than 64.
fn low(count: u32) -> u64 {
    (1 << count) - 1
}

#[cfg(test)]
mod tests;
