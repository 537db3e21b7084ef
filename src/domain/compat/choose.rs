//! What would work.

use super::{CudnnVerdict, DriverVerdict, Grade, Knowledge, Machine};
use crate::domain::capability::ComputeCapability;
use crate::domain::manifest::cudnn::CudnnRelease;
use crate::domain::manifest::release::Release;
use crate::domain::version::Version;

impl Knowledge<'_> {
    /// Returns the best CUDA release for a machine among those that a (partial) version matches, `None` meaning all.
    ///
    /// That is the newest release which the driver supports by itself and a GPU has code in; if there is none, the
    /// newest that runs by minor-version compatibility; if there is none either, the newest that could run with the
    /// forward-compatibility package. A machine about which nothing is known takes the newest.
    pub fn newest_cuda_for(
        &self,
        machine: &Machine,
        wanted: Option<&Version>,
    ) -> Option<(&Release, Grade)> {
        let mut best: Option<(&Release, Grade)> = None;
        for release in &self.releases.release {
            if wanted.is_some_and(|wanted| !wanted.matches(release.version.parts())) {
                continue;
            }
            let grade = self.judge(machine, release, None).grade;
            // Releases come oldest first: of equals the later one is the newer.
            if grade != Grade::Impossible && best.is_none_or(|(_, known)| grade <= known) {
                best = Some((release, grade));
            }
        }
        best
    }

    /// Returns the first and the last cuDNN release, as built for a CUDA major, with code for every one of the GPUs;
    /// releases that are merely doubtful are left out as long as others remain.
    pub fn cudnn_range_for(
        &self,
        ccs: &[ComputeCapability],
        cuda_major: u64,
    ) -> Option<(&Version, &Version)> {
        let within = |accepts: fn(&CudnnVerdict) -> bool| {
            let mut fitting = self.cudnn.iter().map(|release| &release.version).filter(|version| {
                self.cudnn_release_exists(version, cuda_major)
                    && ccs.iter().all(|cc| accepts(&self.judge_cudnn(*cc, version, cuda_major)))
            });
            let first = fitting.next()?;
            Some((first, fitting.next_back().unwrap_or(first)))
        };
        within(|verdict| *verdict == CudnnVerdict::Fits).or_else(|| within(CudnnVerdict::runs))
    }

    /// Returns the newest cuDNN release, as built for a CUDA major, that matches, is at least `least` (within its
    /// major) and has code for every one of the GPUs.
    pub fn newest_cudnn_for(
        &self,
        ccs: &[ComputeCapability],
        cuda_major: u64,
        wanted: &Version,
        least: Option<&Version>,
    ) -> Option<&CudnnRelease> {
        let newest = |accepts: fn(&CudnnVerdict) -> bool| {
            self.cudnn.iter().rev().find(|release| {
                release.build(cuda_major).is_some()
                    && wanted.matches(release.version.parts())
                    && least.is_none_or(|least| {
                        least.major() == release.version.major() && release.version >= *least
                    })
                    && ccs
                        .iter()
                        .all(|cc| accepts(&self.judge_cudnn(*cc, &release.version, cuda_major)))
            })
        };
        newest(|verdict| *verdict == CudnnVerdict::Fits).or_else(|| newest(CudnnVerdict::runs))
    }

    /// Returns the driver to ask the administrator for: the one that supports a release by itself, else the oldest
    /// that runs its major.
    pub fn driver_to_ask_for(&self, release: &Release, verdict: &DriverVerdict) -> Option<Version> {
        match verdict {
            DriverVerdict::Unknown | DriverVerdict::Native { .. } => None,
            _ => release
                .driver
                .clone()
                .or_else(|| self.oldest_driver(release.version.major()).cloned()),
        }
    }

    fn cudnn_release_exists(&self, version: &Version, cuda_major: u64) -> bool {
        self.cudnn
            .iter()
            .any(|release| release.version == *version && release.build(cuda_major).is_some())
    }
}
