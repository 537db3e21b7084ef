//! Effects: the only modules that touch the operating system, the network or a device.

pub mod bulk;
pub mod checkpoint;
pub mod child;
pub mod dlopen;
pub mod elf_file;
pub mod flock;
pub mod fs;
pub mod gpu;
pub mod hash;
pub mod host;
pub mod http;
pub mod identity;
pub mod lines;
pub mod link;
pub mod loader;
pub mod maps;
pub mod pip;
pub mod process;
pub mod read;
pub mod tarball;
pub mod thread;
pub mod zip;

pub use inflate;
