//! `drivers.toml`: driver branches and what they support.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Sources;
use super::gpu::Kind;
use crate::domain::version::Version;

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drivers {
    /// The schema; this program reads [`super::SCHEMA`].
    pub schema: u32,
    /// The day the facts were collected.
    pub collected: String,
    /// Key -> the page, file or measurement it stands for.
    pub sources: BTreeMap<String, String>,
    /// Which GPUs a branch drives.
    pub gpu_support: GpuSupport,
    /// Where the forward-compatibility package works.
    pub forward_compat: ForwardCompat,
    /// The branches, oldest first.
    pub branch: Vec<Branch>,
}

/// A driver branch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// The first number of its drivers.
    pub branch: u64,
    /// The newest CUDA these drivers support by themselves.
    pub max_cuda: Version,
    /// The first driver listed.
    #[serde(default)]
    pub first_driver: Option<Version>,
    /// Whether `max_cuda` was read.
    pub verified: bool,
    /// Whether `first_driver` was read.
    #[serde(default)]
    pub first_driver_verified: Option<bool>,
    /// What else is worth knowing.
    #[serde(default)]
    pub note: Option<String>,
    /// Where this was learnt.
    pub source: Sources,
}

/// Which GPUs driver branches drive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuSupport {
    /// The last branch for Maxwell, Pascal and Volta.
    pub last_branch_before_cc_75: u64,
    /// Whether that was read.
    pub last_branch_verified: bool,
    /// From this branch on the open kernel modules are the default.
    pub open_modules_default_from_branch: u64,
    /// Where this was learnt.
    pub source: Sources,
}

/// Where the forward-compatibility package works.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForwardCompat {
    /// The kinds of GPU.
    pub kinds: Vec<Kind>,
    /// The oldest driver branch it was ever offered for.
    pub oldest_branch: u64,
    /// Whether that was read for every release.
    pub oldest_branch_verified: bool,
    /// What else is worth knowing.
    pub note: String,
    /// Where this was learnt.
    pub source: Sources,
}
