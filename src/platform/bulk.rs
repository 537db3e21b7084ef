//! Large files, written front to back, past the page cache as long as the disk keeps up.
//!
//! Writing through the page cache copies every byte once more, takes pages from whoever used them last, and leaves the
//! real work to a later moment; a toolchain of gigabytes felt all three (docs/performance.md). With `O_DIRECT` the
//! bytes go from this buffer to the disk. On a disk that is slower than whoever brings the bytes, the page cache is
//! the better place after all, and so it is where cores are to spare for the copying: [`Pace`] finds that out. Whoever
//! publishes such files has [`settle`] wait for the disk.

use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use fs_err as fs;
use rustix::fs::{Advice, OFlags, fadvise};

use super::{read, thread};

/// What direct writing wants addresses, offsets and lengths to be multiples of.
const ALIGN: usize = 4096;

/// Bytes that are written at once; smaller pieces cost more than they save.
const BLOCK: usize = 1 << 20;

/// From so many cores on, copying into the page cache costs nobody anything, and waiting for the disk does: on a
/// machine of 16 cores, whose disk takes 1.4 GB/s, an installation through the page cache took two thirds of the time.
const MANY_CORES: usize = 8;

/// Whether the disk keeps up with one writer.
#[derive(Debug)]
pub struct Pace {
    since: Instant,
    waited: Duration,
    /// Waiting that is forgiven before anything is concluded from it.
    patience: Duration,
    /// Percent of the time that may go by in waiting.
    share: u32,
    direct: bool,
    settled: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self::on(thread::cores())
    }
}

impl Pace {
    fn on(cores: usize) -> Self {
        let (patience, share) = if cores < MANY_CORES { (300, 75) } else { (50, 10) };
        Self {
            since: Instant::now(),
            waited: Duration::ZERO,
            patience: Duration::from_millis(patience),
            share,
            direct: true,
            settled: true,
        }
    }

    /// Tells whether all that was written at this pace is on the disk, or comes there before a rename that follows.
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// Says that somebody else has written files that are part of the same, perhaps into the page cache.
    pub fn take_over(&mut self) {
        self.settled = false;
    }

    /// Counts time spent in writing. A writer that waits too much would be quicker with the page cache.
    fn waited(&mut self, time: Duration) {
        self.waited += time;
        let slow =
            self.waited > self.patience && self.waited * 100 > self.since.elapsed() * self.share;
        self.direct &= !slow;
    }
}

/// One file that is being written.
#[derive(Debug)]
pub struct Bulk {
    file: fs::File,
    direct: bool,
    /// The buffer; what is used of it begins at `start`, at an aligned address.
    buffer: Vec<u8>,
    start: usize,
    room: usize,
    filled: usize,
    /// Where the buffer's first byte belongs in the file.
    base: u64,
}

impl Bulk {
    /// Begins to write into an empty file; `size` is what is to come.
    pub fn new(file: fs::File, size: u64, pace: &Pace) -> Self {
        let size = usize::try_from(size).unwrap_or(BLOCK).clamp(1, BLOCK);
        let room = size.next_multiple_of(ALIGN);
        let buffer = vec![0; room + ALIGN];
        let start = buffer.as_ptr().align_offset(ALIGN).min(ALIGN);
        let direct = pace.direct && set_direct(&file, true);
        Self { file, direct, buffer, start, room, filled: 0, base: 0 }
    }

    /// Goes on behind the first `written` bytes of a file that can be read, and drops what follows them.
    pub fn behind(file: fs::File, written: u64, pace: &Pace) -> io::Result<Self> {
        file.set_len(written)?;
        let mut bulk = Self::new(file, u64::MAX, pace);
        let partial = written % ALIGN as u64;
        bulk.base = written - partial;
        bulk.filled = usize::try_from(partial).unwrap_or_default();
        // Reading past the page cache would want whole blocks.
        bulk.go_buffered();
        let start = bulk.start;
        let into = &mut bulk.buffer[start..start + bulk.filled];
        bulk.file.file().read_exact_at(into, bulk.base)?;
        bulk.direct = pace.direct && set_direct(&bulk.file, true);
        Ok(bulk)
    }

    /// Takes the next bytes.
    pub fn write(&mut self, mut bytes: &[u8], pace: &mut Pace) -> io::Result<()> {
        while !bytes.is_empty() {
            let at = self.start + self.filled;
            let count = bytes.len().min(self.room - self.filled);
            self.buffer[at..at + count].copy_from_slice(&bytes[..count]);
            self.filled += count;
            bytes = &bytes[count..];
            if self.filled == self.room {
                self.flush(pace)?;
            }
        }
        Ok(())
    }

    /// Sees to it that all bytes are in the file, which may be a little longer until [`Self::finish`].
    pub fn flush(&mut self, pace: &mut Pace) -> io::Result<()> {
        if self.direct && !pace.direct {
            self.go_buffered();
        }
        // A partial block is filled up; it stays in the buffer and is written again with what follows.
        let padded = self.filled.next_multiple_of(ALIGN);
        self.buffer[self.start + self.filled..self.start + padded].fill(0);
        let began = Instant::now();
        self.write_block(padded)?;
        if self.direct {
            pace.waited(began.elapsed());
        }
        let whole = self.filled / ALIGN * ALIGN;
        self.buffer.copy_within(self.start + whole..self.start + self.filled, self.start);
        self.base += whole as u64;
        self.filled -= whole;
        Ok(())
    }

    fn write_block(&mut self, length: usize) -> io::Result<()> {
        let range = self.start..self.start + length;
        match self.file.file().write_all_at(&self.buffer[range.clone()], self.base) {
            // The file system admitted the flag and not what it means.
            Err(error) if self.direct && error.kind() == io::ErrorKind::InvalidInput => {
                self.go_buffered();
                self.file.file().write_all_at(&self.buffer[range], self.base)
            }
            done => done,
        }?;
        if !self.direct {
            // The disk begins with it at once, so that little is left to wait for in the end.
            let _ = fadvise(
                self.file.file(),
                self.base,
                NonZeroU64::new(length as u64),
                Advice::DontNeed,
            );
        }
        Ok(())
    }

    /// Ends the file.
    pub fn finish(mut self, pace: &mut Pace) -> io::Result<()> {
        let size = self.base + self.filled as u64;
        self.flush(pace)?;
        if self.filled > 0 {
            self.file.set_len(size)?;
        }
        if !self.direct {
            pace.settled = false;
        }
        Ok(())
    }

    fn go_buffered(&mut self) {
        if self.direct {
            self.direct = false;
            set_direct(&self.file, false);
        }
    }
}

/// Writes a new file whole; a rename that follows comes to the disk after it.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut pace = Pace::default();
    let file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    let mut bulk = Bulk::new(file, bytes.len() as u64, &pace);
    bulk.write(bytes, &mut pace)?;
    bulk.finish(&mut pace)?;
    if pace.is_settled() { Ok(()) } else { read::open(path)?.sync_data() }
}

/// Waits until the disk has the bytes of the files `names` in `folder`. All are begun before the first is waited for, so
/// that a journal has little to do for each.
pub fn settle<'a>(folder: &Path, names: impl Iterator<Item = &'a str> + Clone) -> io::Result<()> {
    for name in names.clone() {
        let file = read::open(&folder.join(name))?;
        let _ = fadvise(&file, 0, None, Advice::DontNeed);
    }
    for name in names {
        match read::open(&folder.join(name))?.sync_data() {
            // A file system that knows nothing of the kind.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            done => done?,
        }
    }
    Ok(())
}

/// Switches direct writing on or off; false when the file system does not have it.
fn set_direct(file: &fs::File, on: bool) -> bool {
    let Ok(flags) = rustix::fs::fcntl_getfl(file.file()) else { return false };
    let flags = if on { flags | OFlags::DIRECT } else { flags - OFlags::DIRECT };
    rustix::fs::fcntl_setfl(file.file(), flags).is_ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Write as _;

    use super::*;

    fn create(path: &std::path::Path) -> fs::File {
        fs::OpenOptions::new().read(true).write(true).create_new(true).open(path).unwrap()
    }

    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|at| ((at * 31) >> 3).to_le_bytes()[0]).collect()
    }

    #[test]
    fn files_are_what_was_written_whatever_the_pieces() {
        let dir = tempfile::tempdir().unwrap();
        for (round, direct) in [true, false].into_iter().enumerate() {
            let mut went = BTreeSet::new();
            for length in [1, 4095, 4096, 4097, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 12_345] {
                for piece in [1000, 4096, 300_000, BLOCK + 7] {
                    let path = dir.path().join(format!("{round}-{length}-{piece}"));
                    let all = bytes(length);
                    let mut pace = Pace { direct, ..Pace::default() };
                    let mut bulk = Bulk::new(create(&path), length as u64, &pace);
                    for (turn, part) in all.chunks(piece).enumerate() {
                        bulk.write(part, &mut pace).unwrap();
                        if turn % 3 == 1 {
                            bulk.flush(&mut pace).unwrap();
                            let so_far = (turn * piece + part.len()).min(length);
                            assert!(fs::read(&path).unwrap()[..so_far] == all[..so_far]);
                        }
                    }
                    went.insert(if bulk.direct { "past the page cache" } else { "through it" });
                    bulk.finish(&mut pace).unwrap();
                    assert!(fs::read(&path).unwrap() == all, "{direct} {length} {piece}");
                    fs::remove_file(&path).unwrap();
                }
            }
            // A file system without direct writing leaves the first round untested, so say which ran.
            let wanted = if direct { "direct" } else { "buffered" };
            let place = dir.path().display();
            let _ = writeln!(io::stderr(), "bulk: {wanted}: files in {place} went {went:?}");
        }
    }

    #[test]
    fn goes_on_behind_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let all = bytes(BLOCK + 50_000);
        for written in [0, 1, 4096, 5000, BLOCK, BLOCK + 4097, all.len()] {
            let path = dir.path().join(written.to_string());
            // What another process has padded is more than what it noted.
            fs::write(&path, [&all[..written], &[9; 5000]].concat()).unwrap();
            let file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
            let mut pace = Pace::default();
            let mut bulk = Bulk::behind(file, written as u64, &pace).unwrap();
            bulk.write(&all[written..], &mut pace).unwrap();
            bulk.finish(&mut pace).unwrap();
            assert!(fs::read(&path).unwrap() == all, "{written}");
        }
    }

    #[test]
    fn a_writer_that_only_waits_goes_through_the_page_cache() {
        let an_hour_ago = Instant::now().checked_sub(Duration::from_hours(1)).unwrap();
        let mut pace = Pace { since: an_hour_ago, ..Pace::on(2) };
        pace.waited(Duration::from_mins(30));
        assert!(pace.direct);
        pace.waited(Duration::from_mins(20));
        assert!(!pace.direct);
        // With cores to spare, it gives up sooner.
        let mut pace = Pace { since: an_hour_ago, ..Pace::on(MANY_CORES) };
        pace.waited(Duration::from_mins(5));
        assert!(pace.direct);
        pace.waited(Duration::from_mins(2));
        assert!(!pace.direct);
        let dir = tempfile::tempdir().unwrap();
        let bulk = Bulk::new(create(&dir.path().join("f")), 10, &pace);
        assert!(!bulk.direct);
    }
}
