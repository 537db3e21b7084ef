//! Use cases: one a file; each takes the context and a request, returns a report, prints nothing.

pub mod resolve;
