//! Support for the black-box tests.

pub mod sandbox;
