//! What a project's own files say about the packages it runs: readers of their texts.
//!
//! A reader takes what it understands and passes over the rest: these files belong to other tools, and what cannot be
//! read is no evidence. Nothing is evaluated: no include is followed, no variable expanded, no command run.

pub mod conda;
pub mod dockerfile;
pub mod image;
pub mod locks;
pub mod metadata;
pub mod poetry;
pub mod pyproject;
pub mod requirements;

use pep440_rs::VersionSpecifiers;

use super::version::PackageVersion;

/// A package that a file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The distribution, normalised.
    pub distribution: String,
    /// The extras that are asked of it, normalised.
    pub extras: Vec<String>,
    /// Its version.
    pub version: Wanted,
    /// The line that names it, counted from one; absent where lines mean nothing.
    pub line: Option<usize>,
}

/// What a file says of a package's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// This one.
    Exact(PackageVersion),
    /// One of these.
    Range(VersionSpecifiers),
}

impl Package {
    /// Builds a package from a requirement: one that accepts a single version names it exactly.
    pub fn of(requirement: super::requirement::Requirement, line: Option<usize>) -> Self {
        Self {
            distribution: requirement.distribution,
            extras: requirement.extras,
            version: Wanted::of(requirement.specifiers),
            line,
        }
    }
}

impl Wanted {
    /// Sorts specifiers into exact and open ones.
    pub fn of(specifiers: VersionSpecifiers) -> Self {
        let exact = specifiers.iter().find(|specifier| {
            matches!(
                specifier.operator(),
                pep440_rs::Operator::Equal | pep440_rs::Operator::ExactEqual
            )
        });
        match exact {
            Some(specifier) => Self::Exact(specifier.version().clone()),
            None => Self::Range(specifiers),
        }
    }

    /// Tells whether a version will do.
    pub fn accepts(&self, version: &PackageVersion) -> bool {
        match self {
            Self::Exact(exact) => exact.only_release() == version.only_release(),
            Self::Range(specifiers) => specifiers.contains(version),
        }
    }
}

/// Finds the label of a CUDA build in an address or a name: `cu121` in `https://…/whl/cu121` or `pytorch-cu121`.
pub fn label_in(text: &str) -> Option<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .find(|word| {
            word.strip_prefix("cu").is_some_and(|digits| {
                (3..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
            })
        })
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stand_as_words_of_their_own() {
        assert_eq!(label_in("https://host/whl/cu121").as_deref(), Some("cu121"));
        assert_eq!(label_in("pytorch-cu118").as_deref(), Some("cu118"));
        assert_eq!(label_in("2.5.1+cu124").as_deref(), Some("cu124"));
        for none in ["https://host/whl/cpu", "nvidia-cublas-cu12", "accu121", "cu12a", "cu"] {
            assert_eq!(label_in(none), None, "{none}");
        }
    }
}
