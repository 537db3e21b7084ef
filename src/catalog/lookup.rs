//! Questions that the manifests answer.

use std::collections::BTreeSet;

use super::Catalog;
use crate::domain::compat::Knowledge;
use crate::domain::manifest::component::{Build, Component};
use crate::domain::manifest::cudnn::{CudnnBuild, CudnnRelease};
use crate::domain::manifest::gpu::Gpu;
use crate::domain::manifest::overrides::{FloatingRule, Metapackage, Override};
use crate::domain::manifest::release::Release;
use crate::domain::manifest::tool::Tools;
use crate::domain::spec::Profile;
use crate::domain::target::Target;
use crate::domain::version::{PackageVersion, Version};

impl Catalog {
    /// Returns every component, in the manifest's order.
    pub fn components(&self) -> &[Component] {
        &self.components.component
    }

    /// Returns a component by its name.
    pub fn component(&self, id: &str) -> Option<&Component> {
        self.components().iter().find(|component| component.id == id)
    }

    /// Returns the distribution that carries a component for a CUDA major.
    pub fn distribution(&self, id: &str, cuda_major: u64) -> Option<&str> {
        Some(self.component(id)?.build(cuda_major)?.distribution.as_str())
    }

    /// Returns the component that a distribution carries, and for which CUDA major.
    pub fn carrier(&self, distribution: &str) -> Option<(&Component, &Build)> {
        self.builds().find(|(_, build)| build.distribution == distribution)
    }

    /// Returns the components that bring a library of that soname, with the CUDA major of each.
    pub fn providers<'a>(
        &'a self,
        soname: &'a str,
    ) -> impl Iterator<Item = (&'a Component, &'a Build)> {
        self.builds().filter(move |(_, build)| build.brings(soname))
    }

    /// Tells whether a library comes with the driver and never with a toolchain.
    pub fn is_driver_library(&self, soname: &str) -> bool {
        self.components.driver_library.iter().any(|library| library.soname == soname)
    }

    /// Returns what a component needs at run time, directly or through others; itself not included.
    pub fn needs(&self, id: &str, cuda_major: u64) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut open = vec![id];
        while let Some(next) = open.pop() {
            let build = self.component(next).and_then(|component| component.build(cuda_major));
            for need in build.iter().flat_map(|build| &build.needs) {
                if need != id && found.insert(need.as_str()) {
                    open.push(need);
                }
            }
        }
        found
    }

    /// Returns the components of a profile for a CUDA major, closed over what they need, in order of name.
    pub fn profile(&self, profile: Profile, cuda_major: u64) -> Vec<&Component> {
        let mut ids = BTreeSet::new();
        for component in self.components() {
            let inside = component.profile.is_some_and(|smallest| smallest <= profile);
            if inside && component.build(cuda_major).is_some() {
                ids.insert(component.id.as_str());
                ids.extend(self.needs(&component.id, cuda_major));
            }
        }
        ids.into_iter().filter_map(|id| self.component(id)).collect()
    }

    /// Returns what stands in for a wheel that must not be used on a target.
    pub fn override_for(
        &self,
        distribution: &str,
        version: &PackageVersion,
        target: Target,
    ) -> Option<&Override> {
        self.overrides.replace.iter().find(|entry| {
            entry.distribution == distribution
                && entry.version == *version
                && entry.target.is_none_or(|only| only == target)
        })
    }

    /// Returns why a version must never be chosen.
    pub fn refusal(&self, distribution: &str, version: &PackageVersion) -> Option<&str> {
        let entries = &self.overrides.refused;
        let entry = entries.iter().find(|entry| entry.covers(distribution, version))?;
        Some(&entry.reason)
    }

    /// Returns what is wrong with a release of the `cuda-toolkit` metapackage.
    pub fn metapackage_fault(&self, version: &PackageVersion) -> Option<&Metapackage> {
        self.overrides.metapackage.iter().find(|entry| entry.version == *version)
    }

    /// Returns how to close a requirement on a distribution that the metapackage leaves open.
    pub fn floating(&self, distribution: &str) -> Option<FloatingRule> {
        let entries = &self.overrides.floating;
        Some(entries.iter().find(|entry| entry.distribution == distribution)?.rule)
    }

    /// Returns the distribution that was meant by the name of an empty one.
    pub fn placeholder(&self, distribution: &str) -> Option<&str> {
        let entries = &self.overrides.placeholder;
        Some(&entries.iter().find(|entry| entry.distribution == distribution)?.instead)
    }

    /// Returns the CUDA releases, oldest first.
    pub fn releases(&self) -> &[Release] {
        &self.releases.release
    }

    /// Returns a CUDA release by its full version.
    pub fn release(&self, version: &Version) -> Option<&Release> {
        self.releases().iter().find(|release| release.version == *version)
    }

    /// Returns the newest known release that a (partial) version matches.
    pub fn newest_matching(&self, wanted: &Version) -> Option<&Release> {
        self.releases().iter().rev().find(|release| wanted.matches(release.version.parts()))
    }

    /// Returns the release that is closest to a version that does not exist: the next older one of its major, else
    /// the next newer one.
    pub fn nearest(&self, wanted: &Version) -> Option<&Release> {
        let older = self.releases().iter().rev().find(|release| release.version <= *wanted);
        let newer = self.releases().iter().find(|release| release.version > *wanted);
        match (older, newer) {
            (Some(older), Some(newer))
                if older.version.major() != wanted.major()
                    && newer.version.major() == wanted.major() =>
            {
                Some(newer)
            }
            (Some(older), _) => Some(older),
            (None, newer) => newer,
        }
    }

    /// Returns the cuDNN releases, oldest first.
    pub fn cudnn_releases(&self) -> &[CudnnRelease] {
        &self.cudnn.release
    }

    /// Returns a cuDNN release by its version, as built for a CUDA major.
    pub fn cudnn_release(
        &self,
        version: &Version,
        cuda_major: u64,
    ) -> Option<(&CudnnRelease, &CudnnBuild)> {
        let release = self.cudnn_releases().iter().find(|release| release.version == *version)?;
        Some((release, release.build(cuda_major)?))
    }

    /// Returns the GPU model that a device name speaks of (`NVIDIA H100 80GB HBM3`): the longest name inside it.
    pub fn gpu(&self, device: &str) -> Option<&Gpu> {
        let words: Vec<&str> = device.split([' ', '-', '(', ')']).collect();
        let inside = |name: &str| {
            let name: Vec<&str> = name.split([' ', '-', '(', ')']).collect();
            words.windows(name.len()).any(|window| {
                window.iter().zip(&name).all(|(word, part)| word.eq_ignore_ascii_case(part))
            })
        };
        let longest = |gpu: &Gpu| {
            let names = std::iter::once(&gpu.model).chain(&gpu.names);
            names.filter(|name| inside(name)).map(String::len).max()
        };
        let found = self.gpus.gpu.iter().filter_map(|gpu| Some((longest(gpu)?, gpu)));
        found.max_by_key(|(length, _)| *length).map(|(_, gpu)| gpu)
    }

    /// Returns the records that verdicts are drawn from.
    pub fn knowledge(&self) -> Knowledge<'_> {
        Knowledge {
            releases: &self.releases,
            drivers: &self.drivers,
            capabilities: &self.gpus.compute_capability,
            cudnn: &self.cudnn.release,
        }
    }

    /// Returns what is known of programs and their components.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    pub(super) fn builds(&self) -> impl Iterator<Item = (&Component, &Build)> {
        self.components()
            .iter()
            .flat_map(|component| component.builds.iter().map(move |build| (component, build)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    fn package(text: &str) -> PackageVersion {
        text.parse().unwrap()
    }

    #[test]
    fn names_follow_the_cuda_major() {
        let catalog = Catalog::builtin();
        assert_eq!(catalog.distribution("cublas", 12), Some("nvidia-cublas-cu12"));
        assert_eq!(catalog.distribution("cublas", 13), Some("nvidia-cublas"));
        assert_eq!(catalog.distribution("cudnn", 13), Some("nvidia-cudnn-cu13"));
        assert_eq!(catalog.distribution("nvjitlink", 11), None);
        let (component, build) = catalog.carrier("nvidia-cuda-runtime").unwrap();
        assert_eq!((component.id.as_str(), build.cuda_major), ("cudart", 13));
        assert_eq!(catalog.placeholder("nvidia-cublas-cu13"), Some("nvidia-cublas"));
    }

    #[test]
    fn needs_are_closed() {
        let catalog = Catalog::builtin();
        let needs = |id, major| catalog.needs(id, major).into_iter().collect::<Vec<_>>();
        assert_eq!(needs("cudnn", 12), ["cublas", "nvrtc"]);
        assert_eq!(needs("cusolver", 12), ["cublas", "cusparse", "nvjitlink", "nvrtc"]);
        assert_eq!(needs("cusolver", 11), ["cublas", "nvrtc"]);
        assert_eq!(needs("nvcc", 13), ["crt", "cudart", "nvvm"]);
        assert_eq!(needs("cudart", 12), [""; 0]);
    }

    #[test]
    fn profiles_grow_and_follow_the_major() {
        let catalog = Catalog::builtin();
        let ids = |profile, major| {
            let components = catalog.profile(profile, major);
            components.iter().map(|component| component.id.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(ids(Profile::Base, 12), ["cudart", "nvrtc"]);
        assert_eq!(
            ids(Profile::Runtime, 11),
            [
                "cublas", "cudart", "cufft", "cupti", "curand", "cusolver", "cusparse", "nvrtc",
                "nvtx"
            ]
        );
        assert_eq!(
            ids(Profile::Runtime, 12),
            [
                "cublas",
                "cudart",
                "cufft",
                "cufile",
                "cupti",
                "curand",
                "cusolver",
                "cusparse",
                "nvjitlink",
                "nvrtc",
                "nvtx"
            ]
        );
        for major in [11, 12, 13] {
            for (smaller, larger) in
                [(Profile::Base, Profile::Runtime), (Profile::Runtime, Profile::Devel)]
            {
                let larger = ids(larger, major);
                assert!(ids(smaller, major).iter().all(|id| larger.contains(id)));
            }
            assert!(!ids(Profile::Devel, major).contains(&"opencl"));
            assert!(ids(Profile::Devel, major).contains(&"nvcc"));
        }
    }

    #[test]
    fn mistakes_upstream_have_a_stand_in_and_a_reason() {
        let catalog = Catalog::builtin();
        let cccl = |text| {
            let entry = catalog.override_for(
                "nvidia-cuda-cccl-cu12",
                &package(text),
                Target::LinuxX86_64,
            )?;
            Some(entry.instead.to_string())
        };
        assert_eq!(cccl("12.1.109").as_deref(), Some("12.3.101.post1"));
        assert_eq!(cccl("12.4.99").as_deref(), Some("12.4.127.post1"));
        assert_eq!(cccl("12.4.127").as_deref(), Some("12.4.127.post1"));
        assert_eq!(cccl("12.4.127.post1"), None);
        let cudnn = |target| {
            catalog
                .override_for("nvidia-cudnn-cu12", &package("9.1.0.70"), target)
                .map(|entry| entry.instead.to_string())
        };
        assert_eq!(cudnn(Target::LinuxAarch64).as_deref(), Some("9.1.0.70.post1"));
        assert_eq!(cudnn(Target::LinuxX86_64), None);
        assert!(catalog.refusal("nvidia-cudnn-cu12", &package("9.25.0.15")).is_some());
        assert!(catalog.refusal("nvidia-cudnn-cu12", &package("9.25.1.1")).is_none());
        assert!(catalog.refusal("nvidia-anything", &package("0.0.1.dev5")).is_some());
        assert!(catalog.refusal("nvidia-cufile", &package("0.1.0")).is_none());
        assert!(catalog.metapackage_fault(&package("12.5.1")).is_some());
        assert!(catalog.metapackage_fault(&package("12.5.0")).is_none());
        assert_eq!(catalog.floating("nvidia-nvjitlink"), Some(FloatingRule::LowerBound));
        assert_eq!(catalog.floating("nvidia-cublas"), None);
    }

    #[test]
    fn the_release_whose_metapackage_is_wrong_has_its_own_wheels() {
        let catalog = Catalog::builtin();
        let of = |text| catalog.release(&version(text)).unwrap();
        assert!(of("12.5.1").metapackage_wrong.is_some());
        assert_ne!(of("12.5.1").components["cublas"], of("12.5.0").components["cublas"]);
        assert_eq!(of("12.5.1").components["cublas"].to_string(), "12.5.3.2");
    }

    #[test]
    fn finds_matching_and_nearest_releases() {
        let catalog = Catalog::builtin();
        let newest = |text| {
            catalog.newest_matching(&version(text)).map(|release| release.version.to_string())
        };
        assert_eq!(newest("12.4").as_deref(), Some("12.4.1"));
        assert_eq!(newest("12").as_deref(), Some("12.9.2"));
        assert_eq!(newest("12.7"), None);
        let nearest = |text| catalog.nearest(&version(text)).unwrap().version.to_string();
        assert_eq!(nearest("12.7"), "12.6.3");
        assert_eq!(nearest("10.2"), "11.8.0");
        assert_eq!(nearest("11.2"), "11.8.0");
        assert_eq!(nearest("14.0"), "13.5.0");
        assert_eq!(nearest("13.4.0"), "13.3.1");
    }

    #[test]
    fn sonames_lead_to_components() {
        let catalog = Catalog::builtin();
        let providers = |soname| {
            let found = catalog.providers(soname);
            found
                .map(|(component, build)| (component.id.clone(), build.cuda_major))
                .collect::<Vec<_>>()
        };
        assert_eq!(providers("libcublasLt.so.12"), [("cublas".to_owned(), 12)]);
        assert_eq!(providers("libnvrtc-builtins.so.12.4"), [("nvrtc".to_owned(), 12)]);
        assert_eq!(providers("libcusolver.so.11").len(), 2);
        assert_eq!(providers("libcuda.so.1"), []);
        assert!(catalog.is_driver_library("libcuda.so.1"));
    }

    #[test]
    fn device_names_lead_to_models() {
        let catalog = Catalog::builtin();
        let model = |device| catalog.gpu(device).map(|gpu| gpu.model.as_str());
        assert_eq!(model("NVIDIA H100 80GB HBM3"), Some("H100"));
        assert_eq!(model("NVIDIA A100-SXM4-40GB"), Some("A100"));
        assert_eq!(model("Tesla V100-SXM2-16GB"), Some("V100"));
        assert_eq!(model("NVIDIA GeForce RTX 4070 Ti SUPER"), Some("GeForce RTX 4070 Ti SUPER"));
        assert_eq!(model("NVIDIA GeForce RTX 4070"), Some("GeForce RTX 4070"));
        assert_eq!(model("NVIDIA RTX 6000 Ada Generation"), Some("RTX 6000 Ada"));
        assert_eq!(model("NVIDIA A10"), Some("A10"));
        assert_eq!(model("NVIDIA L40S"), Some("L40S"));
        assert_eq!(model("NVIDIA GB10"), Some("GB10 (DGX Spark)"));
        assert_eq!(model("NVIDIA GH200 480GB"), Some("GH200"));
        assert_eq!(model("NVIDIA GeForce RTX 3070 Laptop GPU"), Some("GeForce RTX 3070"));
        assert_eq!(model("NVIDIA TITAN X (Pascal)"), Some("TITAN X (Pascal)"));
        assert_eq!(model("NVIDIA GeForce GTX TITAN X"), None);
        assert_eq!(model("Matrox G200"), None);
    }
}
