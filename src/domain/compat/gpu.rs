//! GPU and CUDA release.

use serde::Serialize;

use super::Knowledge;
use crate::domain::capability::ComputeCapability;
use crate::domain::manifest::gpu::Capability;
use crate::domain::manifest::release::Release;
use crate::domain::version::Version;

/// How a GPU and a CUDA release go together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum GpuVerdict {
    /// The release has code for it.
    Fits,
    /// The release does not know it, but has code for an earlier step of its generation, which runs.
    AsOlder {
        /// The capability whose code runs.
        code: ComputeCapability,
    },
    /// The release is older than the GPU.
    TooNew {
        /// The first release that knows it.
        first_cuda: Version,
    },
    /// The release no longer knows it.
    TooOld {
        /// The last release that knows it.
        last_cuda: Version,
    },
    /// The capability is newer than this catalog.
    Unknown,
}

impl GpuVerdict {
    /// Tells whether the GPU can run the release, as far as is known.
    pub const fn runs(&self) -> bool {
        matches!(self, Self::Fits | Self::AsOlder { .. } | Self::Unknown)
    }
}

impl Knowledge<'_> {
    /// Returns what is known of a compute capability.
    pub fn capability(&self, cc: ComputeCapability) -> Option<&Capability> {
        self.capabilities.iter().find(|known| known.cc == cc)
    }

    /// Judges a CUDA release on a GPU.
    pub fn judge_gpu(&self, cc: ComputeCapability, release: &Release) -> GpuVerdict {
        let minor = release.version.major_minor();
        let Some(known) = self.capability(cc) else { return GpuVerdict::Unknown };
        if let Some(last_cuda) = known.last_cuda.as_ref().filter(|last| minor > **last) {
            return GpuVerdict::TooOld { last_cuda: last_cuda.clone() };
        }
        if minor >= known.first_cuda {
            return GpuVerdict::Fits;
        }
        let older = self.capabilities.iter().rev().find(|other| {
            !known.tegra
                && !other.tegra
                && cc.runs(other.cc)
                && minor >= other.first_cuda
                && other.last_cuda.as_ref().is_none_or(|last| minor <= *last)
        });
        match older {
            Some(other) => GpuVerdict::AsOlder { code: other.cc },
            None => GpuVerdict::TooNew { first_cuda: known.first_cuda.clone() },
        }
    }
}
