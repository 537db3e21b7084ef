//! Which spec holds here, and because of what: the one implementation, for shims, hooks and cuenv.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::activation::ActivationError;
use crate::dirs::Dirs;
use crate::lock::LockFault;
use crate::names;
use crate::pin;
use crate::pin::Pin;
use crate::read::{self, ReadError};
use crate::shown;
use crate::spec::{self, Fault};
use crate::vars::{Vars, var};
use crate::venv::Policy;
use crate::walk::{BrokenPin, Notice, PinKind, Walk};

/// What selection looks at.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Where cuenv's directories are.
    pub dirs: &'a Dirs,
    /// The environment.
    pub vars: &'a Vars,
    /// The working directory; `None` when it was deleted.
    pub cwd: Option<&'a Path>,
    /// The spec given on the command line.
    pub argument: Option<&'a str>,
    /// Whether an activation that this process inherited outranks the default. True for what a process starts
    /// (a worker that went to `/tmp` keeps its toolchain), false for a prompt.
    pub inherit: bool,
    /// Whether to go on after the first answer, to show what it beat.
    pub all: bool,
}

/// Where a choice came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The command line.
    Argument,
    /// `CUENV_TOOLCHAIN`.
    Variable,
    /// `cuenv shell`.
    Session,
    /// A pin file.
    Pin(PathBuf, PinKind),
    /// The activation that this process inherited.
    Inherited,
    /// The default file.
    Default(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument => f.write_str("the command line"),
            Self::Variable => f.write_str(names::TOOLCHAIN),
            Self::Session => f.write_str("`cuenv shell`"),
            Self::Pin(path, _) => write!(f, "`{}`", shown::path(path)),
            Self::Inherited => f.write_str("the inherited environment"),
            Self::Default(path) => write!(f, "the default, `{}`", shown::path(path)),
        }
    }
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The spec, in its one spelling.
    pub spec: String,
    /// Where it came from.
    pub source: Source,
    /// The pin's venv policy.
    pub venv: Option<Policy>,
}

impl Choice {
    /// Returns the directory of the pin.
    pub fn pin_directory(&self) -> Option<&Path> {
        match &self.source {
            Source::Pin(path, _) => path.parent(),
            _ => None,
        }
    }
}

/// All answers, the one that holds first.
#[derive(Debug, Default)]
pub struct Selection {
    /// The answers in order of rank.
    pub choices: Vec<Choice>,
    /// Pins that were not taken.
    pub notices: Vec<Notice>,
    /// Paths whose appearance or change would change the answer.
    pub watched: Vec<PathBuf>,
    /// Keys of the pin that are not known, with the pin.
    pub unknown: Vec<(PathBuf, Vec<String>)>,
    /// What stopped the selection before an answer was sure.
    pub error: Option<LocateError>,
}

/// Why no toolchain could be located.
#[derive(Debug)]
pub enum LocateError {
    /// A pin cannot be used.
    Pin(BrokenPin),
    /// A variable or argument that is not a spec.
    NotASpec {
        /// Where it stands.
        source: Source,
        /// Its text, cut and escaped.
        text: String,
    },
    /// A spec that no toolchain can ever answer.
    Wrong {
        /// Where it stands.
        source: Source,
        /// The spec.
        spec: String,
        /// Why.
        fault: Fault,
    },
    /// The toolkit that a name was linked to is gone.
    Vanished {
        /// Where the name stands.
        source: Source,
        /// The name.
        name: String,
        /// Where the toolkit was.
        path: PathBuf,
    },
    /// The default file cannot be used.
    Default {
        /// The file.
        path: PathBuf,
        /// Why; `None` when its text is not a spec.
        error: Option<ReadError>,
    },
    /// The lock beside the pin cannot be used: what it asks for is not known.
    Lock {
        /// The file.
        path: PathBuf,
        /// Why.
        fault: LockFault,
    },
    /// The activation of an installed prefix cannot be used.
    Activation {
        /// The file.
        path: PathBuf,
        /// Why.
        error: ActivationError,
    },
}

impl fmt::Display for LocateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pin(error) => error.fmt(f),
            Self::NotASpec { source, text } => write!(f, "`{text}` from {source} is not a spec"),
            Self::Wrong { source, spec, fault } => {
                write!(f, "`{spec}` from {source} is wrong: {fault}")
            }
            Self::Vanished { source, name, path } => write!(
                f,
                "`{name}` from {source} is linked to `{}`, which is not there",
                shown::path(path)
            ),
            Self::Default { path, error } => {
                write!(f, "cannot use the default `{}`: ", shown::path(path))?;
                match error {
                    Some(error) => error.fmt(f),
                    None => f.write_str("it does not hold one spec"),
                }
            }
            Self::Lock { path, fault } => {
                write!(f, "cannot use the lock `{}`: {fault}", shown::path(path))
            }
            Self::Activation { path, error } => {
                write!(f, "cannot use `{}`: {error}", shown::path(path))
            }
        }
    }
}

impl std::error::Error for LocateError {}

/// Finds which toolchain holds.
pub fn select(question: &Question<'_>) -> Selection {
    let mut selection = Selection::default();
    if let Err(error) = selection.fill(question) {
        selection.error = Some(error);
    }
    selection
}

impl Selection {
    /// Returns the choice that holds, or what stopped the selection.
    pub fn first(self) -> Result<Option<Choice>, LocateError> {
        match (self.choices.into_iter().next(), self.error) {
            (Some(choice), _) => Ok(Some(choice)),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        }
    }

    fn fill(&mut self, question: &Question<'_>) -> Result<(), LocateError> {
        let Question { dirs, vars, .. } = *question;
        let named = [
            (Source::Argument, question.argument.map(str::to_owned)),
            (Source::Variable, lossy(vars, names::TOOLCHAIN)),
            (Source::Session, lossy(vars, names::SESSION)),
        ];
        for (source, text) in named {
            let Some(text) = text else { continue };
            if !spec::is_spec(&text) {
                return Err(LocateError::NotASpec { source, text: pin::shown(&text) });
            }
            let spec = if text == spec::DEFAULT {
                self.default_spec(dirs)?.unwrap_or_else(|| spec::SYSTEM.to_owned())
            } else {
                spec::canonical(&text)
            };
            self.choices.push(Choice { spec, source, venv: None });
            if !question.all {
                return Ok(());
            }
        }
        if let Some(cwd) = question.cwd {
            let walk = Walk::upward(cwd, dirs, vars, question.all);
            self.notices = walk.notices;
            self.watched.extend(walk.watched);
            for found in walk.found {
                self.push_pin(dirs, found.path, found.kind, &found.pin)?;
            }
            if let Some(broken) = walk.broken {
                return Err(LocateError::Pin(broken));
            }
        }
        if !self.choices.is_empty() && !question.all {
            return Ok(());
        }
        if question.inherit && var(vars, names::UNDO).is_some() {
            let spec = lossy(vars, names::ACTIVE).unwrap_or_default();
            self.choices.push(Choice { spec, source: Source::Inherited, venv: None });
            if !question.all {
                return Ok(());
            }
        }
        if let Some(spec) = self.default_spec(dirs)? {
            let source = Source::Default(dirs.default_file());
            self.choices.push(Choice { spec, source, venv: None });
        }
        Ok(())
    }

    fn push_pin(
        &mut self,
        dirs: &Dirs,
        path: PathBuf,
        kind: PinKind,
        pin: &Pin,
    ) -> Result<(), LocateError> {
        let mut spec = pin.spec();
        if spec == spec::DEFAULT {
            spec = self.default_spec(dirs)?.unwrap_or_else(|| spec::SYSTEM.to_owned());
        }
        if !pin.unknown.is_empty() {
            self.unknown.push((path.clone(), pin.unknown.clone()));
        }
        self.choices.push(Choice { spec, source: Source::Pin(path, kind), venv: pin.venv });
        Ok(())
    }

    /// Reads the default file: one spec, comments allowed. `default` in it means nothing and is no default.
    fn default_spec(&mut self, dirs: &Dirs) -> Result<Option<String>, LocateError> {
        let path = dirs.default_file();
        if !self.watched.contains(&path) {
            self.watched.push(path.clone());
        }
        let text = match read::text(&path, crate::pin::LIMIT) {
            Ok(Some((text, _))) => text,
            Ok(None) => return Ok(None),
            Err(error) => return Err(LocateError::Default { path, error: Some(error) }),
        };
        if text.trim().is_empty() {
            return Ok(None);
        }
        match Pin::parse(&text) {
            Ok(pin) if pin.spec() != spec::DEFAULT => Ok(Some(pin.spec())),
            _ => Err(LocateError::Default { path, error: None }),
        }
    }
}

fn lossy(vars: &Vars, name: &str) -> Option<String> {
    var(vars, name).map(|value| value.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vars::from_pairs;
    use crate::walk::tests::Temp;

    fn ask(temp: &Temp, below: &str, pairs: &[(&str, &str)], argument: Option<&str>) -> Selection {
        let (dirs, vars) = (temp.dirs(), from_pairs(pairs));
        let cwd = temp.path(below);
        std::fs::create_dir_all(&cwd).unwrap();
        let cwd = Some(cwd.as_path());
        select(&Question { dirs: &dirs, vars: &vars, cwd, argument, inherit: true, all: true })
    }

    #[test]
    fn the_order_of_selection() {
        let temp = Temp::new("order");
        temp.write("home/p/.cuenv", "12.4");
        temp.write("home/p/.cuda-version", "12.5");
        temp.write("home/p/.tool-versions", "cuda 12.6");
        temp.write("data/config/default", "11.8");
        let pairs = [
            ("CUENV_TOOLCHAIN", "12.2"),
            ("CUENV_SHELL_TOOLCHAIN", "12.3"),
            ("CUENV_UNDO", "x"),
            ("CUENV_ACTIVE", "inherited"),
        ];
        let seen = ask(&temp, "home/p", &pairs, Some("12.1"));
        let specs: Vec<_> = seen.choices.iter().map(|choice| choice.spec.as_str()).collect();
        assert_eq!(specs, ["12.1", "12.2", "12.3", "12.4", "12.5", "12.6", "inherited", "11.8"]);
        let none = ask(&temp, "other", &[("CUENV_TOOLCHAIN", "")], None);
        assert_eq!(none.choices.len(), 1);
        assert!(matches!(none.choices[0].source, Source::Default(_)));
    }

    #[test]
    fn the_word_default_is_the_default() {
        let temp = Temp::new("default");
        let pairs = [("CUENV_TOOLCHAIN", "default")];
        assert_eq!(ask(&temp, "home", &pairs, None).choices[0].spec, "system");
        temp.write("data/config/default", "# mine\n11.8+cudnn8\n");
        assert_eq!(ask(&temp, "home", &pairs, None).choices[0].spec, "11.8+cudnn8");
        temp.write("data/config/default", "default");
        assert!(ask(&temp, "home", &pairs, None).error.is_some());
    }

    #[test]
    fn a_variable_that_is_no_spec_is_an_error() {
        let temp = Temp::new("badvar");
        let seen = ask(&temp, "home", &[("CUENV_TOOLCHAIN", "../../x\u{1b}")], None);
        let text = seen.first().unwrap_err().to_string();
        assert_eq!(text, "`../../x\\u{1b}` from CUENV_TOOLCHAIN is not a spec");
    }
}
