//! Use cases: one a file; each takes the context and a request, returns a report, prints nothing.

pub mod complete;
pub mod host;
pub mod resolve;
pub mod self_uninstall;
