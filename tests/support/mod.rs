//! Support for the black-box tests.

pub mod bed;
pub mod blocks;
pub mod elf;
pub mod host;
pub mod hosts;
pub mod index;
pub mod project;
pub mod release;
pub mod sandbox;
pub mod shells;
pub mod slurm;
pub mod terminal;
pub mod tls;
pub mod toolkit;
pub mod tree;
pub mod wheel;
pub mod whole;
