//! `frameworks.toml`: what framework builds want.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Sources;
use crate::domain::capability::ComputeCapability;
use crate::domain::version::Version;

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frameworks {
    /// The schema; this program reads [`super::SCHEMA`].
    pub schema: u32,
    /// The day the facts were collected.
    pub collected: String,
    /// Key -> the page, file or measurement it stands for.
    pub sources: BTreeMap<String, String>,
    /// The frameworks.
    pub framework: Vec<Framework>,
    /// The builds.
    pub release: Vec<FrameworkRelease>,
}

/// A framework.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framework {
    /// Its name in [`FrameworkRelease::framework`].
    pub id: String,
    /// The top-level modules it installs.
    pub modules: Vec<String>,
    /// Libraries apart from CUDA's own and cuDNN that it is linked against or opens: NCCL, cuSPARSELt ...
    pub axes: Vec<String>,
    /// Its libraries look for NVIDIA's wheels in their own environment.
    pub finds_wheels: bool,
    /// Whether that was measured.
    pub verified: bool,
    /// Where this was learnt.
    pub source: Sources,
}

/// What one build of a framework wants.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameworkRelease {
    /// The framework, for people: `torch`, `onnxruntime`.
    pub framework: String,
    /// The distribution on PyPI.
    pub distribution: String,
    /// The versions this entry speaks of.
    pub versions: pep440_rs::VersionSpecifiers,
    /// The extra it speaks of (`and-cuda`); absent: the plain distribution.
    #[serde(default)]
    pub extra: Option<String>,
    /// The local version label or index name of the build (`cu121`); absent: the build on PyPI.
    #[serde(default)]
    pub local: Option<String>,
    /// The CUDA it was built or tested with; a bare major: any release of it.
    #[serde(default)]
    pub cuda: Option<Version>,
    /// The oldest CUDA it accepts, where that is older than `cuda`.
    #[serde(default)]
    pub cuda_min: Option<Version>,
    /// The newest CUDA it accepts, where there is one.
    #[serde(default)]
    pub cuda_max: Option<Version>,
    /// The exact CUDA release that its requirements belong to.
    #[serde(default)]
    pub release: Option<Version>,
    /// The cuDNN it was built with; absent: not known.
    #[serde(default)]
    pub cudnn: Option<CudnnWish>,
    /// It runs without cuDNN as well.
    #[serde(default)]
    pub cudnn_optional: bool,
    /// The NCCL it was built with.
    #[serde(default)]
    pub nccl: Option<Version>,
    /// Another framework that decides for it: a requirement such as `torch==2.4.0`.
    #[serde(default)]
    pub via: Vec<String>,
    /// It compiles device code at run time, so it wants ptxas, libdevice, libNVVM or headers.
    #[serde(default)]
    pub compiles: bool,
    /// The glibc floor of its wheel, by tag.
    #[serde(default)]
    pub glibc: Option<Version>,
    /// The oldest GPU it has code for.
    #[serde(default)]
    pub cc_min: Option<ComputeCapability>,
    /// The newest GPU it has code for.
    #[serde(default)]
    pub cc_max: Option<ComputeCapability>,
    /// NVIDIA's packages among the wheel's requirements (linux, x86_64).
    #[serde(default)]
    pub requires: Vec<String>,
    /// Whether the entry was read for these versions.
    #[serde(default = "super::yes")]
    pub verified: bool,
    /// Why this release cannot be installed as its metadata says.
    #[serde(default)]
    pub broken: Option<String>,
    /// What else is worth knowing.
    #[serde(default)]
    pub note: Option<String>,
    /// Where this was learnt.
    pub source: Sources,
}

/// What a build wants of cuDNN.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum CudnnWish {
    /// It uses none.
    None,
    /// This release, or a later one of the same major.
    AtLeast(Version),
}

impl TryFrom<String> for CudnnWish {
    type Error = crate::domain::version::VersionError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text == "none" { Ok(Self::None) } else { text.parse().map(Self::AtLeast) }
    }
}
