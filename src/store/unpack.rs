//! Unpacks a wheel into a directory while its bytes arrive, and checks everything that can be checked.
//!
//! Bytes are inflated, summed and written as they come, a block at a time, so memory does not grow with the wheel
//! and nothing is written twice. What comes out is complete only when [`unpack`] returns: the archive's directory
//! agrees with the files, each file with its CRC, and RECORD lists each and nothing else, with the same size.
//!
//! Each file's sha256 is compared with RECORD only where the wheel's own is not promised. Where it is, it vouches for
//! every byte, the CRC checks the decoder, and only the files in `dist-info` are hashed; the others' digests are
//! RECORD's word.

use std::collections::HashSet;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use fs_err as fs;

use super::error::Damage;
use super::journal::{Current, Journal, Progress};
use super::record;
use super::sink::{Closed, Sink};
use super::tap::Tap;
use crate::domain::receipt::File;
use crate::platform::bulk::{Pace, settle};
use crate::platform::inflate::{Boundary, Inflate, Status};
use crate::platform::zip::{Limits, Member, Method, Reader, ZipError};

/// RECORD of the largest wheel is 300 KB.
const RECORD_LIMIT: u64 = 64 << 20;

/// Why a wheel was not unpacked.
#[derive(Debug)]
pub(super) enum Fault {
    /// The wheel is to blame.
    Damage(Damage),
    /// The source is to blame.
    Read(io::Error),
    /// The disk is to blame.
    Write(io::Error),
}

impl From<ZipError> for Fault {
    fn from(error: ZipError) -> Self {
        match error {
            ZipError::Read(error) => Self::Read(error),
            other => Self::Damage(other.into()),
        }
    }
}

impl<D: Into<Damage>> From<D> for Fault
where
    D: NotZip,
{
    fn from(damage: D) -> Self {
        Self::Damage(damage.into())
    }
}

/// Damage other than [`ZipError`], which may carry a reading error.
pub(super) trait NotZip {}
impl NotZip for Damage {}
impl NotZip for record::RecordError {}

/// What is known about a wheel before it comes.
#[derive(Clone, Copy)]
pub(super) struct Promise {
    /// Its size.
    pub(super) size: Option<u64>,
    /// The caller knows its sha256 and uses nothing of a wheel that has another.
    pub(super) vouched: bool,
}

/// Unpacks the wheel that `input` brings into the directory `into`. `journal` notes how far it is, for a later process
/// to go on; `from` is such a note, with `input` at its position.
/// Returns the wheel's files. The caller compares the digest of the whole.
pub(super) fn unpack<R: BufRead>(
    input: &mut Tap<R>,
    into: &Path,
    promise: Promise,
    journal: &mut Journal<'_>,
    from: Option<Progress>,
) -> Result<Vec<File>, Fault> {
    // Without a size from the index, the limit is what a wheel of the largest size known today may hold.
    let reader = Reader::new(Limits::for_archive(promise.size.unwrap_or(1 << 30)));
    let mut unpacker = Unpacker {
        into,
        reader,
        folders: HashSet::new(),
        inflate: Inflate::default(),
        vouched: promise.vouched,
        pace: Pace::default(),
        files: Vec::new(),
        journal,
    };
    if let Some(from) = from {
        unpacker.go_on(input, from)?;
    }
    loop {
        let offset = input.position();
        let Some(member) = unpacker.reader.next(input, offset)? else {
            unpacker.reader.finish(input, offset)?;
            break;
        };
        unpacker.member(input, &member)?;
    }
    unpacker.finish()
}

struct Unpacker<'a, 'j> {
    into: &'a Path,
    reader: Reader,
    folders: HashSet<PathBuf>,
    inflate: Inflate,
    vouched: bool,
    pace: Pace,
    files: Vec<Closed>,
    journal: &'a mut Journal<'j>,
}

impl Unpacker<'_, '_> {
    /// Takes over what another process has unpacked: the files are read again, the open one is reopened.
    fn go_on<R: BufRead>(&mut self, input: &mut Tap<R>, from: Progress) -> Result<(), Fault> {
        self.pace.take_over();
        for member in &from.finished {
            self.reader.restore(member)?;
            if member.is_directory() {
                continue;
            }
            let mut sink = self.sink(member)?;
            if member.size > 0 {
                sink.read_whole(member.size).map_err(Fault::Write)?;
            }
            self.close(sink, member)?;
        }
        if let Some(Current { member, written, consumed, boundary }) = from.current {
            self.reader.restore(&member)?;
            let mut sink = self.sink(&member)?;
            let window = sink.reopen(written, &self.pace).map_err(Fault::Write)?;
            match member.method {
                Method::Stored => self.copy(input, &member, consumed, &mut sink)?,
                Method::Deflate => {
                    self.inflate.resume(boundary, &window);
                    self.inflate(input, &member, consumed, &mut sink)?;
                }
            }
            self.close(sink, &member)?;
        }
        Ok(())
    }

    fn sink(&mut self, member: &Member) -> Result<Sink, Fault> {
        let path = self.into.join(&member.name);
        if let Some(parent) = path.parent() {
            self.folder(parent)?;
        }
        let record = is_record(&member.name);
        if record && member.size > RECORD_LIMIT {
            let limit = ZipError::Limit { what: "bytes of RECORD", limit: RECORD_LIMIT };
            return Err(limit.into());
        }
        // RECORD does not tell its own sha256.
        let hashed = !self.vouched || is_own_description(&member.name);
        Ok(Sink::new(path, member, record, hashed))
    }

    fn close(&mut self, sink: Sink, member: &Member) -> Result<(), Fault> {
        self.files.push(sink.close(member, &mut self.pace)?);
        Ok(())
    }

    fn member<R: BufRead>(&mut self, input: &mut Tap<R>, member: &Member) -> Result<(), Fault> {
        if member.is_directory() {
            return self.folder(&self.into.join(&member.name));
        }
        let mut sink = self.sink(member)?;
        match member.method {
            Method::Stored => self.copy(input, member, 0, &mut sink)?,
            Method::Deflate => {
                self.inflate.reset();
                self.inflate(input, member, 0, &mut sink)?;
            }
        }
        self.close(sink, member)?;
        if self.journal.is_due(input.position()) {
            self.journal.write(input, self.reader.members(), None);
        }
        Ok(())
    }

    /// Copies the rest of a stored member, of which `consumed` bytes are there.
    fn copy<R: BufRead>(
        &mut self,
        input: &mut Tap<R>,
        member: &Member,
        consumed: u64,
        sink: &mut Sink,
    ) -> Result<(), Fault> {
        let mut left = member.compressed.saturating_sub(consumed);
        while left > 0 {
            let bytes = input.fill_buf().map_err(Fault::Read)?;
            if bytes.is_empty() {
                return Err(truncated(input));
            }
            let count = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            sink.take(&bytes[..count], &mut self.pace)?;
            input.consume(count);
            left -= count as u64;
            if left > 0 && self.journal.is_due(input.position()) {
                let nothing = Boundary { bits: 0, count: 0 };
                self.note(input, member, sink, member.compressed - left, nothing)?;
            }
        }
        Ok(())
    }

    /// Notes how far the member that is being read is; it is the last one the reader has seen.
    fn note<R: BufRead>(
        &mut self,
        input: &Tap<R>,
        member: &Member,
        sink: &mut Sink,
        consumed: u64,
        boundary: Boundary,
    ) -> Result<(), Fault> {
        sink.flush(&mut self.pace)?;
        let current = Current { member: member.clone(), written: sink.size, consumed, boundary };
        let finished = self.reader.members().split_last().map_or(&[][..], |(_, others)| others);
        self.journal.write(input, finished, Some(&current));
        Ok(())
    }

    /// Inflates the rest of a member, of which `consumed` bytes are used.
    fn inflate<R: BufRead>(
        &mut self,
        input: &mut Tap<R>,
        member: &Member,
        consumed: u64,
        sink: &mut Sink,
    ) -> Result<(), Fault> {
        let damaged = |source| Damage::Inflate { name: member.name.clone(), source };
        let mut left = member.compressed.saturating_sub(consumed);
        loop {
            let bytes = input.fill_buf().map_err(Fault::Read)?;
            if bytes.is_empty() && left > 0 {
                return Err(truncated(input));
            }
            let count = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let (used, status) = self.inflate.step(&bytes[..count]).map_err(damaged)?;
            input.consume(used);
            left -= used as u64;
            let found = sink.size + self.inflate.output().len() as u64;
            if found > member.size || status == Status::Hungry && left == 0 {
                let (name, expected) = (member.name.clone(), member.size);
                return Err(Damage::MemberSize { name, expected, found }.into());
            }
            if status != Status::Hungry {
                sink.take(self.inflate.output(), &mut self.pace)?;
                self.inflate.take();
            }
            match status {
                Status::Done => return Ok(()),
                Status::Boundary => {
                    let boundary = self.inflate.boundary();
                    self.note(input, member, sink, member.compressed - left, boundary)?;
                }
                Status::Full if self.journal.is_due(input.position()) => {
                    self.inflate.want_boundary();
                }
                Status::Full | Status::Hungry => {}
            }
        }
    }

    fn folder(&mut self, path: &Path) -> Result<(), Fault> {
        if !self.folders.contains(path) {
            fs::create_dir_all(path).map_err(Fault::Write)?;
            self.folders.insert(path.to_owned());
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<File>, Fault> {
        let records: Vec<(String, Vec<u8>)> = self
            .files
            .iter_mut()
            .filter_map(|file| Some((file.path.clone(), file.record.take()?)))
            .collect();
        let [(name, bytes)] = records.as_slice() else {
            return Err(Damage::Records(records.len()).into());
        };
        let files = compare(self.files, name, bytes)?;
        if files.iter().all(|file| is_description(&file.path)) {
            return Err(Damage::Stub.into());
        }
        if !self.pace.is_settled() {
            settle(self.into, files.iter().map(|file| file.path.as_str())).map_err(Fault::Write)?;
        }
        Ok(files)
    }
}

fn is_record(name: &str) -> bool {
    name.strip_suffix("/RECORD")
        .is_some_and(|folder| folder.ends_with(".dist-info") && !folder.contains('/'))
}

/// Tells whether a file lies in the wheel's `dist-info`.
fn is_own_description(path: &str) -> bool {
    path.split('/').next().is_some_and(|first| first.ends_with(".dist-info"))
}

/// Tells whether a file only describes its wheel.
fn is_description(path: &str) -> bool {
    is_own_description(path) || path.ends_with("/__init__.py")
}

/// Compares the files with RECORD, both ways, and returns them with their digests: what was computed, else what RECORD
/// says.
fn compare(closed: Vec<Closed>, record: &str, bytes: &[u8]) -> Result<Vec<File>, Damage> {
    let mut listed = record::parse(bytes)?;
    let mismatch = |name: &str, what| Damage::RecordMismatch { name: name.to_owned(), what };
    let mut files = Vec::with_capacity(closed.len());
    for Closed { path, size, digest, executable, .. } in closed {
        let Some(told) = listed.remove(&path) else {
            return Err(mismatch(&path, "it is not listed"));
        };
        let unhashed = path == record
            || path.strip_prefix(record).is_some_and(|s| matches!(s, ".jws" | ".p7s"));
        if told.digest.is_none() && !unhashed {
            return Err(mismatch(&path, "no sha256 is listed"));
        }
        if digest.is_some_and(|digest| told.digest.is_some_and(|told| told != digest)) {
            return Err(mismatch(&path, "its sha256"));
        }
        if told.size.is_some_and(|told| told != size) {
            return Err(mismatch(&path, "its size"));
        }
        let Some(digest) = digest.or(told.digest) else {
            return Err(mismatch(&path, "no sha256 is listed"));
        };
        files.push(File { path, size, digest, executable });
    }
    match listed.keys().next() {
        Some(name) => Err(mismatch(name, "it is listed and missing")),
        None => Ok(files),
    }
}

fn truncated<R: BufRead>(input: &Tap<R>) -> Fault {
    ZipError::Truncated(input.position()).into()
}
