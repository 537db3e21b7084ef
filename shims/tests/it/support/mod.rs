//! A data directory, a project and a `PATH` of one's own, with the real shim binary in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use shims::activation::Activation;
use shims::names;

/// The bed; it is removed with its content.
pub(crate) struct Bed(PathBuf);

impl Bed {
    pub(crate) fn new() -> Self {
        Self::named("bed")
    }

    pub(crate) fn named(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let root = base.join(format!("cuenv-{}-{number}-{name}", std::process::id()));
        let bed = Self(root);
        for directory in ["data/bin", "data/shims", "project", "home", "bin"] {
            std::fs::create_dir_all(bed.path(directory)).unwrap();
        }
        // A hard link would be the same file for every bed, and two installations are two files.
        bed.copy(Path::new(env!("CARGO_BIN_EXE_cuenv-shim")), "data/bin/cuenv-shim");
        bed
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

    pub(crate) fn program(&self, below: &str, text: &str) -> PathBuf {
        let source = self.write("program.txt", text);
        self.copy(&source, below)
    }

    /// Copies a program. Another process does it: a thread that forks while a file is open for writing here makes
    /// the file busy for whoever runs it.
    pub(crate) fn copy(&self, from: &Path, below: &str) -> PathBuf {
        let to = self.path(below);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        let status = Command::new("install").args(["-m", "755"]).arg(from).arg(&to).status();
        assert!(status.unwrap().success());
        to
    }

    pub(crate) fn shim(&self, tool: &str) {
        let link = self.path("data/shims").join(tool);
        std::os::unix::fs::symlink("../bin/cuenv-shim", link).unwrap();
    }

    /// Makes a prefix and the link of a spec to it.
    pub(crate) fn toolchain(&self, name: &str, spec: &str) -> PathBuf {
        let below = format!("data/toolchains/{}/{name}", names::TARGET);
        let text = Activation::standard(name, name, true).render().unwrap();
        self.write(&format!("{below}/.cuenv/activation"), &text);
        std::fs::create_dir_all(self.path(&below).join("lib")).unwrap();
        let active = self.path("data/active").join(names::TARGET);
        std::fs::create_dir_all(&active).unwrap();
        let target = format!("../../toolchains/{}/{name}", names::TARGET);
        std::os::unix::fs::symlink(target, active.join(spec)).unwrap();
        self.path(&below)
    }

    /// A command in the project, with the shims first on a small `PATH`.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let path = format!(
            "{}:{}:/usr/bin:/bin",
            self.path("data/shims").display(),
            self.path("bin").display()
        );
        command.env_clear();
        command.env("PATH", path);
        command.env("HOME", self.path("home"));
        command.current_dir(self.path("project"));
        command
    }

    /// A shim, called by its path.
    pub(crate) fn run(&self, tool: &str) -> Command {
        self.command(&self.path("data/shims").join(tool))
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a command that must succeed and returns what it printed.
pub(crate) fn text(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
