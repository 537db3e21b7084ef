//! A project's own wishes.

use super::Failure;
use crate::cli::exit::Exit;
use crate::ops::detect::Error;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Catalog(error) => error.into(),
            Error::Host(error) => error.into(),
            Error::Conflict(ref conflict) => {
                let places = format!(
                    "`{}` comes from `{}`, `{}` from `{}`",
                    conflict.one.0, conflict.places.0, conflict.other.0, conflict.places.1
                );
                Self::new(Exit::NoMatch, error)
                    .hint(places)
                    .hint("give each a directory with a pin of its own, or move one to a release that agrees")
            }
            Error::Nothing { ref environment, .. } => {
                let looked = match environment {
                    Some(root) => format!(
                        "looked at the project's files and the packages in `{}`; another environment is named with `--python PATH`",
                        shims::shown::path(root)
                    ),
                    None => "looked at the project's files; no Python environment was found: activate it, or name it with `--python PATH`".to_owned(),
                };
                Self::new(Exit::NoMatch, error)
                    .hint(looked)
                    .hint("or name the pin yourself: `cuenv use 12.4+cudnn9`, for example")
            }
        }
    }
}
