//! `tools.toml`: programs and the components they come from.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Sources;
use crate::domain::version::Version;

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// The schema; this program reads [`super::SCHEMA`].
    pub schema: u32,
    /// The day the facts were collected.
    pub collected: String,
    /// Key -> the page, file or measurement it stands for.
    pub sources: BTreeMap<String, String>,
    /// Programs inside toolchains.
    pub tool: Vec<Tool>,
    /// Programs of the project that are run in a toolchain.
    pub launcher: Vec<Launcher>,
    /// Programs that must never have a shim.
    pub never: Never,
    /// Programs of NVIDIA's installers that no wheel has.
    pub absent: Vec<Absent>,
}

/// A program inside a toolchain.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// The component that brings it.
    pub component: String,
    /// The CUDA majors whose wheels have it.
    pub cuda_majors: Vec<u64>,
    /// The first CUDA whose wheels have it, where that is not the first of the major.
    #[serde(default)]
    pub first_cuda: Option<Version>,
    /// Where it lies in a prefix.
    pub directory: String,
    /// Whether it has a shim by default.
    pub shim: bool,
    /// Where this was learnt.
    pub source: Sources,
}

/// A program of the project.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launcher {
    /// Its name.
    pub name: String,
    /// Whether it has a shim by default.
    pub shim: bool,
    /// Where this was learnt.
    pub source: Sources,
}

/// Programs that must never have a shim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Never {
    /// Their names.
    pub names: Vec<String>,
    /// Where this was learnt.
    pub source: Sources,
}

/// A program that no wheel has.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absent {
    /// Its name.
    pub name: String,
    /// The CUDA majors that lack it.
    pub cuda_majors: Vec<u64>,
    /// Why; shown to people.
    pub reason: String,
    /// Where this was learnt.
    pub source: Sources,
}
