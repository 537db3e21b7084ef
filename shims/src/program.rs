//! The search for the program that would have run without the shim.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::names;
use crate::read;
use crate::vars::{Vars, var};

/// Every copy of the shim's binary holds this text in its first bytes (see `build.rs`), by which another copy is known
/// under any name and place.
pub const MARK: &str = env!("SHIM_MARK");

/// What is read of a program: an ELF header, its program headers and the notes behind them, or a script's first line.
const HEAD: usize = 1024;

/// A program's file, as far as it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file.
    pub file: PathBuf,
    /// Its mode; 0 when it could not be looked at.
    pub mode: u32,
    head: Vec<u8>,
}

impl Program {
    /// Looks at a file; one that cannot be read is a program without a first line.
    pub fn at(file: impl Into<PathBuf>) -> Self {
        let file = file.into();
        let mode = std::fs::metadata(&file).map_or(0, |seen| seen.mode());
        let mut head = Vec::with_capacity(HEAD);
        if let Ok(Some((open, _))) = read::open(&file) {
            let _ = open.take(HEAD as u64).read_to_end(&mut head);
        }
        Self { file, mode, head }
    }

    /// Looks at a file that is known to be a regular one.
    fn regular(file: PathBuf, seen: &std::fs::Metadata) -> Self {
        let mut head = vec![0; HEAD];
        let length = read::open_regular(&file).and_then(|mut open| open.read(&mut head));
        head.truncate(length.unwrap_or(0));
        Self { file, mode: seen.mode(), head }
    }

    /// Returns the first line, when the file is text that starts with `#!`.
    pub fn first_line(&self) -> Option<&str> {
        if !self.head.starts_with(b"#!") {
            return None;
        }
        let end = self.head.iter().position(|byte| *byte == b'\n').unwrap_or(self.head.len());
        std::str::from_utf8(&self.head[..end]).ok()
    }

    /// Tells whether the system runs the file itself. One that cannot be read is no script: its reader could not
    /// either.
    pub fn is_binary(&self) -> bool {
        self.head.is_empty() || self.head.starts_with(b"\x7fELF")
    }

    /// Tells whether it runs as another user or group than its caller.
    pub fn sets_id(&self) -> bool {
        self.mode & 0o6000 != 0
    }

    fn is_marked(&self) -> bool {
        let mark = MARK.as_bytes();
        self.head.starts_with(b"\x7fELF") && self.head.windows(mark.len()).any(|text| text == mark)
    }
}

/// What the search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A program.
    Program(Program),
    /// Only files that may not be executed; the first one.
    NotExecutable(PathBuf),
    /// Nothing.
    Nothing,
}

/// Tells directories and files by what they are, not by how they are written.
pub type Identity = (u64, u64);

/// Returns the identity of a path, links followed.
pub fn identity(path: &Path) -> Option<Identity> {
    std::fs::metadata(path).ok().map(|seen| (seen.dev(), seen.ino()))
}

/// What the search passes over.
#[derive(Clone, Debug, Default)]
pub struct Skip {
    /// Directories of shims.
    pub directories: Vec<Identity>,
    /// The shim's own binary.
    pub binary: Option<Identity>,
    /// Programs that this very process was already handed to.
    pub visited: Vec<PathBuf>,
    /// Programs that the system refused to execute: their access rules (others' files, a mount) say more than the mode.
    pub refused: Vec<PathBuf>,
}

/// Searches for a program in the directories of a `PATH`; empty elements, the current directory, are passed over.
pub fn search(name: &OsStr, path: &OsStr, skip: &Skip) -> Found {
    let mut refused = None;
    for directory in path.as_bytes().split(|byte| *byte == b':') {
        if directory.is_empty() {
            continue;
        }
        let directory = Path::new(OsStr::from_bytes(directory));
        let candidate = directory.join(name);
        let Ok(seen) = std::fs::metadata(&candidate) else { continue };
        if !seen.is_file() {
            continue;
        }
        // The directory is only looked at where the name is found: a long PATH costs one look an element.
        let in_shims =
            identity(directory).is_some_and(|directory| skip.directories.contains(&directory));
        if in_shims || skip.visited.contains(&candidate) || is_link_to_shim(&candidate, &seen, skip)
        {
            continue;
        }
        if seen.mode() & 0o111 == 0 || skip.refused.contains(&candidate) {
            refused.get_or_insert(candidate);
            continue;
        }
        let program = Program::regular(candidate, &seen);
        if !program.is_marked() {
            return Found::Program(program);
        }
    }
    refused.map_or(Found::Nothing, Found::NotExecutable)
}

/// Tells whether a file is our shim itself, or a link to a binary that has a shim's name.
fn is_link_to_shim(path: &Path, seen: &std::fs::Metadata, skip: &Skip) -> bool {
    skip.binary == Some((seen.dev(), seen.ino()))
        || std::fs::read_link(path)
            .is_ok_and(|target| target.file_name() == Some(OsStr::new(names::SHIM_BINARY)))
}

/// Returns the `PATH` that programs are searched in: the given one, with the binaries of an active virtual or
/// conda environment in front when the environment is named but not on the path.
pub fn search_path(vars: &Vars) -> OsString {
    let path = var(vars, "PATH").unwrap_or(OsStr::new(names::BUILT_IN_PATH));
    let mut front = Vec::new();
    for (name, marker) in [("VIRTUAL_ENV", "pyvenv.cfg"), ("CONDA_PREFIX", "conda-meta")] {
        let Some(root) = var(vars, name).map(Path::new) else { continue };
        let bin = root.join("bin");
        let on_path = path
            .as_bytes()
            .split(|byte| *byte == b':')
            .any(|element| Path::new(OsStr::from_bytes(element)) == bin);
        if !on_path && root.join(marker).exists() {
            front.extend_from_slice(bin.as_os_str().as_bytes());
            front.push(b':');
        }
    }
    front.extend_from_slice(path.as_bytes());
    OsStr::from_bytes(&front).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vars::from_pairs;
    use crate::walk::tests::Temp;

    fn tool(temp: &Temp, below: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = temp.write(below, "#!/bin/sh\n");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_first_program_that_is_no_shim() {
        let temp = Temp::new("search");
        let real = tool(&temp, "b/x");
        tool(&temp, "shims/x");
        std::fs::create_dir_all(temp.path("dir/x")).unwrap();
        temp.write("plain/x", "");
        tool(&temp, "elsewhere/cuenv-shim");
        std::fs::create_dir_all(temp.path("other")).unwrap();
        std::os::unix::fs::symlink("../elsewhere/cuenv-shim", temp.path("other/x")).unwrap();
        std::os::unix::fs::symlink("shims", temp.path("alias")).unwrap();
        let copy = tool(&temp, "copy/x");
        std::fs::write(&copy, format!("\x7fELF....{MARK}...")).unwrap();
        let skip =
            Skip { directories: vec![identity(&temp.path("shims")).unwrap()], ..Skip::default() };
        let root = temp.root().to_str().unwrap();
        let path = ["", "shims", "shims//", "alias", "gone", "dir", "plain", "other", "copy", "b"]
            .map(|part| if part.is_empty() { String::new() } else { format!("{root}/{part}") })
            .join(":");
        let found = search(OsStr::new("x"), OsStr::new(&path), &skip);
        assert_eq!(found, Found::Program(Program::at(real.clone())));
        let refused = Skip { refused: vec![real.clone()], ..skip.clone() };
        let later = tool(&temp, "later/x");
        let longer = format!("{path}:{root}/later");
        let found = search(OsStr::new("x"), OsStr::new(&longer), &refused);
        assert_eq!(found, Found::Program(Program::at(later)));
        let visited = Skip { visited: vec![real], ..skip };
        let found = search(OsStr::new("x"), OsStr::new(&path), &visited);
        assert_eq!(found, Found::NotExecutable(temp.path("plain/x")));
        assert_eq!(search(OsStr::new("y"), OsStr::new(&path), &visited), Found::Nothing);
    }

    #[test]
    fn an_environment_that_is_not_on_the_path_comes_first() {
        let temp = Temp::new("venvpath");
        temp.write("v/pyvenv.cfg", "");
        temp.write("c/conda-meta/history", "");
        let root = temp.root().to_str().unwrap();
        let (v, c) = (format!("{root}/v"), format!("{root}/c"));
        let path = |pairs: &[(&str, &str)]| search_path(&from_pairs(pairs)).into_string().unwrap();
        assert_eq!(path(&[("PATH", "/bin"), ("VIRTUAL_ENV", &v)]), format!("{v}/bin:/bin"));
        let order = format!("/bin:{v}/bin");
        assert_eq!(path(&[("PATH", &order), ("VIRTUAL_ENV", &v)]), order);
        let both = [("PATH", "/bin"), ("VIRTUAL_ENV", &v), ("CONDA_PREFIX", &c)];
        assert_eq!(path(&both), format!("{v}/bin:{c}/bin:/bin"));
        assert_eq!(path(&[("PATH", "/bin"), ("VIRTUAL_ENV", "/gone")]), "/bin");
        assert_eq!(path(&[]), names::BUILT_IN_PATH);
    }
}
