//! Unpacks a wheel into a directory while its bytes arrive, and checks everything that can be checked.
//!
//! Bytes are inflated, hashed and written as they come, a block at a time, so memory does not grow with the wheel
//! and nothing is written twice. What comes out is complete only when [`unpack`] returns: the archive's directory,
//! RECORD and every file's sha256 agree with each other.

use std::collections::HashSet;
use std::io::{self, BufRead, Write as _};
use std::path::{Path, PathBuf};

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use sha2::{Digest as _, Sha256};

use super::error::Damage;
use super::record;
use super::tap::Tap;
use crate::domain::digest::Digest;
use crate::domain::receipt::File;
use crate::platform::inflate::{Inflate, Status};
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

/// Unpacks the wheel that `input` brings into the empty directory `into`; `size` is the wheel's, when known.
/// Returns its files. The caller compares the digest of the whole.
pub(super) fn unpack<R: BufRead>(
    input: &mut Tap<R>,
    into: &Path,
    size: Option<u64>,
) -> Result<Vec<File>, Fault> {
    let mut unpacker = Unpacker::new(into);
    // Without a size from the index, the limit is what a wheel of the largest size known today may hold.
    let mut reader = Reader::new(Limits::for_archive(size.unwrap_or(1 << 30)));
    loop {
        let offset = input.position();
        let Some(member) = reader.next(input, offset)? else {
            reader.finish(input, offset)?;
            break;
        };
        unpacker.member(input, &member)?;
    }
    unpacker.finish()
}

struct Unpacker<'a> {
    into: &'a Path,
    folders: HashSet<PathBuf>,
    inflate: Inflate,
    files: Vec<File>,
    records: Vec<(String, Vec<u8>)>,
}

impl<'a> Unpacker<'a> {
    fn new(into: &'a Path) -> Self {
        Self {
            into,
            folders: HashSet::new(),
            inflate: Inflate::default(),
            files: Vec::new(),
            records: Vec::new(),
        }
    }

    fn member<R: BufRead>(&mut self, input: &mut Tap<R>, member: &Member) -> Result<(), Fault> {
        let path = self.into.join(&member.name);
        if member.is_directory() {
            return self.folder(&path);
        }
        if let Some(parent) = path.parent() {
            self.folder(parent)?;
        }
        let mut sink = Sink::new(path, member, is_record(&member.name));
        if sink.record.is_some() && member.size > RECORD_LIMIT {
            let limit = ZipError::Limit { what: "bytes of RECORD", limit: RECORD_LIMIT };
            return Err(limit.into());
        }
        match member.method {
            Method::Stored => copy(input, member, &mut sink)?,
            Method::Deflate => {
                self.inflate.reset();
                inflate(input, member, &mut self.inflate, &mut sink)?;
            }
        }
        let record = sink.record.take();
        self.files.push(sink.close(member)?);
        self.records.extend(record.map(|bytes| (member.name.clone(), bytes)));
        Ok(())
    }

    fn folder(&mut self, path: &Path) -> Result<(), Fault> {
        if !self.folders.contains(path) {
            fs::create_dir_all(path).map_err(Fault::Write)?;
            self.folders.insert(path.to_owned());
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<File>, Fault> {
        let [(name, bytes)] = self.records.as_slice() else {
            return Err(Damage::Records(self.records.len()).into());
        };
        compare(&self.files, name, bytes)?;
        if self.files.iter().all(|file| is_description(&file.path)) {
            return Err(Damage::Stub.into());
        }
        Ok(self.files)
    }
}

fn is_record(name: &str) -> bool {
    name.strip_suffix("/RECORD")
        .is_some_and(|folder| folder.ends_with(".dist-info") && !folder.contains('/'))
}

/// Tells whether a file only describes its wheel.
fn is_description(path: &str) -> bool {
    path.split('/').next().is_some_and(|first| first.ends_with(".dist-info"))
        || path.ends_with("/__init__.py")
}

/// Compares the files with RECORD, both ways.
fn compare(files: &[File], record: &str, bytes: &[u8]) -> Result<(), Damage> {
    let mut listed = record::parse(bytes)?;
    let mismatch = |name: &str, what| Err(Damage::RecordMismatch { name: name.to_owned(), what });
    for file in files {
        let Some(told) = listed.remove(&file.path) else {
            return mismatch(&file.path, "it is not listed");
        };
        let unhashed = file.path == record
            || file.path.strip_prefix(record).is_some_and(|s| matches!(s, ".jws" | ".p7s"));
        match told.digest {
            Some(digest) if digest != file.digest => return mismatch(&file.path, "its sha256"),
            None if !unhashed => return mismatch(&file.path, "no sha256 is listed"),
            _ => {}
        }
        if told.size.is_some_and(|size| size != file.size) {
            return mismatch(&file.path, "its size");
        }
    }
    match listed.keys().next() {
        Some(name) => mismatch(name, "it is listed and missing"),
        None => Ok(()),
    }
}

fn truncated<R: BufRead>(input: &Tap<R>) -> Fault {
    ZipError::Truncated(input.position()).into()
}

fn copy<R: BufRead>(input: &mut Tap<R>, member: &Member, sink: &mut Sink) -> Result<(), Fault> {
    let mut left = member.compressed;
    while left > 0 {
        let bytes = input.fill_buf().map_err(Fault::Read)?;
        if bytes.is_empty() {
            return Err(truncated(input));
        }
        let count = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        sink.take(&bytes[..count])?;
        input.consume(count);
        left -= count as u64;
    }
    Ok(())
}

fn inflate<R: BufRead>(
    input: &mut Tap<R>,
    member: &Member,
    stream: &mut Inflate,
    sink: &mut Sink,
) -> Result<(), Fault> {
    let damaged = |source| Damage::Inflate { name: member.name.clone(), source };
    let mut left = member.compressed;
    loop {
        let bytes = input.fill_buf().map_err(Fault::Read)?;
        if bytes.is_empty() && left > 0 {
            return Err(truncated(input));
        }
        let count = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let (used, status) = stream.step(&bytes[..count]).map_err(damaged)?;
        input.consume(used);
        left -= used as u64;
        let found = sink.size + stream.output().len() as u64;
        if found > member.size || status == Status::Hungry && left == 0 {
            let (name, expected) = (member.name.clone(), member.size);
            return Err(Damage::MemberSize { name, expected, found }.into());
        }
        if matches!(status, Status::Full | Status::Done) {
            sink.take(stream.output())?;
            stream.take();
        }
        if status == Status::Done {
            return Ok(());
        }
    }
}

/// Where one member goes: its file, its hash, its checksum.
struct Sink {
    path: PathBuf,
    file: Option<fs::File>,
    executable: bool,
    hash: Sha256,
    checksum: flate2::Crc,
    size: u64,
    record: Option<Vec<u8>>,
}

impl Sink {
    fn new(path: PathBuf, member: &Member, record: bool) -> Self {
        Self {
            path,
            file: None,
            executable: in_program_folder(&member.name),
            hash: Sha256::new(),
            checksum: flate2::Crc::new(),
            size: 0,
            record: record.then(Vec::new),
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.file.is_none() {
            // NVIDIA's modes cannot be trusted (0744, 0664, none at all): a program is what looks like one.
            self.executable &= bytes.starts_with(b"\x7fELF") || bytes.starts_with(b"#!");
            self.file = Some(self.create()?);
        }
        self.hash.update(bytes);
        self.checksum.update(bytes);
        self.size += bytes.len() as u64;
        if let Some(record) = &mut self.record {
            record.extend_from_slice(bytes);
        }
        let file = self.file.as_mut().expect("created above");
        file.write_all(bytes).map_err(Fault::Write)
    }

    fn create(&self) -> Result<fs::File, Fault> {
        let mode = if self.executable { 0o555 } else { 0o444 };
        fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&self.path)
            .map_err(Fault::Write)
    }

    fn close(mut self, member: &Member) -> Result<File, Fault> {
        if self.file.is_none() {
            self.executable = false;
            self.create()?;
        }
        if self.size != member.size {
            let (name, expected) = (member.name.clone(), member.size);
            return Err(Damage::MemberSize { name, expected, found: self.size }.into());
        }
        if self.checksum.sum() != member.crc32 {
            return Err(Damage::Checksum(member.name.clone()).into());
        }
        Ok(File {
            path: member.name.clone(),
            size: self.size,
            digest: Digest::from_bytes(self.hash.finalize().into()),
            executable: self.executable,
        })
    }
}

/// Tells whether programs live here: `bin/`, `nvvm/bin/`, `compute-sanitizer/`.
fn in_program_folder(name: &str) -> bool {
    let mut parts = name.rsplit('/').skip(1);
    parts.next().is_some_and(|folder| matches!(folder, "bin" | "compute-sanitizer"))
}
