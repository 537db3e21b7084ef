//! Where one member of a wheel goes: its file, its checksum, its sha256 where nobody else vouches for it.
//!
//! A wheel whose own sha256 is promised and found vouches for every byte of its members and of its RECORD; the checksum
//! then says that they were inflated and, after a cut, kept as they should be. Hashing gigabytes a second time would
//! say the same once more. Without a promise the members are hashed and compared with RECORD.

use std::io::{self};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use sha2::{Digest as _, Sha256};

use super::error::Damage;
use super::unpack::Fault;
use crate::domain::digest::Digest;
use crate::platform::bulk::{Bulk, Pace};
use crate::platform::inflate::WINDOW;
use crate::platform::read::open;
use crate::platform::zip::Member;

/// One member on its way to the disk.
pub(super) struct Sink {
    path: PathBuf,
    promised: u64,
    file: Option<Bulk>,
    executable: bool,
    hash: Option<Sha256>,
    checksum: crc32fast::Hasher,
    pub(super) size: u64,
    record: Option<Vec<u8>>,
}

impl Sink {
    /// `hashed`: the member's sha256 is wanted.
    pub(super) fn new(path: PathBuf, member: &Member, record: bool, hashed: bool) -> Self {
        Self {
            path,
            promised: member.size,
            file: None,
            executable: in_program_folder(&member.name),
            hash: hashed.then(Sha256::new),
            checksum: crc32fast::Hasher::new(),
            size: 0,
            record: record.then(Vec::new),
        }
    }

    pub(super) fn take(&mut self, bytes: &[u8], pace: &mut Pace) -> Result<(), Fault> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.file.is_none() {
            // NVIDIA's modes cannot be trusted (0744, 0664, none at all): a program is what looks like one.
            self.executable &= is_program(bytes);
            self.file = Some(Bulk::new(self.create()?, self.promised, pace));
        }
        self.count(bytes);
        let file = self.file.as_mut().expect("created above");
        file.write(bytes, pace).map_err(Fault::Write)
    }

    /// Sees to it that what was taken is in the file.
    pub(super) fn flush(&mut self, pace: &mut Pace) -> Result<(), Fault> {
        self.file.as_mut().map_or(Ok(()), |file| file.flush(pace)).map_err(Fault::Write)
    }

    fn create(&self) -> Result<fs::File, Fault> {
        let mode = if self.executable { 0o555 } else { 0o444 };
        let create =
            || fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&self.path);
        match create() {
            // Begun by the process that this one goes on for, after its last note.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&self.path).and_then(|()| create())
            }
            other => other,
        }
        .map_err(Fault::Write)
    }

    /// Goes on with a file of which `written` bytes are there: they are read and summed again, so what the disk lost
    /// is found out. Returns the last [`WINDOW`] of them.
    pub(super) fn reopen(&mut self, written: u64, pace: &Pace) -> io::Result<Vec<u8>> {
        // The file may be read-only already.
        fs::set_permissions(&self.path, std::fs::Permissions::from_mode(0o644))?;
        let mut file = fs::OpenOptions::new().read(true).write(true).open(&self.path)?;
        let window = self.read_again(&mut file, written)?;
        let file = Bulk::behind(file, written, pace)?;
        let mode = if self.executable { 0o555 } else { 0o444 };
        fs::set_permissions(&self.path, std::fs::Permissions::from_mode(mode))?;
        self.file = Some(file);
        Ok(window)
    }

    /// Takes over a file that is finished.
    pub(super) fn read_whole(&mut self, size: u64) -> io::Result<()> {
        let mut file = open(&self.path)?;
        self.read_again(&mut file, size).map(drop)
    }

    fn read_again(&mut self, file: &mut impl io::Read, size: u64) -> io::Result<Vec<u8>> {
        let mut block = vec![0; 256 * 1024];
        let mut tail: Vec<u8> = Vec::new();
        let mut left = size;
        while left > 0 {
            let wanted = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            file.read_exact(&mut block[..wanted])?;
            let bytes = &block[..wanted];
            if self.size == 0 {
                self.executable &= is_program(bytes);
            }
            self.count(bytes);
            tail.extend_from_slice(bytes);
            let surplus = tail.len().saturating_sub(WINDOW);
            tail.drain(..surplus);
            left -= wanted as u64;
        }
        Ok(tail)
    }

    fn count(&mut self, bytes: &[u8]) {
        if let Some(hash) = &mut self.hash {
            hash.update(bytes);
        }
        self.checksum.update(bytes);
        self.size += bytes.len() as u64;
        if let Some(record) = &mut self.record {
            record.extend_from_slice(bytes);
        }
    }

    /// Ends the file and compares it with what the archive says about it.
    pub(super) fn close(mut self, member: &Member, pace: &mut Pace) -> Result<Closed, Fault> {
        match self.file.take() {
            Some(file) => file.finish(pace).map_err(Fault::Write)?,
            None if self.size > 0 => {}
            None => {
                self.executable = false;
                self.create()?;
            }
        }
        if self.size != member.size {
            let (name, expected) = (member.name.clone(), member.size);
            return Err(Damage::MemberSize { name, expected, found: self.size }.into());
        }
        if self.checksum.finalize() != member.crc32 {
            return Err(Damage::Checksum(member.name.clone()).into());
        }
        Ok(Closed {
            path: member.name.clone(),
            size: self.size,
            digest: self.hash.map(|hash| Digest::from_bytes(hash.finalize().into())),
            executable: self.executable,
            record: self.record,
        })
    }
}

/// A member that is a file now.
pub(super) struct Closed {
    pub(super) path: String,
    pub(super) size: u64,
    /// Its sha256, where it was wanted.
    pub(super) digest: Option<Digest>,
    pub(super) executable: bool,
    /// Its bytes, when it is the wheel's RECORD.
    pub(super) record: Option<Vec<u8>>,
}

pub(super) fn is_program(start: &[u8]) -> bool {
    start.starts_with(b"\x7fELF") || start.starts_with(b"#!")
}

/// Tells whether programs live here: `bin/`, `nvvm/bin/`, `compute-sanitizer/`.
pub(super) fn in_program_folder(name: &str) -> bool {
    let mut parts = name.rsplit('/').skip(1);
    parts.next().is_some_and(|folder| matches!(folder, "bin" | "compute-sanitizer"))
}
