//! Prefixes: one flat toolkit tree for one toolchain, made of links into the store, never changed afterwards.
//!
//! ```text
//! <prefix>/lib/            sonames, `libnvrtc.so`, `libnvrtc-builtins.so`: the one directory on the library path
//! <prefix>/lib64/          a link to every file of lib, the unversioned development links, static libraries
//! <prefix>/include bin nvvm share …      as the wheels have them
//! <prefix>/compute-sanitizer/            the sanitizer's wheel, whole: its headers differ from CUPTI's
//! <prefix>/opencl/lib/     libOpenCL, off the library path
//! <prefix>/extras/CUPTI  targets/<arch>  where builds expect them
//! <prefix>/LICENSES/<distribution>/      the licence of each wheel
//! <prefix>/version.json    what CMake's FindCUDAToolkit reads where there is no nvcc
//! <prefix>/.cuenv/receipt.json, activation
//! ```
//!
//! What goes where is decided in [`plan`], as data; [`build`] only carries it out, in a staging directory that is
//! renamed when it is whole. All links inside a prefix are relative, so it can be moved.

mod activation;
mod build;
mod place;
mod plan;
pub mod receipt;
mod verify;

use std::io;
use std::path::PathBuf;

pub use self::build::{Built, Request, build};
pub use self::plan::{Origin, Plan, Step, plan};
pub use self::receipt::Receipt;
pub use self::verify::{PathFault, check, discard, glance, is_whole, set_aside};

/// Why a prefix was not built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Two wheels bring one path with different bytes.
    #[error("`{path}` of {first} and of {second} have different bytes")]
    Collision {
        /// The path inside the prefix.
        path: String,
        /// The wheel that came first.
        first: String,
        /// The wheel that came second.
        second: String,
    },
    /// The disk or a quota is full.
    #[error("no space left in `{}`", path.display())]
    Space {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Its own files.
    #[error("cannot write the prefix")]
    Write(#[source] io::Error),
    /// A prefix without a receipt that can be read.
    #[error("cannot read the receipt of prefix `{}`", path.display())]
    Receipt {
        /// The prefix.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

#[cfg(test)]
mod tests;
