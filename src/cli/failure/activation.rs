//! Advice for what can go wrong on the way into a toolchain.

use shims::dispatch;
use shims::locate::{LocateError, Source};
use shims::prepare::PrepareError;
use shims::spec::Fault;
use shims::venv::Refusal;
use shims::walk::{BrokenPin, BrokenReason};

use super::Failure;
use crate::cli::exit::Exit;
use crate::ops::activate::{self, ExecError, hook};
use crate::ops::{selection, shim};
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
        let hint = locate_hint(&error);
        let exit = match &error {
            LocateError::Pin(_) | LocateError::NotASpec { .. } | LocateError::Default { .. } => {
                Exit::Usage
            }
            LocateError::Wrong { fault: Fault::Component(..), .. }
            | LocateError::Vanished { .. } => Exit::NoMatch,
            LocateError::Wrong { .. } => Exit::Usage,
            LocateError::Activation { .. } => Exit::Integrity,
        };
        Self::new(exit, error).hint(hint)
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

/// The one command after which the selection answers.
fn locate_hint(error: &LocateError) -> String {
    const READS: &str = "a spec reads like `12.4+cudnn9`, `11.8+cudnn8@runtime` or `auto+cudnn9`";
    match error {
        LocateError::Pin(broken) => pin_hint(broken),
        LocateError::Wrong { source, spec, fault } => match (source, fault) {
            (Source::Pin(..), Fault::Component(wrong, Some(nearest))) => {
                let right = spec.replacen(wrong, nearest, 1);
                format!("write the pin anew: `cuenv use {right}`")
            }
            (_, Fault::Component(wrong, Some(nearest))) => {
                format!("did you mean `{}`?", spec.replacen(wrong, nearest, 1))
            }
            (_, Fault::Component(_, None)) => {
                "`cuenv list --available` shows the components".to_owned()
            }
            _ => READS.to_owned(),
        },
        LocateError::NotASpec { source: Source::Variable, .. } => {
            format!("set it to a spec such as `12.4+cudnn9`, or unset {}", shims::names::TOOLCHAIN)
        }
        LocateError::NotASpec { source: Source::Session, .. } => {
            "leave it with `cuenv shell --unset`".to_owned()
        }
        LocateError::NotASpec { .. } => READS.to_owned(),
        LocateError::Vanished { name, .. } => {
            format!("say where it is now: `cuenv link {name} /path/to/toolkit`")
        }
        LocateError::Default { .. } => "set it with `cuenv use --global 12.4+cudnn9`".to_owned(),
        LocateError::Activation { .. } => "run `cuenv install`, which builds it anew".to_owned(),
    }
}

/// What `use` can write anew it does; what is no text file has to go first, by its owner's hand.
pub(super) fn pin_hint(broken: &BrokenPin) -> String {
    match &broken.reason {
        BrokenReason::Pin(_) => "write it anew: `cuenv use 12.4+cudnn9`, for example".to_owned(),
        BrokenReason::Read(_) => pin_away(&broken.path),
    }
}

/// Advice for a pin that cannot be read at all.
pub(super) fn pin_away(path: &std::path::Path) -> String {
    let path = path.display();
    format!("move it away (`mv {path} {path}.old`), then pin anew: `cuenv use 12.4+cudnn9`")
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
        // The message names the command.
        PrepareError::Policy(_) | PrepareError::Settings(_) | PrepareError::Damaged { .. } => None,
    }
}
