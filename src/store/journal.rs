//! How far a wheel is unpacked, so that another process can go on: `<staging>/.cuenv-resume`.
//!
//! The wheel itself is never on the disk. What a later process needs instead is small: the state of the wheel's sha256
//! after the bytes that were used, the members that are finished, and for the one that is not, the block boundary of
//! its deflate stream; the 32 KB of output that the next block may refer to are in the unfinished file. Nothing that a
//! note says about files is believed: they are read and summed again, so a note that outlived its data (a power cut)
//! ends as a wheel that does not match its checksums and is fetched anew.

use std::fmt::Write as _;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use fs_err as fs;
use sha2::Sha256;
use sha2::digest::common::hazmat::{SerializableState as _, SerializedState};

use super::tap::Tap;
use crate::platform::checkpoint::checkpoint;
use crate::platform::flock::Owner;
use crate::platform::identity;
use crate::platform::inflate::Boundary;
use crate::platform::read::text;
use crate::platform::zip::{Member, Method};

/// The note's name inside a staging directory.
pub(super) const NAME: &str = ".cuenv-resume";

const HEAD: &str = "cuenv-resume 1";

/// Bytes of a wheel between two notes: what a killed process loses at most.
const STEP: u64 = 8 << 20;

/// What a note says.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    /// Who wrote it.
    pub(super) owner: Owner,
    /// Bytes of the wheel that were used.
    pub(super) position: u64,
    /// The state of the wheel's hash after them.
    pub(super) hash: Sha256,
    /// Members whose files are complete.
    pub(super) finished: Vec<Member>,
    /// The member that is not.
    pub(super) current: Option<Current>,
}

/// A member that is partly inflated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Current {
    pub(super) member: Member,
    /// Bytes of its file.
    pub(super) written: u64,
    /// Bytes of its compressed data.
    pub(super) consumed: u64,
    /// The bits between the two.
    pub(super) boundary: Boundary,
}

/// Writes notes.
pub(super) struct Journal<'a> {
    folder: &'a Path,
    last: u64,
}

impl<'a> Journal<'a> {
    pub(super) fn new(folder: &'a Path, position: u64) -> Self {
        Self { folder, last: position }
    }

    /// Tells whether enough was used since the last note.
    pub(super) fn is_due(&self, position: u64) -> bool {
        position >= self.last + STEP
    }

    /// Notes how far it is. A note that cannot be written is only a note that is missing.
    pub(super) fn write<R: BufRead>(
        &mut self,
        input: &Tap<R>,
        finished: &[Member],
        current: Option<&Current>,
    ) {
        self.last = input.position();
        let text = render(input.position(), input.hash(), finished, current);
        let staged = self.folder.join(".cuenv-resume-next");
        checkpoint("note");
        let _ = fs::write(&staged, text).and_then(|()| fs::rename(&staged, self.folder.join(NAME)));
        checkpoint("noted");
    }
}

fn render(position: u64, hash: &Sha256, finished: &[Member], current: Option<&Current>) -> String {
    let mut text = format!("{HEAD}\nowner {}position {position}\nhash ", Owner::me(None).line());
    for byte in hash.serialize() {
        let _ = write!(text, "{byte:02x}");
    }
    text.push('\n');
    for member in finished {
        let _ = writeln!(text, "member {}", line(member));
    }
    if let Some(Current { member, written, consumed, boundary }) = current {
        let Boundary { bits, count } = boundary;
        let _ = writeln!(text, "current {written} {consumed} {bits} {count} {}", line(member));
    }
    text.push_str("end\n");
    text
}

fn line(member: &Member) -> String {
    let method = match member.method {
        Method::Stored => 's',
        Method::Deflate => 'd',
    };
    let Member { name, crc32, compressed, size, offset, .. } = member;
    format!("{method} {crc32} {compressed} {size} {offset} {name}")
}

fn member(text: &str) -> Option<Member> {
    let mut words = text.splitn(6, ' ');
    let method = match words.next()? {
        "s" => Method::Stored,
        "d" => Method::Deflate,
        _ => return None,
    };
    Some(Member {
        method,
        crc32: words.next()?.parse().ok()?,
        compressed: words.next()?.parse().ok()?,
        size: words.next()?.parse().ok()?,
        offset: words.next()?.parse().ok()?,
        name: words.next()?.to_owned(),
    })
}

fn parse(text: &str) -> Option<Progress> {
    let mut lines = text.strip_suffix("end\n")?.lines();
    if lines.next()? != HEAD {
        return None;
    }
    let owner = Owner::parse(lines.next()?.strip_prefix("owner ")?)?;
    let position = lines.next()?.strip_prefix("position ")?.parse().ok()?;
    let hash = state(lines.next()?.strip_prefix("hash ")?)?;
    let mut progress = Progress { owner, position, hash, finished: Vec::new(), current: None };
    for line in lines {
        if let Some(rest) = line.strip_prefix("member ") {
            progress.finished.push(member(rest)?);
        } else {
            let mut words = line.strip_prefix("current ")?.splitn(5, ' ');
            let written = words.next()?.parse().ok()?;
            let consumed = words.next()?.parse().ok()?;
            let (bits, count) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let boundary = Boundary { bits, count };
            let member = member(words.next()?)?;
            progress.current = Some(Current { member, written, consumed, boundary });
        }
    }
    Some(progress)
}

fn state(text: &str) -> Option<Sha256> {
    let mut bytes = SerializedState::<Sha256>::default();
    if text.len() != 2 * bytes.len() || !text.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
    }
    Sha256::deserialize(&bytes).ok()
}

/// Reads the note of a staging directory, when there is a whole one.
pub(super) fn read(folder: &Path) -> Option<Progress> {
    parse(&text(&folder.join(NAME)).ok()?)
}

/// Returns the directories in `tmp` that were staged for this digest, with their notes, the furthest first.
pub(super) fn left_behind(tmp: &Path, digest: &str) -> Vec<(PathBuf, Option<Progress>)> {
    let Ok(entries) = fs::read_dir(tmp) else { return Vec::new() };
    let mut found: Vec<_> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(digest))
        .map(|entry| (entry.path(), read(&entry.path())))
        .collect();
    found.sort_by_key(|(_, progress)| {
        std::cmp::Reverse(progress.as_ref().map_or(0, |progress| progress.position))
    });
    found
}

/// Silence of another host's process after which its work is taken over.
const SILENCE: Duration = Duration::from_mins(10);

/// Tells whether nobody works in a staging directory any more. `is_locked`: this process holds a real file lock for
/// its wheel, so on this host nobody else can.
pub(super) fn is_abandoned(folder: &Path, owner: Option<&Owner>, is_locked: bool) -> bool {
    match owner {
        Some(owner) if owner.is_dead() => true,
        None if is_locked => true,
        Some(owner) if is_locked && owner.host == identity::host() => true,
        _ => fs::metadata(folder.join(NAME))
            .or_else(|_| fs::metadata(folder))
            .and_then(|metadata| metadata.modified())
            .ok()
            .and_then(|at| SystemTime::now().duration_since(at).ok())
            .is_some_and(|age| age > SILENCE),
    }
}

#[cfg(test)]
mod tests {
    use sha2::Digest as _;

    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let member = |name: &str| Member {
            name: name.to_owned(),
            method: Method::Deflate,
            crc32: 1,
            compressed: 2,
            size: 3,
            offset: 4,
        };
        let mut hash = Sha256::new();
        hash.update(b"some bytes that do not fill a block");
        let boundary = Boundary { bits: 5, count: 3 };
        let current = Current { member: member("a b"), written: 6, consumed: 1, boundary };
        let finished = [member("x"), member("y z")];
        let text = render(9, &hash, &finished, Some(&current));
        let progress = parse(&text).unwrap();
        assert_eq!((progress.position, progress.finished.as_slice()), (9, &finished[..]));
        assert_eq!(progress.current, Some(current));
        assert_eq!(progress.owner.pid, std::process::id());
        hash.update(b", and more");
        let mut resumed = progress.hash;
        resumed.update(b", and more");
        assert_eq!(resumed.finalize(), hash.finalize());
        for end in 0..text.len() {
            assert!(parse(&text[..end]).is_none());
        }
    }
}
