//! Support for the black-box tests.

pub mod host;
pub mod sandbox;
