//! The exec shim: one static binary, linked under the name of every shimmed tool.
#![forbid(unsafe_code)]
fn main() {}
