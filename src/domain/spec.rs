//! What a person writes to ask for a toolchain: `12.4+cudnn9`, `auto+cudnn9@runtime`, `system`, a linked name.
//!
//! ```text
//! spec      = toolchain | "default" | "system" | name
//! toolchain = ("auto" | version) *("+" component [version]) ["@" profile]
//! version   = digits *("." digits)
//! component = letters                      (cudnn, nccl, cusparselt ...)
//! profile   = "base" | "runtime" | "devel"
//! name      = a linked toolkit: a letter, then letters, digits, ".", "_", "-"
//! ```
//!
//! A spec is data: it holds no path, no variable and no address. Its text is also a file name under `active/`,
//! which is why the characters are so few.

mod meant;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::version::Version;

pub use meant::meant;

/// Longest spec that is read, in bytes.
pub const MAX_SPEC: usize = 200;

/// What a person asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// A CUDA release with components.
    Toolchain(ToolchainSpec),
    /// The user's default.
    Default,
    /// No toolchain: cuenv steps aside.
    System,
    /// A toolkit adopted with `cuenv link`.
    Linked(String),
}

/// A CUDA release, perhaps partial, with components and a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolchainSpec {
    /// The CUDA release; `None` is `auto`, the newest this host runs.
    pub cuda: Option<Version>,
    /// Components asked for by name, each with a version that may be partial or absent (newest that fits).
    pub components: BTreeMap<String, Option<Version>>,
    /// How much of the release is wanted; `None` is [`Profile::Runtime`].
    pub profile: Option<Profile>,
}

/// How much of a CUDA release a toolchain holds, in the words of NVIDIA's image tags.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The CUDA runtime and NVRTC.
    Base,
    /// Everything a framework opens at run time.
    #[default]
    Runtime,
    /// Adds headers, ptxas, libdevice, and nvcc where NVIDIA publishes it as a wheel (CUDA 13).
    Devel,
}

impl Profile {
    /// Every profile, smallest first.
    pub const ALL: [Self; 3] = [Self::Base, Self::Runtime, Self::Devel];

    /// Returns the word used in specs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Runtime => "runtime",
            Self::Devel => "devel",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why a text is not a [`Spec`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a spec: {reason} at character {}", .text.escape_debug(), .text[..*.at].chars().count() + 1)]
pub struct SpecError {
    /// The text that was read.
    pub text: String,
    /// Byte offset of the offending character, on a character boundary; the length of `text` when it ended too early.
    pub at: usize,
    /// What is wrong there.
    pub reason: SpecFault,
}

/// What is wrong with a spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecFault {
    /// Nothing was written.
    #[error("it is empty")]
    Empty,
    /// More than [`MAX_SPEC`] bytes.
    #[error("longer than {MAX_SPEC} bytes")]
    TooLong,
    /// A character that no spec holds.
    #[error("unexpected character")]
    Character,
    /// A digit was expected.
    #[error("expected a digit")]
    Digit,
    /// A version with too many or too large numbers.
    #[error("{0}")]
    Version(&'static str),
    /// A component name was expected after `+`.
    #[error("expected a component such as `cudnn9`")]
    Component,
    /// The same component twice.
    #[error("`{0}` is named twice")]
    Repeated(String),
    /// An unknown profile after `@`.
    #[error("expected `base`, `runtime` or `devel`")]
    Profile,
}

impl ToolchainSpec {
    /// Returns the profile, the default one if none was written.
    pub fn profile(&self) -> Profile {
        self.profile.unwrap_or_default()
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fault = |at, reason| SpecError { text: text.to_owned(), at, reason };
        if text.is_empty() {
            return Err(fault(0, SpecFault::Empty));
        }
        if text.len() > MAX_SPEC {
            return Err(fault(0, SpecFault::TooLong));
        }
        let allowed =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '@' | '_' | '-');
        if let Some(at) = text.find(|c| !allowed(c)) {
            return Err(fault(at, SpecFault::Character));
        }
        match text {
            "default" => return Ok(Self::Default),
            "system" => return Ok(Self::System),
            _ => {}
        }
        let head_end = text.find(['+', '@']).unwrap_or(text.len());
        let head = &text[..head_end];
        if head.starts_with(|c: char| c.is_ascii_alphabetic()) && head != "auto" {
            // A linked toolkit is used as it is: nothing can be added to it.
            return match text.find(['+', '@']) {
                Some(at) => Err(fault(at, SpecFault::Character)),
                None => Ok(Self::Linked(text.to_owned())),
            };
        }
        ToolchainSpec::parse(text, head_end).map(Self::Toolchain)
    }
}

impl ToolchainSpec {
    fn parse(text: &str, head_end: usize) -> Result<Self, SpecError> {
        let fault = |at, reason| SpecError { text: text.to_owned(), at, reason };
        let version = |from: usize, to: usize| {
            text[from..to].parse::<Version>().map_err(|error| {
                let reason = match error.reason {
                    "expected a digit" => SpecFault::Digit,
                    other => SpecFault::Version(other),
                };
                fault(from + error.at, reason)
            })
        };
        let cuda = if &text[..head_end] == "auto" { None } else { Some(version(0, head_end)?) };

        let (parts_end, profile) = match text.find('@') {
            None => (text.len(), None),
            Some(at) => {
                let word = &text[at + 1..];
                let profile = Profile::ALL.into_iter().find(|profile| profile.name() == word);
                (at, Some(profile.ok_or_else(|| fault(at + 1, SpecFault::Profile))?))
            }
        };

        let mut components = BTreeMap::new();
        let mut start = head_end;
        while start < parts_end {
            let from = start + 1;
            let end = text[from..parts_end].find('+').map_or(parts_end, |at| from + at);
            let name_end =
                text[from..end].find(|c: char| !c.is_ascii_lowercase()).map_or(end, |at| from + at);
            if name_end == from {
                return Err(fault(from, SpecFault::Component));
            }
            let name = text[from..name_end].to_owned();
            let wanted = if name_end == end { None } else { Some(version(name_end, end)?) };
            if components.contains_key(&name) {
                return Err(fault(from, SpecFault::Repeated(name)));
            }
            components.insert(name, wanted);
            start = end;
        }
        Ok(Self { cuda, components, profile })
    }
}

impl fmt::Display for ToolchainSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cuda {
            Some(version) => write!(f, "{version}")?,
            None => f.write_str("auto")?,
        }
        // cuDNN first, since that is how people say it; the rest in order of name.
        let (cudnn, rest): (Vec<_>, Vec<_>) =
            self.components.iter().partition(|(name, _)| *name == "cudnn");
        for (name, version) in cudnn.into_iter().chain(rest) {
            write!(f, "+{name}")?;
            if let Some(version) = version {
                write!(f, "{version}")?;
            }
        }
        match self.profile {
            Some(profile) => write!(f, "@{profile}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toolchain(spec) => spec.fmt(f),
            Self::Default => f.write_str("default"),
            Self::System => f.write_str("system"),
            Self::Linked(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toolchain(text: &str) -> ToolchainSpec {
        match text.parse::<Spec>().unwrap() {
            Spec::Toolchain(spec) => spec,
            other => panic!("{text} is {other:?}"),
        }
    }

    #[test]
    fn reads_the_documented_forms() {
        let spec = toolchain("12+cudnn9.1+nccl2.21@devel");
        assert_eq!(spec.cuda, Some("12".parse().unwrap()));
        assert_eq!(spec.components["cudnn"], Some("9.1".parse().unwrap()));
        assert_eq!(spec.components["nccl"], Some("2.21".parse().unwrap()));
        assert_eq!(spec.profile(), Profile::Devel);
        assert_eq!(toolchain("auto+cudnn").components["cudnn"], None);
        assert_eq!(toolchain("13.0@devel").profile(), Profile::Devel);
        assert_eq!(toolchain("12.4").profile(), Profile::Runtime);
        assert_eq!("system".parse(), Ok(Spec::System));
        assert_eq!("default".parse(), Ok(Spec::Default));
        assert_eq!("site-12.4".parse(), Ok(Spec::Linked("site-12.4".to_owned())));
    }

    #[test]
    fn points_at_the_character() {
        let cases = [
            ("", 0, SpecFault::Empty),
            ("12..4", 3, SpecFault::Digit),
            ("12.4+", 5, SpecFault::Component),
            ("12.4+9", 5, SpecFault::Component),
            ("12.4+cudnn9x", 11, SpecFault::Digit),
            ("12.4+cudnn9+cudnn8", 12, SpecFault::Repeated("cudnn".to_owned())),
            ("12.4@big", 5, SpecFault::Profile),
            ("12.4 ", 4, SpecFault::Character),
            ("../../x", 2, SpecFault::Character),
            ("$(id)", 0, SpecFault::Character),
            ("12.4+cudnn9/..", 11, SpecFault::Character),
            ("site+cudnn9", 4, SpecFault::Character),
        ];
        for (text, at, reason) in cases {
            let error = text.parse::<Spec>().unwrap_err();
            assert_eq!((text, error.at, error.reason), (text, at, reason));
        }
    }

    #[test]
    fn parse_and_print_round_trip() {
        for text in [
            "12.4+cudnn9",
            "11.8+cudnn8@runtime",
            "12+cudnn9.1+nccl2.21",
            "auto+cudnn9",
            "13.0@devel",
            "auto",
        ] {
            assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
        }
        arbtest::arbtest(|u| {
            let names = ["cudnn", "nccl", "cusparselt", "nvshmem", "tensorrt"];
            let version = |u: &mut arbtest::arbitrary::Unstructured<'_>| {
                let count = u.int_in_range(1..=4)?;
                let parts = (0..count)
                    .map(|_| u.int_in_range(0..=999u64))
                    .collect::<Result<Vec<_>, _>>()?;
                Ok::<_, arbtest::arbitrary::Error>(Version::from_parts(&parts))
            };
            let cuda = if u.arbitrary()? { Some(version(u)?) } else { None };
            let mut components = BTreeMap::new();
            for name in names {
                if u.arbitrary()? {
                    let wanted = if u.arbitrary()? { Some(version(u)?) } else { None };
                    components.insert(name.to_owned(), wanted);
                }
            }
            let profile = *u.choose(&[None, Some(Profile::Base), Some(Profile::Devel)])?;
            let spec = Spec::Toolchain(ToolchainSpec { cuda, components, profile });
            assert_eq!(spec.to_string().parse::<Spec>().as_ref(), Ok(&spec));
            Ok(())
        });
    }

    #[test]
    fn never_panics_on_any_text() {
        arbtest::arbtest(|u| {
            let text: String = u.arbitrary()?;
            if let Err(error) = text.parse::<Spec>() {
                assert!(text.is_char_boundary(error.at));
                let _ = error.to_string();
            }
            Ok(())
        });
    }
}
