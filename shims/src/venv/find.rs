//! Finding the Python environment of the interpreter that will run.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use super::entries;
use crate::program::Program;
use crate::vars::{Vars, var};

/// How a Python environment was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// The program lies in it.
    Program,
    /// `VIRTUAL_ENV`.
    VirtualEnv,
    /// `CONDA_PREFIX`.
    Conda,
    /// `.venv` beside the pin.
    BesidePin,
    /// The program is run by this interpreter, which is in no virtual environment.
    Interpreter,
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Program => "the program's own",
            Self::VirtualEnv => "VIRTUAL_ENV",
            Self::Conda => "CONDA_PREFIX",
            Self::BesidePin => "beside the pin",
            Self::Interpreter => "the interpreter's",
        })
    }
}

/// A Python environment: where packages lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonEnv {
    /// Its root directory.
    pub root: PathBuf,
    /// How it was found.
    pub via: Via,
    /// Its package directories.
    pub sites: Vec<PathBuf>,
}

impl PythonEnv {
    /// Finds the environment of the interpreter that will run: the program's own `pyvenv.cfg`, `VIRTUAL_ENV`,
    /// `CONDA_PREFIX`, `.venv` beside the pin, and last the interpreter that the program is or names.
    pub fn find(
        vars: &Vars,
        program: Option<&Program>,
        pin_directory: Option<&Path>,
    ) -> Option<Self> {
        let interpreter = program.and_then(interpreter_of);
        if let Some(root) = interpreter.as_deref().and_then(root_of)
            && is_venv(root)
        {
            return Some(Self::at(root, Via::Program));
        }
        if let Some(root) = var(vars, "VIRTUAL_ENV").map(Path::new)
            && is_venv(root)
        {
            return Some(Self::at(root, Via::VirtualEnv));
        }
        if let Some(root) = var(vars, "CONDA_PREFIX").map(Path::new)
            && root.join("conda-meta").is_dir()
        {
            return Some(Self::at(root, Via::Conda));
        }
        if let Some(root) = pin_directory.map(|directory| directory.join(".venv"))
            && is_venv(&root)
        {
            return Some(Self::at(&root, Via::BesidePin));
        }
        let interpreter = interpreter?;
        let real = interpreter.canonicalize().ok()?;
        let version = real.file_name()?.to_str().filter(|name| name.starts_with("python3"))?;
        let root = root_of(&real)?;
        let mut places = vec![root.join("lib").join(version)];
        if root == Path::new("/usr") {
            places.push(Path::new("/usr/local/lib").join(version));
        }
        if let Some(home) = var(vars, "HOME") {
            places.push(Path::new(home).join(".local/lib").join(version));
        }
        Some(Self { root: root.to_owned(), via: Via::Interpreter, sites: sites_in(&places) })
    }

    pub(super) fn at(root: &Path, via: Via) -> Self {
        let mut places = Vec::new();
        for library in ["lib", "lib64"] {
            let library = root.join(library);
            // In most environments `lib64` is a link to `lib`.
            if std::fs::symlink_metadata(&library).is_ok_and(|seen| seen.is_dir()) {
                places.extend(entries(&library).into_iter().filter(|path| {
                    path.file_name()
                        .and_then(OsStr::to_str)
                        .is_some_and(|name| name.starts_with("python3"))
                }));
            }
        }
        Self { root: root.to_owned(), via, sites: sites_in(&places) }
    }
}

fn sites_in(places: &[PathBuf]) -> Vec<PathBuf> {
    places
        .iter()
        .flat_map(|place| [place.join("site-packages"), place.join("dist-packages")])
        .filter(|site| site.is_dir())
        .collect()
}

fn is_venv(root: &Path) -> bool {
    root.join("pyvenv.cfg").is_file()
}

fn root_of(program: &Path) -> Option<&Path> {
    program.parent()?.parent()
}

/// Returns the interpreter that a program is, or that its first line names.
fn interpreter_of(program: &Program) -> Option<PathBuf> {
    let is_python = |path: &Path| {
        path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("python"))
    };
    if is_python(&program.file) {
        return Some(program.file.clone());
    }
    let line = program.first_line()?.strip_prefix("#!")?.trim();
    let interpreter = Path::new(line.split_whitespace().next()?);
    // `#!/usr/bin/env python` asks PATH, as the shim's own search does; the variables decide then.
    is_python(interpreter).then(|| interpreter.to_owned())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::vars::from_pairs;
    use crate::walk::tests::Temp;

    /// Makes a virtual environment with these files in its packages.
    pub(crate) fn venv(temp: &Temp, below: &str, files: &[&str]) -> PathBuf {
        temp.write(&format!("{below}/pyvenv.cfg"), "home = /usr/bin\n");
        temp.write(&format!("{below}/bin/python"), "");
        std::fs::create_dir_all(temp.path(&format!("{below}/lib/python3.11/site-packages")))
            .unwrap();
        for file in files {
            temp.write(&format!("{below}/lib/python3.11/site-packages/{file}"), "");
        }
        temp.path(below)
    }

    #[test]
    fn the_interpreter_that_will_run() {
        let temp = Temp::new("find");
        let (a, b) = (venv(&temp, "a", &[]), venv(&temp, "p/.venv", &[]));
        temp.write("conda/conda-meta/history", "");
        let script = format!("#!{}/bin/python\n", a.display());
        let tool = temp.write("tools/torchrun", &script);
        let variables = |pairs: &[(&str, &Path)]| {
            let pairs: Vec<_> =
                pairs.iter().map(|(name, path)| (*name, path.to_str().unwrap())).collect();
            from_pairs(&pairs)
        };
        let found = |vars: &Vars, program: Option<&Path>, pin: Option<&Path>| {
            PythonEnv::find(vars, program.map(Program::at).as_ref(), pin)
                .map(|env| (env.root, env.via))
        };
        let both = variables(&[("VIRTUAL_ENV", &b), ("CONDA_PREFIX", &temp.path("conda"))]);
        assert_eq!(found(&both, Some(&tool), None), Some((a.clone(), Via::Program)));
        assert_eq!(found(&both, Some(&a.join("bin/python")), None), Some((a, Via::Program)));
        assert_eq!(
            found(&both, Some(Path::new("/bin/sh")), None),
            Some((b.clone(), Via::VirtualEnv))
        );
        let conda = variables(&[
            ("CONDA_PREFIX", &temp.path("conda")),
            ("VIRTUAL_ENV", Path::new("/gone")),
        ]);
        assert_eq!(found(&conda, None, None), Some((temp.path("conda"), Via::Conda)));
        assert_eq!(found(&Vars::new(), None, Some(&temp.path("p"))), Some((b, Via::BesidePin)));
        assert_eq!(found(&Vars::new(), None, None), None);
    }
}
