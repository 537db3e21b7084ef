//! What fits together: driver, GPUs, CUDA release, cuDNN release.
//!
//! Pure functions over the manifests' records. A verdict carries the number that decides, so that whoever shows it can
//! name it. What was never read (a `verified = false` fact) may warn and prefer, but refuses nothing by itself. A host
//! without a driver or a GPU (login node, CI, image build) is never in the way: it is `Unknown`.

mod choose;
mod cudnn;
mod driver;
mod gpu;
mod words;

use serde::Serialize;

pub use cudnn::CudnnVerdict;
pub use driver::DriverVerdict;
pub use gpu::GpuVerdict;

use super::capability::ComputeCapability;
use super::manifest::cudnn::CudnnRelease;
use super::manifest::driver::Drivers;
use super::manifest::gpu::{Capability, Kind};
use super::manifest::release::{Release, Releases};
use super::version::Version;

/// The records that verdicts are drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Knowledge<'a> {
    /// CUDA releases and the oldest driver of each major.
    pub releases: &'a Releases,
    /// Driver branches.
    pub drivers: &'a Drivers,
    /// Compute capabilities.
    pub capabilities: &'a [Capability],
    /// cuDNN releases.
    pub cudnn: &'a [CudnnRelease],
}

/// What decides about a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The driver, if there is one.
    pub driver: Option<Version>,
    /// The newest CUDA that the driver itself says it supports; it wins over the table of branches, since Jetson
    /// and Windows drivers count otherwise.
    pub driver_cuda: Option<Version>,
    /// The GPUs, if they are known.
    pub gpus: Vec<MachineGpu>,
}

/// A GPU as far as compatibility goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineGpu {
    /// Its compute capability.
    pub cc: ComputeCapability,
    /// Its kind; `None` when its name is not known.
    pub kind: Option<Kind>,
}

/// How a machine and a toolchain go together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The driver's part.
    pub driver: DriverVerdict,
    /// The part of each kind of GPU.
    pub gpus: Vec<(ComputeCapability, GpuVerdict)>,
    /// cuDNN's part for each kind of GPU; empty without cuDNN.
    pub cudnn: Vec<(ComputeCapability, CudnnVerdict)>,
    /// The whole in one word.
    pub grade: Grade,
}

/// A verdict in one word, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// The driver itself supports the release, and every GPU has code in it.
    Native,
    /// No driver or no GPU is known here: nothing to object to.
    Unknown,
    /// It runs, except that the driver cannot compile PTX made by this newer release.
    MinorCompat,
    /// It runs if the administrator has installed NVIDIA's forward-compatibility package.
    ForwardCompat,
    /// It cannot run on this machine.
    Impossible,
}

impl Knowledge<'_> {
    /// Judges a CUDA release, and cuDNN if there is one, on a machine.
    ///
    /// With several kinds of GPU the toolchain is possible as long as one of them can run it.
    pub fn judge(&self, machine: &Machine, release: &Release, cudnn: Option<&Version>) -> Verdict {
        let driver = self.judge_driver(machine, release);
        let mut ccs: Vec<ComputeCapability> = machine.gpus.iter().map(|gpu| gpu.cc).collect();
        ccs.sort_unstable();
        ccs.dedup();
        let gpus: Vec<_> = ccs.iter().map(|cc| (*cc, self.judge_gpu(*cc, release))).collect();
        let major = release.version.major();
        let cudnn: Vec<_> = cudnn
            .iter()
            .flat_map(|version| ccs.iter().map(|cc| (*cc, self.judge_cudnn(*cc, version, major))))
            .collect();

        let runs = |cc: &ComputeCapability| {
            let gpu = gpus.iter().all(|(other, verdict)| other != cc || verdict.runs());
            gpu && cudnn.iter().all(|(other, verdict)| other != cc || verdict.runs())
        };
        let grade = if !ccs.is_empty() && !ccs.iter().any(runs) {
            Grade::Impossible
        } else {
            driver.grade()
        };
        Verdict { driver, gpus, cudnn, grade }
    }
}
