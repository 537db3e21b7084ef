//! The real shim binary, over data directories made by hand.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::pedantic,
    reason = "a test stops at the first surprise"
)]

mod again;
mod dispatch;
mod opponents;
mod python;
mod strangers;
mod support;
