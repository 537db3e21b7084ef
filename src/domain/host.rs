//! What is known of the machine, each fact with where it was read.
//!
//! Reading is `platform::host`'s; here are the types, and the pure readers of the texts that carry the facts.

mod answer;
pub mod fabric;
mod text;

pub use answer::{Answer, AnswerGpu};
pub use text::{
    container_of_cgroup, is_wsl_kernel, kernel_module_version, names_in_gpu_information,
    nvidia_smi_gpus, tegra_release,
};

use std::fmt;

use serde::Serialize;

use super::capability::ComputeCapability;
use super::compat::{Machine, MachineGpu};
use super::found::Found;
use super::manifest::gpu::Kind;
use super::version::Version;

/// The facts of one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Host {
    /// The NVIDIA driver.
    pub driver: Option<Found<Version>>,
    /// The newest CUDA that the driver says it supports.
    pub driver_cuda: Option<Found<Version>>,
    /// The GPUs.
    pub gpus: Vec<HostGpu>,
    /// PCI devices of NVIDIA that are there although no driver is: bus addresses.
    pub undriven: Vec<Found<String>>,
    /// Windows Subsystem for Linux: the driver belongs to Windows.
    pub wsl: Option<Found<String>>,
    /// A Jetson module: its model or release.
    pub jetson: Option<Found<String>>,
    /// A container: its kind.
    pub container: Option<Found<String>>,
    /// The C library.
    pub libc: Option<Found<Libc>>,
    /// `CUDA_VISIBLE_DEVICES`, where it is set; it may be empty, which hides every GPU.
    pub visible_devices: Option<String>,
    /// Probes that did not answer.
    pub faults: Vec<ProbeFault>,
}

/// One GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostGpu {
    /// The name that the driver gives it.
    pub name: Option<String>,
    /// Its compute capability.
    pub cc: Option<Found<ComputeCapability>>,
    /// What it is sold for.
    pub kind: Option<Kind>,
    /// Its unique identifier.
    pub uuid: Option<String>,
}

/// The C library of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "version", rename_all = "snake_case")]
pub enum Libc {
    /// GNU libc: what NVIDIA's wheels are made for.
    Glibc(Version),
    /// musl, on which they cannot run.
    Musl,
}

/// A probe that did not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProbeFault {
    /// What was asked.
    pub probe: Probe,
    /// The file that was loaded or run, where that is known.
    pub path: Option<String>,
    /// What happened.
    pub fault: Fault,
}

/// What can be asked about the driver and its GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// NVIDIA's management library.
    Nvml,
    /// The driver API's library.
    Libcuda,
    /// The program `nvidia-smi`.
    NvidiaSmi,
}

/// What happened to a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// There is no such library or program.
    #[error("is not there")]
    Absent,
    /// It did not answer in time.
    #[error("did not answer within {milliseconds} ms")]
    TimedOut {
        /// The limit.
        milliseconds: u64,
    },
    /// It ended the process it was loaded into.
    #[error("crashed (signal {signal})")]
    Crashed {
        /// The signal.
        signal: i32,
    },
    /// A function returned an error.
    #[error("`{call}` returned {code}")]
    Refused {
        /// The function.
        call: String,
        /// Its result.
        code: i64,
    },
    /// Its answer could not be read.
    #[error("gave an answer that cannot be read")]
    Unreadable,
}

impl Probe {
    /// Returns the name people know it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nvml => "NVML",
            Self::Libcuda => "libcuda",
            Self::NvidiaSmi => "nvidia-smi",
        }
    }

    /// Returns the file name that is looked for.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Nvml => "libnvidia-ml.so.1",
            Self::Libcuda => "libcuda.so.1",
            Self::NvidiaSmi => "nvidia-smi",
        }
    }
}

impl fmt::Display for ProbeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{} (`{path}`) {}", self.probe.name(), self.fault),
            None => write!(f, "{} {}", self.probe.name(), self.fault),
        }
    }
}

impl fmt::Display for Libc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Glibc(version) => write!(f, "glibc {version}"),
            Self::Musl => f.write_str("musl"),
        }
    }
}

impl Host {
    /// Returns what decides about compatibility.
    pub fn machine(&self) -> Machine {
        Machine {
            driver: self.driver.as_ref().map(|found| found.value.clone()),
            driver_cuda: self.driver_cuda.as_ref().map(|found| found.value.clone()),
            gpus: self
                .gpus
                .iter()
                .filter_map(|gpu| Some(MachineGpu { cc: gpu.cc.as_ref()?.value, kind: gpu.kind }))
                .collect(),
        }
    }

    /// Returns the glibc version, if the machine has glibc and it is known.
    pub fn glibc(&self) -> Option<&Version> {
        match self.libc.as_ref().map(|found| &found.value) {
            Some(Libc::Glibc(version)) => Some(version),
            _ => None,
        }
    }
}
