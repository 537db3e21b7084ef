//! `overrides.toml`: known mistakes upstream and what stands in for them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Sources;
use crate::domain::target::Target;
use crate::domain::version::PackageVersion;

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overrides {
    /// The schema; this program reads [`super::SCHEMA`].
    pub schema: u32,
    /// The day the facts were collected.
    pub collected: String,
    /// Key -> the page, file or measurement it stands for.
    pub sources: BTreeMap<String, String>,
    /// Wheels that another one stands in for.
    #[serde(rename = "override", default)]
    pub replace: Vec<Override>,
    /// Wheels that must never be chosen.
    #[serde(default)]
    pub refused: Vec<Refused>,
    /// Metapackage releases that say something else than the release.
    #[serde(default)]
    pub metapackage: Vec<Metapackage>,
    /// Requirements that the metapackage leaves open.
    #[serde(default)]
    pub floating: Vec<Floating>,
    /// Distribution names that look right and are not.
    #[serde(default)]
    pub placeholder: Vec<Placeholder>,
}

/// A wheel that another one stands in for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Override {
    /// The distribution.
    pub distribution: String,
    /// The version that must not be used.
    pub version: PackageVersion,
    /// The target this holds for; absent: all.
    #[serde(default)]
    pub target: Option<Target>,
    /// The version to use.
    #[serde(rename = "use")]
    pub instead: PackageVersion,
    /// Why; shown to people.
    pub reason: String,
    /// What is the matter.
    pub kind: Fault,
    /// Where this was learnt.
    pub source: Sources,
}

/// What is the matter with a wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// It can be installed and does not work.
    Broken,
    /// Its publisher withdrew it.
    Yanked,
    /// The same thing has another version on this target.
    Renamed,
}

/// A version that must never be chosen.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// The distribution; `*` is any.
    pub distribution: String,
    /// The version; a last part `*` is any.
    pub version: String,
    /// Why; shown to people.
    pub reason: String,
    /// Where this was learnt.
    pub source: Sources,
}

/// A metapackage release that is wrong.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metapackage {
    /// Its version.
    pub version: PackageVersion,
    /// What to do.
    #[serde(rename = "use")]
    pub remedy: Remedy,
    /// Why; shown to people.
    pub reason: String,
    /// Where this was learnt.
    pub source: Sources,
}

/// What to do about a metapackage release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Remedy {
    /// Take the components of `cuda.toml` instead.
    Components,
    /// Never take this release.
    Never,
}

/// A requirement that the metapackage leaves open.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Floating {
    /// The distribution.
    pub distribution: String,
    /// How to close it.
    #[serde(rename = "use")]
    pub rule: FloatingRule,
    /// Why; shown to people.
    pub reason: String,
    /// Where this was learnt.
    pub source: Sources,
}

/// How to close an open requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FloatingRule {
    /// The lower bound is the build that belongs to the release.
    LowerBound,
}

/// A distribution name that looks right and is not.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placeholder {
    /// The empty one.
    pub distribution: String,
    /// The one that was meant.
    #[serde(rename = "use")]
    pub instead: String,
    /// Why; shown to people.
    pub reason: String,
    /// Where this was learnt.
    pub source: Sources,
}

impl Refused {
    /// Tells whether this entry speaks of that version of that distribution.
    pub fn covers(&self, distribution: &str, version: &PackageVersion) -> bool {
        if self.distribution != "*" && self.distribution != distribution {
            return false;
        }
        match self.version.strip_suffix(".*") {
            None => self.version.parse::<PackageVersion>().is_ok_and(|refused| refused == *version),
            Some(head) => head
                .split('.')
                .map(str::parse::<u64>)
                .zip(version.release().iter().chain(std::iter::repeat(&0)))
                .all(|(refused, part)| refused.as_ref() == Ok(part)),
        }
    }
}
