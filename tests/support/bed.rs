//! A sandbox with toolchains made by hand: prefixes with an activation, and real shared objects where a loader is asked.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use shims::activation::{Activation, Component};
use shims::names;

use super::sandbox::{Sandbox, cuenv};

/// A library of a made toolchain: component, file name.
pub type Library<'a> = (&'a str, &'a str);

impl Sandbox {
    /// Makes a prefix and the link of a spec to it.
    pub fn toolchain(&self, name: &str, spec: &str, libraries: &[Library<'_>]) -> PathBuf {
        let prefix = self.cuenv_home().join("toolchains").join(names::TARGET).join(name);
        fs::create_dir_all(prefix.join("lib")).unwrap();
        fs::create_dir_all(prefix.join("bin")).unwrap();
        let mut activation = Activation::standard(name, name, true);
        for (component, file) in libraries {
            shared_object(&prefix.join("lib").join(file), file, name);
            let directory = Path::new(".cuenv/lib").join(component);
            fs::create_dir_all(prefix.join(&directory)).unwrap();
            let target = Path::new("../../../lib").join(file);
            std::os::unix::fs::symlink(target, prefix.join(&directory).join(file)).unwrap();
            let libraries = match activation.components.iter_mut().find(|c| c.name == *component) {
                Some(known) => &mut known.libraries,
                None => {
                    let libraries = Vec::new();
                    activation.components.push(Component {
                        name: (*component).into(),
                        directory,
                        libraries,
                    });
                    &mut activation.components.last_mut().unwrap().libraries
                }
            };
            libraries.push((*file).to_owned());
        }
        fs::create_dir_all(prefix.join(".cuenv")).unwrap();
        fs::write(prefix.join(".cuenv/activation"), activation.render().unwrap()).unwrap();
        self.point(spec, name);
        prefix
    }

    /// Points the link of a spec at a prefix.
    pub fn point(&self, spec: &str, name: &str) {
        let active = self.cuenv_home().join("active").join(names::TARGET);
        fs::create_dir_all(&active).unwrap();
        let _ = fs::remove_file(active.join(spec));
        let target = format!("../../toolchains/{}/{name}", names::TARGET);
        std::os::unix::fs::symlink(target, active.join(spec)).unwrap();
    }

    /// Puts the shim's binary and links for tools in place, as an installation has them.
    pub fn shims(&self, tools: &[&str]) -> PathBuf {
        let binary = cuenv().with_file_name("cuenv-shim");
        assert!(binary.is_file(), "build it first: cargo build -p cuenv-shim");
        let (bin, shims) = (self.cuenv_home().join("bin"), self.cuenv_home().join("shims"));
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(&shims).unwrap();
        install(&binary, &bin.join("cuenv-shim"));
        for tool in tools {
            std::os::unix::fs::symlink("../bin/cuenv-shim", shims.join(tool)).unwrap();
        }
        shims
    }

    /// Writes a program below the sandbox's root.
    pub fn program(&self, below: &str, text: &str) -> PathBuf {
        let source = self.root().join("program.txt");
        fs::write(&source, text).unwrap();
        let place = self.root().join(below);
        install(&source, &place);
        place
    }
}

/// Copies a program. Another process does it: a thread that forks while a file is open for writing makes it busy.
fn install(from: &Path, to: &Path) {
    let status = Command::new("install").args(["-D", "-m", "755"]).arg(from).arg(to).status();
    assert!(status.unwrap().success());
}

/// Links a shared object whose function `whoami` returns a text; `false` where there is no compiler.
pub fn shared_object(path: &Path, soname: &str, text: &str) -> bool {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let source = path.with_extension("c");
    let mut code = String::new();
    let _ = writeln!(code, "const char *whoami(void) {{ return \"{text}\"; }}");
    fs::write(&source, code).unwrap();
    let status = Command::new("gcc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(path)
        .arg(&source)
        .arg(format!("-Wl,-soname,{soname}"))
        .status();
    fs::remove_file(&source).unwrap();
    status.is_ok_and(|status| status.success())
}

impl super::sandbox::Ran {
    /// Asserts standard output, whole.
    #[track_caller]
    pub fn says(self, expected: &str) -> Self {
        assert_eq!(self.stdout, expected, "\n-- stderr\n{}", self.stderr);
        self
    }
}
