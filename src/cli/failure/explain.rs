//! Explaining error lines.

use super::Failure;
use crate::cli::exit::Exit;
use crate::ops::explain::Error;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Catalog(error) => error.into(),
            Error::Unknown => Self::new(Exit::NoMatch, error)
                .hint("give the whole line, quoted, or the whole log on standard input; `cuenv doctor` looks at this machine"),
        }
    }
}
