//! Advice for what can go wrong on the way into a toolchain.

use shims::dispatch;
use shims::locate::LocateError;
use shims::prepare::PrepareError;
use shims::run::RunError;
use shims::spec::Fault;

use super::Failure;
use crate::cli::exit::Exit;
use crate::ops::activate::{self, hook};
use crate::ops::{mend, selection, shim};
use crate::render::formats::Unwritable;

impl Failure {
    /// `cuenv shell` was not called through the hook's function.
    pub(crate) fn needs_hook() -> Self {
        let error = "a shell's variables can only be changed from inside of it";
        Self::new(Exit::Failed, error)
            .hint("load the hook first: `eval \"$(cuenv hook bash)\"` (or zsh, fish ...), then say it again")
    }
}

impl From<activate::Error> for Failure {
    fn from(error: activate::Error) -> Self {
        match error {
            activate::Error::Place(error) => error.into(),
            activate::Error::Prepare(error) => error.into(),
        }
    }
}

impl From<PrepareError> for Failure {
    fn from(error: PrepareError) -> Self {
        let hint = prepare_hint(&error);
        with(Self::new(Exit::Failed, error), hint)
    }
}

impl From<selection::Error> for Failure {
    fn from(selection::Error(error): selection::Error) -> Self {
        let hint = mend::selection(&error).advice();
        let exit = match &error {
            LocateError::Pin(_) | LocateError::NotASpec { .. } | LocateError::Default { .. } => {
                Exit::Usage
            }
            LocateError::Wrong { fault: Fault::Component(..), .. }
            | LocateError::Vanished { .. } => Exit::NoMatch,
            LocateError::Wrong { .. } => Exit::Usage,
            LocateError::Lock { .. } | LocateError::Activation { .. } => Exit::Integrity,
        };
        Self::new(exit, error).hint(hint)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let (exit, hint) = match &error {
            RunError::Install(_) => (Exit::ShimFailed, None),
            RunError::Start { code: 127, .. } => (Exit::NoCommand, None),
            RunError::Start { .. } => (Exit::CannotExecute, None),
            RunError::Plan(failure) => match failure {
                dispatch::Failure::NoCommand(_) => (Exit::NoCommand, None),
                dispatch::Failure::NotExecutable(_) => (Exit::CannotExecute, None),
                dispatch::Failure::Locate(error) => {
                    (Exit::ShimFailed, Some(mend::selection(error).advice()))
                }
                dispatch::Failure::Prepare(error) => (Exit::ShimFailed, prepare_hint(error)),
                // The message names the command.
                dispatch::Failure::Missing(_)
                | dispatch::Failure::Loop(..)
                | dispatch::Failure::Runaway(..) => (Exit::ShimFailed, None),
            },
        };
        with(Self::new(exit, error), hint)
    }
}

impl From<hook::Error> for Failure {
    fn from(error: hook::Error) -> Self {
        Self::new(Exit::Failed, error)
    }
}

impl From<shim::Error> for Failure {
    fn from(error: shim::Error) -> Self {
        let (exit, hint) = match &error {
            shim::Error::Name(_) | shim::Error::Never(_) => (Exit::Usage, None),
            shim::Error::NoBinary(_) => {
                (Exit::Failed, Some("install cuenv again: its archive holds both".to_owned()))
            }
            shim::Error::NotAShim(path) => {
                (Exit::Failed, Some(format!("move `{}` away", path.display())))
            }
            shim::Error::Io(_) => (Exit::Failed, None),
        };
        with(Self::new(exit, error), hint)
    }
}

impl From<Unwritable> for Failure {
    fn from(error: Unwritable) -> Self {
        Self::new(Exit::Failed, error)
            .hint("let the other side run `cuenv exec -- CMD` instead: it needs no variables")
    }
}

fn with(failure: Failure, hint: Option<String>) -> Failure {
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// A damaged toolchain's message names the command.
fn prepare_hint(error: &PrepareError) -> Option<String> {
    match error {
        PrepareError::Damaged { .. } => None,
        error => Some(mend::environment(error).advice()),
    }
}
