//! The walk upward for pins, and which of them are trusted.
//!
//! The walk stops at a file-system boundary, after the user's home, and before a directory that belongs to
//! somebody else (root's directories are nobody else's). A pin that somebody else could have written is not
//! taken: it, or its directory, belongs to another user or is writable by everybody. Each such pin is one notice.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::dirs::Dirs;
use crate::names;
use crate::pin::{self, Pin, PinError};
use crate::read::{self, ReadError};
use crate::shown;
use crate::vars::{Vars, var};

/// The other tools' files may be longer than a pin.
const OTHER_LIMIT: u64 = 16 * 1024;
/// A path has no more levels than this that are worth a look.
const MAX_LEVELS: usize = 128;

/// Which file a pin was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinKind {
    /// `.cuenv`.
    Cuenv,
    /// `.cuda-version`.
    CudaVersion,
    /// `.tool-versions`.
    ToolVersions,
}

/// A pin that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// Which file it is.
    pub kind: PinKind,
    /// What it says.
    pub pin: Pin,
}

/// Why a pin that is there was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The pin's file.
    pub path: PathBuf,
    /// The reason.
    pub reason: Ignored,
}

/// The reason why a pin was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// The file belongs to another user.
    ForeignFile,
    /// Its directory belongs to another user.
    ForeignDirectory,
    /// Everybody may write the file.
    WritableFile,
    /// Everybody may write its directory.
    WritableDirectory,
    /// It is a FIFO, device or socket.
    NotAFile,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ignored `{}`: {}", shown::path(&self.path), self.reason)
    }
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ForeignFile => "it belongs to another user",
            Self::ForeignDirectory => "its directory belongs to another user",
            Self::WritableFile => "everybody may write it",
            Self::WritableDirectory => "everybody may write its directory",
            Self::NotAFile => "it is not a regular file",
        })
    }
}

/// Tells why a pin in `directory` would not be taken, written there now by this user; `None` when it would be.
pub fn untrusted(directory: &Path, dirs: &Dirs, vars: &Vars) -> Option<Notice> {
    let trust = Trust::of(dirs, vars);
    let seen = std::fs::metadata(directory).ok()?;
    let path = directory.join(names::PIN_FILE);
    let reason = if trust.owner(seen.uid()) {
        let file = std::fs::metadata(&path).ok();
        trust.fault(file.as_ref(), is_open(&seen))
    } else {
        Some(Ignored::ForeignDirectory)
    };
    reason.map(|reason| Notice { path, reason })
}

/// Whether everybody may write it.
fn is_open(seen: &Metadata) -> bool {
    seen.mode() & 0o002 != 0
}

/// A pin that is there, trusted and not readable as a pin.
#[derive(Debug)]
pub struct BrokenPin {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub reason: BrokenReason,
}

/// What is wrong with a pin.
#[derive(Debug)]
pub enum BrokenReason {
    /// It could not be read.
    Read(ReadError),
    /// It is not a pin.
    Pin(PinError),
}

impl fmt::Display for BrokenPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot use the pin `{}`: ", shown::path(&self.path))?;
        match &self.reason {
            BrokenReason::Read(error) => error.fmt(f),
            BrokenReason::Pin(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BrokenPin {}

/// What the walk saw.
#[derive(Debug, Default)]
pub struct Walk {
    /// The nearest pin of each kind, `.cuenv` first.
    pub found: Vec<Found>,
    /// Pins that were not taken.
    pub notices: Vec<Notice>,
    /// Every path whose appearance or change would change the answer.
    pub watched: Vec<PathBuf>,
    /// A pin that is there, trusted and not readable as a pin; the walk ended there.
    pub broken: Option<BrokenPin>,
}

impl Walk {
    /// Walks upward from `start`. With `all` false it ends at the nearest `.cuenv`.
    pub fn upward(start: &Path, dirs: &Dirs, vars: &Vars, all: bool) -> Self {
        let mut walk = Self::default();
        if let Err(broken) = walk.go(start, dirs, vars, all) {
            walk.broken = Some(broken);
        }
        walk
    }

    fn go(&mut self, start: &Path, dirs: &Dirs, vars: &Vars, all: bool) -> Result<(), BrokenPin> {
        let walk = self;
        let trust = Trust::of(dirs, vars);
        let home = dirs.home.as_deref().and_then(|home| std::fs::metadata(home).ok());
        let home = home.map(|metadata| (metadata.dev(), metadata.ino()));
        let (mut cuda_version, mut tool_versions) = (None, None);
        let mut device = None;
        for directory in start.ancestors().take(MAX_LEVELS) {
            let Ok(seen) = std::fs::metadata(directory) else { break };
            if *device.get_or_insert(seen.dev()) != seen.dev() {
                break;
            }
            let path = directory.join(names::PIN_FILE);
            walk.watched.push(path.clone());
            if !trust.owner(seen.uid()) {
                if std::fs::symlink_metadata(&path).is_ok_and(|file| !file.is_dir()) {
                    walk.notices.push(Notice { path, reason: Ignored::ForeignDirectory });
                }
                break;
            }
            let writable = is_open(&seen);
            let have_pin = walk.found.iter().any(|found| found.kind == PinKind::Cuenv);
            if !have_pin && let Some(text) = walk.candidate(&path, &trust, writable, pin::LIMIT)? {
                let broken =
                    |error| BrokenPin { path: path.clone(), reason: BrokenReason::Pin(error) };
                let pin = Pin::parse(&text).map_err(broken)?;
                walk.found.push(Found { path, kind: PinKind::Cuenv, pin });
                if !all {
                    // Only a nearer `.cuenv` could win now.
                    walk.watched.retain(|path| path.ends_with(names::PIN_FILE));
                    return Ok(());
                }
            }
            for (name, slot, reader, kind) in [
                (
                    names::CUDA_VERSION_FILE,
                    &mut cuda_version,
                    pin::cuda_version as fn(&str) -> Option<String>,
                    PinKind::CudaVersion,
                ),
                (
                    names::TOOL_VERSIONS_FILE,
                    &mut tool_versions,
                    pin::tool_versions,
                    PinKind::ToolVersions,
                ),
            ] {
                if slot.is_some() {
                    continue;
                }
                let path = directory.join(name);
                walk.watched.push(path.clone());
                let text = match walk.candidate(&path, &trust, writable, OTHER_LIMIT) {
                    Ok(Some(text)) => text,
                    Err(BrokenPin {
                        reason: BrokenReason::Read(ReadError::NotAFile(_)), ..
                    }) => {
                        walk.notices.push(Notice { path, reason: Ignored::NotAFile });
                        continue;
                    }
                    // Another tool's file that cannot be read is that tool's business.
                    Ok(None) | Err(_) => continue,
                };
                *slot = reader(&text).map(|spec| Found { path, kind, pin: Pin::of(&spec) });
            }
            if home == Some((seen.dev(), seen.ino())) {
                break;
            }
        }
        walk.found.extend(cuda_version);
        walk.found.extend(tool_versions);
        Ok(())
    }

    /// Reads a pin file that may be trusted; `Ok(None)` when there is none or a notice was made.
    fn candidate(
        &mut self,
        path: &Path,
        trust: &Trust,
        writable: bool,
        limit: u64,
    ) -> Result<Option<String>, BrokenPin> {
        let Ok(link) = std::fs::symlink_metadata(path) else { return Ok(None) };
        // Of a link that leads nowhere only the link itself is known; reading it says where it leads.
        let file = if link.is_symlink() { std::fs::metadata(path).unwrap_or(link) } else { link };
        if file.is_dir() && !is_empty(path) {
            return Ok(None);
        }
        if let Some(reason) = trust.fault(Some(&file), writable) {
            self.notices.push(Notice { path: path.to_owned(), reason });
            return Ok(None);
        }
        match read::text(path, limit) {
            Ok(Some((text, _))) => Ok(Some(text)),
            Ok(None) => Ok(None),
            Err(error) => {
                Err(BrokenPin { path: path.to_owned(), reason: BrokenReason::Read(error) })
            }
        }
    }
}

/// A directory named `.cuenv` that holds something is another tool's: no pin here. An empty one is nobody's: container
/// engines make it for a file that they were to mount and did not find.
fn is_empty(directory: &Path) -> bool {
    std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// Whose files are trusted: one's own, root's, and for root under `sudo` those of the user who called it.
struct Trust {
    uid: Option<u32>,
    caller: Option<u32>,
}

impl Trust {
    fn of(dirs: &Dirs, vars: &Vars) -> Self {
        // Without /proc the data directory tells whose cuenv this is.
        let uid =
            dirs.uid.or_else(|| std::fs::metadata(&dirs.data).ok().map(|metadata| metadata.uid()));
        let caller =
            (uid == Some(0)).then(|| var(vars, "SUDO_UID")?.to_str()?.parse().ok()).flatten();
        Self { uid, caller }
    }

    fn owner(&self, owner: u32) -> bool {
        owner == 0 || Some(owner) == self.uid || Some(owner) == self.caller
    }

    /// Why a pin is not taken, in a directory that everybody may write or not.
    fn fault(&self, file: Option<&Metadata>, in_open_directory: bool) -> Option<Ignored> {
        let is = |fault: fn(&Self, &Metadata) -> bool| file.is_some_and(|file| fault(self, file));
        if in_open_directory {
            Some(Ignored::WritableDirectory)
        } else if is(|trust, file| !trust.owner(file.uid())) {
            Some(Ignored::ForeignFile)
        } else if is(|_, file| file.is_file() && is_open(file)) {
            Some(Ignored::WritableFile)
        } else {
            None
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::vars::from_pairs;

    /// A directory that is removed with its content.
    pub(crate) struct Temp(PathBuf);

    impl Temp {
        pub(crate) fn new(name: &str) -> Self {
            use std::sync::atomic::{AtomicU32, Ordering};
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let base = std::env::temp_dir().canonicalize().unwrap();
            let root = base.join(format!("cuenv-{name}-{}-{number}", std::process::id()));
            std::fs::create_dir(&root).unwrap();
            Self(root)
        }

        pub(crate) fn root(&self) -> &Path {
            &self.0
        }

        pub(crate) fn path(&self, below: &str) -> PathBuf {
            self.0.join(below)
        }

        pub(crate) fn write(&self, below: &str, text: &str) -> PathBuf {
            let path = self.path(below);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        }

        pub(crate) fn dirs(&self) -> Dirs {
            let home = self.path("home");
            std::fs::create_dir_all(&home).unwrap();
            let vars = from_pairs(&[
                ("CUENV_HOME", self.path("data").to_str().unwrap()),
                ("HOME", home.to_str().unwrap()),
            ]);
            Dirs::find(&vars, None).unwrap()
        }
    }

    impl Drop for Temp {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn walk(temp: &Temp, below: &str) -> Walk {
        let start = temp.path(below);
        std::fs::create_dir_all(&start).unwrap();
        let seen = Walk::upward(&start, &temp.dirs(), &Vars::new(), true);
        assert!(seen.broken.is_none());
        seen
    }

    #[test]
    fn the_nearest_pin_wins_and_kinds_are_ranked() {
        let temp = Temp::new("walk");
        temp.write("home/a/.cuenv", "12.4+cudnn9");
        temp.write("home/a/b/.cuda-version", "11.8");
        temp.write("home/a/b/c/.tool-versions", "cuda 12.1.1");
        let seen = walk(&temp, "home/a/b/c/d");
        let kinds: Vec<_> = seen.found.iter().map(|found| found.kind).collect();
        assert_eq!(kinds, [PinKind::Cuenv, PinKind::CudaVersion, PinKind::ToolVersions]);
        assert_eq!(seen.found[0].path, temp.path("home/a/.cuenv"));
        temp.write("home/a/b/c/.cuenv", "11.8");
        assert_eq!(walk(&temp, "home/a/b/c/d").found[0].path, temp.path("home/a/b/c/.cuenv"));
    }

    #[test]
    fn home_is_the_last_directory() {
        let temp = Temp::new("home");
        temp.write(".cuenv", "9.9");
        assert!(walk(&temp, "home/a").found.is_empty());
        temp.write("home/.cuenv", "12.4");
        assert_eq!(walk(&temp, "home/a").found[0].pin.toolchain, "12.4");
        // Outside the home the walk goes on.
        assert_eq!(walk(&temp, "elsewhere").found[0].pin.toolchain, "9.9");
    }

    #[test]
    fn what_everybody_may_write_is_not_taken() {
        let temp = Temp::new("mode");
        let pin = temp.write("home/open/.cuenv", "9.9");
        temp.write("home/.cuenv", "12.4");
        mode(&temp.path("home/open"), 0o777);
        let seen = walk(&temp, "home/open/x");
        assert_eq!(seen.found[0].pin.toolchain, "12.4");
        assert_eq!(
            seen.notices,
            [Notice { path: pin.clone(), reason: Ignored::WritableDirectory }]
        );
        mode(&temp.path("home/open"), 0o755);
        mode(&pin, 0o666);
        assert_eq!(walk(&temp, "home/open/x").notices[0].reason, Ignored::WritableFile);
        mode(&pin, 0o664);
        assert_eq!(walk(&temp, "home/open/x").found[0].pin.toolchain, "9.9");
    }

    #[test]
    fn a_foreign_owner_ends_the_walk() {
        let temp = Temp::new("owner");
        temp.write("home/.cuenv", "12.4");
        temp.write("home/theirs/.cuenv", "9.9");
        let mut dirs = temp.dirs();
        let mine = dirs.uid.unwrap();
        let start = temp.path("home/theirs");
        // Another user's eyes: nothing here is theirs unless it is root's.
        dirs.uid = Some(mine + 4242);
        let seen = Walk::upward(&start, &dirs, &Vars::new(), true);
        if mine == 0 {
            assert_eq!(seen.found[0].pin.toolchain, "9.9");
            println!("skipped: as root every directory here is root's");
        } else {
            assert!(seen.found.is_empty());
            assert_eq!(seen.notices[0].reason, Ignored::ForeignDirectory);
        }
    }

    #[test]
    fn odd_pins_do_not_harm() {
        let temp = Temp::new("odd");
        temp.write("home/.cuenv", "12.4");
        std::fs::create_dir_all(temp.path("home/p/.cuenv/cache")).unwrap();
        assert_eq!(walk(&temp, "home/p").found[0].pin.toolchain, "12.4");
        assert!(walk(&temp, "home/p").notices.is_empty(), "a directory is another tool's");
        let fifo = temp.write("home/q/.cuda-version", "");
        std::fs::remove_file(&fifo).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        assert_eq!(walk(&temp, "home/q").notices[0].reason, Ignored::NotAFile);
        let big = temp.write("home/r/.cuenv", &"#\n".repeat(3000));
        let error = Walk::upward(big.parent().unwrap(), &temp.dirs(), &Vars::new(), true).broken;
        assert!(error.unwrap().to_string().contains("larger than 4096 bytes"));
        let shadow = temp.path("home/s/.cuenv");
        std::fs::create_dir_all(shadow.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &shadow).unwrap();
        let error = Walk::upward(shadow.parent().unwrap(), &temp.dirs(), &Vars::new(), true).broken;
        assert!(error.unwrap().to_string().contains("cannot use the pin"));
    }

    #[test]
    fn a_pin_that_leads_nowhere_is_broken_and_not_absent() {
        type Way<'a> = (&'a str, &'a dyn Fn(&Path), &'a str);
        let temp = Temp::new("nowhere");
        temp.write("home/.cuenv", "12.4");
        let link =
            |to: &'static str| move |path: &Path| std::os::unix::fs::symlink(to, path).unwrap();
        let fifo = |path: &Path| {
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        };
        let made: [Way<'_>; 5] = [
            ("gone", &link("gone.txt"), "it is a link to `gone.txt`, which is not there"),
            ("loop", &link(".cuenv"), "Too many levels of symbolic links"),
            ("fifo", &fifo, "it is a FIFO, not a file"),
            ("empty", &|path| std::fs::create_dir(path).unwrap(), "it is a directory, not a file"),
            ("device", &link("/dev/null"), "it is a device, not a file"),
        ];
        for (name, make, cause) in made {
            let directory = temp.path(&format!("home/{name}"));
            std::fs::create_dir_all(&directory).unwrap();
            make(&directory.join(".cuenv"));
            let seen = Walk::upward(&directory, &temp.dirs(), &Vars::new(), true);
            assert!(seen.found.is_empty(), "{name}: the outer pin must not step in");
            let told = seen.broken.expect(name).to_string();
            assert!(told.contains(cause), "{name}: {told}");
        }
    }

    #[test]
    fn a_deleted_directory_holds_no_pin() {
        let temp = Temp::new("gone");
        let dirs = temp.dirs();
        let seen = Walk::upward(&temp.path("home/never"), &dirs, &Vars::new(), true);
        assert!(seen.found.is_empty());
    }
}
