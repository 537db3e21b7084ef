//! Verifying a toolchain.

use super::Failure;
use crate::cli::exit::Exit;
use crate::ops::verify;

impl From<verify::Error> for Failure {
    fn from(error: verify::Error) -> Self {
        use verify::ToolchainError;
        let (exit, hint) = match &error {
            verify::Error::Toolchain(ToolchainError::None) => (
                Exit::NoMatch,
                Some("name one: `cuenv verify 12.4+cudnn9`, or pin one: `cuenv use`".to_owned()),
            ),
            verify::Error::Toolchain(ToolchainError::System { .. }) => (
                Exit::NoMatch,
                Some("cuenv steps aside here: name the toolchain to verify".to_owned()),
            ),
            verify::Error::Toolchain(ToolchainError::NotInstalled { spec }) => {
                (Exit::NoMatch, Some(format!("run `cuenv install {spec}`")))
            }
            verify::Error::Empty(_) => {
                (Exit::Integrity, Some("run `cuenv install` with this toolchain again".to_owned()))
            }
            _ => (Exit::Failed, None),
        };
        let failure = Self::new(exit, error);
        if let Some(hint) = hint { failure.hint(hint) } else { failure }
    }
}

impl From<verify::FilesError> for Failure {
    fn from(error: verify::FilesError) -> Self {
        match error {
            verify::FilesError::Toolchain(error) => verify::Error::Toolchain(error).into(),
            verify::FilesError::Prefix(error) => error.into(),
            verify::FilesError::Store(error) => error.into(),
            verify::FilesError::Install(error) => (*error).into(),
        }
    }
}
