//! Support for the black-box tests.

pub mod elf;
pub mod host;

pub mod index;
pub mod sandbox;
pub mod tls;
pub mod wheel;
pub mod bed;
pub mod sandbox;
pub mod terminal;
