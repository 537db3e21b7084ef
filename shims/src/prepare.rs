//! From an installed prefix to what it wants of the environment, the venv policy applied.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::activation::Verb;
use crate::environ::Wanted;
use crate::locate::{Choice, Installed};
use crate::names;
use crate::pin::shown;
use crate::vars::{Vars, var};
use crate::venv::{self, Libraries, Policy, PythonEnv, Refusal};

/// What a prefix wants, and how its library path came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// What is set and prepended, absolute.
    pub wanted: Wanted,
    /// How the libraries are shared with the Python environment.
    pub libraries: Libraries,
}

/// Why a prefix cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrepareError {
    /// `override` cannot hold.
    Refused(Refusal),
    /// A list cannot hold a path with a colon.
    Colon(PathBuf),
    /// `CUENV_VENV` is not a policy.
    Policy(String),
}

impl fmt::Display for PrepareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Colon(path) => {
                write!(f, "`{}` cannot stand on a path list: it holds a colon", path.display())
            }
            Self::Policy(text) => {
                write!(f, "`{text}` from {} is not `defer`, `override` or `off`", names::VENV)
            }
        }
    }
}

impl std::error::Error for PrepareError {}

/// Returns the policy that holds: the variable's, the pin's, or the default.
pub fn policy(vars: &Vars, choice: &Choice) -> Result<Policy, PrepareError> {
    match var(vars, names::VENV) {
        Some(text) => {
            let text = text.to_string_lossy();
            text.parse().map_err(|()| PrepareError::Policy(shown(&text)))
        }
        None => Ok(choice.venv.unwrap_or_default()),
    }
}

/// Works out what a prefix wants. `program` is what will run, when it is known; a tool of the prefix itself needs no
/// look at a Python environment.
pub fn prepare(
    installed: &Installed,
    choice: &Choice,
    vars: &Vars,
    program: Option<&Path>,
    build: bool,
) -> Result<Prepared, PrepareError> {
    let policy = policy(vars, choice)?;
    let own_tool = program.is_some_and(|program| program.starts_with(&installed.prefix));
    let env = if own_tool { None } else { PythonEnv::find(vars, program, choice.pin_directory()) };
    let mut wanted =
        Wanted { toolchain: installed.activation.toolchain.clone().into(), ..Wanted::default() };
    let mut flat = Vec::new();
    let mut lists: Vec<(OsString, Vec<PathBuf>)> = Vec::new();
    for change in &installed.activation.changes {
        if change.build && !build {
            continue;
        }
        let path = below(&installed.prefix, &change.path);
        match change.verb {
            Verb::Set => wanted.set.push((change.name.clone().into(), path.into())),
            Verb::Prepend if change.name == "LD_LIBRARY_PATH" => flat.push(path),
            Verb::Prepend => match lists.iter_mut().find(|(name, _)| *name == *change.name) {
                Some((_, paths)) => paths.push(path),
                None => lists.push((change.name.clone().into(), vec![path])),
            },
        }
    }
    let libraries =
        venv::libraries(&installed.prefix, &installed.activation, &flat, env.as_ref(), policy)
            .map_err(PrepareError::Refused)?;
    if !libraries.elements.is_empty() {
        lists.push(("LD_LIBRARY_PATH".into(), libraries.elements.clone()));
    }
    for (name, paths) in lists {
        if let Some(path) = paths.iter().find(|path| path.as_os_str().as_bytes().contains(&b':')) {
            return Err(PrepareError::Colon(path.clone()));
        }
        wanted.lists.push((name, paths.into_iter().map(PathBuf::into_os_string).collect()));
    }
    Ok(Prepared { wanted, libraries })
}

fn below(prefix: &Path, path: &Path) -> PathBuf {
    if path == Path::new(".") { prefix.to_owned() } else { prefix.join(path) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locate::Source;
    use crate::locate::tests::install;
    use crate::vars::from_pairs;
    use crate::walk::tests::Temp;

    fn installed(prefix: PathBuf) -> Installed {
        let activation = crate::activation::Activation::of_prefix(&prefix).unwrap().unwrap();
        Installed { prefix, activation, locked: false }
    }

    fn choice() -> Choice {
        Choice { spec: "12.4".to_owned(), source: Source::Argument, venv: Some(Policy::Off) }
    }

    #[test]
    fn values_are_absolute_and_build_variables_need_asking() {
        let temp = Temp::new("prepare");
        let prefix = install(&temp, "one", None);
        let found = installed(prefix.clone());
        let names = |build| {
            let prepared = prepare(&found, &choice(), &Vars::new(), None, build).unwrap();
            assert_eq!(prepared.wanted.set[0].1, prefix.clone().into_os_string());
            let lists = prepared.wanted.lists;
            lists.into_iter().map(|(name, _)| name.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(names(false), ["PATH", "LD_LIBRARY_PATH"]);
        assert_eq!(names(true), ["PATH", "CPATH", "LIBRARY_PATH", "LD_LIBRARY_PATH"]);
    }

    #[test]
    fn the_variable_outranks_the_pin() {
        let vars = |text| from_pairs(&[("CUENV_VENV", text)]);
        assert_eq!(policy(&Vars::new(), &choice()), Ok(Policy::Off));
        assert_eq!(policy(&vars("override"), &choice()), Ok(Policy::Override));
        assert_eq!(policy(&vars(""), &choice()), Ok(Policy::Off));
        assert!(policy(&vars("never"), &choice()).is_err());
    }

    #[test]
    fn a_colon_cannot_stand_on_a_list() {
        let temp = Temp::new("co:lon");
        let found = installed(install(&temp, "one", None));
        let refused = prepare(&found, &choice(), &Vars::new(), None, false);
        assert!(matches!(refused, Err(PrepareError::Colon(_))));
    }
}
