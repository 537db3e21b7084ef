//! The platform a toolchain is for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A platform that NVIDIA publishes wheels for and cuenv supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Target {
    /// 64-bit x86 Linux with glibc, WSL2 included.
    #[serde(rename = "linux-x86_64")]
    LinuxX86_64,
    /// 64-bit Arm Linux with glibc (`sbsa`: Grace, Graviton; Jetson from CUDA 13).
    #[serde(rename = "linux-aarch64")]
    LinuxAarch64,
}

/// A text that names no known target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown platform `{0}`: expected `linux-x86_64` or `linux-aarch64`")]
pub struct TargetError(pub String);

impl Target {
    /// Every target.
    pub const ALL: [Self; 2] = [Self::LinuxX86_64, Self::LinuxAarch64];

    /// Returns the target this program was built for.
    pub const fn host() -> Self {
        if cfg!(target_arch = "aarch64") { Self::LinuxAarch64 } else { Self::LinuxX86_64 }
    }

    /// Returns the name used in paths, locks and options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LinuxX86_64 => "linux-x86_64",
            Self::LinuxAarch64 => "linux-aarch64",
        }
    }

    /// Returns the machine as wheel tags and `platform_machine` markers spell it.
    pub const fn machine(self) -> &'static str {
        match self {
            Self::LinuxX86_64 => "x86_64",
            Self::LinuxAarch64 => "aarch64",
        }
    }

    /// Returns the name of NVIDIA's `targets/` directory in an installed toolkit.
    pub const fn toolkit_directory(self) -> &'static str {
        match self {
            Self::LinuxX86_64 => "x86_64-linux",
            Self::LinuxAarch64 => "sbsa-linux",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|target| target.name() == text)
            .ok_or_else(|| TargetError(text.to_owned()))
    }
}
