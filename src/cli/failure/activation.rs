//! Advice for what can go wrong on the way into a toolchain.

use shims::dispatch;
use shims::locate::{Choice, LocateError, Source};
use shims::prepare::PrepareError;
use shims::venv::Refusal;

use super::Failure;
use crate::cli::exit::Exit;
use crate::ops::activate::{self, ExecError, hook};
use crate::ops::shim;
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
        let (exit, hint) = match &error {
            activate::Error::Locate(error) => (located(error), Some(locate_hint(error))),
            activate::Error::Prepare(error) => (Exit::Failed, prepare_hint(error)),
            activate::Error::Nothing => (
                Exit::NoMatch,
                Some("pin one with `cuenv use 12.4+cudnn9`, or name one".to_owned()),
            ),
            activate::Error::Missing(choice) => (Exit::NoMatch, Some(install_hint(choice))),
        };
        with(Self::new(exit, error), hint)
    }
}

impl From<ExecError> for Failure {
    fn from(error: ExecError) -> Self {
        let (exit, hint) = match &error {
            ExecError::Install(_) => (Exit::ShimFailed, None),
            ExecError::Start { code: 127, .. } => (Exit::NoCommand, None),
            ExecError::Start { .. } => (Exit::CannotExecute, None),
            ExecError::Plan(failure) => match failure {
                dispatch::Failure::NoCommand(_) => (Exit::NoCommand, None),
                dispatch::Failure::NotExecutable(_) => (Exit::CannotExecute, None),
                dispatch::Failure::Locate(error) => (Exit::ShimFailed, Some(locate_hint(error))),
                dispatch::Failure::Prepare(error) => (Exit::ShimFailed, prepare_hint(error)),
                // The message names the command.
                dispatch::Failure::Missing(_) | dispatch::Failure::Loop(..) => {
                    (Exit::ShimFailed, None)
                }
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

fn located(error: &LocateError) -> Exit {
    match error {
        LocateError::NotASpec { .. } => Exit::Usage,
        _ => Exit::Failed,
    }
}

fn install_hint(choice: &Choice) -> String {
    match choice.source {
        Source::Pin(..) => "run `cuenv install`".to_owned(),
        _ => format!("run `cuenv install {}`", choice.spec),
    }
}

fn locate_hint(error: &LocateError) -> String {
    let hint = match error {
        LocateError::NotASpec { .. } | LocateError::Pin(_) => {
            "a spec reads like `12.4+cudnn9`, `11.8+cudnn8@runtime` or `auto+cudnn9`"
        }
        LocateError::Default { .. } => "set it with `cuenv use --global 12.4+cudnn9`",
        LocateError::Activation { .. } => {
            "remove the toolchain with `cuenv uninstall` and install it again"
        }
    };
    hint.to_owned()
}

fn prepare_hint(error: &PrepareError) -> Option<String> {
    match error {
        PrepareError::Refused(Refusal::Rpath { component, .. }) => Some(format!(
            "use `venv = \"defer\"` in `.cuenv`, or remove the venv's own {component} wheel"
        )),
        PrepareError::Refused(Refusal::ExtraPart { .. }) => {
            Some("use `venv = \"defer\"` in `.cuenv`, or pin a newer cuDNN".to_owned())
        }
        PrepareError::Colon(_) => {
            Some("set CUENV_HOME to a directory without a colon in its path".to_owned())
        }
        PrepareError::Policy(_) => None,
    }
}
