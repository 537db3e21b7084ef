//! Driver and CUDA release.

use serde::Serialize;

use super::{Grade, Knowledge, Machine};
use crate::domain::manifest::driver::Branch;
use crate::domain::manifest::release::Release;
use crate::domain::version::Version;

/// How a driver and a CUDA release go together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum DriverVerdict {
    /// No driver is known here.
    Unknown,
    /// The driver supports this release by itself.
    Native {
        /// The newest CUDA the driver supports.
        driver_cuda: Version,
    },
    /// The release is newer than the driver's CUDA, within its major: everything runs except PTX that the driver has
    /// to compile.
    MinorCompat {
        /// The newest CUDA the driver supports.
        driver_cuda: Version,
        /// The driver that supports the release by itself; absent where no number is known.
        native_from: Option<Version>,
    },
    /// The driver is too old for the major, but NVIDIA's forward-compatibility package works on these GPUs.
    ForwardCompat {
        /// The newest CUDA the driver supports; absent when it is older than every branch known here.
        driver_cuda: Option<Version>,
        /// The oldest driver that runs the release without that package.
        needs: Version,
    },
    /// The driver is too old for the major.
    TooOld {
        /// The newest CUDA the driver supports; absent when it is older than every branch known here.
        driver_cuda: Option<Version>,
        /// The oldest driver that runs the release.
        needs: Version,
    },
}

impl DriverVerdict {
    /// Returns the verdict in one word.
    pub const fn grade(&self) -> Grade {
        match self {
            Self::Unknown => Grade::Unknown,
            Self::Native { .. } => Grade::Native,
            Self::MinorCompat { .. } => Grade::MinorCompat,
            Self::ForwardCompat { .. } => Grade::ForwardCompat,
            Self::TooOld { .. } => Grade::Impossible,
        }
    }
}

impl Knowledge<'_> {
    /// Returns the branch whose CUDA a driver supports: its own, or the last one before it.
    pub fn branch_of(&self, driver: &Version) -> Option<&Branch> {
        self.drivers.branch.iter().rev().find(|branch| branch.branch <= driver.major())
    }

    /// Returns the newest CUDA that a driver supports by itself: what `nvidia-smi` prints.
    pub fn driver_cuda(&self, driver: &Version) -> Option<&Version> {
        self.branch_of(driver).map(|branch| &branch.max_cuda)
    }

    /// Returns the oldest driver that runs releases of a CUDA major.
    pub fn oldest_driver(&self, cuda_major: u64) -> Option<&Version> {
        let mut floors = self.releases.minor_compat.iter();
        floors.find(|floor| floor.cuda_major == cuda_major).map(|floor| &floor.driver)
    }

    /// Judges a CUDA release on a machine's driver.
    pub fn judge_driver(&self, machine: &Machine, release: &Release) -> DriverVerdict {
        let driver = machine.driver.as_ref();
        let of_table = || driver.and_then(|driver| self.driver_cuda(driver)).cloned();
        let driver_cuda = machine.driver_cuda.clone().or_else(of_table);
        if driver.is_none() && driver_cuda.is_none() {
            return DriverVerdict::Unknown;
        }
        let wanted = release.version.major_minor();
        if let Some(driver_cuda) = driver_cuda.as_ref().filter(|own| **own >= wanted) {
            return DriverVerdict::Native { driver_cuda: driver_cuda.clone() };
        }
        let major = release.version.major();
        // A major without a floor is newer than this catalog: its first native driver is the best number there is.
        let floor = self.oldest_driver(major).or(release.driver.as_ref());
        let Some(needs) = floor.cloned() else { return DriverVerdict::Unknown };
        // Where only the driver's CUDA is known, one of the same major comes from a driver that is new enough.
        let same_major = driver_cuda.as_ref().is_some_and(|own| own.major() == major);
        let enough = driver.map_or(same_major, |driver| *driver >= needs);
        match driver_cuda {
            Some(driver_cuda) if enough => {
                DriverVerdict::MinorCompat { driver_cuda, native_from: release.driver.clone() }
            }
            driver_cuda if self.may_be_forward_compatible(machine) => {
                DriverVerdict::ForwardCompat { driver_cuda, needs }
            }
            driver_cuda => DriverVerdict::TooOld { driver_cuda, needs },
        }
    }

    /// Tells whether the forward-compatibility package works here: on the right kinds of GPU only, all of them.
    fn may_be_forward_compatible(&self, machine: &Machine) -> bool {
        let rule = &self.drivers.forward_compat;
        machine.driver.as_ref().is_some_and(|driver| driver.major() >= rule.oldest_branch)
            && !machine.gpus.is_empty()
            && machine
                .gpus
                .iter()
                .all(|gpu| gpu.kind.is_some_and(|kind| rule.kinds.contains(&kind)))
    }
}
