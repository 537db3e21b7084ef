//! `images.toml`: container images and what is inside.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Sources;
use crate::domain::version::Version;

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Images {
    /// The schema; this program reads [`super::SCHEMA`].
    pub schema: u32,
    /// The day the facts were collected.
    pub collected: String,
    /// Key -> the page, file or measurement it stands for.
    pub sources: BTreeMap<String, String>,
    /// Tag shapes that name their versions.
    pub tag: Vec<TagShape>,
    /// Monthly images whose tags do not.
    pub ngc: Vec<NgcImage>,
}

/// A tag shape that names its versions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TagShape {
    /// The repository, without its registry.
    pub repository: String,
    /// The shape: `{cuda}-cudnn{cudnn}-{flavor}-{os}`.
    pub pattern: String,
    /// A tag that was seen.
    pub example: String,
    /// The cuDNN major, where the tag does not name it.
    #[serde(default)]
    pub cudnn_major: Option<u64>,
    /// The framework inside.
    #[serde(default)]
    pub framework: Option<String>,
    /// What else is worth knowing.
    #[serde(default)]
    pub note: Option<String>,
    /// Whether tags of this shape were seen.
    pub verified: bool,
    /// Where this was learnt.
    pub source: Sources,
}

/// A monthly image.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NgcImage {
    /// The repository, with its registry.
    pub repository: String,
    /// The tag.
    pub tag: String,
    /// CUDA inside, with NVIDIA's build number.
    #[serde(default)]
    pub cuda: Option<Version>,
    /// cuDNN inside.
    #[serde(default)]
    pub cudnn: Option<Version>,
    /// NCCL inside.
    #[serde(default)]
    pub nccl: Option<Version>,
    /// PyTorch inside.
    #[serde(default)]
    pub torch: Option<String>,
    /// TensorRT inside.
    #[serde(default)]
    pub tensorrt: Option<Version>,
    /// cuBLAS inside.
    #[serde(default)]
    pub cublas: Option<Version>,
    /// The driver that the image's table names.
    #[serde(default)]
    pub driver_in_image_table: Option<Version>,
    /// The oldest driver.
    #[serde(default)]
    pub min_driver: Option<Version>,
    /// Older drivers that data-center GPUs may have.
    #[serde(default)]
    pub min_driver_datacenter: Vec<Version>,
    /// Whose statement this is.
    pub confidence: Confidence,
    /// Fields that follow from neighbouring images.
    #[serde(default)]
    pub unverified: Vec<String>,
    /// What else is worth knowing.
    #[serde(default)]
    pub note: Option<String>,
    /// Where this was learnt.
    pub source: Sources,
}

/// Whose statement an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// The image's own.
    Own,
    /// Another image's of that month.
    Month,
    /// The neighbouring month's.
    Near,
}
