//! What the parts of a project want of CUDA and cuDNN, and the pin that gives it to all of them.
//!
//! A [`Wish`] comes from an installed distribution's requirements, from the table of frameworks, from the names that a
//! native file asks the loader for, or from an image. [`propose`] joins wishes into one pin or names the two that
//! cannot agree.

mod choose;
mod fit;
mod lookup;
mod native;
mod pins;
mod solve;

use std::collections::BTreeMap;

use serde::Serialize;

pub use fit::{Unmet, cudnn_serves, unmet};
pub use lookup::{Looked, label_version};
pub use native::{NativeFacts, nvjitlink_minor};
pub use pins::PinFacts;
pub use solve::{Conflict, Proposal, propose};

use super::capability::ComputeCapability;
use super::manifest::component::Component;
use super::manifest::framework::Frameworks;
use super::manifest::release::Release;
use super::spec::Profile;
use super::version::Version;

/// The records that wishes are drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a> {
    /// Components and the distributions that carry them.
    pub components: &'a [Component],
    /// CUDA releases, oldest first.
    pub releases: &'a [Release],
    /// Framework builds.
    pub frameworks: &'a Frameworks,
}

/// What one part of a project wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing, in any combination")]
pub struct Wish {
    /// Who wants it: `torch 2.5.1+cu124`.
    pub who: String,
    /// Where it was read: a file, with a line where that helps.
    pub place: String,
    /// What it wants of CUDA; absent: nothing, or any.
    pub cuda: Option<CudaWish>,
    /// The oldest cuDNN it takes, later ones of the same major included; absent: none, or any.
    pub cudnn: Option<Version>,
    /// It says that it uses no cuDNN.
    pub no_cudnn: bool,
    /// It runs without cuDNN as well.
    pub cudnn_optional: bool,
    /// Other libraries it is linked against or opens, apart from CUDA's own: NCCL, cuSPARSELt ..., with the oldest
    /// version it takes.
    pub axes: BTreeMap<String, Version>,
    /// It compiles device code at run time, so it wants headers, ptxas and libdevice.
    pub compiles: bool,
    /// How much of CUDA it wants, where it says so itself.
    pub profile: Option<Profile>,
    /// It finds NVIDIA's libraries in its own Python environment, so the toolchain has to leave it in peace only.
    pub own_libraries: bool,
    /// The GPUs it has code for, oldest and newest.
    pub gpus: Option<(ComputeCapability, ComputeCapability)>,
    /// Whether this was read for this very version.
    pub verified: bool,
    /// What else is worth saying.
    pub notes: Vec<String>,
}

/// What is wanted of CUDA. Versions are MAJOR.MINOR.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CudaWish {
    /// The major: libraries of another one are not found at all.
    pub major: u64,
    /// The oldest minor that will do.
    pub least: Option<Version>,
    /// The newest minor that will do.
    pub most: Option<Version>,
    /// The minor it was built or tested with.
    pub made_with: Option<Version>,
    /// The exact release that its requirements belong to.
    pub release: Option<Version>,
}

impl CudaWish {
    /// Wishes for any release of a major.
    pub fn of_major(major: u64) -> Self {
        Self { major, ..Self::default() }
    }

    /// Wishes for the minor that something was built with; a bare major wishes for any.
    pub fn of_version(version: &Version) -> Self {
        let made_with = version.minor().map(|_| version.major_minor());
        Self { made_with, ..Self::of_major(version.major()) }
    }
}
