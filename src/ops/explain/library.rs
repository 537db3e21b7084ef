//! Libraries that a toolchain brings and a log misses: all of them together, so that one pin answers for all.

use super::advice::EXEC;
use super::{Explanation, Known, cut};
use crate::domain::manifest::symptom::Depth;
use crate::ops::doctor::remedy::{cudnn_major, pin_with};

/// The name of such an explanation.
pub(super) const ID: &str = "library";

/// Names that are opened without a version, and the versioned name that belongs to them.
const UNVERSIONED: [(&str, &str); 9] = [
    ("libcudart.so", "libcudart.so.12"),
    ("libcublas.so", "libcublas.so.12"),
    ("libcublasLt.so", "libcublasLt.so.12"),
    ("libcufft.so", "libcufft.so.11"),
    ("libcurand.so", "libcurand.so.10"),
    ("libcusolver.so", "libcusolver.so.11"),
    ("libcusparse.so", "libcusparse.so.12"),
    ("libcudnn.so", "libcudnn.so.9"),
    ("libnccl.so", "libnccl.so.2"),
];

/// The libraries that were missed so far.
#[derive(Default)]
pub(super) struct Absent {
    /// The line and what it misses.
    found: Vec<(String, String)>,
}

impl Absent {
    /// Takes what a line misses, if a toolchain brings it.
    pub(super) fn take(&mut self, known: &Known<'_>, line: &str, names: &[&str]) -> bool {
        let ours = |name: &&&str| {
            let own = known.catalog.providers(name).next().is_some()
                || is_nvrtc(name)
                || versioned(name).is_some();
            own && !known.catalog.is_driver_library(name)
        };
        // Of names that are tried in turn the one that exists counts.
        let exact = names.iter().find(|name| known.catalog.providers(name).next().is_some());
        let Some(name) = exact.or_else(|| names.iter().find(ours)) else { return false };
        if !self.found.iter().any(|(_, found)| found == name) {
            self.found.push((cut(line), (*name).to_owned()));
        }
        true
    }

    /// One explanation for all that one pin brings; where none brings them all, one for each CUDA.
    pub(super) fn explain(&self, known: &Known<'_>) -> Vec<Explanation> {
        let all: Vec<usize> = (0..self.found.len()).collect();
        if all.is_empty() {
            return Vec::new();
        }
        match self.together(known, &all) {
            Some(explanation) => vec![explanation],
            None => all.iter().filter_map(|one| self.together(known, &[*one])).collect(),
        }
    }

    fn together(&self, known: &Known<'_>, which: &[usize]) -> Option<Explanation> {
        let names: Vec<&str> = which.iter().map(|at| self.found[*at].1.as_str()).collect();
        let (line, first) = &self.found[*which.first()?];
        let cause = cause(known, &names)?;
        let explanation = |fix| Explanation {
            id: ID.to_owned(),
            line: line.clone(),
            cause,
            fix: Some(fix),
            follows: false,
            depth: Depth::Cause,
        };
        if which.len() == 1 && versioned(first).is_some() {
            // Links without a version lie beside the library path, where no program stumbles over them.
            let command = "cuenv exec -- env LD_LIBRARY_PATH=\"$(cuenv where)/lib64\" COMMAND";
            return Some(explanation(match &known.spec {
                Some(_) => command.to_owned(),
                None => format!("cuenv use 12, then `{command}`"),
            }));
        }
        let wanted: Vec<&str> = names.iter().map(|name| plain(name)).collect();
        let spec = known.spec.as_deref();
        let command = pin_with(&known.catalog, &wanted, spec.or(Some(bare(known, &wanted))))?;
        let holds = spec.is_some_and(|spec| command == format!("cuenv use {spec}"));
        Some(explanation(if holds {
            format!("{EXEC} (the pin here has it, and the program was started without it)")
        } else {
            format!("{command}, then `{EXEC}`")
        }))
    }
}

/// The spec to start from where nothing is pinned: `@base` where that is enough.
fn bare(known: &Known<'_>, names: &[&str]) -> &'static str {
    let all = names.iter().all(|name| {
        let smallest =
            known.catalog.providers(name).next().and_then(|(component, _)| component.profile);
        smallest == Some(crate::domain::spec::Profile::Base)
    });
    if all { "12@base" } else { "12" }
}

fn is_nvrtc(name: &str) -> bool {
    name == "libnvrtc.so"
}

fn versioned(name: &str) -> Option<&'static str> {
    UNVERSIONED.iter().find(|(bare, _)| *bare == name).map(|(_, versioned)| *versioned)
}

/// The name that the manifests know.
fn plain(name: &str) -> &str {
    if is_nvrtc(name) { "libnvrtc.so.12" } else { versioned(name).unwrap_or(name) }
}

fn cause(known: &Known<'_>, names: &[&str]) -> Option<String> {
    let quoted = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let [name] = names else {
        return Some(format!("{quoted} belong to a toolchain and are not on the library path"));
    };
    if versioned(name).is_some() {
        return Some(format!(
            "{quoted} is a name for linking: programs open it only where the library path has such links"
        ));
    }
    let known_name = plain(name);
    let providers: Vec<_> = known.catalog.providers(known_name).collect();
    let component = providers.first()?.0;
    let majors: Vec<String> =
        providers.iter().map(|(_, build)| build.cuda_major.to_string()).collect();
    let release = match cudnn_major(name) {
        Some(major) => format!("cuDNN {major}, any release of which serves"),
        None if is_nvrtc(name) => "every CUDA".to_owned(),
        None => format!("CUDA {}", majors.join(" or ")),
    };
    Some(format!(
        "{quoted} belongs to {} of {release}, and is not on the library path",
        component.id
    ))
}
