//! What a distribution's `METADATA` asks for: `Requires-Dist` lines and the extras they belong to.
//!
//! The metapackage `cuda-toolkit` is nothing but such lines, and they are the table from which cuenv learns
//! which component versions make up a CUDA release.

use std::fmt;
use std::str::FromStr;

use pep440_rs::VersionSpecifiers;

use super::marker::{Environment, Marker, MarkerError};
use super::version::PackageVersion;
use super::wheel_name::normalise;

/// One `Requires-Dist` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The distribution, normalised.
    pub distribution: String,
    /// The extras that are asked of it, normalised.
    pub extras: Vec<String>,
    /// The versions that will do; empty accepts every version.
    pub specifiers: VersionSpecifiers,
    /// When it holds; always, if there is none.
    pub marker: Option<Marker>,
}

/// Why a text is not a requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequirementError {
    /// The part before the marker.
    #[error("requirement `{}`: {reason}", text.escape_debug())]
    Syntax {
        /// The requirement.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The marker.
    #[error(transparent)]
    Marker(#[from] MarkerError),
}

impl Requirement {
    /// Tells whether the requirement holds in `environment`.
    pub fn applies(&self, environment: &Environment<'_>) -> bool {
        self.marker.as_ref().is_none_or(|marker| marker.holds(environment))
    }

    /// Tells whether `version` will do.
    pub fn accepts(&self, version: &PackageVersion) -> bool {
        self.specifiers.contains(version)
    }
}

impl fmt::Display for Requirement {
    /// The distribution and its versions, as far as a person cares: `nvidia-cublas-cu12==12.4.5.8.*`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.distribution, self.specifiers)
    }
}

impl FromStr for Requirement {
    type Err = RequirementError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |reason: &dyn fmt::Display| RequirementError::Syntax {
            text: text.to_owned(),
            reason: reason.to_string(),
        };
        let (head, marker) = match text.split_once(';') {
            Some((head, marker)) => (head, Some(Marker::parse(marker.trim())?)),
            None => (text, None),
        };
        let head = head.trim();
        let end = head.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
        let (name, rest) = head.split_at(end.unwrap_or(head.len()));
        let sound = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        if !sound(name.chars().next()) || !sound(name.chars().next_back()) {
            return Err(fail(&"it does not begin with a distribution's name"));
        }
        let mut rest = rest.trim_start();
        let mut extras = Vec::new();
        if let Some(inner) = rest.strip_prefix('[') {
            let (list, after) = inner.split_once(']').ok_or_else(|| fail(&"`[` without `]`"))?;
            extras = list.split(',').map(|extra| normalise(extra.trim())).collect();
            extras.retain(|extra| !extra.is_empty());
            rest = after.trim_start();
        }
        if rest.starts_with('@') {
            return Err(fail(&"it names an address instead of a version"));
        }
        // Older metadata puts the versions in parentheses.
        if let Some(inner) = rest.strip_prefix('(') {
            rest = inner.strip_suffix(')').ok_or_else(|| fail(&"`(` without `)`"))?.trim();
        }
        let specifiers = if rest.is_empty() {
            VersionSpecifiers::empty()
        } else {
            rest.parse().map_err(|_| fail(&"its version part cannot be read"))?
        };
        Ok(Self { distribution: normalise(name), extras, specifiers, marker })
    }
}

/// The fields of a `METADATA` file that cuenv uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The distribution, normalised.
    pub distribution: String,
    /// Its version.
    pub version: PackageVersion,
    /// Everything it requires, in the order of the file.
    pub requires: Vec<Requirement>,
    /// The extras it offers, normalised, in the order of the file.
    pub extras: Vec<String>,
    /// Its licence, as far as one line says it.
    pub license: Option<String>,
}

/// Why a text is not the metadata of a distribution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// A field that must be there is not.
    #[error("field `{0}` is missing")]
    Missing(&'static str),
    /// The version cannot be read.
    #[error("`{}` is not a version", .0.escape_debug())]
    Version(String),
    /// A requirement cannot be read.
    #[error(transparent)]
    Requirement(#[from] RequirementError),
}

impl Metadata {
    /// Reads a `METADATA` file: header lines up to the first empty one.
    pub fn parse(text: &str) -> Result<Self, MetadataError> {
        let mut name = None;
        let mut version = None;
        let (mut requires, mut extras) = (Vec::new(), Vec::new());
        let (mut license, mut expression) = (None, None);
        for (field, value) in Headers(text) {
            match field.to_ascii_lowercase().as_str() {
                "name" => name = Some(normalise(&value)),
                "version" => {
                    let read = value.parse().map_err(|_| MetadataError::Version(value.clone()))?;
                    version = Some(read);
                }
                "requires-dist" => requires.push(value.parse()?),
                "provides-extra" => extras.push(normalise(&value)),
                "license" => license = Some(value),
                "license-expression" => expression = Some(value),
                _ => {}
            }
        }
        Ok(Self {
            distribution: name.ok_or(MetadataError::Missing("Name"))?,
            version: version.ok_or(MetadataError::Missing("Version"))?,
            requires,
            extras,
            license: expression.or(license),
        })
    }

    /// Returns the requirements that hold in `environment`.
    pub fn requires_in<'a>(
        &'a self,
        environment: &'a Environment<'a>,
    ) -> impl Iterator<Item = &'a Requirement> {
        self.requires.iter().filter(move |requirement| requirement.applies(environment))
    }
}

/// The header fields of a text in the form of an e-mail; a line that begins with a blank continues the last.
struct Headers<'a>(&'a str);

impl<'a> Iterator for Headers<'a> {
    type Item = (&'a str, String);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = self.line()?;
            // Not a field and not the end either: passed over, as Python's own reader does.
            let Some((field, value)) = line.split_once(':') else { continue };
            let mut value = value.trim().to_owned();
            while self.0.starts_with([' ', '\t']) {
                let Some(more) = self.line() else { break };
                value.push(' ');
                value.push_str(more.trim());
            }
            return Some((field.trim(), value));
        }
    }
}

impl<'a> Headers<'a> {
    /// Takes one line off; nothing at the empty line that ends the fields.
    fn line(&mut self) -> Option<&'a str> {
        let (line, rest) = self.0.split_once('\n').unwrap_or((self.0, ""));
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            self.0 = "";
            return None;
        }
        self.0 = rest;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::target::Target;

    const METAPACKAGE: &str = "\
Metadata-Version: 2.4
Name: cuda_toolkit
Version: 13.2.1
License-Expression: LicenseRef-NVIDIA-Proprietary
Provides-Extra: all
Requires-Dist: nvidia-cublas==13.4.0.1.*; (sys_platform == 'linux' and platform_machine == 'aarch64' or sys_platform == 'linux' and platform_machine == 'x86_64') and extra == 'all'
Requires-Dist: nvidia-cudla==13.2.75.*; (sys_platform == 'linux' and platform_machine == 'aarch64') and extra == 'all'
Requires-Dist: nvidia-nvjitlink<14,>=13.2.78; sys_platform == 'linux' and extra == 'all'
Provides-Extra: cublas
Requires-Dist: nvidia-cublas==13.4.0.1.*; sys_platform == 'linux'
  and extra == 'cublas'

Requires-Dist: not-a-header==1
";

    fn names(target: Target, extra: &str) -> Vec<String> {
        let metadata = Metadata::parse(METAPACKAGE).unwrap();
        let environment = Environment { target, extra };
        metadata.requires_in(&environment).map(ToString::to_string).collect()
    }

    #[test]
    fn the_metapackage_is_read_per_target_and_extra() {
        let metadata = Metadata::parse(METAPACKAGE).unwrap();
        assert_eq!(metadata.distribution, "cuda-toolkit");
        assert_eq!(metadata.version.to_string(), "13.2.1");
        assert_eq!(metadata.extras, ["all", "cublas"]);
        assert_eq!(metadata.license.as_deref(), Some("LicenseRef-NVIDIA-Proprietary"));
        let x86 = ["nvidia-cublas==13.4.0.1.*", "nvidia-nvjitlink>=13.2.78, <14"];
        assert_eq!(names(Target::LinuxX86_64, "all"), x86);
        assert_eq!(names(Target::LinuxAarch64, "all").len(), 3);
        assert_eq!(names(Target::LinuxX86_64, "cublas").len(), 1);
        assert_eq!(names(Target::LinuxX86_64, "").len(), 0);
    }

    #[test]
    fn specifiers_accept_what_pep_440_says() {
        let requirement: Requirement = "nvidia-cuda-cccl-cu12 (==12.4.127.*)".parse().unwrap();
        for (version, accepted) in [
            ("12.4.127", true),
            ("12.4.127.post1", true),
            ("12.4.127.0", true),
            ("12.4.128", false),
            ("12.4.1270", false),
        ] {
            assert_eq!(requirement.accepts(&version.parse().unwrap()), accepted, "{version}");
        }
        let any: Requirement = "Some.Name[a, B_c]".parse().unwrap();
        assert_eq!((any.distribution.as_str(), any.extras.len()), ("some-name", 2));
        assert!(any.accepts(&"1".parse().unwrap()));
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        for bad in [
            "",
            "==1",
            "-name==1",
            "name-",
            "name ? 1",
            "name[extra",
            "name (==1",
            "name @ https://index.example/x.whl",
            "name==1; libc == 'musl'",
        ] {
            assert!(bad.parse::<Requirement>().is_err(), "{bad}");
        }
        assert_eq!(Metadata::parse("Name: a\n"), Err(MetadataError::Missing("Version")));
        assert_eq!(Metadata::parse(""), Err(MetadataError::Missing("Name")));
        let bad = Metadata::parse("Name: a\nVersion: x y\n");
        assert_eq!(bad, Err(MetadataError::Version("x y".to_owned())));
    }

    #[test]
    fn never_panics_on_damaged_metadata() {
        arbtest::arbtest(|u| {
            let mut bytes = METAPACKAGE.as_bytes().to_vec();
            for _ in 0..u.int_in_range(1..=8)? {
                let at = u.int_in_range(0..=bytes.len() - 1)?;
                bytes[at] = u.arbitrary()?;
            }
            let _ = Metadata::parse(&String::from_utf8_lossy(&bytes));
            Ok(())
        });
    }
}
