//! What a Python environment brings of NVIDIA's libraries.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::entries;
use super::find::{PythonEnv, Via};
use crate::activation::Component;

/// What a Python environment brings of NVIDIA's libraries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supplied {
    /// Directories of NVIDIA's wheels that hold libraries; they may stand on a library path.
    pub directories: Vec<PathBuf>,
    /// File names of libraries, those of the directories and those a framework or conda holds elsewhere, each with
    /// the directories that hold it.
    pub libraries: BTreeMap<String, Vec<PathBuf>>,
}

impl Supplied {
    /// Looks into an environment.
    pub fn by(env: &PythonEnv) -> Self {
        let mut supplied = Self::default();
        for site in &env.sites {
            for package in entries(&site.join("nvidia")) {
                let directory = package.join("lib");
                if supplied.add(&directory) {
                    supplied.directories.push(directory);
                }
            }
            // Wheels from before NVIDIA's own: the framework carries them beside its own libraries, which must not
            // stand on a library path.
            supplied.add(&site.join("torch/lib"));
        }
        if env.via == Via::Conda {
            supplied.add(&env.root.join("lib"));
        }
        supplied.directories.sort_unstable();
        supplied
    }

    fn add(&mut self, directory: &std::path::Path) -> bool {
        let Ok(listing) = std::fs::read_dir(directory) else { return false };
        let mut any = false;
        for entry in listing.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if is_nvidia_library(name) {
                any = true;
                self.libraries.entry(name.to_owned()).or_default().push(directory.to_owned());
            }
        }
        any
    }

    /// Tells whether the environment brings a library of a component.
    pub fn brings(&self, component: &Component) -> bool {
        component.libraries.iter().any(|library| self.libraries.contains_key(library))
    }
}

/// NVIDIA's run-time libraries are recognised by name: conda keeps them among others.
fn is_nvidia_library(name: &str) -> bool {
    const STARTS: [&str; 22] = [
        "libcublas",
        "libcudart",
        "libcudnn",
        "libcufft",
        "libcufile",
        "libcupti",
        "libcurand",
        "libcusolver",
        "libcusparse",
        "libnccl",
        "libnpp",
        "libnvJitLink",
        "libnvToolsExt",
        "libnvblas",
        "libnvfatbin",
        "libnvjpeg",
        "libnvperf",
        "libnvrtc",
        "libnvshmem",
        "libnvvm",
        "libnvtx",
        "libcutensor",
    ];
    name.contains(".so") && STARTS.iter().any(|start| name.starts_with(start))
}
