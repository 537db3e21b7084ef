//! The nouns of cuenv and the pure functions over them.
//!
//! Nothing here touches a file system, a network, a clock, an environment or a terminal.

pub mod capability;
pub mod compat;
pub mod digest;
pub mod elf;
pub mod evidence;
pub mod finding;
pub mod found;
pub mod host;
pub mod installation;
pub mod layout;
pub mod listing;
pub mod loader;
pub mod lock;
pub mod log;
pub mod manifest;
pub mod marker;
pub mod receipt;
pub mod requirement;
pub mod resolution;
pub mod size;
pub mod spec;
pub mod target;
pub mod version;
pub mod wheel_name;
pub mod wish;
