//! `cuda.toml`: CUDA releases.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Sources;
use crate::domain::capability::ComputeCapability;
use crate::domain::target::Target;
use crate::domain::version::{PackageVersion, Version};

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Releases {
    /// The schema; this program reads [`super::SCHEMA`].
    pub schema: u32,
    /// The day the facts were collected.
    pub collected: String,
    /// Key -> the page, file or measurement it stands for.
    pub sources: BTreeMap<String, String>,
    /// The oldest driver of each CUDA major.
    pub minor_compat: Vec<MinorCompat>,
    /// The releases, oldest first.
    pub release: Vec<Release>,
}

/// The oldest driver that runs any release of a major ("minor-version compatibility").
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MinorCompat {
    /// The CUDA major.
    pub cuda_major: u64,
    /// The driver.
    pub driver: Version,
    /// What else is worth knowing.
    #[serde(default)]
    pub note: Option<String>,
    /// Where this was learnt.
    pub source: Sources,
}

/// One CUDA release.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "a record: each says whether one fact was read")]
pub struct Release {
    /// The three-part name people use.
    pub version: Version,
    /// How PyPI spells the `cuda-toolkit` release, where that differs.
    #[serde(default)]
    pub metapackage: Option<PackageVersion>,
    /// Why the metapackage's own requirements must not be used; `components` has the right ones.
    #[serde(default)]
    pub metapackage_wrong: Option<String>,
    /// The driver the release was made with; absent where no number was found.
    #[serde(default)]
    pub driver: Option<Version>,
    /// The branch of that driver.
    pub driver_branch: u64,
    /// Whether the driver was read for this very release.
    pub driver_verified: bool,
    /// What else is worth knowing about the driver.
    #[serde(default)]
    pub driver_note: Option<String>,
    /// The oldest GPU its compiler knows.
    pub cc_min: ComputeCapability,
    /// The newest GPU its compiler knows.
    pub cc_max: ComputeCapability,
    /// Whether these two were checked.
    pub cc_verified: bool,
    /// The newest gcc that its compiler accepts as host compiler.
    #[serde(default)]
    pub gcc_max: Option<u64>,
    /// The newest clang that its compiler accepts as host compiler.
    #[serde(default)]
    pub clang_max: Option<u64>,
    /// The highest glibc floor among its x86_64 wheels, by tag.
    pub glibc: Version,
    /// Whether all wheels were looked at for that.
    pub glibc_sampled: bool,
    /// Which wheels exist for x86_64.
    pub linux_x86_64: Coverage,
    /// Which wheels exist for aarch64.
    pub linux_aarch64: Coverage,
    /// Whether nvcc is among the wheels.
    pub nvcc: bool,
    /// Components the metapackage gives as a range; `components` has the build that belongs to the release.
    #[serde(default)]
    pub floating: Vec<String>,
    /// Where this was learnt.
    pub source: Sources,
    /// Component -> the exact version of its distribution.
    pub components: BTreeMap<String, PackageVersion>,
}

/// How much of a release exists for a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Coverage {
    /// Every component that matters.
    Full,
    /// Some components are missing.
    Partial,
    /// Nothing.
    None,
}

impl Release {
    /// Returns how much of this release exists for a target.
    pub const fn coverage(&self, target: Target) -> Coverage {
        match target {
            Target::LinuxX86_64 => self.linux_x86_64,
            Target::LinuxAarch64 => self.linux_aarch64,
        }
    }
}
