//! The file name of a wheel and what its tags say: for which machine, and from which glibc on.
//!
//! NVIDIA's wheels carry `py3-none-<platform>`; several platform tags may stand together, joined by dots
//! (`manylinux2014_x86_64.manylinux_2_17_x86_64`). The older `manylinux` names are aliases of a glibc version.

use std::fmt;
use std::str::FromStr;

use super::target::Target;
use super::version::PackageVersion;

/// A glibc version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Glibc {
    /// The first number; 2 for every glibc of this century.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

impl Glibc {
    /// A floor that every host is above.
    pub const ANY: Self = Self { major: 0, minor: 0 };

    /// Builds a version.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Glibc {
    type Err = ();

    /// Reads `2.36`; further numbers are passed over.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('.').map(str::parse);
        match (parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Ok(Self { major, minor }),
            _ => Err(()),
        }
    }
}

/// One platform tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlatformTag {
    /// `any`: no machine code inside.
    Any,
    /// A Linux machine with a glibc floor.
    Linux {
        /// `x86_64`, `aarch64`.
        machine: String,
        /// The lowest glibc it runs on.
        floor: Glibc,
    },
    /// Another system, or a libc that NVIDIA does not build for.
    Other(String),
}

impl PlatformTag {
    fn parse(text: &str) -> Self {
        if text == "any" {
            return Self::Any;
        }
        let linux = |rest: &str, floor| Self::Linux { machine: rest.to_owned(), floor };
        let named = [
            ("manylinux1_", Glibc::new(2, 5)),
            ("manylinux2010_", Glibc::new(2, 12)),
            ("manylinux2014_", Glibc::new(2, 17)),
            ("linux_", Glibc::ANY),
        ];
        for (prefix, floor) in named {
            if let Some(machine) = text.strip_prefix(prefix) {
                return linux(machine, floor);
            }
        }
        if let Some(rest) = text.strip_prefix("manylinux_") {
            let mut parts = rest.splitn(3, '_');
            if let (Some(Ok(major)), Some(Ok(minor)), Some(machine)) =
                (parts.next().map(str::parse), parts.next().map(str::parse), parts.next())
            {
                return linux(machine, Glibc { major, minor });
            }
        }
        Self::Other(text.to_owned())
    }
}

/// The build tag: a number, then any text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Build(pub u64, pub String);

/// A wheel's file name, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WheelName {
    /// The whole name, as the index spells it.
    pub file: String,
    /// The distribution, normalised.
    pub distribution: String,
    /// The version.
    pub version: PackageVersion,
    /// The build tag, if there is one.
    pub build: Option<Build>,
    /// The Python tag, `py3` or `py2.py3`.
    pub python: String,
    /// The ABI tag, `none` for everything cuenv can use.
    pub abi: String,
    /// The platform tags.
    pub platforms: Vec<PlatformTag>,
}

/// Why a text is not the file name of a wheel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not the name of a wheel: {reason}", file.escape_debug())]
pub struct WheelNameError {
    /// The text.
    pub file: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl WheelName {
    /// Tells whether the wheel holds nothing that depends on Python's own ABI.
    pub fn is_python_independent(&self) -> bool {
        self.abi == "none" && self.python.split('.').any(|tag| tag.starts_with("py3"))
    }

    /// Tells whether the wheel is for every platform.
    pub fn is_any(&self) -> bool {
        self.platforms.contains(&PlatformTag::Any)
    }

    /// Returns the glibc floor on `target`; `None` when the wheel is not for it.
    ///
    /// With several tags the highest floor counts: they describe one and the same build.
    pub fn floor(&self, target: Target) -> Option<Glibc> {
        self.platforms
            .iter()
            .filter_map(|tag| match tag {
                PlatformTag::Linux { machine, floor } if machine == target.machine() => {
                    Some(*floor)
                }
                _ => None,
            })
            .max()
    }
}

impl FromStr for WheelName {
    type Err = WheelNameError;

    fn from_str(file: &str) -> Result<Self, Self::Err> {
        let fail = |reason| WheelNameError { file: file.to_owned(), reason };
        // The name becomes a path of the cache and a line of the lock.
        let plain = |c: char| c.is_ascii_alphanumeric() || "._+-!".contains(c);
        if file.len() > 255 || !file.chars().all(plain) || file.starts_with('.') {
            return Err(fail("it holds characters that no wheel has"));
        }
        let stem = file.strip_suffix(".whl").ok_or_else(|| fail("it does not end in `.whl`"))?;
        let mut parts: Vec<&str> = stem.split('-').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return Err(fail("it has an empty part"));
        }
        let build = match parts.len() {
            5 => None,
            6 => Some(
                parse_build(parts.remove(2)).ok_or_else(|| fail("its build tag has no number"))?,
            ),
            _ => return Err(fail("it does not have five or six parts")),
        };
        Ok(Self {
            file: file.to_owned(),
            distribution: normalise(parts[0]),
            version: parts[1].parse().map_err(|_| fail("its version is not one"))?,
            build,
            python: parts[2].to_owned(),
            abi: parts[3].to_owned(),
            platforms: parts[4].split('.').map(PlatformTag::parse).collect(),
        })
    }
}

impl fmt::Display for WheelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.file)
    }
}

fn parse_build(text: &str) -> Option<Build> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    Some(Build(number.parse().ok()?, rest.to_owned()))
}

/// Returns the one spelling of a distribution's name (PEP 503): lower case, runs of `-`, `_`, `.` as one `-`.
pub fn normalise(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '-' | '_' | '.') {
            if !out.ends_with('-') {
                out.push('-');
            }
        } else {
            out.push(c.to_ascii_lowercase());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wheel(file: &str) -> WheelName {
        file.parse().unwrap()
    }

    #[test]
    fn floors_follow_the_tags() {
        for (tags, floor) in [
            ("manylinux1_x86_64", Some(Glibc::new(2, 5))),
            ("manylinux1_x86_64.manylinux_2_5_x86_64", Some(Glibc::new(2, 5))),
            ("manylinux2010_x86_64.manylinux_2_12_x86_64", Some(Glibc::new(2, 12))),
            ("manylinux2014_x86_64", Some(Glibc::new(2, 17))),
            ("manylinux_2_27_x86_64", Some(Glibc::new(2, 27))),
            ("manylinux_2_5_x86_64.manylinux_2_28_x86_64", Some(Glibc::new(2, 28))),
            ("linux_x86_64", Some(Glibc::ANY)),
            ("manylinux_2_27_aarch64", None),
            ("win_amd64", None),
            ("musllinux_1_2_x86_64", None),
            ("manylinux_2_x86_64", None),
            ("any", None),
        ] {
            let name = wheel(&format!("nvidia_cublas_cu12-12.4.5.8-py3-none-{tags}.whl"));
            assert_eq!(name.floor(Target::LinuxX86_64), floor, "{tags}");
        }
    }

    #[test]
    fn parts_are_taken_apart() {
        let name = wheel("nvidia_cudnn_cu11-8.5.0.96-2-py3-none-manylinux1_x86_64.whl");
        assert_eq!(name.distribution, "nvidia-cudnn-cu11");
        assert_eq!(name.build, Some(Build(2, String::new())));
        assert!(name.is_python_independent() && !name.is_any());
        let name = wheel("cuda_toolkit-12.4.1-py2.py3-none-any.whl");
        assert!(name.is_python_independent() && name.is_any());
        assert!(!wheel("torch-2.4.1-cp311-cp311-linux_x86_64.whl").is_python_independent());
        assert!(Build(10, String::new()) > Build(9, "z".to_owned()));
    }

    #[test]
    fn what_is_no_wheel_is_refused_with_a_reason() {
        for (file, reason) in [
            ("cuda-toolkit-0.0.0a0.tar.gz", "it does not end in `.whl`"),
            ("a-1-py3-none.whl", "it does not have five or six parts"),
            ("a-1-b-py3-none-any.whl", "its build tag has no number"),
            ("a-x-py3-none-any.whl", "its version is not one"),
            ("a--py3-none-any.whl", "it has an empty part"),
            ("../a-1-py3-none-any.whl", "it holds characters that no wheel has"),
            ("a/b-1-py3-none-any.whl", "it holds characters that no wheel has"),
        ] {
            let error = file.parse::<WheelName>().unwrap_err();
            assert_eq!(error.reason, reason, "{file}");
        }
    }

    #[test]
    fn names_have_one_spelling() {
        for name in ["Cuda.Toolkit", "cuda_toolkit", "CUDA--toolkit", "cuda-._toolkit"] {
            assert_eq!(normalise(name), "cuda-toolkit");
        }
    }

    #[test]
    fn never_panics_on_any_name() {
        arbtest::arbtest(|u| {
            let pieces =
                ["a", "1", "-", ".", "2", "py3", "none", "manylinux_2_", "any", ".whl", "é"];
            let mut file = String::new();
            for _ in 0..u.int_in_range(0..=12)? {
                file.push_str(u.choose(&pieces)?);
            }
            if let Ok(name) = file.parse::<WheelName>() {
                assert_eq!(name.file, file);
                let _ = name.floor(Target::LinuxX86_64);
            }
            Ok(())
        });
    }
}
