//! Ranges of a file, read without trust in any offset.

/// A file of which ranges can be read.
pub trait ReadAt {
    /// Length in bytes.
    fn size(&self) -> u64;
    /// Fills `into` from `offset`; false where the range does not lie inside the file or cannot be read.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> bool;
}

impl ReadAt for &[u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> bool {
        let Ok(start) = usize::try_from(offset) else {
            return false;
        };
        let Some(range) = start.checked_add(into.len()).and_then(|end| self.get(start..end)) else {
            return false;
        };
        into.copy_from_slice(range);
        true
    }
}

/// The longest string that is read; file names and symbols of C++ stay far below.
const LONGEST_STRING: u64 = 64 * 1024;

/// Small typed reads over a [`ReadAt`].
pub(super) struct Reader<'a> {
    source: &'a dyn ReadAt,
}

impl<'a> Reader<'a> {
    pub(super) fn new(source: &'a dyn ReadAt) -> Self {
        Self { source }
    }

    pub(super) fn size(&self) -> u64 {
        self.source.size()
    }

    pub(super) fn fill(&self, offset: u64, into: &mut [u8]) -> bool {
        self.source.read_at(offset, into)
    }

    pub(super) fn u32(&self, offset: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.fill(offset, &mut bytes).then(|| u32::from_le_bytes(bytes))
    }

    pub(super) fn u64(&self, offset: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.fill(offset, &mut bytes).then(|| u64::from_le_bytes(bytes))
    }

    pub(super) fn u16(&self, offset: u64) -> Option<u16> {
        let mut bytes = [0; 2];
        self.fill(offset, &mut bytes).then(|| u16::from_le_bytes(bytes))
    }

    /// The NUL-terminated string at `offset`, which must end before `end`.
    pub(super) fn string(&self, offset: u64, end: u64) -> Option<String> {
        let end = end.min(self.size()).min(offset.saturating_add(LONGEST_STRING));
        let mut text = Vec::new();
        let mut at = offset;
        let mut chunk = [0u8; 128];
        while at < end {
            let length = usize::try_from(end - at).unwrap_or(128).min(128);
            let piece = chunk.get_mut(..length)?;
            if !self.fill(at, piece) {
                return None;
            }
            if let Some(stop) = piece.iter().position(|byte| *byte == 0) {
                text.extend_from_slice(&piece[..stop]);
                return Some(String::from_utf8_lossy(&text).into_owned());
            }
            text.extend_from_slice(piece);
            at += length as u64;
        }
        None
    }

    /// Whether the NUL-terminated string at `offset` equals `text`.
    pub(super) fn string_is(&self, offset: u64, text: &str) -> bool {
        let mut bytes = vec![0u8; text.len() + 1];
        self.fill(offset, &mut bytes) && bytes.split_last() == Some((&0, text.as_bytes()))
    }
}
