//! GPU, CUDA major and cuDNN release.

use serde::Serialize;

use super::Knowledge;
use crate::domain::capability::ComputeCapability;
use crate::domain::manifest::cudnn::{CudnnBuild, CudnnRelease};
use crate::domain::version::Version;

/// How a GPU and a cuDNN release go together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum CudnnVerdict {
    /// The release has code for the GPU.
    Fits,
    /// What is known says no, but was never read from NVIDIA: a reason to prefer another release, not to refuse.
    Doubtful {
        /// The bound that was inferred.
        bound: String,
    },
    /// The release is older than the GPU.
    TooNew {
        /// The first release with code for it, or the newest GPU of this release.
        first: String,
    },
    /// The release no longer has code for the GPU.
    TooOld {
        /// The last release with code for it, or the oldest GPU of this release.
        last: String,
    },
    /// There is no such build for the CUDA major.
    NoBuild,
}

impl CudnnVerdict {
    /// Tells whether the GPU can run the release, as far as is known.
    pub const fn runs(&self) -> bool {
        matches!(self, Self::Fits | Self::Doubtful { .. })
    }
}

impl Knowledge<'_> {
    /// Returns the record of a cuDNN release, or of the last one before it when it is newer than this catalog.
    pub fn cudnn_record(
        &self,
        version: &Version,
        cuda_major: u64,
    ) -> Option<(&CudnnRelease, &CudnnBuild)> {
        let mut builds = self
            .cudnn
            .iter()
            .rev()
            .filter_map(|release| release.build(cuda_major).map(|build| (release, build)));
        // A partial version stands for the newest release that it matches.
        builds.find(|(release, _)| {
            version.matches(release.version.parts()) || release.version < *version
        })
    }

    /// Judges a cuDNN release, as built for a CUDA major, on a GPU.
    pub fn judge_cudnn(
        &self,
        cc: ComputeCapability,
        version: &Version,
        cuda_major: u64,
    ) -> CudnnVerdict {
        let Some((record, build)) = self.cudnn_record(version, cuda_major) else {
            return CudnnVerdict::NoBuild;
        };
        if record.version.major() != version.major() {
            return CudnnVerdict::NoBuild;
        }
        // A partial version is judged as the release it stands for.
        let exact = version.matches(record.version.parts());
        let version = if exact { &record.version } else { version };
        let known = self.capability(cc);
        if let Some(last) = known.and_then(|known| known.last_cudnn.as_ref())
            && *version > *last
            && !last.matches(version.parts())
        {
            let verified = known.is_some_and(|known| known.last_cudnn_verified);
            return bound(verified, CudnnVerdict::TooOld { last: last.to_string() });
        }
        if let Some(first) = known.and_then(|known| known.first_cudnn.as_ref())
            && *version < *first
        {
            let verified = known.is_some_and(|known| known.first_cudnn_verified);
            let listed = build.cc_verified && cc.major > build.cc_max.major;
            return bound(verified || listed, CudnnVerdict::TooNew { first: first.to_string() });
        }
        if cc < build.cc_min {
            let last = format!("compute capability {} and newer", build.cc_min);
            return bound(build.cc_verified, CudnnVerdict::TooOld { last });
        }
        // Within a generation older code runs; and a later release than the record may know later GPUs.
        if exact && cc > build.cc_max && cc.major != build.cc_max.major {
            let first = format!("compute capability {} and older", build.cc_max);
            return bound(build.cc_verified, CudnnVerdict::TooNew { first });
        }
        CudnnVerdict::Fits
    }
}

fn bound(verified: bool, verdict: CudnnVerdict) -> CudnnVerdict {
    match verdict {
        CudnnVerdict::TooNew { first: bound } | CudnnVerdict::TooOld { last: bound }
            if !verified =>
        {
            CudnnVerdict::Doubtful { bound }
        }
        verdict => verdict,
    }
}
