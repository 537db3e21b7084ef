//! The loop that does almost all of the work.
#![expect(
    clippy::cast_possible_truncation,
    reason = "entries and bits are cut to fields of known width; a checked conversion would be a branch a symbol"
)]
#![expect(
    clippy::inline_always,
    reason = "one copy in the loop, where its values are in registers"
)]

use super::huffman::{self, EXCEPTIONAL, LITERAL};
use super::{Inflate, InflateError, Input, LIMIT, State};

/// Input that one round may read: three refills of at most seven bytes, each reading eight.
const ROUND: usize = 32;

impl Inflate {
    /// Tells whether there is input and output for a round of the fast loop.
    pub(super) fn has_room(&self, input: &Input<'_>) -> bool {
        input.bytes.len() - input.at >= ROUND && self.end < LIMIT
    }

    /// Decodes symbols while there is room for the worst case. On its own, so that its few variables stay in registers.
    #[inline(never)]
    pub(super) fn fast(&mut self, input: &mut Input<'_>) -> Result<(), InflateError> {
        if !self.has_room(input) {
            return Ok(());
        }
        let bytes = input.bytes;
        let last_start = bytes.len() - ROUND;
        let (literals, distances) = (&*self.literals, &*self.distances);
        let out = &mut *self.out;
        let (mut at, mut end) = (input.at, self.end);
        let mut bits = self.bits;
        // Only the lowest byte counts: entries are subtracted whole, which leaves rubbish above it.
        let mut count = self.count;
        macro_rules! refill {
            () => {
                // `step` is never called with a slice that ends before these eight bytes: see ROUND.
                let word = bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
                bits |= word.wrapping_shl(count);
                at += 7 - (count >> 3 & 7) as usize;
                count |= 56;
            };
        }
        macro_rules! use_up {
            ($entry:expr) => {
                bits = bits.wrapping_shr($entry);
                count = count.wrapping_sub($entry);
            };
        }
        let mut ended = false;
        refill!();
        let mut entry = literals.root(bits);
        while at <= last_start && end < LIMIT {
            let mut saved = bits;
            use_up!(entry);
            if entry & LITERAL != 0 {
                out[end] = (entry >> 16) as u8;
                end += 1;
                entry = literals.root(bits);
                saved = bits;
                use_up!(entry);
                if entry & LITERAL != 0 {
                    out[end] = (entry >> 16) as u8;
                    end += 1;
                    entry = literals.root(bits);
                    saved = bits;
                    use_up!(entry);
                    if entry & LITERAL != 0 {
                        out[end] = (entry >> 16) as u8;
                        end += 1;
                        refill!();
                        entry = literals.root(bits);
                        continue;
                    }
                }
            }
            if entry & EXCEPTIONAL != 0 {
                if huffman::is_pointer(entry) {
                    entry = literals.behind(entry, bits);
                    saved = bits;
                    use_up!(entry);
                }
                if entry & LITERAL != 0 {
                    out[end] = (entry >> 16) as u8;
                    end += 1;
                    refill!();
                    entry = literals.root(bits);
                    continue;
                }
                if huffman::is_end(entry) {
                    ended = true;
                    break;
                }
                if huffman::is_invalid(entry) {
                    return Err(InflateError);
                }
            }
            let length = (entry >> 16) as usize + huffman::extra(entry, saved);
            refill!();
            entry = distances.root(bits);
            if entry & EXCEPTIONAL != 0 {
                if !huffman::is_pointer(entry) {
                    return Err(InflateError);
                }
                use_up!(entry);
                entry = distances.behind(entry, bits);
                if entry & EXCEPTIONAL != 0 {
                    return Err(InflateError);
                }
            }
            let distance = (entry >> 16) as usize + huffman::extra(entry, bits);
            use_up!(entry);
            if distance > end {
                return Err(InflateError);
            }
            // The next symbol is looked up before the copy, so that both go on at once.
            refill!();
            entry = literals.root(bits);
            copy(out, end, distance, length);
            end += length;
        }
        (self.bits, self.count) = (bits, count & 63);
        (input.at, self.end) = (at, end);
        if ended {
            self.state = State::BlockHead;
        }
        Ok(())
    }
}

/// Copies a match; up to 32 bytes behind its end are overwritten.
#[inline(always)]
fn copy(out: &mut [u8; super::ROOM], end: usize, distance: usize, length: usize) {
    let from = end - distance;
    if distance >= 16 {
        let mut done = 0;
        loop {
            let chunk: [u8; 16] = out[from + done..from + done + 16].try_into().unwrap_or_default();
            out[end + done..end + done + 16].copy_from_slice(&chunk);
            done += 16;
            if done >= length {
                return;
            }
        }
    }
    if distance == 1 {
        let byte = out[from];
        out[end..end + length].fill(byte);
        return;
    }
    if distance >= 8 {
        let mut done = 0;
        while done < length {
            let chunk: [u8; 8] = out[from + done..from + done + 8].try_into().unwrap_or_default();
            out[end + done..end + done + 8].copy_from_slice(&chunk);
            done += 8;
        }
        return;
    }
    for done in 0..length {
        out[end + done] = out[from + done];
    }
}
