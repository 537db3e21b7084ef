//! The real file system and the real dynamic loader, as the prediction wants them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;

use crate::domain::elf::{Elf, Import};
use crate::domain::loader::{Cache, Files, Host, Object, Opened, from_diagnostics};
use crate::domain::target::Target;
use crate::platform::elf_file::ElfFile;
use crate::platform::read;

/// The real file system; every file is read once.
#[derive(Debug, Default)]
pub struct RealFiles {
    opened: RefCell<HashMap<String, Opened>>,
}

impl Files for RealFiles {
    fn open(&self, path: &str) -> Opened {
        if let Some(known) = self.opened.borrow().get(path) {
            return known.clone();
        }
        let opened = open(Path::new(path));
        self.opened.borrow_mut().insert(path.to_owned(), opened.clone());
        opened
    }

    fn is_directory(&self, path: &str) -> bool {
        Path::new(path).is_dir()
    }

    fn real_path(&self, path: &str) -> Option<String> {
        fs_err::canonicalize(path).ok()?.into_os_string().into_string().ok()
    }

    fn defines(&self, path: &str, symbol: &str, version: Option<&str>) -> bool {
        let (Opened::File(object), Ok(file)) = (self.open(path), ElfFile::open(Path::new(path)))
        else {
            return false;
        };
        object.elf.defines(&file, symbol, version)
    }

    fn imports(&self, path: &str) -> Vec<Import> {
        let (Opened::File(object), Ok(file)) = (self.open(path), ElfFile::open(Path::new(path)))
        else {
            return Vec::new();
        };
        object.elf.imports(&file)
    }
}

fn open(path: &Path) -> Opened {
    let file = match ElfFile::open(path) {
        Ok(file) => file,
        // What exists and is no regular file, the loader opens and then cannot read; what may not be read, it passes over.
        Err(_) if path.is_dir() => {
            return Opened::Refused("cannot read file data: Is a directory".to_owned());
        }
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
            return Opened::Refused("not a regular file".to_owned());
        }
        Err(_) => return Opened::Missing,
    };
    match Elf::parse(&file) {
        Ok(elf) => Opened::File(Rc::new(Object { identity: file.identity(), elf })),
        Err(error) => Opened::Refused(error.to_string()),
    }
}

/// Whether a program starts in secure mode, in which its loader ignores LD_LIBRARY_PATH: it changes the user or group it
/// runs as, or has capabilities of its own.
pub fn is_secure(program: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2010;
    let Ok(seen) = fs_err::metadata(program) else { return false };
    let user = rustix::process::geteuid();
    let other_user = seen.mode() & SET_USER != 0 && seen.uid() != user.as_raw();
    // Without the right to execute for the group the bit means something else.
    let other_group =
        seen.mode() & SET_GROUP == SET_GROUP && seen.gid() != rustix::process::getegid().as_raw();
    let mut value = [0u8; 64];
    let mut has_capabilities =
        || rustix::fs::getxattr(program, "security.capability", &mut value).is_ok();
    other_user || other_group || (!user.is_root() && has_capabilities())
}

/// Asks the host's dynamic loader what it searches, and reads its cache.
///
/// The loader itself is run (`ld.so --list-diagnostics`, about a millisecond): only it knows the default directories that
/// its distribution compiled in and the CPU levels it recognises. It loads nothing for that.
pub fn probe_host(target: Target) -> Host {
    let quiet = from_diagnostics("", target, Cache::default());
    let cache = read::bytes(Path::new("/etc/ld.so.cache"))
        .map(|bytes| Cache::parse(&bytes, quiet.machine))
        .unwrap_or_default();
    let mut command = Command::new(&quiet.interpreter);
    command.arg("--list-diagnostics").env_clear().stdin(Stdio::null()).stderr(Stdio::null());
    let text = match command.output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        _ => String::new(),
    };
    from_diagnostics(&text, target, cache)
}
