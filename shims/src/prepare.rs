//! From an installed prefix to what it wants of the environment, the venv policy applied.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::activation::Verb;
use crate::dirs::Dirs;
use crate::environ::Wanted;
use crate::locate::{Choice, Source};
use crate::names;
use crate::pin::shown;
use crate::program::Program;
use crate::settings::{Settings, SettingsError};
use crate::toolchain::Installed;
use crate::vars::{Vars, var};
use crate::venv::{self, Libraries, PythonEnv, Refusal, Rule, RuleSource};

/// What is to be prepared, and for whom.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The prefix.
    pub installed: &'a Installed,
    /// What chose it.
    pub choice: &'a Choice,
    /// The environment.
    pub vars: &'a Vars,
    /// Where cuenv's directories are.
    pub dirs: &'a Dirs,
    /// What will run, when that is known; a tool of the prefix itself needs no look at a Python environment.
    pub program: Option<&'a Program>,
    /// With the variables that compilers and linkers read.
    pub build: bool,
}

impl<'a> Request<'a> {
    /// A request for any program, without the variables of compilers.
    pub fn new(
        installed: &'a Installed,
        choice: &'a Choice,
        vars: &'a Vars,
        dirs: &'a Dirs,
    ) -> Self {
        Self { installed, choice, vars, dirs, program: None, build: false }
    }
}

/// What a prefix wants, and how its library path came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// What is set and prepended, absolute.
    pub wanted: Wanted,
    /// How the libraries are shared with the Python environment.
    pub libraries: Libraries,
}

/// Why a prefix cannot be used.
#[derive(Debug)]
pub enum PrepareError {
    /// `override` cannot hold.
    Refused {
        /// Why.
        refusal: Refusal,
        /// Who said it.
        source: RuleSource,
    },
    /// A directory of libraries is gone: the program would run without them, and nobody would say so.
    Damaged {
        /// The directory.
        path: PathBuf,
        /// The command that mends it.
        command: String,
    },
    /// A list cannot hold a path with a colon.
    Colon {
        /// The path.
        path: PathBuf,
        /// It is below the toolchain's prefix, and not the Python environment's.
        of_prefix: bool,
    },
    /// `CUENV_VENV` is not a policy.
    Policy(String),
    /// The settings, which may name the policy, cannot be used.
    Settings(SettingsError),
}

impl fmt::Display for PrepareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { refusal, .. } => refusal.fmt(f),
            Self::Damaged { path, command } => {
                write!(f, "`{}` of the toolchain is missing: run `{command}`", path.display())
            }
            Self::Colon { path, .. } => {
                write!(f, "`{}` cannot stand on a path list: it holds a colon", path.display())
            }
            Self::Settings(error) => error.fmt(f),
            Self::Policy(text) => {
                write!(f, "`{text}` from {} is not `defer`, `override` or `off`", names::VENV)
            }
        }
    }
}

impl std::error::Error for PrepareError {}

/// Returns the policy that holds: the variable's, the pin's, the settings', or the default.
pub fn rule(vars: &Vars, choice: &Choice, dirs: &Dirs) -> Result<Rule, PrepareError> {
    if let Some(text) = var(vars, names::VENV) {
        let text = text.to_string_lossy();
        let policy = text.parse().map_err(|()| PrepareError::Policy(shown(&text)))?;
        return Ok(Rule { policy, source: RuleSource::Variable });
    }
    if let (Some(policy), Source::Pin(path, _)) = (choice.venv, &choice.source) {
        return Ok(Rule { policy, source: RuleSource::Pin(path.clone()) });
    }
    match Settings::read(dirs).map_err(PrepareError::Settings)?.venv {
        Some(policy) => Ok(Rule { policy, source: RuleSource::Settings(dirs.settings_file()) }),
        None => Ok(Rule::default()),
    }
}

/// Works out what a prefix wants.
pub fn prepare(request: &Request<'_>) -> Result<Prepared, PrepareError> {
    let Request { installed, choice, vars, dirs, program, build } = *request;
    let rule = rule(vars, choice, dirs)?;
    let own_tool = program.is_some_and(|program| program.file.starts_with(&installed.prefix));
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
    // One look at the file system, also in front of every program.
    let gone = |path: &&PathBuf| path.starts_with(&installed.prefix) && !path.is_dir();
    if let Some(path) = flat.iter().find(gone) {
        let command = command("cuenv verify --files --repair", choice);
        return Err(PrepareError::Damaged { path: path.clone(), command });
    }
    let source = rule.source.clone();
    let libraries = venv::libraries(&installed.prefix, &installed.activation, flat, env, rule)
        .map_err(|refusal| PrepareError::Refused { refusal, source })?;
    if !libraries.elements.is_empty() {
        lists.push(("LD_LIBRARY_PATH".into(), libraries.elements.clone()));
    }
    for (name, paths) in lists {
        if let Some(path) = paths.iter().find(|path| path.as_os_str().as_bytes().contains(&b':')) {
            let of_prefix = path.starts_with(&installed.prefix);
            return Err(PrepareError::Colon { path: path.clone(), of_prefix });
        }
        wanted.lists.push((name, paths.into_iter().map(PathBuf::into_os_string).collect()));
    }
    Ok(Prepared { wanted, libraries })
}

/// Returns a command about the toolchain of a choice: it names the spec where no pin does.
pub fn command(verb: &str, choice: &Choice) -> String {
    match choice.source {
        Source::Pin(..) => verb.to_owned(),
        _ => format!("{verb} {}", choice.spec),
    }
}

fn below(prefix: &Path, path: &Path) -> PathBuf {
    if path == Path::new(".") { prefix.to_owned() } else { prefix.join(path) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchain::tests::install;
    use crate::vars::from_pairs;
    use crate::venv::Policy;
    use crate::walk::PinKind;
    use crate::walk::tests::Temp;

    fn prepared(temp: &Temp, prefix: PathBuf, build: bool) -> Result<Prepared, PrepareError> {
        let activation = crate::activation::Activation::of_prefix(&prefix).unwrap().unwrap();
        prepare(&Request {
            installed: &Installed { prefix, activation, locked: false, stale: None },
            choice: &pinned(None),
            vars: &Vars::new(),
            dirs: &temp.dirs(),
            program: None,
            build,
        })
    }

    fn pinned(venv: Option<Policy>) -> Choice {
        let source = Source::Pin("/p/.cuenv".into(), PinKind::Cuenv);
        Choice { spec: "12.4".to_owned(), source, venv }
    }

    #[test]
    fn values_are_absolute_and_build_variables_need_asking() {
        let temp = Temp::new("prepare");
        let prefix = install(&temp, "one", None);
        let names = |build| {
            let prepared = prepared(&temp, prefix.clone(), build).unwrap();
            assert_eq!(prepared.wanted.set[0].1, prefix.clone().into_os_string());
            let lists = prepared.wanted.lists;
            lists.into_iter().map(|(name, _)| name.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(names(false), ["PATH", "LD_LIBRARY_PATH"]);
        assert_eq!(names(true), ["PATH", "CPATH", "LIBRARY_PATH", "LD_LIBRARY_PATH"]);
    }

    #[test]
    fn the_variable_outranks_the_pin_and_the_pin_the_settings() {
        let temp = Temp::new("rule");
        let ask = |variable: Option<&str>, pin| {
            let vars: Vec<_> = variable.map(|text| ("CUENV_VENV", text)).into_iter().collect();
            rule(&from_pairs(&vars), &pinned(pin), &temp.dirs())
                .map(|rule| (rule.policy, rule.source.to_string()))
                .map_err(|error| error.to_string())
        };
        assert_eq!(ask(None, None), Ok((Policy::Defer, "the default".to_owned())));
        let path = temp.write("data/config/config.toml", "venv = \"off\"\n");
        let settings = (Policy::Off, format!("`{}`", path.display()));
        assert_eq!(ask(None, None), Ok(settings.clone()));
        assert_eq!(ask(Some(""), None), Ok(settings));
        let pin = (Policy::Override, "`/p/.cuenv`".to_owned());
        assert_eq!(ask(None, Some(Policy::Override)), Ok(pin));
        let variable = (Policy::Defer, "CUENV_VENV".to_owned());
        assert_eq!(ask(Some("defer"), Some(Policy::Override)), Ok(variable));
        assert!(ask(Some("never"), None).unwrap_err().contains("`never` from CUENV_VENV"));
        temp.write("data/config/config.toml", "venv = \"never\"\n");
        assert!(ask(None, None).unwrap_err().contains("is not a value of `venv`"));
    }

    #[test]
    fn a_toolchain_without_its_libraries_is_not_entered() {
        let temp = Temp::new("damaged");
        let prefix = install(&temp, "one", None);
        std::fs::remove_dir(prefix.join("lib")).unwrap();
        let text = prepared(&temp, prefix, false).unwrap_err().to_string();
        assert!(text.ends_with("is missing: run `cuenv verify --files --repair`"), "{text}");
        let named = Choice { source: Source::Argument, ..pinned(None) };
        assert_eq!(command("cuenv install", &named), "cuenv install 12.4");
    }

    #[test]
    fn a_colon_cannot_stand_on_a_list() {
        let temp = Temp::new("co:lon");
        let refused = prepared(&temp, install(&temp, "one", None), false);
        assert!(matches!(refused, Err(PrepareError::Colon { of_prefix: true, .. })));
        let plain = Temp::new("plain");
        let venv =
            crate::venv::find::tests::venv(&plain, "ven:v", &["nvidia/cudnn/lib/libcudnn.so.9"]);
        let prefix = install(&plain, "one", None);
        let activation = crate::activation::Activation::of_prefix(&prefix).unwrap().unwrap();
        let vars = from_pairs(&[("VIRTUAL_ENV", venv.to_str().unwrap())]);
        let installed = Installed { prefix, activation, locked: false, stale: None };
        let refused = prepare(&Request::new(&installed, &pinned(None), &vars, &plain.dirs()));
        assert!(matches!(refused, Err(PrepareError::Colon { of_prefix: false, .. })));
    }
}
