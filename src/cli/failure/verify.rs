//! Verifying a toolchain.

use super::Failure;
use crate::cli::exit::Exit;
use crate::ops::verify::{self, ToolchainError};

impl From<verify::Error> for Failure {
    fn from(error: verify::Error) -> Self {
        let error = match error {
            verify::Error::Toolchain(ToolchainError::Place(error)) => return error.into(),
            verify::Error::Toolchain(ToolchainError::Prepare(error)) => return error.into(),
            error => error,
        };
        let (exit, hint) = match &error {
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
