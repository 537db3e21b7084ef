//! What can go wrong between asking and reading. Facts only; every URL in here is already safe to print.

use std::io;
use std::time::Duration;

/// A request or a transfer that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `--offline` forbids the network.
    #[error("`{url}` is needed, but offline mode forbids the network")]
    Offline { url: String },

    /// An address that cannot be requested.
    #[error("`{url}` is not a usable address: {reason}")]
    BadUrl { url: String, reason: String },

    /// The configured proxy cannot be used.
    #[error("`{proxy}` is not a usable proxy: {reason}")]
    BadProxy { proxy: String, reason: String },

    /// A certificate file named by the user cannot be used.
    #[error("cannot use the certificate authorities in `{path}` ({via}): {reason}")]
    Authority { path: String, via: String, reason: String },

    /// The machine's own trust store is missing and nothing else was named.
    #[error("this machine has no certificate authorities; looked at {looked}")]
    NoAuthorities { looked: String },

    /// The client could not be started.
    #[error("cannot start the HTTP client: {reason}")]
    Client { reason: String },

    /// No connection.
    #[error("cannot reach `{url}`: {reason}")]
    Connect { url: String, reason: String },

    /// The TLS handshake failed.
    #[error("no trusted connection to `{url}`: {reason}{}", issued_by(issuer.as_deref()))]
    Tls { url: String, reason: String, issuer: Option<String> },

    /// Nothing came for too long.
    #[error("`{url}` sent nothing for {} s", after.as_secs_f64())]
    Timeout { url: String, after: Duration },

    /// An answer that is not a success.
    #[error("`{url}` answered {status}{}", reason_phrase(*status))]
    Status { url: String, status: u16, retry_after: Option<Duration> },

    /// The server asks for a longer pause than cuenv is willing to make.
    #[error("`{url}` answered {status} and asks to wait {} s", wait.as_secs())]
    WaitTooLong { url: String, status: u16, wait: Duration },

    /// The part asked for lies outside the file.
    #[error("`{url}` has no bytes there (size {})", size(*total))]
    Unsatisfiable { url: String, total: Option<u64> },

    /// A partial answer for another part than the one asked for.
    #[error("`{url}` was asked for `{asked}` and sent `{got}`")]
    BadRange { url: String, asked: String, got: String },

    /// Too many hops, or a circle.
    #[error("`{url}` redirects without end (hop {count} leads to `{last}`)")]
    Redirects { url: String, last: String, count: usize },

    /// A redirect that cannot be followed.
    #[error("cannot follow the redirect of `{url}`: {reason}")]
    BadRedirect { url: String, reason: String },

    /// The body broke off.
    #[error("transfer of `{url}` broke off after {received} of {} bytes: {reason}", size(*expected))]
    Interrupted { url: String, received: u64, expected: Option<u64>, reason: String },

    /// A text answer beyond any sensible size.
    #[error("answer of `{url}` is larger than {limit} bytes")]
    TooLarge { url: String, limit: u64 },

    /// A text answer that cannot be read as one.
    #[error("cannot read the answer of `{url}`: {reason}")]
    BadBody { url: String, reason: String },
}

impl Error {
    /// Whether the same request may succeed a moment later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Timeout { .. } | Self::Interrupted { .. } => true,
            Self::Status { status, .. } => {
                matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
            }
            _ => false,
        }
    }

    /// The status of an answer that was not a success.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } | Self::WaitTooLong { status, .. } => Some(*status),
            Self::Unsatisfiable { .. } => Some(416),
            _ => None,
        }
    }

    /// Whether the server says that there is no such thing (404 or 410), as opposed to any failure.
    pub fn is_not_found(&self) -> bool {
        matches!(self.status(), Some(404 | 410))
    }

    /// Recovers the error that [`super::Response`]'s `Read` had to wrap.
    pub fn from_io(error: io::Error) -> Result<Self, io::Error> {
        error.downcast::<Self>()
    }

    pub(super) fn into_io(self) -> io::Error {
        let kind = match &self {
            Self::Timeout { .. } => io::ErrorKind::TimedOut,
            _ => io::ErrorKind::ConnectionReset,
        };
        io::Error::new(kind, self)
    }
}

/// The messages of an error and its causes, joined; a cause that the text above already says is left out.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let part = cause.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        next = cause.source();
    }
    text
}

fn issued_by(issuer: Option<&str>) -> String {
    issuer.map(|name| format!(" (its certificate was issued by `{name}`)")).unwrap_or_default()
}

fn size(total: Option<u64>) -> String {
    total.map_or_else(|| "unknown".to_owned(), |n| n.to_string())
}

fn reason_phrase(status: u16) -> String {
    reqwest::StatusCode::from_u16(status)
        .ok()
        .and_then(|code| code.canonical_reason())
        .map(|text| format!(" ({text})"))
        .unwrap_or_default()
}
