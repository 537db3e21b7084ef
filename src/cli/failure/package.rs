//! Bundles, exports and licences.

use super::Failure;
use crate::cli::exit::Exit;
use crate::ops::{bundle, export, licenses};

impl From<export::Error> for Failure {
    fn from(error: export::Error) -> Self {
        match error {
            export::Error::Place(error) => error.into(),
            export::Error::Project(error) => error.into(),
            export::Error::Unwritable(_) => Self::new(Exit::Failed, error)
                .hint("set CUENV_HOME to a path without line breaks and odd bytes"),
            export::Error::Foreign(_) => Self::new(Exit::Failed, error)
                .hint("a linked toolkit has no wheels to hand on; name a CUDA release"),
        }
    }
}

impl From<licenses::Error> for Failure {
    fn from(error: licenses::Error) -> Self {
        match error {
            licenses::Error::Place(error) => error.into(),
            licenses::Error::None(_) | licenses::Error::Io(_) => Self::new(Exit::Failed, error),
        }
    }
}

impl From<bundle::Error> for Failure {
    fn from(error: bundle::Error) -> Self {
        use bundle::Error as E;
        match error {
            E::Selection(error) => error.into(),
            E::Spec(error) => error.into(),
            E::Project(error) => error.into(),
            E::Answer(error) => error.into(),
            E::Install(error) => error.into(),
            E::Nothing(_) => Self::new(Exit::NoMatch, error).hint(
                "name a spec: `cuenv bundle 12.4+cudnn9`, or pin one: `cuenv use 12.4+cudnn9`",
            ),
            E::Drift { .. } => {
                Self::new(Exit::Drift, error).hint("write the lock anew: `cuenv lock`")
            }
            E::Archive(_) | E::NotABundle { .. } | E::Lock { .. } | E::Lacks { .. } => {
                Self::new(Exit::Integrity, error)
                    .hint("copy it again, and compare its sha256 on both sides")
            }
            E::Io(_) => Self::new(Exit::Failed, error),
        }
    }
}
