//! The contract between cuenv and its exec shims.
#![forbid(unsafe_code)]
