//! Where cuenv's directories are, also when the environment says nothing.
//!
//! A shim is a link to `<data>/bin/cuenv-shim`, so the place of the running binary names the data directory:
//! a changed `HOME` (`sudo -E`, a test, a notebook server) does not send an installed shim elsewhere. In order:
//!
//! 1. `CUENV_HOME`: data is that directory, configuration its `config`;
//! 2. the running binary's own place, when it is `<data>/bin/<binary>` and `<data>/shims` exists;
//! 3. `XDG_DATA_HOME/cuenv`, `XDG_CONFIG_HOME/cuenv`;
//! 4. `HOME/.local/share/cuenv`, `HOME/.config/cuenv`;
//! 5. the same below the home that `/etc/passwd` gives for this user.
//!
//! Relative values of these variables are ignored: they would name another directory in every directory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::names;
use crate::vars::{Vars, var};

/// The directories that selection needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirs {
    /// Holds `toolchains/`, `active/`, `shims/` and `bin/`.
    pub data: PathBuf,
    /// Holds `default`.
    pub config: PathBuf,
    /// The user's home, where the walk for pins ends; `None` when nobody knows it.
    pub home: Option<PathBuf>,
    /// The user's number; `None` without `/proc`.
    pub uid: Option<u32>,
}

impl Dirs {
    /// Finds the directories for an environment and the real path of the running binary; `None` when neither
    /// says where they are and the user has no home.
    pub fn find(vars: &Vars, exe: Option<&Path>) -> Option<Self> {
        let uid = current_uid();
        let mut home = absolute(vars, "HOME");
        if home.is_none() {
            home = uid.and_then(home_of);
        }
        if let Some(root) = absolute(vars, names::HOME) {
            return Some(Self { config: root.join("config"), data: root, home, uid });
        }
        let below_home = |middle: &str| home.as_deref().map(|home| home.join(middle).join("cuenv"));
        let config = absolute(vars, "XDG_CONFIG_HOME")
            .map(|root| root.join("cuenv"))
            .or_else(|| below_home(".config"));
        if let Some(data) = exe.and_then(place_of) {
            // A root made with CUENV_HOME keeps its configuration inside; an XDG data directory has none.
            let own = data.join("config");
            let config = if own.is_dir() { own } else { config.unwrap_or(own) };
            return Some(Self { data, config, home, uid });
        }
        let data = absolute(vars, "XDG_DATA_HOME")
            .map(|root| root.join("cuenv"))
            .or_else(|| below_home(".local/share"))?;
        let config = config.unwrap_or_else(|| data.join("config"));
        Some(Self { data, config, home, uid })
    }

    /// Returns the directory of shims.
    pub fn shims(&self) -> PathBuf {
        self.data.join("shims")
    }

    /// Returns the directory of prefixes for this target.
    pub fn toolchains(&self) -> PathBuf {
        self.data.join("toolchains").join(names::TARGET)
    }

    /// Returns the directory of links from specs to prefixes for this target.
    pub fn active(&self) -> PathBuf {
        self.data.join("active").join(names::TARGET)
    }

    /// Returns the file that holds the default spec.
    pub fn default_file(&self) -> PathBuf {
        self.config.join("default")
    }

    /// Returns the file of the user's settings.
    pub fn settings_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// Tells whether a list element was put there by cuenv: it lies in a prefix of this data directory.
    pub fn owns(&self, element: &OsStr) -> bool {
        Path::new(element).starts_with(self.data.join("toolchains"))
    }
}

/// Returns the data directory of a binary at `<data>/bin/<binary>`.
fn place_of(exe: &Path) -> Option<PathBuf> {
    let bin = exe.parent()?;
    if bin.file_name()? != "bin" {
        return None;
    }
    let data = bin.parent()?;
    data.join("shims").is_dir().then(|| data.to_owned())
}

fn absolute(vars: &Vars, name: &str) -> Option<PathBuf> {
    let value = var(vars, name)?;
    value.as_bytes().starts_with(b"/").then(|| PathBuf::from(value))
}

/// Returns the number of the user this process runs as: the owner of its entry in `/proc`.
pub fn current_uid() -> Option<u32> {
    std::fs::metadata("/proc/self").ok().map(|metadata| metadata.uid())
}

fn home_of(uid: u32) -> Option<PathBuf> {
    let users = std::fs::read("/etc/passwd").ok()?;
    home_in(&users, uid)
}

fn home_in(users: &[u8], uid: u32) -> Option<PathBuf> {
    let uid = uid.to_string();
    users.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let found = fields.nth(2)? == uid.as_bytes();
        let home = fields.nth(2)?;
        (found && home.starts_with(b"/")).then(|| PathBuf::from(OsStr::from_bytes(home)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vars::from_pairs;
    use crate::walk::tests::Temp;

    #[test]
    fn the_order_of_the_places() {
        let temp = Temp::new("dirs");
        temp.write("own/shims/x", "");
        let exe = temp.path("own/bin/cuenv-shim");
        let data = |pairs: &[(&str, &str)], exe: Option<&Path>| {
            let found = Dirs::find(&from_pairs(pairs), exe).unwrap();
            (found.data, found.config)
        };
        let all = [("CUENV_HOME", "/c"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(data(&all, Some(&exe)), ("/c".into(), "/c/config".into()));
        assert_eq!(data(&all[1..], Some(&exe)), (temp.path("own"), "/h/.config/cuenv".into()));
        assert_eq!(data(&all[1..], None), ("/x/cuenv".into(), "/h/.config/cuenv".into()));
        assert_eq!(data(&all[2..], None).0, PathBuf::from("/h/.local/share/cuenv"));
        let relative = [("CUENV_HOME", "c"), ("XDG_DATA_HOME", "x"), ("HOME", "/h")];
        assert_eq!(data(&relative, None).0, PathBuf::from("/h/.local/share/cuenv"));
        // A root of its own keeps its configuration inside.
        temp.write("own/config/default", "12.4");
        assert_eq!(data(&all[1..], Some(&exe)).1, temp.path("own/config"));
        // `/usr/local/bin/cuenv` is not inside a data directory.
        assert_eq!(
            data(&all[2..], Some(Path::new("/usr/local/bin/cuenv"))).0,
            PathBuf::from("/h/.local/share/cuenv")
        );
    }

    #[test]
    fn an_empty_environment_falls_back_to_the_password_file() {
        let users =
            b"root:x:0:0:root:/root:/bin/bash\nann:x:1000:1000:Ann,,,:/home/ann:/bin/sh\nodd:x:7\n";
        assert_eq!(home_in(users, 1000), Some("/home/ann".into()));
        assert_eq!(home_in(users, 0), Some("/root".into()));
        assert_eq!(home_in(users, 100), None);
        assert_eq!(home_in(users, 7), None);
    }

    #[test]
    fn owned_elements_are_those_in_a_prefix() {
        let found = Dirs::find(&from_pairs(&[("CUENV_HOME", "/c")]), None).unwrap();
        assert!(found.owns(OsStr::new("/c/toolchains/linux-x86_64/a/lib")));
        assert!(!found.owns(OsStr::new("/c/toolchains-mine/lib")));
        assert!(!found.owns(OsStr::new("/c/shims")));
        assert!(!found.owns(OsStr::new("")));
    }
}
