//! The index and the network.

use super::Failure;
use crate::cli::exit::Exit;
use crate::index;
use crate::platform::http;

/// What brings something that is not here.
pub(super) const ONLINE: &str = "run it once without `--offline`, CUENV_OFFLINE and `offline` in `config.toml`, or bring a bundle: `cuenv install --from FILE`";

impl From<http::Error> for Failure {
    fn from(error: http::Error) -> Self {
        use http::Error as E;
        let hint = match &error {
            E::Offline { .. } => Some(ONLINE),
            E::BadUrl { .. } => {
                Some("check CUENV_INDEX_URL, or the index in `config.toml` or pip.conf")
            }
            E::BadProxy { .. } => Some("check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY"),
            E::Authority { .. } | E::NoAuthorities { .. } => {
                Some("set SSL_CERT_FILE to a file of certificate authorities")
            }
            E::Tls { .. } => Some(
                "if your network inspects TLS, set SSL_CERT_FILE to a file with its certificate authority",
            ),
            E::Connect { .. } | E::Timeout { .. } => {
                Some("check the network, HTTPS_PROXY, and CUENV_INDEX_URL if you use a mirror")
            }
            E::Status { status: 401 | 403, .. } => {
                Some("put the user name and password into ~/.netrc or the index address")
            }
            E::Interrupted { .. } => Some("run it again: the download goes on where it stopped"),
            _ => None,
        };
        let exit = match &error {
            E::Authority { .. } | E::BadProxy { .. } => Exit::Usage,
            _ => Exit::Network,
        };
        let failure = Self::new(exit, error);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<index::Error> for Failure {
    fn from(error: index::Error) -> Self {
        use index::Error as E;
        match error {
            E::Http(error) => error.into(),
            E::NoIndex => Self::new(Exit::Network, error)
                .hint("set CUENV_INDEX_URL to the address of a package index, as pip's `index-url`"),
            E::Unreadable(_) => Self::new(Exit::Usage, error)
                .hint("make that file readable, or move it away"),
            E::Offline { .. } => Self::new(Exit::Network, error)
                .hint(ONLINE),
            E::NotFound { .. } => Self::new(Exit::NoMatch, error)
                .hint("a mirror may lack it: check CUENV_INDEX_URL, which usually ends in `/simple`"),
            E::NotAListing { .. } => Self::new(Exit::Network, error)
                .hint("check the index address; it usually ends in `/simple`"),
            E::OtherBytes { .. } => Self::new(Exit::Integrity, error)
                .hint("the index serves other bytes than were locked; `cuenv update` takes them if you trust it"),
            E::NoSuchFile { .. } => Self::new(Exit::NoMatch, error)
                .hint("set CUENV_INDEX_URL or CUENV_FIND_LINKS to a place that has it, or run `cuenv update`"),
            E::Metadata { .. } => Self::new(Exit::Integrity, error),
            E::Io(_) => Self::new(Exit::Failed, error),
        }
    }
}
