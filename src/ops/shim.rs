//! `cuenv shim`: which commands have shims.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Serialize;
use shims::dirs::Dirs;
use shims::names;

use crate::platform::fs::{symlink_atomic, write_program};
use crate::platform::read;

/// What has a shim unless the user says otherwise.
pub const DEFAULT: [&str; 5] = ["python", "python3", "torchrun", "nvcc", "ptxas"];

/// What never has one: shells and the tools that start-up files, scripts and shims themselves stand on.
const NEVER: [&str; 44] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "fish",
    "ksh",
    "mksh",
    "yash",
    "csh",
    "tcsh",
    "elvish",
    "xonsh",
    "nu",
    "busybox",
    "env",
    "sudo",
    "doas",
    "su",
    "runuser",
    "login",
    "ssh",
    "ls",
    "cat",
    "cp",
    "mv",
    "rm",
    "ln",
    "mkdir",
    "chmod",
    "chown",
    "grep",
    "sed",
    "awk",
    "find",
    "head",
    "tail",
    "sort",
    "uname",
    "id",
    "readlink",
    "git",
    "cuenv",
    "cuenv-shim",
    "ld.so",
];

/// Why shims were not changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not the name of a command.
    #[error("`{}` is not the name of a command", .0.escape_debug())]
    Name(String),
    /// A command that never has a shim.
    #[error("`{0}` never has a shim: too much stands on it")]
    Never(String),
    /// The shim's binary is not beside cuenv.
    #[error("the shim's binary is missing: there is no `{}`", .0.display())]
    NoBinary(PathBuf),
    /// Something else has the shim's name.
    #[error("`{}` is not a shim", .0.display())]
    NotAShim(PathBuf),
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Which shims there are, and which were added or removed.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// The directory to have on `PATH`.
    pub directory: PathBuf,
    /// Whether it is on `PATH`.
    pub on_path: bool,
    /// All shims.
    pub shims: Vec<String>,
    /// Those that this run added.
    pub added: Vec<String>,
    /// Those that this run removed.
    pub removed: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.added.is_empty() && self.removed.is_empty() {
            return self.shims.iter().try_for_each(|tool| writeln!(f, "{tool}"));
        }
        for (word, tools) in [("Added", &self.added), ("Removed", &self.removed)] {
            if !tools.is_empty() {
                writeln!(f, "{word} {}", tools.join(" "))?;
            }
        }
        Ok(())
    }
}

/// Lists the shims.
pub fn list(dirs: &Dirs, path: Option<&std::ffi::OsStr>) -> Result<Report, Error> {
    let directory = dirs.shims();
    let mut shims = BTreeSet::new();
    match fs::read_dir(&directory) {
        Ok(entries) => {
            for entry in entries {
                let entry = entry?;
                if is_shim(&entry.path()) {
                    shims.insert(entry.file_name().to_string_lossy().into_owned());
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let on_path = path.is_some_and(|path| {
        let elements = shims::environ::split(path);
        elements.iter().any(|element| Path::new(element) == directory)
    });
    Ok(Report { directory, on_path, shims: shims.into_iter().collect(), ..Report::default() })
}

/// Adds shims. `exe` is the running cuenv, beside which the shim's binary lies in a release.
pub fn add(dirs: &Dirs, exe: Option<&Path>, tools: &[String]) -> Result<Vec<String>, Error> {
    for tool in tools {
        check(tool)?;
    }
    place_binary(dirs, exe)?;
    let directory = dirs.shims();
    let mut added = Vec::new();
    for tool in tools {
        let link = directory.join(tool);
        match fs::symlink_metadata(&link) {
            Ok(_) if is_shim(&link) => continue,
            Ok(_) => return Err(Error::NotAShim(link)),
            Err(_) => {}
        }
        symlink_atomic(&Path::new("../bin").join(names::SHIM_BINARY), &link)?;
        added.push(tool.clone());
    }
    Ok(added)
}

/// Removes shims; one that is not there is removed already.
pub fn remove(dirs: &Dirs, tools: &[String]) -> Result<Vec<String>, Error> {
    let mut removed = Vec::new();
    for tool in tools {
        if tool.contains('/') || tool.is_empty() {
            return Err(Error::Name(tool.clone()));
        }
        let link = dirs.shims().join(tool);
        match fs::symlink_metadata(&link) {
            Ok(_) if is_shim(&link) => {
                fs::remove_file(&link)?;
                removed.push(tool.clone());
            }
            Ok(_) => return Err(Error::NotAShim(link)),
            Err(_) => {}
        }
    }
    Ok(removed)
}

/// Returns the default tools and those of every installed prefix.
pub fn default_tools(dirs: &Dirs) -> Vec<String> {
    let mut tools: BTreeSet<String> = DEFAULT.iter().map(|tool| (*tool).to_owned()).collect();
    let entries = |directory: &Path| {
        fs::read_dir(directory).map(|list| list.flatten().collect::<Vec<_>>()).unwrap_or_default()
    };
    for prefix in entries(&dirs.toolchains()) {
        for tool in entries(&prefix.path().join("bin")) {
            let name = tool.file_name().to_string_lossy().into_owned();
            if check(&name).is_ok() && tool.path().is_file() && !name.contains('.') {
                tools.insert(name);
            }
        }
    }
    tools.into_iter().collect()
}

/// Puts the shim's binary where the links point, unless the same bytes are there.
fn place_binary(dirs: &Dirs, exe: Option<&Path>) -> Result<(), Error> {
    let place = dirs.data.join("bin").join(names::SHIM_BINARY);
    let beside = exe.and_then(Path::parent).map(|bin| bin.join(names::SHIM_BINARY));
    let source = match beside {
        Some(beside) if beside == place => return Ok(()),
        Some(beside) if beside.is_file() => beside,
        _ if place.is_file() => return Ok(()),
        other => return Err(Error::NoBinary(other.unwrap_or(place))),
    };
    let bytes = read::bytes(&source)?;
    if read::bytes(&place).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    write_program(&place, &bytes)?;
    fs::create_dir_all(dirs.shims())?;
    Ok(())
}

fn is_shim(link: &Path) -> bool {
    fs::read_link(link)
        .is_ok_and(|target| target.file_name() == Some(std::ffi::OsStr::new(names::SHIM_BINARY)))
}

fn check(tool: &str) -> Result<(), Error> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    if tool.is_empty()
        || tool.len() > 64
        || !tool.bytes().all(plain)
        || tool.starts_with(['-', '.', '+'])
    {
        return Err(Error::Name(tool.to_owned()));
    }
    if NEVER.contains(&tool) || tool.starts_with("ld-linux") {
        return Err(Error::Never(tool.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use shims::vars::from_pairs;

    #[test]
    fn what_too_much_stands_on_has_no_shim() {
        for tool in ["sh", "env", "sudo", "ls", "cuenv", "ld-linux-x86-64.so.2"] {
            assert!(matches!(check(tool), Err(Error::Never(_))), "{tool}");
        }
        for tool in ["", "a/b", "..", "-x", "a b", "$(id)", "ü"] {
            assert!(matches!(check(tool), Err(Error::Name(_))), "{tool}");
        }
        for tool in DEFAULT {
            assert!(check(tool).is_ok());
        }
    }

    #[test]
    fn shims_come_and_go() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().to_str().unwrap();
        let dirs = Dirs::find(&from_pairs(&[("CUENV_HOME", home)]), None).unwrap();
        let exe = root.path().join("release/cuenv");
        let tools = ["python".to_owned(), "nvcc".to_owned()];
        assert!(matches!(add(&dirs, Some(&exe), &tools), Err(Error::NoBinary(_))));
        fs::create_dir_all(exe.parent().unwrap()).unwrap();
        fs::write(exe.with_file_name("cuenv-shim"), "binary").unwrap();
        assert_eq!(add(&dirs, Some(&exe), &tools).unwrap(), tools);
        assert_eq!(add(&dirs, Some(&exe), &tools).unwrap(), Vec::<String>::new());
        assert_eq!(fs::read_to_string(dirs.shims().join("python")).unwrap(), "binary");
        fs::write(dirs.shims().join("mine"), "a script").unwrap();
        assert!(matches!(add(&dirs, Some(&exe), &["mine".to_owned()]), Err(Error::NotAShim(_))));
        assert!(matches!(remove(&dirs, &["mine".to_owned()]), Err(Error::NotAShim(_))));
        assert_eq!(list(&dirs, None).unwrap().shims, ["nvcc", "python"]);
        assert_eq!(remove(&dirs, &tools).unwrap(), tools);
        assert_eq!(list(&dirs, None).unwrap().shims, Vec::<String>::new());
    }
}
