//! `cudnn.toml`: cuDNN releases, per CUDA major.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Sources;
use crate::domain::capability::ComputeCapability;
use crate::domain::target::Target;
use crate::domain::version::{PackageVersion, Version};

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cudnn {
    /// The schema; this program reads [`super::SCHEMA`].
    pub schema: u32,
    /// The day the facts were collected.
    pub collected: String,
    /// Key -> the page, file or measurement it stands for.
    pub sources: BTreeMap<String, String>,
    /// The releases, oldest first.
    pub release: Vec<CudnnRelease>,
}

/// One cuDNN release.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CudnnRelease {
    /// The four-part version.
    pub version: Version,
    /// What NVIDIA recommends with it.
    #[serde(default)]
    pub recommended: Option<String>,
    /// One per CUDA major.
    #[serde(rename = "build")]
    pub builds: Vec<CudnnBuild>,
}

/// A cuDNN release as built for one CUDA major.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CudnnBuild {
    /// The CUDA major it is for.
    pub cuda_major: u64,
    /// The distribution that carries it.
    pub distribution: String,
    /// The wheel's version for x86_64; absent: no wheel.
    #[serde(default)]
    pub linux_x86_64: Option<PackageVersion>,
    /// The wheel's version for aarch64; absent: no wheel.
    #[serde(default)]
    pub linux_aarch64: Option<PackageVersion>,
    /// The oldest toolkit in the support matrix.
    pub cuda_min: Version,
    /// The newest toolkit in the support matrix; later minors of the major normally work.
    pub cuda_max: Version,
    /// Whether the matrix of this very release was read for that.
    pub cuda_verified: bool,
    /// The oldest GPU.
    pub cc_min: ComputeCapability,
    /// The newest GPU.
    pub cc_max: ComputeCapability,
    /// Whether the matrix of this very release was read for that.
    pub cc_verified: bool,
    /// The oldest driver.
    pub driver: Version,
    /// What else is worth knowing.
    #[serde(default)]
    pub note: Option<String>,
    /// Where this was learnt.
    pub source: Sources,
}

impl CudnnRelease {
    /// Returns the build for a CUDA major.
    pub fn build(&self, cuda_major: u64) -> Option<&CudnnBuild> {
        self.builds.iter().find(|build| build.cuda_major == cuda_major)
    }
}

impl CudnnBuild {
    /// Returns the version of the wheel for a target, if there is one.
    pub const fn wheel(&self, target: Target) -> Option<&PackageVersion> {
        match target {
            Target::LinuxX86_64 => self.linux_x86_64.as_ref(),
            Target::LinuxAarch64 => self.linux_aarch64.as_ref(),
        }
    }
}
