//! Advisory file locks that save work and never carry correctness.
//!
//! A lock tells others who works on what (`pid host percent`, in the lock file itself), so that a waiting process
//! can say for whom. Where `flock` is missing or broken (ENOSYS and ENOLCK on network file systems, EBADF on some
//! NFS mounts, 524 on Lustre and GPFS, EOPNOTSUPP) a file created with O_EXCL beside it takes its place; it carries
//! the same line, and its owner touches it while it works. It counts as abandoned when its process is gone (same
//! host) or when it was not touched for [`ABANDONED`] (another host). What is locked stays correct without any of
//! this, because everything is published by an atomic rename.

use std::fmt;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use fs_err as fs;

use super::{identity, read};

/// A lock file of another host that was not touched for this long has no owner any more.
pub const ABANDONED: Duration = Duration::from_mins(1);

/// How often the line in the lock file is written anew.
const BEAT: Duration = Duration::from_millis(500);

/// ENOTSUPP of the kernel, which has no name in user space: Lustre and GPFS return it.
const ENOTSUPP: i32 = 524;

/// Who holds a lock, as its file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The process.
    pub pid: u32,
    /// Its host.
    pub host: String,
    /// How far it is, when it says so.
    pub percent: Option<u8>,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} on {}", self.pid, self.host)?;
        match self.percent {
            Some(percent) => write!(f, ", {percent}%"),
            None => Ok(()),
        }
    }
}

impl Owner {
    pub(crate) fn me(percent: Option<u8>) -> Self {
        Self { pid: std::process::id(), host: identity::host(), percent }
    }

    pub(crate) fn line(&self) -> String {
        let percent = self.percent.map_or("-".to_owned(), |percent| percent.to_string());
        format!("{} {} {percent}\n", self.pid, self.host)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let pid = words.next()?.parse().ok()?;
        let host = words.next()?.to_owned();
        Some(Self { pid, host, percent: words.next().and_then(|word| word.parse().ok()) })
    }

    /// Tells whether the owner is a process of this host that no longer runs.
    pub(crate) fn is_dead(&self) -> bool {
        self.host == identity::host() && !identity::is_running(self.pid)
    }
}

/// What an attempt gave.
#[derive(Debug)]
pub enum Attempt {
    /// The lock is ours.
    Held(Flock),
    /// Somebody has it.
    Busy(Option<Owner>),
    /// No lock can be had here at all (a read-only or foreign directory); go on without.
    Unavailable(io::Error),
}

/// A lock that is held; dropping it gives it back.
#[derive(Debug)]
pub struct Flock {
    file: fs::File,
    /// The stand-in file, where `flock` does not work.
    stand_in: Option<PathBuf>,
    path: PathBuf,
    told: Mutex<(Instant, Option<u8>)>,
    shared: bool,
}

/// Shared among readers of what must not vanish, or exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Several may hold it.
    Shared,
    /// One may hold it.
    Exclusive,
}

/// Tries to take the lock at `path` without waiting.
pub fn attempt(path: &Path, mode: Mode) -> Attempt {
    match attempt_io(path, mode) {
        Ok(attempt) => attempt,
        Err(error) => Attempt::Unavailable(error),
    }
}

fn attempt_io(path: &Path, mode: Mode) -> io::Result<Attempt> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    loop {
        // Read and write: NFS maps an exclusive lock to a write lock, which needs a writable descriptor.
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let taken = match mode {
            Mode::Shared => file.file().try_lock_shared(),
            Mode::Exclusive => file.file().try_lock(),
        };
        match taken {
            Ok(()) => {
                // The last owner removes the file; a lock on a file that has lost its name locks nothing.
                if !is_named(&file, path) {
                    continue;
                }
                return Ok(Attempt::Held(Flock::new(file, None, path, mode)));
            }
            Err(std::fs::TryLockError::WouldBlock) => return Ok(Attempt::Busy(read_owner(path))),
            Err(std::fs::TryLockError::Error(error)) if is_unsupported(&error) => {
                return stand_in(file, path, mode);
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
        }
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    error.raw_os_error().is_some_and(|code| {
        code == ENOTSUPP
            || [Errno::NOSYS, Errno::NOLCK, Errno::BADF, Errno::OPNOTSUPP, Errno::INVAL]
                .iter()
                .any(|errno| errno.raw_os_error() == code)
    })
}

fn is_named(file: &fs::File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

fn read_owner(path: &Path) -> Option<Owner> {
    let mut text = String::new();
    read::open(path).ok()?.take(512).read_to_string(&mut text).ok()?;
    Owner::parse(&text)
}

/// Takes the stand-in's place. Shared locks need none: they only keep gc away, and gc keeps what is younger than a
/// day wherever locks do not work.
fn stand_in(file: fs::File, path: &Path, mode: Mode) -> io::Result<Attempt> {
    if mode == Mode::Shared {
        return Ok(Attempt::Held(Flock::new(file, None, path, mode)));
    }
    let beside = path.with_extension("owner");
    for _ in 0..2 {
        match fs::OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(own) => {
                return Ok(Attempt::Held(Flock::new(own, Some(beside), path, mode)));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let owner = read_owner(&beside);
                let untouched = fs::metadata(&beside)
                    .and_then(|metadata| metadata.modified())
                    .ok()
                    .and_then(|at| SystemTime::now().duration_since(at).ok());
                let dead = owner.as_ref().is_some_and(Owner::is_dead);
                if !dead && untouched.is_none_or(|age| age < ABANDONED) {
                    return Ok(Attempt::Busy(owner));
                }
                let _ = fs::remove_file(&beside);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Attempt::Busy(read_owner(&beside)))
}

impl Flock {
    fn new(file: fs::File, stand_in: Option<PathBuf>, path: &Path, mode: Mode) -> Self {
        let lock = Self {
            file,
            stand_in,
            path: path.to_owned(),
            told: Mutex::new((Instant::now(), None)),
            shared: mode == Mode::Shared,
        };
        lock.write(None);
        lock
    }

    /// Tells whether `flock` itself works here.
    pub fn is_real(&self) -> bool {
        self.stand_in.is_none()
    }

    /// Says how far the owner is; written at most twice a second.
    pub fn beat(&self, percent: Option<u8>) {
        let Ok(mut told) = self.told.try_lock() else { return };
        if told.0.elapsed() < BEAT {
            return;
        }
        *told = (Instant::now(), percent);
        self.write(percent);
    }

    /// Writes the owner's line. It is only read by people, so failures do not matter.
    fn write(&self, percent: Option<u8>) {
        if self.shared {
            return;
        }
        let mut file = self.file.file();
        let line = Owner::me(percent).line();
        let _ = file.rewind();
        let _ = file.write_all(line.as_bytes());
        let _ = file.set_len(line.len() as u64);
    }

    /// Gives the lock back and removes its file, when what it guarded is done for good.
    pub fn retire(self) {
        if !self.shared {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for Flock {
    fn drop(&mut self) {
        if let Some(stand_in) = &self.stand_in {
            let _ = fs::remove_file(stand_in);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(attempt: Attempt) -> Flock {
        match attempt {
            Attempt::Held(lock) => lock,
            other => panic!("not held: {other:?}"),
        }
    }

    #[test]
    fn one_holds_and_others_learn_who() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("locks/a");
        let lock = held(attempt(&path, Mode::Exclusive));
        std::thread::sleep(BEAT);
        lock.beat(Some(43));
        let Attempt::Busy(Some(owner)) = attempt(&path, Mode::Exclusive) else {
            panic!("must be busy")
        };
        assert_eq!((owner.pid, owner.percent), (std::process::id(), Some(43)));
        assert!(owner.to_string().ends_with(", 43%"), "{owner}");
        drop(lock);
        held(attempt(&path, Mode::Exclusive)).retire();
        assert!(!path.exists());
    }

    #[test]
    fn shared_locks_exclude_an_exclusive_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let one = held(attempt(&path, Mode::Shared));
        let two = held(attempt(&path, Mode::Shared));
        assert!(matches!(attempt(&path, Mode::Exclusive), Attempt::Busy(_)));
        drop((one, two));
        held(attempt(&path, Mode::Exclusive));
    }

    #[test]
    fn stand_in_of_a_dead_process_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let file = || fs::OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let lock = held(stand_in(file().unwrap(), &path, Mode::Exclusive).unwrap());
        assert!(!lock.is_real());
        let second = stand_in(file().unwrap(), &path, Mode::Exclusive).unwrap();
        assert!(matches!(second, Attempt::Busy(Some(_))));
        drop(lock);
        let dead = Owner { pid: u32::MAX - 1, host: identity::host(), percent: None };
        fs::write(path.with_extension("owner"), dead.line()).unwrap();
        held(stand_in(file().unwrap(), &path, Mode::Exclusive).unwrap());
    }

    #[test]
    fn stand_in_of_another_host_is_kept_while_it_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let owner = Owner { pid: 1, host: "elsewhere".into(), percent: None };
        let beside = path.with_extension("owner");
        fs::write(&beside, owner.line()).unwrap();
        let file = || fs::OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let fresh = stand_in(file().unwrap(), &path, Mode::Exclusive).unwrap();
        assert!(matches!(fresh, Attempt::Busy(Some(found)) if found == owner));
        let old = SystemTime::now() - 2 * ABANDONED;
        fs::OpenOptions::new().write(true).open(&beside).unwrap().set_modified(old).unwrap();
        held(stand_in(file().unwrap(), &path, Mode::Exclusive).unwrap());
    }
}
