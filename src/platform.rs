//! Effects: the only modules that touch the operating system, the network or a device.

pub mod elf_file;
pub mod http;
pub mod loader;
pub mod process;
