//! The process that would be started here: which Python, in which environment, under which toolchain. Nothing is run.

use std::path::{Path, PathBuf};

use shims::dirs::Dirs;
use shims::environ;
use shims::locate::Choice;
use shims::prepare::{self, PrepareError};
use shims::program::Program;
use shims::toolchain::Installed;
use shims::vars::Vars;
use shims::venv::{Libraries, PythonEnv};

use super::{place, selection};
use crate::context::Context;
use crate::domain::loader::Environment;
use crate::platform::loader::is_secure;

/// Whose process to look at.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The toolchain; what holds here when absent.
    pub spec: Option<String>,
    /// A virtual environment.
    pub venv: Option<PathBuf>,
    /// An interpreter.
    pub python: Option<PathBuf>,
}

/// What the choice stands for.
#[derive(Debug)]
pub enum State {
    /// Nothing is chosen.
    Nothing,
    /// cuenv steps aside.
    System,
    /// Chosen and not installed.
    Missing,
    /// Installed.
    Installed(Box<Installed>),
    /// The choice cannot be read, or the environment not be computed.
    Broken(Broken),
}

/// Why what holds cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// It cannot be found out or found.
    #[error(transparent)]
    Place(#[from] place::Error),
    /// The environment cannot be computed.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
}

/// The process that would be started.
#[derive(Debug)]
pub struct Launch {
    /// The program: an interpreter, or cuenv itself where there is none.
    pub program: PathBuf,
    /// Whether the program is an interpreter.
    pub is_python: bool,
    /// Whether its loader ignores LD_LIBRARY_PATH, because it runs with rights of its own.
    pub is_secure: bool,
    /// What chose the toolchain.
    pub choice: Option<Choice>,
    /// What the choice stands for.
    pub state: State,
    /// LD_LIBRARY_PATH of this process, before the toolchain is put on it.
    pub inherited: String,
    /// The environment the program gets.
    pub vars: Vars,
    /// The Python environment.
    pub env: Option<PythonEnv>,
    /// How libraries are shared with it.
    pub libraries: Option<Libraries>,
    /// Its package directories.
    pub sites: Vec<PathBuf>,
    /// The working directory.
    pub cwd: PathBuf,
}

impl Launch {
    /// Works out the process for `request`.
    pub fn new(cx: &Context<'_>, request: &Request) -> Self {
        let mut vars = cx.process.env().clone();
        let inherited = cx.process.var("LD_LIBRARY_PATH").unwrap_or_default().to_owned();
        let (choice, mut state) = select(cx, request.spec.as_deref());
        let beside = choice.as_ref().and_then(Choice::pin_directory).unwrap_or_else(|| cx.cwd());
        let absolute = |path: &Path| {
            let path = cx.cwd().join(path);
            fs_err::canonicalize(&path).unwrap_or(path)
        };
        let given = request.venv.as_deref().map(|venv| absolute(venv).join("bin/python"));
        let given = given.or_else(|| {
            // The link itself says which environment it is of, so only its directory is resolved.
            let python = request.python.as_deref()?;
            Some(absolute(python.parent()?).join(python.file_name()?))
        });
        let program = given.clone().or_else(|| {
            let env = PythonEnv::find(&vars, None, Some(beside))?;
            Some(env.root.join("bin/python")).filter(|python| python.is_file())
        });
        let program = program.or_else(|| python_on_path(&vars, &cx.dirs));
        let is_python = program.is_some();
        let program = program
            .or_else(|| cx.process.exe().map(Path::to_owned))
            .unwrap_or_else(|| PathBuf::from("/bin/sh"));
        let seen = Program::at(&program);
        let env = PythonEnv::find(&vars, Some(&seen), Some(beside));
        let mut libraries = None;
        if let (State::Installed(installed), Some(choice)) = (&state, &choice) {
            let request = prepare::Request {
                program: Some(&seen),
                ..prepare::Request::new(installed, choice, &vars, &cx.dirs)
            };
            match prepare::prepare(&request) {
                Ok(prepared) => {
                    let changes = environ::enter(&vars, &prepared.wanted, &cx.dirs);
                    vars = environ::apply(&vars, &changes);
                    libraries = Some(prepared.libraries);
                }
                Err(error) => state = State::Broken(error.into()),
            }
        }
        let sites = env.as_ref().map(|env| env.sites.clone()).unwrap_or_default();
        let cwd = cx.cwd().to_owned();
        let is_secure = is_secure(&program);
        Self {
            program,
            is_python,
            is_secure,
            choice,
            state,
            inherited,
            vars,
            env,
            libraries,
            sites,
            cwd,
        }
    }

    /// A variable of the program's environment; empty counts as unset.
    pub fn var(&self, name: &str) -> Option<&str> {
        shims::vars::var(&self.vars, name).and_then(|value| value.to_str())
    }

    /// What its loader is given.
    pub fn loader_environment(&self) -> Environment {
        let text = |name: &str| self.var(name).unwrap_or_default().to_owned();
        Environment {
            library_path: text("LD_LIBRARY_PATH"),
            preload: text("LD_PRELOAD"),
            cwd: self.cwd.display().to_string(),
            secure: self.is_secure,
        }
    }

    /// The toolchain's prefix.
    pub fn prefix(&self) -> Option<&Path> {
        match &self.state {
            State::Installed(installed) => Some(&installed.prefix),
            _ => None,
        }
    }

    /// The toolchain's name.
    pub fn toolchain(&self) -> Option<&str> {
        match &self.state {
            State::Installed(installed) => Some(&installed.activation.toolchain),
            _ => None,
        }
    }
}

fn select(cx: &Context<'_>, spec: Option<&str>) -> (Option<Choice>, State) {
    let choice = match selection::ask(cx.process, &cx.dirs, spec, false).first() {
        Ok(Some(choice)) => choice,
        Ok(None) => return (None, State::Nothing),
        Err(error) => {
            return (None, State::Broken(place::Error::from(selection::Error(error)).into()));
        }
    };
    let state = match place::of(&cx.dirs, choice.clone()) {
        Ok(place) => match place.installed {
            None => State::System,
            Some(installed) => State::Installed(Box::new(installed)),
        },
        Err(place::Error::Missing(_)) => State::Missing,
        Err(error) => State::Broken(error.into()),
    };
    (Some(choice), state)
}

/// The first `python3` or `python` on PATH that is no shim of cuenv.
pub(super) fn python_on_path(vars: &Vars, dirs: &Dirs) -> Option<PathBuf> {
    let path = shims::vars::var(vars, "PATH")?;
    let shims = dirs.shims();
    let directories: Vec<PathBuf> = shims::environ::split(path)
        .into_iter()
        .map(PathBuf::from)
        .filter(|directory| directory.is_absolute() && *directory != shims)
        .collect();
    ["python3", "python"].iter().find_map(|name| {
        directories.iter().map(|directory| directory.join(name)).find(|file| file.is_file())
    })
}
