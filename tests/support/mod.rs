//! Support for the black-box tests.

pub mod elf;
pub mod bed;
pub mod host;

pub mod index;
pub mod sandbox;
pub mod terminal;
pub mod tls;
pub mod wheel;
