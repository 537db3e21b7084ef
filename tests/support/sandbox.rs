//! A machine of its own for one test: home, project and environment, nothing of the person who runs the tests.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A temporary directory with a home and a project; removed at the end of the test.
pub struct Sandbox {
    root: tempfile::TempDir,
    env: Vec<(String, String)>,
}

impl Sandbox {
    pub fn new() -> Self {
        // Under `target/`, which is on one ordinary file system; /tmp may be a small one.
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let root = tempfile::Builder::new().prefix("box").tempdir_in(base).unwrap();
        for directory in ["home", "project", "cuenv"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        Self { root, env: Vec::new() }
    }

    /// Sets a variable for every run.
    pub fn with_env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The user's home directory; cuenv must leave it alone.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// Where every run starts.
    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// `CUENV_HOME`.
    pub fn cuenv_home(&self) -> PathBuf {
        self.root().join("cuenv")
    }

    /// Writes a file below the project.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The command `program` in this sandbox's environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.project())
            // Nothing of the machine's own settings (pip.conf, proxies, an active venv) may leak in.
            .env_clear()
            .env("HOME", self.home())
            .env("CUENV_HOME", self.cuenv_home())
            // The system's tools: sh, ls, gcc.
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            // Sorting and messages of the C library do not depend on the person's language.
            .env("LC_ALL", "C.UTF-8")
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs `cuenv` with `args`.
    pub fn cuenv<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Ran {
        Ran::of(self.command(cuenv()).args(args), self)
    }

    /// Replaces this sandbox's paths by names, so that outputs can be compared.
    pub fn redact(&self, text: &str) -> String {
        [(self.project(), "[PROJECT]"), (self.cuenv_home(), "[CUENV]"), (self.home(), "[HOME]")]
            .iter()
            .fold(text.to_owned(), |text, (path, name)| text.replace(path.to_str().unwrap(), name))
            .replace(self.root().to_str().unwrap(), "[ROOT]")
    }
}

/// The program under test.
pub fn cuenv() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_cuenv"))
}

/// How a run ended.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Runs `command` and keeps what it printed, with `sandbox`'s paths redacted.
    pub fn of(command: &mut Command, sandbox: &Sandbox) -> Self {
        let Output { status, stdout, stderr } = command.output().unwrap();
        Self {
            code: status.code(),
            stdout: sandbox.redact(&String::from_utf8_lossy(&stdout)),
            stderr: sandbox.redact(&String::from_utf8_lossy(&stderr)),
        }
    }

    /// Asserts the exit code, showing both streams when it differs.
    #[track_caller]
    pub fn code(self, expected: i32) -> Self {
        assert_eq!(
            self.code,
            Some(expected),
            "\n-- stdout\n{}\n-- stderr\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    #[track_caller]
    pub fn succeeds(self) -> Self {
        self.code(0)
    }

    /// Returns standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }

    /// The whole outcome as one text, for inline snapshots.
    pub fn snapshot(&self) -> String {
        format!("exit: {:?}\n-- stdout\n{}\n-- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}
