//! Byte ranges: what is asked for (`Range`) and what came (`Content-Range`).
//!
//! Only single ranges: servers answer a list of ranges with the whole file more often than not.

use std::fmt;

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteRange {
    /// From an offset to the end.
    From(u64),
    /// From the first offset up to, not including, the second.
    Span(u64, u64),
    /// The last bytes.
    Last(u64),
}

impl ByteRange {
    /// Whether an answer with this `Content-Range` begins where this range asks and is not longer.
    pub(super) fn admits(self, got: &ContentRange) -> bool {
        match self {
            Self::From(start) => got.start == start,
            Self::Span(start, end) => got.start == start && got.end <= end,
            Self::Last(count) => match got.total {
                Some(total) => got.end == total && got.start >= total.saturating_sub(count),
                None => got.end - got.start <= count,
            },
        }
    }
}

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::From(start) => write!(f, "bytes={start}-"),
            Self::Span(start, end) => write!(f, "bytes={start}-{}", end.saturating_sub(1)),
            Self::Last(count) => write!(f, "bytes=-{count}"),
        }
    }
}

/// The part a server sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentRange {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset behind the last byte.
    pub end: u64,
    /// Size of the whole file, where the server says it.
    pub total: Option<u64>,
}

impl ContentRange {
    /// Reads a header value such as `bytes 0-99/1234`.
    pub fn parse(text: &str) -> Option<Self> {
        let (span, total) = text.trim().strip_prefix("bytes")?.trim_start().split_once('/')?;
        let (start, last) = span.trim().split_once('-')?;
        let start: u64 = start.trim().parse().ok()?;
        let end = last.trim().parse::<u64>().ok()?.checked_add(1)?;
        let total = match total.trim() {
            "*" => None,
            number => Some(number.parse().ok()?),
        };
        let sound = start < end && total.is_none_or(|total| end <= total);
        sound.then_some(Self { start, end, total })
    }

    /// Reads the size out of the value a 416 answer carries: `bytes */1234`.
    pub(super) fn total_of_unsatisfied(text: &str) -> Option<u64> {
        text.trim().strip_prefix("bytes")?.trim_start().strip_prefix("*/")?.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{ByteRange, ContentRange};

    #[test]
    fn ranges_are_written_with_an_inclusive_end() {
        assert_eq!(ByteRange::From(7).to_string(), "bytes=7-");
        assert_eq!(ByteRange::Span(7, 9).to_string(), "bytes=7-8");
        assert_eq!(ByteRange::Last(64).to_string(), "bytes=-64");
    }

    #[test]
    fn content_range_reads_what_is_sound_only() {
        let whole = ContentRange { start: 0, end: 100, total: Some(1234) };
        assert_eq!(ContentRange::parse("bytes 0-99/1234"), Some(whole));
        assert_eq!(ContentRange::parse("bytes 0-99/*").map(|r| r.total), Some(None));
        for bad in ["", "bytes", "bytes 5-4/10", "bytes 0-99/50", "items 0-1/2", "bytes a-b/c"] {
            assert_eq!(ContentRange::parse(bad), None, "{bad}");
        }
        assert_eq!(ContentRange::parse("bytes 0-18446744073709551615/*"), None);
        assert_eq!(ContentRange::total_of_unsatisfied("bytes */12"), Some(12));
    }

    #[test]
    fn only_an_answer_that_starts_where_asked_is_admitted() {
        let got = ContentRange { start: 10, end: 20, total: Some(20) };
        assert!(ByteRange::From(10).admits(&got));
        assert!(!ByteRange::From(9).admits(&got));
        assert!(ByteRange::Span(10, 20).admits(&got));
        assert!(!ByteRange::Span(10, 19).admits(&got));
        assert!(ByteRange::Last(10).admits(&got));
        assert!(!ByteRange::Last(9).admits(&got));
    }
}
