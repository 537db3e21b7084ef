//! `components.toml`: parts of CUDA, the distributions that carry them, their libraries and needs.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Sources;
use crate::domain::spec::Profile;
use crate::domain::target::Target;
use crate::domain::version::Version;

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Components {
    /// The schema; this program reads [`super::SCHEMA`].
    pub schema: u32,
    /// The day the facts were collected.
    pub collected: String,
    /// Key -> the page, file or measurement it stands for.
    pub sources: BTreeMap<String, String>,
    /// What toolchains are made of.
    pub component: Vec<Component>,
    /// Libraries of NVIDIA that cuenv knows by name and does not install.
    #[serde(default)]
    pub other_library: Vec<OtherLibrary>,
    /// Libraries that come with the driver and never with a toolchain.
    #[serde(default)]
    pub driver_library: Vec<DriverLibrary>,
}

/// A part of a toolchain by function.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// The name used in specs and messages: `cublas`.
    pub id: String,
    /// Its extra in the `cuda-toolkit` metapackage; absent for axes.
    #[serde(default)]
    pub extra: Option<String>,
    /// Versioned apart from CUDA and chosen by the spec (cuDNN, NCCL), never by the metapackage.
    #[serde(default)]
    pub axis: bool,
    /// A few words.
    pub description: String,
    /// The smallest profile that contains it; without one it comes only when a spec asks.
    #[serde(default)]
    pub profile: Option<Profile>,
    /// Why it is in that profile, where that is not plain.
    #[serde(default)]
    pub profile_reason: Option<String>,
    /// Why its libraries must not be on the library path; absent: they are.
    #[serde(default)]
    pub off_library_path: Option<String>,
    /// Why a missing wheel is a warning and not an error; absent: it is an error.
    #[serde(default)]
    pub optional: Option<String>,
    /// The index has source archives of it and no wheel, so that no spec can take it from there.
    #[serde(default)]
    pub source_only: bool,
    /// The targets that have it; empty: all.
    #[serde(default)]
    pub targets: Vec<Target>,
    /// The first CUDA release in which the metapackage has it.
    #[serde(default)]
    pub first_cuda: Option<Version>,
    /// What else is worth knowing.
    #[serde(default)]
    pub note: Option<String>,
    /// Where this was learnt.
    pub source: Sources,
    /// One per CUDA major.
    #[serde(rename = "build")]
    pub builds: Vec<Build>,
}

/// A component as built for one CUDA major.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// The CUDA major it is for.
    pub cuda_major: u64,
    /// The distribution that carries it.
    pub distribution: String,
    /// The sonames of its libraries; `{cuda}` stands for MAJOR.MINOR.
    #[serde(default)]
    pub sonames: Vec<String>,
    /// Libraries in the wheel that must never be on the library path.
    #[serde(default)]
    pub withheld: Vec<String>,
    /// Programs in the wheel.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Components it needs at run time (direct ones).
    pub needs: Vec<String>,
    /// The wheel that was read.
    #[serde(default)]
    pub read_from: Option<String>,
}

/// A library known by name only.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherLibrary {
    /// The name.
    pub id: String,
    /// Its sonames.
    pub sonames: Vec<String>,
    /// Components it needs.
    pub needs: Vec<String>,
    /// Whether the entry was checked.
    pub verified: bool,
    /// What else is worth knowing.
    #[serde(default)]
    pub note: Option<String>,
    /// Where this was learnt.
    pub source: Sources,
}

/// A library of the driver.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverLibrary {
    /// The soname.
    pub soname: String,
    /// A few words.
    pub description: String,
    /// Whether the entry was checked.
    pub verified: bool,
    /// Where this was learnt.
    pub source: Sources,
}

impl Component {
    /// Returns the build for a CUDA major.
    pub fn build(&self, cuda_major: u64) -> Option<&Build> {
        self.builds.iter().find(|build| build.cuda_major == cuda_major)
    }

    /// Tells whether the component exists on a target at all.
    pub fn is_for(&self, target: Target) -> bool {
        self.targets.is_empty() || self.targets.contains(&target)
    }
}

impl Build {
    /// Tells whether this build brings a library of that soname, for the CUDA release at hand.
    pub fn brings(&self, soname: &str) -> bool {
        self.sonames.iter().any(|known| match known.split_once("{cuda}") {
            None => known == soname,
            Some((head, tail)) => soname
                .strip_prefix(head)
                .and_then(|rest| rest.strip_suffix(tail))
                .and_then(|version| version.parse::<Version>().ok())
                .is_some_and(|version| version.major() == self.cuda_major),
        })
    }
}
