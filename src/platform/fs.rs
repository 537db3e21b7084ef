//! Writing so that a reader, or a crash, sees all or nothing.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;

use super::checkpoint::checkpoint;
use super::identity;

static SERIAL: AtomicU32 = AtomicU32::new(0);

/// Returns a name that no other process or thread uses: `stem-<pid>-<n>-<random>`. Two containers that share a home may
/// have the same process numbers.
pub fn unique(stem: &str) -> String {
    made_by(stem, std::process::id())
}

/// Returns a name as process `pid` gives one.
pub fn made_by(stem: &str, pid: u32) -> String {
    let random = RandomState::new().hash_one(SERIAL.load(Ordering::Relaxed)) >> 32;
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    format!("{stem}-{pid}-{serial}-{random:08x}")
}

/// Returns the process that gave a name of [`unique`]; `None` for any other name.
pub fn maker(name: &str) -> Option<u32> {
    let mut parts = name.rsplit('-').skip(2);
    parts.next()?.parse().ok().filter(|_| parts.next().is_some())
}

/// Mode of new files, before the umask: whoever works with an umask of 0 still gets no file that everybody may write,
/// which cuenv would not trust as a pin.
const NEW_FILE: u32 = 0o664;

/// Replaces the file at `path` by `bytes`, in one step; a power cut leaves the old bytes or the new ones.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, &|_| Ok(()))
}

/// Replaces the bytes of somebody's own file in one step: through a link, so that a start-up file that is one (dotfiles in
/// a repository) stays one, and with the mode and, where that is allowed, the owner that it has.
pub fn rewrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let real = match fs::canonicalize(path) {
        Ok(real) => real,
        // A link to what is not there yet is followed by hand.
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
            Ok(to) => path.parent().unwrap_or(Path::new("/")).join(to),
            Err(_) => path.to_owned(),
        },
        Err(error) => return Err(error),
    };
    let Ok(before) = fs::metadata(&real) else { return write_atomic(&real, bytes) };
    replace(&real, bytes, &|file| {
        let _ = std::os::unix::fs::fchown(file, Some(before.uid()), Some(before.gid()));
        file.set_permissions(before.permissions())
    })
}

/// Replaces the program at `path` by `bytes`, in one step: whoever starts it meanwhile runs the old or the new one.
pub fn write_program(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, &|file| file.set_permissions(std::fs::Permissions::from_mode(0o755)))
}

/// Writes a new file, lets `finish` give it its mode, sees to it that the disk has it, and puts it in the place of what is
/// at `path`. Where the file system has files without a name, a process that is killed meanwhile leaves nothing.
fn replace(
    path: &Path,
    bytes: &[u8],
    finish: &dyn Fn(&std::fs::File) -> io::Result<()>,
) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let stem = staged_stem(path);
    clear_left_overs(parent, &stem);
    let staged = parent.join(unique(&stem));
    let fill = |file: &mut std::fs::File| {
        file.write_all(bytes)?;
        finish(file)?;
        file.sync_data()
    };
    match nameless(parent) {
        Some(mut file) => {
            fill(&mut file)?;
            checkpoint("file-written");
            // Where nothing is to be replaced, the file gets its name at once.
            if give_name(&file, path).is_ok() {
                return Ok(());
            }
            match give_name(&file, &staged) {
                Ok(()) => {}
                // Without /proc, which leads to a file that has no name.
                Err(_) => write_named(&staged, &fill)?,
            }
        }
        None => write_named(&staged, &fill)?,
    }
    checkpoint("file-named");
    fs::rename(&staged, path).inspect_err(|_| {
        let _ = fs::remove_file(&staged);
    })
}

fn write_named(
    staged: &Path,
    fill: &dyn Fn(&mut std::fs::File) -> io::Result<()>,
) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(NEW_FILE).open(staged)?;
    let (mut file, _) = file.into_parts();
    fill(&mut file).inspect_err(|_| {
        let _ = fs::remove_file(staged);
    })
}

/// Opens a file in `directory` that has no name and goes with its last handle; `None` where there is no such thing (NFS).
fn nameless(directory: &Path) -> Option<std::fs::File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::open(directory, flags, Mode::from_raw_mode(NEW_FILE)).ok().map(Into::into)
}

/// Names a file of [`nameless`]; fails where that name is taken.
fn give_name(file: &std::fs::File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD};
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// What the names of a file's half-made successors begin with.
fn staged_stem(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!(".{name}")
}

/// A half-made file of this age has no maker any more: making one takes milliseconds.
const LEFT_OVER: Duration = Duration::from_mins(1);

/// Removes what killed processes have left of this name. A process of another host that shares the directory is only known
/// by the time of its file.
fn clear_left_overs(directory: &Path, stem: &str) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let rest = name.strip_prefix(stem).filter(|rest| rest.starts_with('-'));
        let Some(pid) = rest.and_then(|_| maker(&name)) else { continue };
        let age = entry.metadata().and_then(|seen| seen.modified()).ok();
        let age = age.and_then(|at| SystemTime::now().duration_since(at).ok());
        if age.is_some_and(|age| age > LEFT_OVER) && !identity::is_running(pid) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Points the symbolic link at `path` to `target`, in one step.
pub fn symlink_atomic(target: &Path, path: &Path) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    if fs_err::os::unix::fs::symlink(target, path).is_ok() {
        return Ok(());
    }
    let stem = staged_stem(path);
    clear_left_overs(parent, &stem);
    let staged = parent.join(unique(&stem));
    fs_err::os::unix::fs::symlink(target, &staged)?;
    checkpoint("link-made");
    fs::rename(&staged, path).inspect_err(|_| {
        let _ = fs::remove_file(&staged);
    })
}

/// Tries whether this process can make files in `directory`. Trying is the only sure way: permissions are not all that
/// forbids it. The file has no name where the file system can do that, so that not even the directory's time changes.
pub fn try_writing(directory: &Path) -> io::Result<()> {
    if nameless(directory).is_some() {
        return Ok(());
    }
    let probe = directory.join(unique(".cuenv"));
    let made = fs::OpenOptions::new().write(true).create_new(true).open(&probe);
    made.map_err(|error| io::Error::from(error.kind()))?;
    fs::remove_file(&probe)
}

/// How a publication ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// It is ours.
    New,
    /// Another process was quicker; its bytes are the same, because the name is the digest.
    AlreadyThere,
}

/// A directory that is being filled; unless published, it is removed.
#[derive(Debug)]
pub struct Staging {
    path: PathBuf,
    keep: bool,
}

impl Staging {
    /// Makes an empty directory in `parent`.
    pub fn new(parent: &Path, stem: &str) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        loop {
            let path = parent.join(unique(stem));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path, keep: false }),
                // Left behind by a process that had the same pid.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes over a directory that another process has left, by renaming it: of several that try, one succeeds.
    pub fn adopt(left: &Path, stem: &str) -> io::Result<Self> {
        let path = left.with_file_name(unique(stem));
        fs::rename(left, &path)?;
        Ok(Self { path, keep: false })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the directory in place when this value goes, for a later run to go on with.
    pub fn keep(mut self) {
        self.keep = true;
    }

    /// Gives the directory its final name.
    pub fn publish(mut self, into: &Path) -> io::Result<Published> {
        if let Some(parent) = into.parent() {
            fs::create_dir_all(parent)?;
        }
        match fs::rename(&self.path, into) {
            Ok(()) => {
                self.keep = true;
                Ok(Published::New)
            }
            Err(_) if into.is_dir() => Ok(Published::AlreadyThere),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Something that was taken from its place until a better one has come. Dropping it puts it back if none has, and removes
/// it otherwise.
#[derive(Debug)]
pub struct Aside {
    staging: Staging,
    place: PathBuf,
}

impl Aside {
    /// Moves what is at `place` into `tmp`, on the same file system, in one step.
    pub fn take(place: &Path, tmp: &Path) -> io::Result<Self> {
        let staging = Staging::new(tmp, "aside")?;
        fs::rename(place, staging.path().join("it"))?;
        Ok(Self { staging, place: place.to_owned() })
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.place).is_err() {
            let _ = fs::rename(self.staging.path().join("it"), &self.place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_files_and_links_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/file");
        write_atomic(&path, b"one").unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let link = dir.path().join("a/link");
        symlink_atomic(Path::new("x"), &link).unwrap();
        symlink_atomic(Path::new("y"), &link).unwrap();
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("y"));
        assert_eq!(fs::read_dir(dir.path().join("a")).unwrap().count(), 2);
    }

    #[test]
    fn half_made_files_of_the_dead_go_with_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - 2 * LEFT_OVER;
        let make = |name: &str, at: SystemTime| {
            let file = fs::File::create(dir.path().join(name)).unwrap();
            file.file().set_modified(at).unwrap();
        };
        let dead = u32::MAX - 1;
        let (left, fresh) = (made_by(".pin", dead), made_by(".pin", dead));
        let (mine, other) = (unique(".pin"), made_by(".pins", dead));
        make(&left, old);
        make(&fresh, SystemTime::now());
        make(&mine, old);
        make(&other, old);
        make(".pin-notes", old);
        write_atomic(&dir.path().join("pin"), b"x").unwrap();
        let there = |name: &str| dir.path().join(name).exists();
        assert!(!there(&left));
        assert!(there(&fresh) && there(&mine) && there(&other) && there(".pin-notes"));
    }

    #[test]
    fn a_name_tells_who_gave_it() {
        assert_eq!(maker(&unique("prefix-12.4.1+cudnn9.1.0.70-0a1b")), Some(std::process::id()));
        assert_eq!(maker(&made_by("x", 4711)), Some(4711));
        for name in ["", "x", "x-1", "1-2-3", "a-b-c-d"] {
            assert_eq!(maker(name), None, "{name}");
        }
    }

    #[test]
    fn puts_back_what_nothing_has_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (tmp, place) = (dir.path().join("tmp"), dir.path().join("place"));
        let read = || fs::read_to_string(place.join("f")).unwrap();
        fs::create_dir(&place).unwrap();
        fs::write(place.join("f"), "old").unwrap();
        let aside = Aside::take(&place, &tmp).unwrap();
        assert!(!place.exists());
        drop(aside);
        assert_eq!(read(), "old");
        let aside = Aside::take(&place, &tmp).unwrap();
        fs::create_dir(&place).unwrap();
        fs::write(place.join("f"), "new").unwrap();
        drop(aside);
        assert_eq!(read(), "new");
        assert_eq!(fs::read_dir(&tmp).unwrap().count(), 0);
    }

    #[test]
    fn publishes_once_and_leaves_no_litter() {
        let dir = tempfile::tempdir().unwrap();
        let (tmp, into) = (dir.path().join("tmp"), dir.path().join("store/x"));
        for expected in [Published::New, Published::AlreadyThere] {
            let staging = Staging::new(&tmp, "x").unwrap();
            fs::write(staging.path().join("f"), b"f").unwrap();
            assert_eq!(staging.publish(&into).unwrap(), expected);
        }
        drop(Staging::new(&tmp, "y").unwrap());
        assert_eq!(fs::read_dir(&tmp).unwrap().count(), 0);
        assert!(into.join("f").exists());
    }
}
