//! `gpus.toml`: compute capabilities and GPU names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Sources;
use crate::domain::capability::ComputeCapability;
use crate::domain::version::Version;

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpus {
    /// The schema; this program reads [`super::SCHEMA`].
    pub schema: u32,
    /// The day the facts were collected.
    pub collected: String,
    /// Key -> the page, file or measurement it stands for.
    pub sources: BTreeMap<String, String>,
    /// The capabilities, oldest first.
    pub compute_capability: Vec<Capability>,
    /// The models.
    pub gpu: Vec<Gpu>,
}

/// What a compute capability can be used with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    /// The capability.
    pub cc: ComputeCapability,
    /// The architecture's name.
    pub arch: String,
    /// A system on a chip: its machine code is exchanged with no other GPU's.
    #[serde(default)]
    pub tegra: bool,
    /// The first CUDA whose compiler knows it.
    pub first_cuda: Version,
    /// The last CUDA whose compiler knows it; absent: still known.
    #[serde(default)]
    pub last_cuda: Option<Version>,
    /// The first cuDNN with code for it; absent: not recorded.
    #[serde(default)]
    pub first_cudnn: Option<Version>,
    /// Whether `first_cudnn` was read.
    #[serde(default = "super::yes")]
    pub first_cudnn_verified: bool,
    /// The last cuDNN with code for it; absent: still supported.
    #[serde(default)]
    pub last_cudnn: Option<Version>,
    /// Whether `last_cudnn` was read.
    #[serde(default = "super::yes")]
    pub last_cudnn_verified: bool,
    /// What else is worth knowing.
    #[serde(default)]
    pub note: Option<String>,
    /// Where this was learnt.
    pub source: Sources,
}

/// A GPU model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// The name, as NVIDIA's list prints it.
    pub model: String,
    /// Other names that the driver gives it.
    #[serde(default)]
    pub names: Vec<String>,
    /// Whether those were seen.
    #[serde(default = "super::yes")]
    pub names_verified: bool,
    /// Its compute capability.
    pub cc: ComputeCapability,
    /// Its kind.
    pub kind: Kind,
    /// Whether it was on the list that was read.
    pub verified: bool,
    /// Where this was learnt.
    pub source: Sources,
}

/// What a GPU is sold for; decides whether forward compatibility works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Tesla, A100, H100 ...
    Datacenter,
    /// Quadro, RTX A6000 ...
    Workstation,
    /// GeForce and TITAN.
    Geforce,
    /// Jetson modules.
    Jetson,
}
