//! Versions as people write them, and as packages carry them.
//!
//! [`Version`] is dotted numbers, possibly partial (`12.4`), and keeps the text it was read from, since drivers
//! write `550.144.03`. It is compared by number and matched by whole components. [`PackageVersion`] is what a
//! distribution on the index carries (PEP 440: post releases, pre-releases, trailing zeros).

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The version of a distribution on the index (PEP 440).
pub use pep440_rs::Version as PackageVersion;

/// Dotted numbers, one to six of them, possibly the leading part of a longer version.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    parts: Vec<u64>,
    text: String,
}

/// Why a text is not a [`Version`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a version: {reason} at character {}", at + 1)]
pub struct VersionError {
    /// The text that was read.
    pub text: String,
    /// Byte offset of the first offending character; the length of `text` when it ended too early.
    pub at: usize,
    /// What was expected there.
    pub reason: &'static str,
}

const MAX_PARTS: usize = 6;

impl Version {
    /// Builds a version from its numbers; at least one.
    pub fn from_parts(parts: &[u64]) -> Self {
        debug_assert!(!parts.is_empty());
        let text = parts.iter().map(u64::to_string).collect::<Vec<_>>().join(".");
        Self { parts: parts.to_vec(), text }
    }

    /// Returns the numbers.
    pub fn parts(&self) -> &[u64] {
        &self.parts
    }

    /// Returns the first number.
    pub fn major(&self) -> u64 {
        self.parts[0]
    }

    /// Returns the second number, if written.
    pub fn minor(&self) -> Option<u64> {
        self.parts.get(1).copied()
    }

    /// Returns `major.minor`, with zero for a minor that was not written.
    #[must_use]
    pub fn major_minor(&self) -> Self {
        Self::from_parts(&[self.major(), self.minor().unwrap_or(0)])
    }

    /// Tells whether `release` starts with this version's components: `9.1` matches `9.1.0.70` and not `9.10.2.21`.
    /// A release that is shorter matches when only zeros are missing (`12.4.0` matches the release `12.4`).
    pub fn matches(&self, release: &[u64]) -> bool {
        self.parts
            .iter()
            .enumerate()
            .all(|(index, part)| release.get(index).copied().unwrap_or(0) == *part)
    }

    /// Tells whether a package version falls under this (partial) version; pre-releases never do.
    pub fn matches_package(&self, version: &PackageVersion) -> bool {
        !version.any_prerelease() && self.matches(version.release())
    }

    fn significant(&self) -> &[u64] {
        let end = self.parts.iter().rposition(|part| *part != 0).map_or(0, |last| last + 1);
        &self.parts[..end]
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |at, reason| Err(VersionError { text: text.to_owned(), at, reason });
        let mut parts = Vec::new();
        let mut at = 0;
        for piece in text.split('.') {
            if parts.len() == MAX_PARTS {
                return fail(at, "too many parts");
            }
            if let Some(bad) = piece.find(|c: char| !c.is_ascii_digit()) {
                return fail(at + bad, "expected a digit");
            }
            if piece.is_empty() {
                return fail(at, "expected a digit");
            }
            match piece.parse() {
                Ok(part) if piece.len() <= 9 => parts.push(part),
                _ => return fail(at, "number too large"),
            }
            at += piece.len() + 1;
        }
        Ok(Self { parts, text: text.to_owned() })
    }
}

impl TryFrom<String> for Version {
    type Error = VersionError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.text
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// By number; trailing zeros do not count (`12.4` equals `12.4.0`).
impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.significant().cmp(other.significant())
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl std::hash::Hash for Version {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.significant().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn matches_whole_components_only() {
        assert!(version("9.1").matches(&[9, 1, 0, 70]));
        assert!(!version("9.1").matches(&[9, 10, 2, 21]));
        assert!(version("12").matches(&[12, 4, 1]));
        assert!(!version("12.4.1").matches(&[12, 4, 0]));
        assert!(version("12.4.0").matches(&[12, 4]));
    }

    #[test]
    fn package_versions_match_with_post_releases_and_without_pre_releases() {
        let package = |text: &str| text.parse::<PackageVersion>().unwrap();
        assert!(version("9.1").matches_package(&package("9.1.0.70.post1")));
        assert!(!version("13.4").matches_package(&package("13.4.0rc1")));
        assert!(!version("9.26").matches_package(&package("9.26.0.33.dev63203437")));
    }

    #[test]
    fn orders_by_number_and_keeps_the_text() {
        assert!(version("9.10") > version("9.9"));
        assert_eq!(version("12.4"), version("12.4.0"));
        assert_eq!(version("550.144.03").to_string(), "550.144.03");
        assert!(version("550.144.03") < version("550.163.01"));
    }

    #[test]
    fn says_where_it_went_wrong() {
        let error = "12..4".parse::<Version>().unwrap_err();
        assert_eq!((error.at, error.reason), (3, "expected a digit"));
        let error = "12.x".parse::<Version>().unwrap_err();
        assert_eq!(error.to_string(), "`12.x` is not a version: expected a digit at character 4");
        for bad in ["", ".", "1.", "-1", "1.2.3.4.5.6.7", "99999999999", "１"] {
            assert!(bad.parse::<Version>().is_err(), "{bad}");
        }
    }

    #[test]
    fn parse_and_print_round_trip_on_any_numbers() {
        arbtest::arbtest(|u| {
            let count = u.int_in_range(1..=MAX_PARTS)?;
            let parts = (0..count)
                .map(|_| u.int_in_range(0..=999_999_999u64))
                .collect::<Result<Vec<_>, _>>()?;
            let built = Version::from_parts(&parts);
            let read: Version = built.to_string().parse().unwrap();
            assert_eq!(read.parts(), built.parts());
            assert!(read.matches(&parts));
            Ok(())
        });
    }

    #[test]
    fn never_panics_on_any_text() {
        arbtest::arbtest(|u| {
            let text: String = u.arbitrary()?;
            if let Err(error) = text.parse::<Version>() {
                assert!(error.at <= text.len());
            }
            Ok(())
        });
    }
}
