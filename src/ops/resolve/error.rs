//! Why a spec has no answer.

use crate::domain::compat::Verdict;
use crate::domain::listing::NoWheel;
use crate::domain::requirement::MetadataError;
use crate::domain::target::Target;
use crate::domain::version::{PackageVersion, Version};
use crate::index;

/// Why a spec has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The index or the network.
    #[error(transparent)]
    Index(#[from] index::Error),
    /// No CUDA release of that version.
    #[error("no CUDA release matches `{asked}`")]
    NoRelease {
        /// What was asked for.
        asked: Version,
        /// The closest releases, oldest first.
        nearest: Vec<Version>,
    },
    /// There are releases, but this host can run none of them.
    #[error("{}", .because)]
    Host {
        /// The CUDA release that came closest.
        release: Version,
        /// The deciding facts, in words.
        because: String,
        /// The verdict.
        verdict: Box<Verdict>,
        /// The newest release this host runs.
        instead: Option<Version>,
        /// The driver to ask for.
        driver: Option<Version>,
    },
    /// `auto` on a host whose driver is unknown.
    #[error("`auto` needs a driver to look at, and none was found on this machine")]
    AutoWithoutDriver,
    /// No component of that name.
    #[error("there is no component `{name}`")]
    UnknownComponent {
        /// What was written.
        name: String,
        /// The closest name.
        nearest: Option<String>,
    },
    /// The component does not exist for that CUDA release.
    #[error("no wheel has `{component}` for CUDA {release} on {target}")]
    NotForRelease {
        /// The component.
        component: String,
        /// The CUDA release.
        release: Version,
        /// The target.
        target: Target,
        /// The nearest release that has it.
        nearest: Option<Version>,
    },
    /// No version of an axis (cuDNN, NCCL) fits.
    #[error("no {component} {asked} fits CUDA {release}: {because}")]
    NoneFits {
        /// The component.
        component: String,
        /// What was asked for; empty for any.
        asked: String,
        /// The CUDA release.
        release: Version,
        /// What stood in the way of the nearest one.
        because: String,
        /// The nearest version that fits.
        instead: Option<PackageVersion>,
        /// Whether it is this host that refuses, and not the index.
        host: bool,
    },
    /// No wheel for a component.
    #[error("no wheel of component `{component}` can be taken")]
    NoWheel {
        /// The component.
        component: String,
        /// Why.
        #[source]
        source: NoWheel,
    },
    /// A metapackage that cannot be read.
    #[error("the metadata of `{file}` cannot be used")]
    Metadata {
        /// The wheel.
        file: String,
        /// Why.
        #[source]
        source: MetadataError,
    },
}
