//! The contract between cuenv and its exec shims: how a command finds the toolchain that holds where it is run,
//! and what that toolchain does to the environment.
//!
//! cuenv and the shim both call this crate, so they cannot disagree. It uses `std` alone, starts no process
//! (the binary replaces itself by the program that [`dispatch`] found), writes no file, takes no lock and knows no network.
//!
//! 1. [`dirs`] finds the data and configuration directories, also with an empty environment.
//! 2. [`locate`] asks, in this order: the `+SPEC` argument, `CUENV_TOOLCHAIN`, the session, the nearest `.cuenv`
//!    upward ([`walk`], [`pin`]), `.cuda-version`, `.tool-versions`, the default. The first that answers is taken.
//! 3. [`toolchain`] finds its prefix: through the head of `.cuenv.lock` beside the pin when it answers the pin's spec
//!    ([`lock`]), else through the link `active/<target>/<spec>`.
//! 4. `<prefix>/.cuenv/activation` ([`activation`]) says what to set; [`venv`] decides how the libraries of the
//!    project's Python environment and those of the prefix share the library path.
//! 5. [`environ`] turns that into changes of the environment, and into the record that undoes them exactly.
//! 6. [`dispatch`] finds the program that would have run without the shim and replaces this process by it.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod activation;
pub mod chain;
pub mod dirs;
pub mod dispatch;
pub mod elf;
pub mod environ;
pub mod hook;
pub mod locate;
pub mod lock;
pub mod names;
pub mod pin;
pub mod prepare;
pub mod program;
pub mod quote;
pub mod read;
pub mod run;
pub mod settings;
pub mod shown;
pub mod spec;
pub mod toolchain;
pub mod undo;
pub mod vars;
pub mod venv;
pub mod walk;
