//! What a prefix consists of, as data: nothing here touches a file.

use std::collections::BTreeMap;

use super::Error;
use super::place::{Spot, place, stem_of_soname};
use crate::domain::digest::Digest;
use crate::domain::receipt::Entry;
use crate::domain::target::Target;

/// Where a file of the prefix comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Index of the wheel in the plan's input.
    pub wheel: usize,
    /// Index of the file in that wheel's receipt.
    pub file: usize,
}

/// What stands at one path of the prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A file of a wheel.
    File(Origin),
    /// A symbolic link with this relative target.
    Link(String),
    /// A file that cuenv writes.
    Text(String),
}

/// Every path of a prefix, sorted, except what is in `.cuenv/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Path inside the prefix, and what stands there.
    pub steps: BTreeMap<String, Step>,
}

/// Plans the prefix of `wheels` for CUDA `cuda`.
pub fn plan(wheels: &[Entry], cuda: &str, target: Target) -> Result<Plan, Error> {
    let mut plan = Plan::default();
    let mut digests: BTreeMap<String, Digest> = BTreeMap::new();
    for (wheel, entry) in wheels.iter().enumerate() {
        let distribution = entry.receipt.distribution().0.to_ascii_lowercase().replace('_', "-");
        for (file, found) in entry.receipt.files.iter().enumerate() {
            let Spot::At(path) = place(&distribution, &found.path) else { continue };
            match digests.get(&path) {
                // Some headers come in two wheels with the same bytes.
                Some(digest) if *digest == found.digest => {}
                Some(_) => {
                    let name = |index: usize| wheels[index].receipt.file.clone();
                    let first = match &plan.steps[&path] {
                        Step::File(origin) => name(origin.wheel),
                        _ => String::new(),
                    };
                    return Err(Error::Collision { path, first, second: name(wheel) });
                }
                None => {
                    digests.insert(path.clone(), found.digest);
                    plan.steps.insert(path, Step::File(Origin { wheel, file }));
                }
            }
        }
    }
    plan.development_links();
    plan.libnvvm();
    plan.expected_places(target);
    let version = format!("{{\"cuda\": {{\"name\": \"CUDA SDK\", \"version\": \"{cuda}\"}}}}\n");
    plan.steps.insert("version.json".to_owned(), Step::Text(version));
    Ok(plan)
}

impl Plan {
    /// Adds a link unless a wheel brings something there.
    fn link(&mut self, path: impl Into<String>, target: impl Into<String>) {
        self.steps.entry(path.into()).or_insert_with(|| Step::Link(target.into()));
    }

    fn has_below(&self, folder: &str) -> bool {
        self.steps.keys().any(|path| path.starts_with(folder))
    }

    /// Wheels carry `libcublas.so.12` only; compilers ask for `libcublas.so`. These names live in `lib64`, off the
    /// library path, so that a stray `libcudnn_*.so` cannot complete half of another cuDNN. cuDNN itself opens
    /// `libnvrtc.so` (and `libnvrtc-builtins.so` from 9.28 on) at run time: those two are in `lib` as well.
    fn development_links(&mut self) {
        let names: Vec<String> = self
            .steps
            .keys()
            .filter_map(|path| path.strip_prefix("lib/"))
            .map(str::to_owned)
            .collect();
        for name in names {
            self.link(format!("lib64/{name}"), format!("../lib/{name}"));
            let Some(stem) = stem_of_soname(&name) else { continue };
            if matches!(stem, "libnvrtc.so" | "libnvrtc-builtins.so") {
                self.link(format!("lib/{stem}"), name.clone());
            }
            self.link(format!("lib64/{stem}"), format!("../lib/{name}"));
        }
    }

    /// Up to CUDA 12 there is only `nvvm/lib64/libnvvm.so`, whose soname is `libnvvm.so.4`; from 13 on only
    /// `lib/libnvvm.so.4`. numba and nvcc look for either name in `nvvm/lib64`.
    fn libnvvm(&mut self) {
        let old = "nvvm/lib64/libnvvm.so";
        let new = "lib/libnvvm.so.4";
        if self.steps.contains_key(old) {
            self.link("nvvm/lib64/libnvvm.so.4", "libnvvm.so");
        } else if self.steps.contains_key(new) {
            self.link("nvvm/lib64/libnvvm.so.4", "../../lib/libnvvm.so.4");
            self.link(old, "libnvvm.so.4");
        }
    }

    fn expected_places(&mut self, target: Target) {
        let has_headers = self.has_below("include/");
        let has_libraries = self.has_below("lib64/");
        let folder = format!("targets/{}", target.toolkit_directory());
        if has_headers {
            self.link(format!("{folder}/include"), "../../include");
        }
        if has_libraries {
            self.link(format!("{folder}/lib"), "../../lib64");
        }
        if self.steps.contains_key("include/cupti.h") {
            self.link("extras/CUPTI/include", "../../include");
            self.link("extras/CUPTI/lib64", "../../lib64");
        }
        let sanitizer = "compute-sanitizer/bin/compute-sanitizer";
        if self.steps.contains_key(sanitizer) {
            self.link("bin/compute-sanitizer", format!("../{sanitizer}"));
        } else if self.steps.contains_key("compute-sanitizer/compute-sanitizer") {
            self.link("bin/compute-sanitizer", "../compute-sanitizer/compute-sanitizer");
        }
    }
}

#[cfg(test)]
mod tests;
