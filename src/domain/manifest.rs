//! The records of `manifests/*.toml`, as types.
//!
//! One module a file. A record is what NVIDIA (or a framework) said, with the keys of its sources; what follows from
//! it is computed elsewhere (`compat`, `detect`). Unknown fields are refused, so that a typo cannot hide a fact.

pub mod component;
pub mod cudnn;
pub mod driver;
pub mod framework;
pub mod gpu;
pub mod image;
pub mod overrides;
pub mod release;
pub mod symptom;
pub mod tool;

/// The schema this program reads.
pub const SCHEMA: u32 = 1;

/// Keys into the file's `sources`.
pub type Sources = Vec<String>;

const fn yes() -> bool {
    true
}
