//! A fact and where it was learnt.

use std::fmt;

use serde::{Serialize, Serializer};

/// A value with its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found<T> {
    /// The fact.
    pub value: T,
    /// Where it was learnt.
    pub via: Via,
}

/// Where a fact was learnt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Via {
    /// A variable of this process.
    Variable(&'static str),
    /// A file or directory.
    File(String),
    /// NVIDIA's management library, with the file that was loaded.
    Nvml(String),
    /// The driver API's library, with the file that was loaded.
    Libcuda(String),
    /// The program `nvidia-smi`.
    NvidiaSmi(String),
    /// The table of GPU names in this cuenv.
    NameTable,
}

impl<T> Found<T> {
    /// Joins a value and its source.
    pub const fn new(value: T, via: Via) -> Self {
        Self { value, via }
    }
}

impl<T: fmt::Display> fmt::Display for Found<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (from {})", self.value, self.via)
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "`{name}`"),
            Self::File(path) | Self::NvidiaSmi(path) => write!(f, "`{path}`"),
            Self::Nvml(path) => write!(f, "NVML, `{path}`"),
            Self::Libcuda(path) => write!(f, "the driver API, `{path}`"),
            Self::NameTable => f.write_str("the GPU's name"),
        }
    }
}

impl Serialize for Via {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
