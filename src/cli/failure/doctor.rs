//! Looking at the chain.

use super::Failure;
use crate::ops::doctor::Error;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Catalog(error) => error.into(),
            Error::Host(error) => error.into(),
        }
    }
}
