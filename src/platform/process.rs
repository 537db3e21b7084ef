//! The one door to arguments, environment, working directory and terminals.
//!
//! The process is read once, in `main`, and handed down as a value, so that every command can be run in a test
//! with an environment of its own. An empty variable counts as unset.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

/// What this process was given.
#[derive(Clone, Debug, Default)]
pub struct Process {
    args: Vec<OsString>,
    env: BTreeMap<OsString, OsString>,
    cwd: Option<PathBuf>,
    exe: Option<PathBuf>,
    stdout_is_terminal: bool,
    stdout_columns: Option<usize>,
    stderr_is_terminal: bool,
}

#[expect(clippy::disallowed_methods, reason = "this is the one door")]
impl Process {
    /// Reads the real process.
    pub fn from_os() -> Self {
        Self {
            args: std::env::args_os().collect(),
            env: std::env::vars_os().collect(),
            cwd: std::env::current_dir().ok(),
            exe: std::env::current_exe().ok(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stdout_columns: rustix::termios::tcgetwinsize(std::io::stdout())
                .ok()
                .map(|size| usize::from(size.ws_col)),
            stderr_is_terminal: std::io::stderr().is_terminal(),
        }
    }
}

impl Process {
    /// Builds a process for a test.
    pub fn for_test(cwd: &Path, env: &[(&str, &str)]) -> Self {
        Self {
            env: env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            cwd: Some(cwd.to_owned()),
            ..Self::default()
        }
    }

    /// Names the executable that stands for this program when it starts itself.
    #[must_use]
    pub fn with_exe(self, exe: &Path) -> Self {
        Self { exe: Some(exe.to_owned()), ..self }
    }

    /// Returns this process as if it had been started in `directory` (relative to the working directory).
    pub fn in_directory(&self, directory: &Path) -> std::io::Result<Self> {
        let directory = self.cwd.as_deref().unwrap_or(Path::new("/")).join(directory);
        let seen = fs_err::metadata(&directory).map_err(|error| {
            let message = match error.kind() {
                std::io::ErrorKind::NotFound => {
                    format!("there is no directory `{}`", directory.display())
                }
                kind => format!("cannot go to `{}`: {kind}", directory.display()),
            };
            std::io::Error::new(error.kind(), message)
        })?;
        if !seen.is_dir() {
            let message = format!("`{}` is not a directory", directory.display());
            return Err(std::io::Error::new(std::io::ErrorKind::NotADirectory, message));
        }
        Ok(Self { cwd: Some(fs_err::canonicalize(&directory)?), ..self.clone() })
    }

    /// Returns the arguments, the program's own name first.
    pub fn args(&self) -> &[OsString] {
        &self.args
    }

    /// Returns the whole environment as it was given, empty values included.
    pub fn env(&self) -> &BTreeMap<OsString, OsString> {
        &self.env
    }

    /// Returns a variable; `None` when it is unset or empty.
    pub fn var_os(&self, name: &str) -> Option<&OsStr> {
        self.env.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Returns a variable that is valid UTF-8; `None` when it is unset, empty or not UTF-8.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.var_os(name).and_then(OsStr::to_str)
    }

    /// Returns the working directory; `None` when it was deleted.
    pub fn cwd(&self) -> Option<&Path> {
        self.cwd.as_deref()
    }

    /// Returns the path of this executable.
    pub fn exe(&self) -> Option<&Path> {
        self.exe.as_deref()
    }

    /// Tells whether standard output is a terminal.
    pub fn stdout_is_terminal(&self) -> bool {
        self.stdout_is_terminal
    }

    /// Returns how wide standard output is, when it is a terminal: what `COLUMNS` says, or the terminal.
    pub fn columns(&self) -> Option<usize> {
        if !self.stdout_is_terminal {
            return None;
        }
        let said = self.var("COLUMNS").and_then(|text| text.parse().ok());
        said.or(self.stdout_columns).filter(|columns| *columns >= 20)
    }

    /// Tells whether standard error is a terminal.
    pub fn stderr_is_terminal(&self) -> bool {
        self.stderr_is_terminal
    }
}
