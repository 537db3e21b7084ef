//! From requirements on NVIDIA's distributions to the CUDA release they belong to.

use std::collections::BTreeMap;

use super::{CudaWish, Tables};
use crate::domain::evidence::{Package, Wanted};
use crate::domain::manifest::component::{Build, Component};
use crate::domain::manifest::release::Release;
use crate::domain::version::{PackageVersion, Version};

/// Components whose own version begins with the CUDA release's.
const NUMBERED_AS_CUDA: [&str; 6] = ["cudart", "nvrtc", "nvcc", "cupti", "nvtx", "nvjitlink"];

/// What requirements on NVIDIA's distributions say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PinFacts {
    /// The CUDA they belong to.
    pub cuda: Option<CudaWish>,
    /// The oldest cuDNN they take.
    pub cudnn: Option<Version>,
    /// The oldest version they take of everything else that is versioned apart from CUDA.
    pub axes: BTreeMap<String, Version>,
}

impl Tables<'_> {
    /// Tells whether a distribution is one of NVIDIA's that these tables know.
    pub fn is_nvidia(&self, distribution: &str) -> bool {
        distribution == "cuda-toolkit" || self.carrier(distribution).is_some()
    }

    fn carrier(&self, distribution: &str) -> Option<(&Component, &Build)> {
        self.components
            .iter()
            .flat_map(|component| component.builds.iter().map(move |build| (component, build)))
            .find(|(_, build)| build.distribution == distribution)
    }

    /// Reads requirements on NVIDIA's distributions; others are passed over.
    pub fn read_pins<'a>(&self, packages: impl IntoIterator<Item = &'a Package>) -> PinFacts {
        let mut facts = PinFacts::default();
        let mut majors: BTreeMap<u64, usize> = BTreeMap::new();
        let mut votes: BTreeMap<&Version, usize> = BTreeMap::new();
        let mut least: Option<&Version> = None;
        let mut numbered: Option<Version> = None;
        let mut release = None;
        for package in packages {
            if package.distribution == "cuda-toolkit" {
                let fitting =
                    || self.releases.iter().filter(|release| fits(&package.version, release));
                let mut all: Vec<u64> = fitting().map(|release| release.version.major()).collect();
                all.dedup();
                if let [major] = all[..] {
                    *majors.entry(major).or_default() += 1;
                }
                if matches!(package.version, Wanted::Exact(_)) {
                    release = fitting().next().map(|release| &release.version);
                }
                continue;
            }
            let Some((component, build)) = self.carrier(&package.distribution) else { continue };
            *majors.entry(build.cuda_major).or_default() += 1;
            if component.axis {
                let least = lower_bound(&package.version);
                if component.id == "cudnn" {
                    facts.cudnn = least;
                } else {
                    facts.axes.extend(least.map(|least| (component.id.clone(), least)));
                }
                continue;
            }
            let of_major =
                self.releases.iter().filter(|known| known.version.major() == build.cuda_major);
            match &package.version {
                Wanted::Exact(version) => {
                    for known in of_major {
                        let same = known.components.get(&component.id).is_some_and(|component| {
                            component.only_release() == version.only_release()
                        });
                        if same {
                            *votes.entry(&known.version).or_default() += 1;
                        }
                    }
                    if NUMBERED_AS_CUDA.contains(&component.id.as_str()) && numbered.is_none() {
                        numbered = minor_of(version);
                    }
                }
                Wanted::Range(range) => {
                    let first = of_major.clone().find(|known| {
                        let version = known.components.get(&component.id);
                        version.is_some_and(|version| range.contains(version))
                    });
                    // A bound that the oldest release meets says nothing.
                    let oldest = of_major.clone().next().map(|known| &known.version);
                    let first = first.map(|known| &known.version).filter(|v| Some(*v) != oldest);
                    least = least.max(first);
                }
            }
        }
        let most_named = majors.iter().max_by_key(|(major, count)| (**count, **major));
        let Some((major, _)) = most_named else { return facts };
        // Of releases that match equally well the newer one: later patches repeat most wheels of the earlier.
        let voted = votes.iter().max_by_key(|(version, count)| (**count, **version));
        // A release of another minor than the numbers say only shares a few wheels (CUDA 11.7 is not in the table, and
        // its cuFFT is that of 11.8).
        let voted = voted.map(|(version, _)| *version).filter(|version| {
            numbered.as_ref().is_none_or(|numbered| *numbered == version.major_minor())
        });
        let release = release.or(voted);
        facts.cuda = Some(CudaWish {
            major: *major,
            least: least.map(Version::major_minor),
            most: None,
            made_with: release.map(Version::major_minor).or(numbered),
            release: release.cloned(),
        });
        facts
    }
}

fn fits(wanted: &Wanted, release: &Release) -> bool {
    let spelled = release.metapackage.clone().or_else(|| release.version.to_string().parse().ok());
    spelled.is_some_and(|version| wanted.accepts(&version))
}

fn minor_of(version: &PackageVersion) -> Option<Version> {
    let [major, minor, ..] = *version.release() else { return None };
    Some(Version::from_parts(&[major, minor]))
}

/// Returns the oldest version that will do, as dotted numbers.
fn lower_bound(wanted: &Wanted) -> Option<Version> {
    let of = |version: &PackageVersion| Version::from_parts(version.release());
    match wanted {
        Wanted::Exact(version) => Some(of(version)),
        Wanted::Range(range) => range
            .iter()
            .filter(|specifier| {
                use pep440_rs::Operator::{EqualStar, GreaterThan, GreaterThanEqual, TildeEqual};
                matches!(
                    specifier.operator(),
                    GreaterThanEqual | GreaterThan | TildeEqual | EqualStar
                )
            })
            .map(|specifier| of(specifier.version()))
            .max(),
    }
}
