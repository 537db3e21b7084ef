//! The store and its prefixes.

use super::Failure;
use super::network::ONLINE;
use crate::cli::exit::Exit;
use crate::ops::gc;
use crate::platform::http;
use crate::{prefix, store};

const MORE_SPACE: &str =
    "free some space (`cuenv gc` shows what can go), or set CUENV_HOME to a larger disk";

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        use store::Error as E;
        match &error {
            E::Incomplete { .. } | E::Fetch { .. } if is_offline(&error) => {
                Self::new(Exit::Network, error).hint(ONLINE)
            }
            E::Damaged { .. } => Self::new(Exit::Integrity, error)
                .hint("nothing was installed; run it again, and if it stays, tell whoever runs that index"),
            E::Incomplete { .. } => Self::new(Exit::Network, error)
                .hint("run it again: finished wheels are kept and the download goes on"),
            E::Fetch { .. } => Self::new(Exit::Network, error)
                .hint("check the network and run it again: finished wheels are kept"),
            E::NoPlace(_) => Self::new(Exit::NoMatch, error).hint("run `cuenv install`"),
            E::Space { .. } => Self::new(Exit::Failed, error).hint(MORE_SPACE),
            E::Store(_) => Self::new(Exit::Failed, error)
                .hint("set CUENV_HOME to a directory that you may write"),
            E::Entry { .. } => {
                Self::new(Exit::Integrity, error).hint("run `cuenv verify --files --repair`")
            }
        }
    }
}

/// Whether the network was not asked because that was forbidden.
fn is_offline(error: &store::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(one) = cause {
        // An error of the system that carries another hides it from `source`.
        let carried = one.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let found = match carried {
            Some(inner) => inner.downcast_ref::<http::Error>(),
            None => one.downcast_ref::<http::Error>(),
        };
        if matches!(found, Some(http::Error::Offline { .. })) {
            return true;
        }
        cause = one.source();
    }
    false
}

impl From<prefix::Error> for Failure {
    fn from(error: prefix::Error) -> Self {
        use prefix::Error as E;
        match &error {
            E::Collision { .. } | E::Receipt { .. } => Self::new(Exit::Integrity, error),
            E::Space { .. } => Self::new(Exit::Failed, error).hint(MORE_SPACE),
            E::Write(_) => Self::new(Exit::Failed, error)
                .hint("set CUENV_HOME to a directory that you may write"),
        }
    }
}

impl From<gc::Error> for Failure {
    fn from(error: gc::Error) -> Self {
        match error {
            gc::Error::Busy { .. } => {
                Self::new(Exit::Failed, error).hint("wait until it is done, then run it again")
            }
            gc::Error::Project(error) => Self::from(error)
                .hint("nothing was removed, since what that project needs is unknown"),
            gc::Error::Default(_) => Self::new(Exit::Usage, error).hint(
                "nothing was removed; set it anew with `cuenv use --global SPEC`, or remove the file",
            ),
            gc::Error::Store(error) => error.into(),
            gc::Error::Prefix(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_offline_forbids_is_not_advised() {
        let offline = || http::Error::Offline { url: "index.example".to_owned() };
        let begun = store::Error::Incomplete {
            file: "x.whl".to_owned(),
            place: "`index.example`".to_owned(),
            got: 7,
            size: Some(9),
            source: Some(std::io::Error::other(offline())),
        };
        let fresh = store::Error::Fetch {
            file: "x.whl".to_owned(),
            place: "`index.example`".to_owned(),
            source: offline().into(),
        };
        for error in [begun, fresh] {
            let failure = Failure::from(error);
            assert!(failure.hints()[0].contains("without `--offline`"), "{:?}", failure.hints());
        }
    }
}
