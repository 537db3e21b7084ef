//! cuenv: CUDA and cuDNN toolchains per project, without root.
//!
//! The floors, ground first; a module may only name modules of a lower floor
//! (`tests/layers.rs` enforces it, `CONTRIBUTING.md` has the table):
//!
//! ```text
//! floor 6   main.rs
//! floor 5   cli/          words in, words out: clap, printing, hints, exit codes
//! floor 4   ops/          one use case a file; returns a report, prints nothing
//! floor 3   context.rs    what one run knows; built once; named only by ops and cli
//! floor 2   index  store  prefix  project  catalog  settings  render     services and writers
//! floor 1   domain        platform        progress        shims (crate)  nouns | effects | a trait | the shim's contract
//! ```

pub mod catalog;
pub mod cli;
pub mod context;
pub mod domain;
pub mod index;
pub mod ops;
pub mod platform;
pub mod prefix;
pub mod progress;
pub mod project;
pub mod render;
pub mod settings;
pub mod store;
