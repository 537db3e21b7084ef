//! Decoding tables for Huffman codes.
//!
//! An entry tells everything about a symbol, so that one look-up decodes it:
//!
//! ```text
//! bits  0..8   bits to use up: the code's, and the extra bits that follow it
//! bits  8..12  the code's bits alone (for extracting the extra bits)
//! bits 13..16  end of block | pointer to a second table | exceptional (one of these, or invalid)
//! bits 16..31  the literal, the base of a length or distance, or where the second table begins
//! bit  31      literal
//! ```
//!
//! For a pointer, bits 8..12 are the width of the second table.
#![expect(
    clippy::cast_possible_truncation,
    reason = "entries and bits are cut to fields of known width; a checked conversion would be a branch a symbol"
)]
#![expect(clippy::inline_always, reason = "look-ups belong into the loop")]

use super::InflateError;

/// One entry.
pub(super) type Entry = u32;

pub(super) const LITERAL: Entry = 1 << 31;
pub(super) const EXCEPTIONAL: Entry = 1 << 15;
const POINTER: Entry = 1 << 14;
const END: Entry = 1 << 13;

/// What an unused code gives; it has a width, so that the bits that led to it are known to be there.
const INVALID: Entry = EXCEPTIONAL | 1;

/// The longest code.
const LONGEST: usize = 15;

/// Width of the first table of literals and lengths, and the largest room that complete codes of 288 symbols need
/// (zlib's `enough` computes these numbers).
const LITERAL_ROOT: u32 = 11;
pub(super) type Literals = Table<{ LITERAL_ROOT }, 2342>;

/// The same for distances.
const DISTANCE_ROOT: u32 = 8;
pub(super) type Distances = Table<{ DISTANCE_ROOT }, 402>;

/// A first table of `1 << ROOT` entries with the second tables behind it.
pub(super) struct Table<const ROOT: u32, const SIZE: usize> {
    entries: [Entry; SIZE],
}

impl<const ROOT: u32, const SIZE: usize> Default for Table<ROOT, SIZE> {
    fn default() -> Self {
        Self { entries: [INVALID; SIZE] }
    }
}

impl<const ROOT: u32, const SIZE: usize> Table<ROOT, SIZE> {
    /// Returns the entry of the first table for the next bits.
    #[inline(always)]
    pub(super) fn root(&self, bits: u64) -> Entry {
        const { assert!(SIZE >= 1 << ROOT) };
        self.entries[(bits as usize) & ((1 << ROOT) - 1)]
    }

    /// Returns the entry of a second table; `bits` begin behind the pointer's.
    #[inline(always)]
    pub(super) fn behind(&self, pointer: Entry, bits: u64) -> Entry {
        let index = (bits as usize) & ((1 << (pointer >> 8 & 15)) - 1);
        self.entries.get((pointer >> 16) as usize + index).copied().unwrap_or(INVALID)
    }

    /// Returns the entry for the next bits, and before it the pointer that led there, 0 when none did.
    pub(super) fn find(&self, bits: u64) -> (Entry, Entry) {
        let entry = self.root(bits);
        if is_pointer(entry) { (entry, self.behind(entry, bits >> ROOT)) } else { (0, entry) }
    }

    /// Builds the table for codes of these lengths; `meaning` gives a symbol's entry without its code's width.
    pub(super) fn build(
        &mut self,
        lengths: &[u8],
        meaning: fn(usize) -> Entry,
    ) -> Result<(), InflateError> {
        let mut counts = [0u16; LONGEST + 1];
        for &length in lengths {
            counts[usize::from(length) & LONGEST] += 1;
        }
        counts[0] = 0;
        let longest = counts.iter().rposition(|&count| count > 0).unwrap_or(0);
        let mut space = 1i32;
        let mut starts = [0u16; LONGEST + 2];
        for length in 1..=LONGEST {
            space = (space << 1) - i32::from(counts[length]);
            if space < 0 {
                return Err(InflateError);
            }
            starts[length + 1] = starts[length] + counts[length];
        }
        // A single code of one bit, or none at all (a block of literals has no distances), may leave codes unused.
        let incomplete = space > 0;
        if incomplete && longest > 1 {
            return Err(InflateError);
        }
        let mut sorted = [0u16; 320];
        let mut next = starts;
        for (symbol, &length) in (0u16..).zip(lengths) {
            if length > 0 {
                let place = &mut next[usize::from(length)];
                sorted[usize::from(*place)] = symbol;
                *place += 1;
            }
        }
        if incomplete {
            self.entries[..1 << ROOT].fill(INVALID);
        }
        let used = usize::from(starts[LONGEST + 1]);
        self.fill(&sorted[..used], lengths, &counts, longest as u32, meaning);
        Ok(())
    }

    /// Gives every code its entries; codes are read lowest bit first, so they are counted up in reverse.
    fn fill(
        &mut self,
        sorted: &[u16],
        lengths: &[u8],
        counts: &[u16; LONGEST + 1],
        longest: u32,
        meaning: fn(usize) -> Entry,
    ) {
        let mut code = 0usize;
        let mut end = 1 << ROOT;
        let (mut prefix, mut start, mut width) = (usize::MAX, 0, 0);
        let mut seen = [0u16; LONGEST + 1];
        for &symbol in sorted {
            let symbol = usize::from(symbol);
            let length = u32::from(lengths[symbol]);
            seen[length as usize] += 1;
            let bare = meaning(symbol);
            if length <= ROOT {
                let entry = bare + length * 0x101;
                let mut at = code;
                while at < 1 << ROOT {
                    self.entries[at] = entry;
                    at += 1 << length;
                }
            } else {
                let root = code & ((1 << ROOT) - 1);
                if root != prefix {
                    prefix = root;
                    start = end;
                    width = length - ROOT;
                    let mut space = 1i32 << width;
                    // As many codes as share this prefix; the second table must hold the longest of them.
                    let mut of_length =
                        i32::from(counts[length as usize] - seen[length as usize]) + 1;
                    while width + ROOT < longest {
                        space -= of_length;
                        if space <= 0 {
                            break;
                        }
                        width += 1;
                        space <<= 1;
                        of_length = i32::from(counts[(width + ROOT) as usize]);
                    }
                    end = start + (1 << width);
                    self.entries[root] =
                        EXCEPTIONAL | POINTER | (start as u32) << 16 | width << 8 | ROOT;
                }
                let entry = bare + (length - ROOT) * 0x101;
                let mut at = code >> ROOT;
                while at < 1 << width {
                    self.entries[start + at] = entry;
                    at += 1 << (length - ROOT);
                }
            }
            // Adds one to the code of this length, written lowest bit last.
            let mut bit = 1usize << (length - 1);
            while code & bit != 0 {
                code ^= bit;
                bit >>= 1;
            }
            code |= bit;
        }
    }
}

/// Returns the bits an entry uses up.
pub(super) fn width(entry: Entry) -> u32 {
    entry & 0xff
}

/// Returns the value of an entry's extra bits, where `bits` begin with its code.
pub(super) fn extra(entry: Entry, bits: u64) -> usize {
    ((bits & super::low(width(entry) & 63)) >> (entry >> 8 & 15)) as usize
}

/// Returns the literal or the base of a length or distance.
pub(super) fn value(entry: Entry) -> u32 {
    entry >> 16 & 0x7fff
}

pub(super) fn is_literal(entry: Entry) -> bool {
    entry & LITERAL != 0
}

pub(super) fn is_end(entry: Entry) -> bool {
    entry & END != 0
}

pub(super) fn is_pointer(entry: Entry) -> bool {
    entry & POINTER != 0
}

pub(super) fn is_invalid(entry: Entry) -> bool {
    entry & EXCEPTIONAL != 0 && entry & (END | POINTER) == 0
}

/// The meaning of a literal or length symbol (RFC 1951, 3.2.5).
pub(super) fn literal(symbol: usize) -> Entry {
    const BASES: [u16; 29] = [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115,
        131, 163, 195, 227, 258,
    ];
    match symbol {
        0..=255 => LITERAL | (symbol as Entry) << 16,
        256 => EXCEPTIONAL | END,
        257..=285 => {
            let index = symbol - 257;
            let extra = if index < 8 || index == 28 { 0 } else { index / 4 - 1 };
            Entry::from(BASES[index]) << 16 | extra as Entry
        }
        _ => EXCEPTIONAL,
    }
}

/// The meaning of a distance symbol.
pub(super) fn distance(symbol: usize) -> Entry {
    const BASES: [u16; 30] = [
        1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537,
        2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577,
    ];
    match BASES.get(symbol) {
        Some(&base) => {
            let extra = if symbol < 4 { 0 } else { symbol / 2 - 1 };
            Entry::from(base) << 16 | extra as Entry
        }
        None => EXCEPTIONAL,
    }
}

/// The meaning of a symbol of the code of code lengths: itself.
pub(super) fn length_of_code(symbol: usize) -> Entry {
    (symbol as Entry) << 16
}
